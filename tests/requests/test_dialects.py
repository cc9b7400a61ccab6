"""One conversation with everything in it, in the words of each provider."""

import re
from typing import Any

import pytest
from pydantic import BaseModel

import streamflow as sf
from streamflow.requests.blocks import (
    AudioBlock,
    Base64Source,
    DocumentBlock,
    GeneratedImageBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    UrlSource,
)
from tests.requests.validators import VALIDATORS

PNG = Base64Source(media_type="image/png", data="aGk=")
PICTURE = ImageBlock(source=PNG)


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    days: int = 1


def now() -> str:
    """The time."""
    return "noon"


SCHEMA = {"name": "search", "description": "Search.", "input_schema": {"type": "object", "properties": {}}}
TOOLS = [Weather, now, SCHEMA]


def conversation(provider: str) -> list[Any]:
    return [
        sf.Message.system("Be brief."),
        sf.Message.user(["What is this?", PICTURE]),
        sf.Message.assistant(
            [
                ThinkingBlock(text="Look it up.", signature="c2lnbmVk", opaque=_reasoning(provider)),
                TextBlock(text="I will look."),
                ToolCallBlock(id="c1", name="Weather", input={"city": "Rome"}),
                ToolCallBlock(id="c2", name="now"),
            ],
            provider=provider,
        ),
        sf.Message.tool_result("c1", [TextBlock(text="sunny"), PICTURE]),
        sf.Message.tool_result("c2", "no clock", is_error=True),
        "Thanks.",
    ]


def _reasoning(provider: str) -> Any:
    if provider == "openai-responses":
        return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2lnbmVk"}
    return None


def body(provider: str, messages: Any, **options: Any) -> Any:
    return sf.build_request(provider, messages, model="m", **options).json


@pytest.mark.parametrize("provider", VALIDATORS)
def test_a_whole_conversation_passes_the_strict_validator(provider: str) -> None:
    built = body(provider, conversation(provider), tools=TOOLS, max_tokens=100)
    VALIDATORS[provider](built)


@pytest.mark.parametrize("provider", VALIDATORS)
def test_a_string_passes_the_strict_validator(provider: str) -> None:
    VALIDATORS[provider](body(provider, "hi"))


def test_anthropic() -> None:
    built = body("anthropic", conversation("anthropic"), tools=TOOLS)
    assert built["system"] == "Be brief."
    assert built["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look it up.", "signature": "c2lnbmVk"},
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "c1", "name": "Weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [
                        {"type": "text", "text": "sunny"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "c2", "content": "no clock", "is_error": True},
                {"type": "text", "text": "Thanks."},
            ],
        },
    ]
    assert built["tools"][0]["name"] == "Weather"
    assert built["tools"][0]["description"] == "The weather of a city."
    assert built["tools"][0]["input_schema"]["required"] == ["city"]
    assert built["tools"][1]["input_schema"]["type"] == "object"


def test_openai_chat() -> None:
    built = body("openai", conversation("openai"), tools=TOOLS)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    assert built["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
        {
            "role": "assistant",
            "content": "I will look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "Weather", "arguments": '{"city":"Rome"}'}},
                {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no clock"},
        {"role": "user", "content": [image]},
        {"role": "user", "content": "Thanks."},
    ]
    assert [tool["function"]["name"] for tool in built["tools"]] == ["Weather", "now", "search"]


def test_openai_responses() -> None:
    built = body("openai-responses", conversation("openai-responses"), tools=TOOLS)
    assert [item.get("type", item.get("role")) for item in built["input"]] == [
        "system",
        "user",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "user",
    ]
    assert built["input"][2]["encrypted_content"] == "c2lnbmVk"
    assert built["input"][6]["output"][1]["type"] == "input_image"
    assert built["tools"][0]["strict"] is False


def test_gemini() -> None:
    built = body("gemini", conversation("gemini"), tools=TOOLS)
    assert built["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert built["contents"][1] == {
        "role": "model",
        "parts": [
            {"text": "Look it up.", "thought": True, "thoughtSignature": "c2lnbmVk"},
            {"text": "I will look."},
            {"functionCall": {"name": "Weather", "args": {"city": "Rome"}, "id": "c1"}},
            {"functionCall": {"name": "now", "args": {}, "id": "c2"}},
        ],
    }
    assert built["contents"][2]["parts"] == [
        {"functionResponse": {"name": "Weather", "response": {"output": "sunny"}, "id": "c1"}},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"functionResponse": {"name": "now", "response": {"error": "no clock"}, "id": "c2"}},
        {"text": "Thanks."},
    ]
    assert built["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["required"] == ["city"]


def test_bedrock() -> None:
    built = body("bedrock", conversation("bedrock"), tools=TOOLS)
    assert built["messages"][1]["content"][0] == {
        "reasoningContent": {"reasoningText": {"text": "Look it up.", "signature": "c2lnbmVk"}}
    }
    assert built["messages"][2]["content"][1]["toolResult"]["status"] == "error"
    assert built["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"]["required"] == ["city"]


def test_cohere_and_ollama() -> None:
    assert body("cohere", "hi", stream=False)["stream"] is False
    history = [sf.Message.user("?"), *conversation("ollama")[2:]]
    built = body("ollama", history)
    assert built["messages"][1]["thinking"] == "Look it up."
    assert built["messages"][1]["tool_calls"][0] == {"function": {"name": "Weather", "arguments": {"city": "Rome"}}}
    assert built["messages"][2] == {"role": "tool", "content": "sunny", "tool_name": "Weather", "images": ["aGk="]}


@pytest.mark.parametrize(
    ("provider", "field", "expected"),
    [
        ("deepseek", "reasoning_content", "hm"),
        ("moonshot", "reasoning_content", "hm"),
        ("openrouter", "reasoning_details", [{"type": "reasoning.text", "text": "hm", "signature": "s"}]),
    ],
)
def test_thoughts_go_back_where_the_vendor_wants_them(provider: str, field: str, expected: Any) -> None:
    details = [{"type": "reasoning.text", "text": "hm", "signature": "s"}]
    said = sf.Message.assistant([ThinkingBlock(text="hm", opaque=details), TextBlock(text="a")], provider=provider)
    assert body(provider, ["q", said, "r"])["messages"][1][field] == expected


def test_thoughts_stay_away_from_a_vendor_that_did_not_think_them() -> None:
    said = sf.Message.assistant([ThinkingBlock(text="hm"), TextBlock(text="a")], provider="deepseek")
    assert body("openai", ["q", said, "r"])["messages"][1] == {"role": "assistant", "content": "a"}
    assert body("moonshot", ["q", said, "r"])["messages"][1]["reasoning_content"] == "hm"  # one dialect, one family


def test_signatures_go_only_to_their_maker() -> None:
    said = sf.Message.assistant([TextBlock(text="a", signature="c2ln")], provider="gemini")
    assert body("gemini", ["q", said, "r"])["contents"][1]["parts"] == [{"text": "a", "thoughtSignature": "c2ln"}]
    assert "c2ln" in str(body("vertex", ["q", said, "r"], project="p", location="global"))
    assert "c2ln" not in str(body("anthropic", ["q", said, "r"]))
    foreign = said.model_copy(update={"provider": "openai"})
    assert body("gemini", ["q", foreign, "r"])["contents"][1]["parts"] == [{"text": "a"}]


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_unsigned_thinking_is_an_error_that_says_what_to_do(provider: str) -> None:
    said = sf.Message.assistant([ThinkingBlock(text="hm"), TextBlock(text="a")])
    with pytest.raises(sf.UsageError, match="convert_unsigned_thinking_to_text=True"):
        body(provider, ["q", said, "r"])
    foreign = sf.Message.assistant([ThinkingBlock(text="hm", signature="s"), TextBlock(text="a")], provider="gemini")
    with pytest.raises(sf.UsageError, match="without a signature"):
        body(provider, ["q", foreign, "r"])


def test_unsigned_thinking_becomes_text_on_request() -> None:
    said = sf.Message.assistant([ThinkingBlock(text="hm"), TextBlock(text="a")])
    built = body("anthropic", ["q", said, "r"], convert_unsigned_thinking_to_text=True)
    assert built["messages"][1]["content"][0] == {"type": "text", "text": "<thinking>hm</thinking>"}
    VALIDATORS["anthropic"](built)


def test_redacted_thinking_goes_back_unchanged_on_both_roads_to_claude() -> None:
    said = sf.Message.assistant(
        [ThinkingBlock(opaque={"type": "redacted_thinking", "data": "ZGF0YQ=="}), TextBlock(text="a")],
        provider="anthropic",
    )
    direct = body("anthropic", ["q", said, "r"])["messages"][1]["content"][0]
    assert direct == {"type": "redacted_thinking", "data": "ZGF0YQ=="}
    aws = body("bedrock", ["q", said, "r"])["messages"][1]["content"][0]
    assert aws == {"reasoningContent": {"redactedContent": "ZGF0YQ=="}}


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "openai-responses", "bedrock", "cohere"])
def test_a_call_without_a_result_is_refused_before_the_provider_does(provider: str) -> None:
    called = sf.Message.assistant([ToolCallBlock(id="c1", name="f")])
    with pytest.raises(sf.UsageError, match=r"f \(c1\)"):
        body(provider, ["q", called, "r"])


@pytest.mark.parametrize("provider", VALIDATORS)
@pytest.mark.parametrize("value", ["", None, {}])
def test_no_input_is_an_empty_object(provider: str, value: Any) -> None:
    called = sf.Message.assistant([ToolCallBlock(id="c1", name="f", input=value)])
    built = body(provider, ["q", called, sf.Message.tool_result("c1", "ok")])
    VALIDATORS[provider](built)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "bedrock"])
def test_generated_pictures_can_be_shown_again(provider: str) -> None:
    drawn = sf.Message.assistant([TextBlock(text="Here."), GeneratedImageBlock(data="aGk=")], provider=provider)
    built = body(provider, ["draw", drawn, "bigger"])
    VALIDATORS[provider](built)
    assert "aGk=" in str(built)


def test_a_picture_of_the_responses_api_goes_back_as_its_call() -> None:
    drawn = sf.Message.assistant([GeneratedImageBlock(data="aGk=", opaque={"id": "ig_1"})], provider="openai-responses")
    built = body("openai-responses", ["draw", drawn, "bigger"])
    assert built["input"][1] == {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": "aGk=",
    }


def test_previews_are_never_sent() -> None:
    drawn = sf.Message.assistant([TextBlock(text="Here."), GeneratedImageBlock(data="cHJl", is_preview=True)])
    for provider in ("anthropic", "openai", "gemini", "openai-responses", "bedrock", "ollama"):
        assert "cHJl" not in str(body(provider, ["draw", drawn, "bigger"]))


@pytest.mark.parametrize(
    ("provider", "block", "expected"),
    [
        ("openai", AudioBlock(source=Base64Source(media_type="audio/mpeg", data="aGk=")), '"format":"mp3"'),
        ("gemini", AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk=")), '"mimeType":"audio/wav"'),
        ("gemini", ImageBlock(source=UrlSource(url="https://e.org/a.png", media_type="image/png")), '"fileUri"'),
        (
            "anthropic",
            ImageBlock(source=UrlSource(url="https://e.org/a.png")),
            '"type":"url","url":"https://e.org/a.png"',
        ),
        ("anthropic", DocumentBlock(source=Base64Source(media_type="text/plain", data="aGk=")), '"data":"hi"'),
        ("openai", DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk=")), '"file_data"'),
        ("openai-responses", DocumentBlock(source=UrlSource(url="https://e.org/a.pdf")), '"file_url"'),
        ("bedrock", DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk=")), '"format":"pdf"'),
        ("cohere", PICTURE, '"url":"data:image/png;base64,aGk="'),
        ("ollama", PICTURE, '"images":["aGk="]'),
    ],
)
def test_media(provider: str, block: Any, expected: str) -> None:
    request = sf.build_request(provider, [sf.Message.user(["look", block])], model="m")
    assert expected in request.body.decode()


@pytest.mark.parametrize(
    ("provider", "block"),
    [
        ("anthropic", AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk="))),
        ("cohere", DocumentBlock(source=PNG)),
        ("ollama", ImageBlock(source=UrlSource(url="https://e.org/a.png"))),
        ("deepseek", PICTURE),
        ("bedrock", ImageBlock(source=UrlSource(url="https://e.org/a.png"))),
    ],
)
def test_what_a_provider_cannot_take_is_an_error(provider: str, block: Any) -> None:
    with pytest.raises(sf.UsageError, match=f"{provider} cannot take"):
        body(provider, [sf.Message.user([block])])


@pytest.mark.parametrize(
    ("provider", "choice", "expected"),
    [
        ("openai", "required", "required"),
        ("openai", "now", {"type": "function", "function": {"name": "now"}}),
        ("openai-responses", "now", {"type": "function", "name": "now"}),
        ("anthropic", "required", {"type": "any"}),
        ("anthropic", "now", {"type": "tool", "name": "now"}),
        ("cohere", "required", "REQUIRED"),
    ],
)
def test_tool_choice(provider: str, choice: str, expected: Any) -> None:
    assert body(provider, "hi", tools=TOOLS, tool_choice=choice)["tool_choice"] == expected


def test_tool_choice_of_gemini_and_bedrock() -> None:
    assert body("gemini", "hi", tools=TOOLS, tool_choice="now")["toolConfig"] == {
        "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["now"]}
    }
    chosen = body("bedrock", "hi", tools=TOOLS, tool_choice="now")["toolConfig"]["toolChoice"]
    assert chosen == {"tool": {"name": "now"}}


def test_a_new_thread_of_an_assistant_has_no_calls() -> None:
    called = sf.Message.assistant([ToolCallBlock(id="c1", name="f")])
    with pytest.raises(sf.UsageError, match="openai-assistants cannot take tool calls"):
        body("openai-assistants", ["q", called, sf.Message.tool_result("c1", "ok")])


def test_tools_of_the_provider_are_passed_on() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
    assert body("anthropic", "hi", tools=[search, now])["tools"][0] == search
    assert body("gemini", "hi", tools=[{"googleSearch": {}}])["tools"] == [{"googleSearch": {}}]
    draw = {"type": "image_generation"}
    assert body("openai-responses", "hi", tools=[draw])["tools"] == [draw]


def test_participants_have_a_field_where_the_provider_has_one() -> None:
    said = [sf.Message.user("hi", participant="Ada Lovelace")]
    assert body("openai", said)["messages"][0]["name"] == "Ada_Lovelace"
    assert "name" not in body("mistral", said)["messages"][0]


def test_a_begun_answer_is_marked_where_that_is_needed() -> None:
    begun = ["hi", sf.Message.assistant("Hello ")]
    assert body("mistral", begun)["messages"][-1] == {"role": "assistant", "content": "Hello", "prefix": True}
    assert body("vllm", begun)["continue_final_message"] is True
    assert body("anthropic", begun)["messages"][-1]["content"] == [{"type": "text", "text": "Hello"}]


def test_histories_in_the_words_of_others_are_understood() -> None:
    chat = [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    built = body("anthropic", chat)
    VALIDATORS["anthropic"](built)
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]},
    ]
    assert body("anthropic", messages)["messages"] == built["messages"]
    VALIDATORS["openai"](body("openai", messages))


def test_results_in_one_message_or_in_many_are_the_same() -> None:
    called = sf.Message.assistant([ToolCallBlock(id="a", name="f"), ToolCallBlock(id="b", name="f")])
    together = sf.Message(
        role="tool", content=[ToolResultBlock(tool_id="a", content="1"), ToolResultBlock(tool_id="b", content="2")]
    )
    apart = [sf.Message.tool_result("a", "1"), sf.Message.tool_result("b", "2")]
    for provider in VALIDATORS:
        assert body(provider, ["q", called, together]) == body(provider, ["q", called, *apart])


def test_marks_of_the_providers_own_come_through() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "Be brief.", **mark}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look.", **mark},
                {"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}, **mark},
            ],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}, **mark}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok", **mark}]},
    ]
    built = body("anthropic", messages)
    VALIDATORS["anthropic"](built)
    assert built["system"] == [{"type": "text", "text": "Be brief.", **mark}]
    marks = [block["cache_control"] for turn in built["messages"] for block in turn["content"]]
    assert marks == [mark["cache_control"]] * 4
    assert "cache_control" not in str(body("openai", messages))
    assert "cache_control" not in str(body("gemini", messages))


@pytest.mark.parametrize(
    ("provider", "form"),
    [
        ("mistral", r"[a-zA-Z0-9]{9}"),
        ("anthropic", r"[a-zA-Z0-9_-]{1,64}"),
        ("bedrock", r"[a-zA-Z0-9_-]{1,64}"),
        ("openai", r".{1,40}"),
    ],
)
@pytest.mark.parametrize("id", ["functions.f:0", "call_" + "x" * 80, "D681PevKs", "é"])
def test_foreign_ids_of_calls_are_made_to_fit(provider: str, form: str, id: str) -> None:
    called = sf.Message.assistant([ToolCallBlock(id=id, name="f")])
    text = str(body(provider, ["q", called, sf.Message.tool_result(id, "ok")]))
    ids = re.findall(r"'(?:id|tool_call_id|tool_use_id|toolUseId)': '([^']*)'", text)
    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert re.fullmatch(form, ids[0])
    if re.fullmatch(form, id):
        assert ids[0] == id


def test_mistral_wants_an_answer_between_results_and_the_user() -> None:
    called = sf.Message.assistant([ToolCallBlock(id="D681PevKs", name="f")])
    built = body("mistral", ["q", called, sf.Message.tool_result("D681PevKs", "ok"), "next"])
    assert [message["role"] for message in built["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert len(body("mistral", ["q", called, sf.Message.tool_result("D681PevKs", "ok")])["messages"]) == 3


def test_nothing_of_a_turn_with_calls_is_lost_at_cohere_and_ollama() -> None:
    built = body("cohere", conversation("cohere"))["messages"]
    assert built[2]["content"] == "I will look."
    assert built[2]["tool_plan"] == "Look it up."
    assert built[5]["content"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]
    assert body("ollama", conversation("ollama"))["messages"][3]["images"] == ["aGk="]


@pytest.mark.parametrize("provider", VALIDATORS)
def test_the_assistant_may_have_spoken_first(provider: str) -> None:
    built = body(provider, [sf.Message.system("Greet."), sf.Message.assistant("Good day!"), "hi"])
    VALIDATORS[provider](built)
    assert "Good day!" in str(built)


# -- conversations of every kind, before every judge

CSV = DocumentBlock(source=Base64Source(media_type="text/csv", data="YSxi"))
PDF = DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk="), title="My doc.pdf")


def called(*ids: str, **fields: Any) -> Any:
    return sf.Message.assistant([ToolCallBlock(id=id, name="now") for id in ids], **fields)


def answered(id: str, *content: Any) -> ToolResultBlock:
    return ToolResultBlock(tool_id=id, content=list(content))


CONVERSATIONS: dict[str, list[Any]] = {
    "two turns of one speaker": ["a", "b", sf.Message.assistant("x"), sf.Message.assistant("y"), "c"],
    "words around a picture": [sf.Message.user(["a", PICTURE, "b"])],
    "a picture alone": [sf.Message.user([PICTURE])],
    "results out of order": ["a", called("1", "2"), sf.Message.tool_result("2", "b"), sf.Message.tool_result("1", "a")],
    "pictures in results": [
        "a",
        called("1", "2"),
        sf.Message.tool_result("1", [PICTURE]),
        sf.Message.tool_result("2", [TextBlock(text="b"), PICTURE]),
        "go on",
    ],
    "results of the user": [
        "a",
        called("1", "2"),
        sf.Message.user([TextBlock(text="see"), answered("1", PICTURE)]),
        sf.Message.user([answered("2", TextBlock(text="b"))]),
    ],
    "an empty result": ["a", called("1"), sf.Message.tool_result("1", "")],
    "a picture before a call": [
        "a",
        sf.Message.assistant([GeneratedImageBlock(data="aGk="), ToolCallBlock(id="1", name="now")]),
        sf.Message.tool_result("1", "noon"),
    ],
    "a picture and nothing else": ["a", sf.Message.assistant([GeneratedImageBlock(data="aGk=")]), "b"],
    "calls of another": ["a", called("call|1/é", provider="deepseek"), sf.Message.tool_result("call|1/é", "noon")],
    "a thought of another": [
        "a",
        sf.Message.assistant([ThinkingBlock(text="hm", signature="s"), TextBlock(text="b")], provider="cohere"),
        "c",
    ],
    "an empty turn": ["a", sf.Message.assistant([]), "b", sf.Message.user(""), "c"],
    "white space": ["a", sf.Message.assistant(" "), "b"],
    "a begun answer": ["a", sf.Message.assistant("Once ")],
    "instructions in between": ["a", {"role": "developer", "content": "now"}, "b"],
    "input that is no object": [
        "a",
        sf.Message.assistant([ToolCallBlock(id="1", name="now", input="fast")]),
        sf.Message.tool_result("1", "noon"),
    ],
}


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("provider", VALIDATORS)
def test_conversations_of_every_kind(provider: str, name: str) -> None:
    built = body(provider, CONVERSATIONS[name], tools=TOOLS, convert_unsigned_thinking_to_text=True)
    VALIDATORS[provider](built)


def test_the_result_of_a_foreign_call_has_an_id_only_where_the_call_has_one() -> None:
    built = body("gemini", CONVERSATIONS["calls of another"])
    assert built["contents"][1]["parts"] == [{"functionCall": {"name": "now", "args": {}}}]
    assert built["contents"][2]["parts"] == [{"functionResponse": {"name": "now", "response": {"output": "noon"}}}]


def test_text_of_any_kind_is_a_document_at_anthropic() -> None:
    built = body("anthropic", [sf.Message.user(["look", CSV])])
    source = {"type": "text", "media_type": "text/plain", "data": "a,b"}
    assert built["messages"][0]["content"][1] == {"type": "document", "source": source}
    latin = DocumentBlock(source=Base64Source(media_type="text/plain", data="/w=="))
    with pytest.raises(sf.UsageError, match="not UTF-8"):
        body("anthropic", [sf.Message.user([latin])])


def test_documents_at_bedrock_have_names_of_their_own() -> None:
    told = [sf.Message.user(["a", PDF, PDF]), called("1"), sf.Message.tool_result("1", [PDF]), "go on"]
    built = body("bedrock", told, tools=TOOLS)
    VALIDATORS["bedrock"](built)
    assert re.findall(r"'name': '(My doc[^']*)'", str(built)) == ["My doc pdf", "My doc pdf 2", "My doc pdf 3"]


def test_bedrock_hears_of_the_tools_of_a_history() -> None:
    told = ["a", called("1", "2"), sf.Message.tool_result("1", "noon"), sf.Message.tool_result("2", "one"), "b"]
    assert body("bedrock", told)["toolConfig"] == {
        "tools": [{"toolSpec": {"name": "now", "inputSchema": {"json": {"type": "object", "properties": {}}}}}]
    }
    assert "toolConfig" not in body("bedrock", "hi")


@pytest.mark.parametrize("provider", [*VALIDATORS, "mistral", "deepseek", "groq", "openrouter"])
def test_a_foreign_thought_is_text_everywhere_on_request_and_nowhere_without(provider: str) -> None:
    told = ["a", sf.Message.assistant([ThinkingBlock(text="deep", signature="s"), TextBlock(text="b")]), "c"]
    told[1] = told[1].model_copy(update={"provider": "gemini" if provider == "anthropic" else "anthropic"})
    if provider == "bedrock":
        told[1] = told[1].model_copy(update={"provider": "gemini"})  # Claude's signatures are good there
    if provider != "ollama":  # it takes anybody's thoughts
        built = body(provider, told, convert_unsigned_thinking_to_text=True)
        assert "<thinking>deep</thinking>" in str(built)
        if provider in VALIDATORS:
            VALIDATORS[provider](built)
    if provider not in ("anthropic", "bedrock", "ollama"):
        assert "deep" not in str(body(provider, told))
