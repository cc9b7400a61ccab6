"""Requests as a whole: every provider, headers, options, what is refused."""

import json

import pytest
from pydantic import SecretStr

import streamflow as sf
from streamflow.requests import ENDPOINTS

PLACES = {"region": "eu-west-1", "project": "p", "location": "us-central1", "account": "acme"}
KEY = "sk-canary-000000000000"


def build(provider: str, messages: object = "hi", **options: object) -> sf.Request:
    row = ENDPOINTS[provider]
    if row.base_url is None:
        options.setdefault("base_url", "http://localhost:1/v1")
    places = {name: value for name, value in PLACES.items() if name in row.place_env}
    return sf.build_request(provider, messages, model="m", **{**places, **options})


WAV = {"type": "audio", "source": {"type": "base64", "media_type": "audio/wav", "data": "aGk="}}


@pytest.mark.parametrize("provider", ENDPOINTS)
def test_every_provider_takes_a_string(provider: str) -> None:
    request = build(provider, api_key=KEY)
    assert request.method == "POST"
    assert request.headers["content-type"] == "application/json"
    assert "hi" in request.body.decode()
    assert request.json == build(provider, ["hi"]).json == build(provider, [{"role": "user", "content": "hi"}]).json


@pytest.mark.parametrize("provider", ENDPOINTS)
def test_the_key_is_in_one_header_and_nowhere_else(provider: str) -> None:
    request = build(provider, api_key=SecretStr(KEY))
    assert [name for name, value in request.headers.items() if KEY in value].__len__() == 1
    assert KEY not in request.url
    assert KEY not in request.body.decode()
    assert KEY not in repr(request)
    assert "[redacted]" in repr(request)


@pytest.mark.parametrize(
    ("provider", "header", "value"),
    [
        ("openai", "authorization", f"Bearer {KEY}"),
        ("anthropic", "x-api-key", KEY),
        ("azure", "api-key", KEY),
        ("gemini", "x-goog-api-key", KEY),
        ("vertex", "authorization", f"Bearer {KEY}"),
        ("bedrock", "authorization", f"Bearer {KEY}"),
        ("ollama", "authorization", f"Bearer {KEY}"),
    ],
)
def test_auth_header(provider: str, header: str, value: str) -> None:
    assert build(provider, api_key=KEY).headers[header] == value


def test_without_a_key_there_is_no_auth_header() -> None:
    assert set(build("openai").headers) == {"content-type", "accept"}


def test_extra_headers() -> None:
    assert build("anthropic").headers["anthropic-version"] == "2023-06-01"
    assert build("openai-assistants").headers["openai-beta"] == "assistants=v2"
    assert build("anthropic", headers={"Anthropic-Beta": "b"}).headers["anthropic-beta"] == "b"


def test_vertex_without_a_project_is_the_express_mode() -> None:
    assert sf.build_request("vertex", "hi", model="m", api_key=KEY).headers["x-goog-api-key"] == KEY


@pytest.mark.parametrize("row", ENDPOINTS.values(), ids=lambda row: row.name)
def test_usage_is_asked_for_where_that_exists(row: object) -> None:
    name = row.name  # type: ignore[attr-defined]
    asked = build(name).json.get("stream_options")
    assert asked == ({"include_usage": True} if row.include_usage else None)  # type: ignore[attr-defined]
    assert "stream_options" not in build(name, include_usage=False).json
    assert "stream_options" not in build(name, stream=False).json


def test_a_user_may_refine_the_stream_options() -> None:
    options = build("openai", stream_options={"include_obfuscation": False}).json["stream_options"]
    assert options == {"include_usage": True, "include_obfuscation": False}


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", {"max_completion_tokens": 5, "temperature": 0.5, "top_p": 0.9, "stop": ["x"], "seed": 1}),
        ("mistral", {"max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "stop": ["x"], "seed": 1}),
        ("cohere", {"max_tokens": 5, "temperature": 0.5, "p": 0.9, "stop_sequences": ["x"], "seed": 1}),
        (
            "gemini",
            {
                "generationConfig": {
                    "maxOutputTokens": 5,
                    "temperature": 0.5,
                    "topP": 0.9,
                    "stopSequences": ["x"],
                    "seed": 1,
                }
            },
        ),
        (
            "google-interactions",
            {
                "generation_config": {
                    "max_output_tokens": 5,
                    "temperature": 0.5,
                    "top_p": 0.9,
                    "stop_sequences": ["x"],
                    "seed": 1,
                }
            },
        ),
        ("ollama", {"options": {"num_predict": 5, "temperature": 0.5, "top_p": 0.9, "stop": ["x"], "seed": 1}}),
    ],
)
def test_common_options_have_their_own_name_everywhere(provider: str, expected: dict[str, object]) -> None:
    body = build(provider, max_tokens=5, temperature=0.5, top_p=0.9, stop="x", seed=1).json
    assert {name: body.get(name) for name in expected} == expected


def test_options_of_the_provider_are_passed_on_and_merged() -> None:
    body = build("gemini", temperature=1, generationConfig={"topK": 3}, safetySettings=[], cachedContent=None).json
    assert body["generationConfig"] == {"temperature": 1, "topK": 3}
    assert body["safetySettings"] == []
    assert "cachedContent" not in body


def test_anthropic_always_has_max_tokens() -> None:
    assert build("anthropic").json["max_tokens"] == 4096
    assert build("anthropic", max_tokens=9).json["max_tokens"] == 9
    assert build("anthropic", max_tokens=None).json["max_tokens"] == 4096


def test_system_is_an_option_too() -> None:
    assert build("anthropic", system="Be brief.").json["system"] == "Be brief."
    assert build("openai", system="Be brief.").json["messages"][0] == {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mode": "chat"}, "unknown mode 'chat'"),
        ({"messages": []}, "messages is empty"),
        *(
            ({"provider": provider, "messages": [{"role": role, "content": text}]}, "nothing that could be sent")
            for provider in ("anthropic", "gemini", "bedrock", "google-interactions")
            for role, text in (("system", "Be brief."), ("user", ""), ("assistant", ""))
        ),
        (
            {"provider": "openai-completions", "messages": [{"role": "user", "content": [WAV]}]},
            "takes words only, no audio",
        ),
        ({"messages": 5}, "must be a string or a list"),
        ({"messages": [{"role": "king", "content": "x"}]}, "unknown role 'king'"),
        ({"messages": [3]}, "message 0 is int"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "unknown content block type 'video'"),
        ({"provider": "openai-completions", "tools": [{"name": "f"}]}, "does not take tools"),
        ({"provider": "openai-responses", "stop": ["x"]}, "stop sequences"),
        ({"model": ""}, "pass model="),
    ],
)
def test_wrong_use_says_what_is_wrong(arguments: dict[str, object], words: str) -> None:
    given = {"provider": "openai", "messages": "hi", "model": "m", **arguments}
    with pytest.raises(sf.UsageError, match=words):
        sf.build_request(given.pop("provider"), given.pop("messages"), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "bedrock", "cohere", "ollama"])
@pytest.mark.parametrize("value", [2**70, -(2**64), 1e300, "\ud800", "\u2028", "\x00"])
def test_values_that_json_writers_stumble_over(provider: str, value: object) -> None:
    called = sf.Message.assistant([{"type": "tool_call", "id": "c", "name": "f", "input": {"x": value}}])
    request = sf.build_request(provider, ["q", called, sf.Message.tool_result("c", "ok")], model="m")
    text = json.dumps(json.loads(request.body))
    assert json.dumps(value).strip('"') in text.replace("\\\\", "\\")
