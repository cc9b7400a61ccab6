"""Bodies against the request models of the vendors' own SDKs."""

from typing import Any

import pytest

import streamflow as sf
from streamflow.requests import ENDPOINTS
from streamflow.requests.blocks import AudioBlock, Base64Source, DocumentBlock, ImageBlock, TextBlock, UrlSource
from tests.requests.test_dialects import CONVERSATIONS, TOOLS, conversation
from tests.requests.test_golden import request
from tests.requests.test_history import loop_events
from tests.requests.typed_dicts import problems
from tests.requests.validators import bedrock


def models() -> dict[str, Any]:
    anthropic = pytest.importorskip("anthropic.types.message_create_params")
    chat = pytest.importorskip("openai.types.chat.completion_create_params")
    completions = pytest.importorskip("openai.types.completion_create_params")
    responses = pytest.importorskip("openai.types.responses.response_create_params")
    runs = pytest.importorskip("openai.types.beta.thread_create_and_run_params")
    return {
        "anthropic": anthropic.MessageCreateParamsStreaming,
        "openai": chat.CompletionCreateParamsStreaming,
        "openai-completions": completions.CompletionCreateParamsStreaming,
        "openai-responses": responses.ResponseCreateParamsStreaming,
        "openai-assistants": runs.ThreadCreateAndRunParamsStreaming,
    }


def gemini_problems(body: dict[str, Any]) -> list[str]:
    """What the types of google-genai, which refuse unknown fields, have against a body."""
    types = pytest.importorskip("google.genai.types")
    parts = [
        *((types.Content, content) for content in body["contents"]),
        *((types.Content, body[name]) for name in ("systemInstruction",) if name in body),
        *((types.Tool, tool) for tool in body.get("tools", ())),
        *((types.ToolConfig, body[name]) for name in ("toolConfig",) if name in body),
        *((types.GenerationConfig, body[name]) for name in ("generationConfig",) if name in body),
    ]
    found = sorted(set(body) - {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"})
    for model, value in parts:
        try:
            model.model_validate(value)
        except ValueError as error:
            found.append(str(error))
    return found


# The models of a vendor judge the rows that speak its dialect. What a row adds to it of its own is named here.
OWN_FIELDS = {"model_id": "model"}


def judged(row: str, body: dict[str, Any]) -> list[str]:
    dialect = ENDPOINTS[row].dialect
    if dialect == "gemini":
        return gemini_problems(body)
    if dialect == "bedrock":
        bedrock(body)
        return []
    model = {
        "anthropic": "anthropic",
        "openai_chat": "openai",
        "watsonx": "openai",
        "completions": "openai-completions",
        "openai_responses": "openai-responses",
        "openai_assistants": "openai-assistants",
    }[dialect]
    body = {OWN_FIELDS.get(name, name): value for name, value in body.items()}
    if dialect == "anthropic":
        body.pop("temperature", None)  # Anthropic's newest SDK has dropped it, its API has not
    if dialect == "watsonx":
        body["stream"] = True  # it is in the address
    return problems(models()[model], body)


HAVE_MODELS = [
    name for name, row in ENDPOINTS.items() if row.dialect not in ("cohere", "ollama", "google_interactions")
]


@pytest.mark.parametrize("row", HAVE_MODELS)
def test_the_golden_bodies(row: str) -> None:
    assert judged(row, request(row)["body"]) == []


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("row", ["anthropic", "openai", "openai-responses", "gemini", "bedrock"])
def test_conversations_of_every_kind(row: str, name: str) -> None:
    made = sf.build_request(
        row, CONVERSATIONS[name], model="m", tools=TOOLS, convert_unsigned_thinking_to_text=True, tool_choice="now"
    )
    assert judged(row, made.json) == []


def check(provider: str, messages: Any, **options: Any) -> None:
    body = sf.build_request(provider, messages, model="m", **options).json
    assert problems(models()[provider], body) == []


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-responses"])
def test_a_conversation_with_everything(provider: str) -> None:
    options = {} if provider == "anthropic" else {"temperature": 0.5}  # Anthropic's newest SDK has dropped it
    check(provider, conversation(provider), tools=TOOLS, max_tokens=5, tool_choice="now", **options)


def test_a_conversation_with_everything_at_gemini() -> None:
    made = sf.build_request(
        "gemini",
        conversation("gemini"),
        model="m",
        tools=TOOLS,
        max_tokens=5,
        temperature=0.5,
        top_k=3,
        stop="x",
        seed=1,
    )
    assert gemini_problems(made.json) == []
    assert gemini_problems(sf.build_request("gemini", ["hi"], "prefill", model="m").json) == []
    history = ["q", *sf.history_of(loop_events("gemini"), "gemini"), "next"]
    assert gemini_problems(sf.build_request("gemini", history, model="m").json) == []
    assert gemini_problems({"contents": [{"role": "user", "part": []}]})
    assert gemini_problems({"contents": [], "tool": []}) == ["tool"]


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-responses"])
def test_a_history_from_events(provider: str) -> None:
    check(provider, ["q", *sf.history_of(loop_events(provider), provider), "next"])


@pytest.mark.parametrize("provider", ["openai-completions", "openai-assistants"])
def test_a_simple_conversation(provider: str) -> None:
    check(provider, [sf.Message.system("Be brief."), "hi", sf.Message.assistant("Hello"), "bye"], max_tokens=5)


def test_prefill() -> None:
    log = [sf.Message.user("Hello", participant="Alice")]
    assert problems(models()["anthropic"], sf.build_request("anthropic", log, "prefill", model="m").json) == []


@pytest.mark.parametrize(
    ("provider", "block"),
    [
        ("anthropic", ImageBlock(source=UrlSource(url="https://e.org/a.png"))),
        ("anthropic", DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk="), title="A")),
        ("anthropic", DocumentBlock(source=Base64Source(media_type="text/plain", data="aGk="))),
        ("openai", ImageBlock(source=UrlSource(url="https://e.org/a.png"), detail="low")),
        ("openai", AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk="))),
        ("openai", DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk="))),
        ("openai-responses", ImageBlock(source=UrlSource(url="https://e.org/a.png"))),
        ("openai-responses", DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk="))),
        ("openai-responses", DocumentBlock(source=UrlSource(url="https://e.org/a.pdf"))),
    ],
)
def test_media(provider: str, block: Any) -> None:
    check(provider, [sf.Message.user([TextBlock(text="look"), block])])


def test_the_check_itself_finds_what_is_wrong() -> None:
    body = sf.build_request("openai", conversation("openai"), model="m").json
    model = models()["openai"]
    assert problems(model, {**body, "nope": 1}) == ["body: nope is unknown"]
    assert problems(model, {"stream": True, "model": "m"}) == ["body: messages is missing"]
    assert problems(model, {**body, "messages": [{"role": "user", "contents": "x"}]})
