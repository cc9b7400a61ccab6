"""The encoders of foreign protocols, without HTTP."""

from random import Random

import pytest
from ag_ui.core import Event as AgUiEvent
from msgspec import json
from pydantic import TypeAdapter

import streamflow as sf
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    ErrorInfo,
    GeneratedImage,
    Image,
    Notice,
    Retrying,
    StreamCompleted,
    StreamFailed,
    StreamStart,
)
from streamflow.operators import tool_accumulate
from streamflow.server import agui, anthropic_compat, openai_compat, vercel
from streamflow.testing import Answer, Cite, Cut, ErrorEvent, Refusal, Text, Thinking, ToolUse, cuts, encode

ENCODERS = {
    "openai": lambda: openai_compat.ChatChunks("c", 0, "m", True),
    "anthropic": lambda: anthropic_compat.MessageEvents("msg", "m"),
    "vercel": lambda: vercel.UIMessageStream("msg"),
    "agui": lambda: agui.RunEvents("t", "r"),
}
ANSWERS = {
    "text": Answer("Hello there, dear reader."),
    "everything": Answer(
        Thinking("Let me see.", signature="c2ln"),
        Text("Well, "),
        Cite("https://example.org", "E", "Well"),
        ToolUse("a", {"x": 1}),
        ToolUse("b", {}),
    ),
    "refused": Answer(Refusal("No.")),
    "cut": Answer(Text("Hello "), Cut()),
    "failed": Answer(Text("Hello "), ErrorEvent()),
    "empty": Answer(Text("")),
    "broken call": Answer(ToolUse("a", "{oops")),
    "cut call": Answer(Text("x"), ToolUse("a", '{"x": ', complete=False), Cut()),
}
PROVIDERS = ["openai", "anthropic", "gemini", "ollama", "openai-responses", "cohere", "bedrock"]


def written(encoder, events):
    return [item for event in events for item in encoder.feed(event)]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_ag_ui_is_valid_and_everything_is_closed(provider, answer):
    events = sf.decode(provider, encode(provider, answer), tool_accumulate())
    made = written(agui.RunEvents("t", "r"), events)
    adapter = TypeAdapter(AgUiEvent)
    for event in made:
        adapter.validate_python(event)
        assert None not in event.values()
    assert made[0]["type"] == "RUN_STARTED"
    assert made[-1]["type"] == ("RUN_FINISHED" if isinstance(events[-1], StreamCompleted) else "RUN_ERROR")
    open_parts = set()
    for event in made:
        key = event.get("toolCallId") or event.get("messageId")
        if event["type"].endswith("_START"):
            open_parts.add((event["type"].removesuffix("_START"), key))
        if event["type"].endswith("_END"):
            open_parts.remove((event["type"].removesuffix("_END"), key))
    assert not open_parts


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_vercel_parts_are_begun_once_and_ended(provider, answer):
    events = sf.decode(provider, encode(provider, answer), tool_accumulate())
    made = written(vercel.UIMessageStream("m"), events)
    assert [made[0]["type"], made[1]["type"], made[-1]] == ["start", "start-step", "[DONE]"]
    assert made[-2]["type"] in ("finish", "error")
    open_parts = []
    for part in made[:-1]:
        kind, _, step = part["type"].rpartition("-")
        if kind in ("text", "reasoning"):
            if step == "start":
                open_parts.append((kind, part["id"]))
            assert (kind, part["id"]) in open_parts
            if step == "end":
                open_parts.remove((kind, part["id"]))
        if part["type"] in ("finish-step", "finish", "error"):
            assert not open_parts
    starts = [part["toolCallId"] for part in made[:-1] if part["type"] == "tool-input-start"]
    ends = [part["toolCallId"] for part in made[:-1] if part["type"] in ("tool-input-available", "tool-input-error")]
    assert sorted(starts) == sorted(ends)
    assert len(set(starts)) == len(starts)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_what_we_write_is_read_back_by_ourselves(provider, answer, form):
    events = sf.decode(provider, encode(provider, answer), tool_accumulate())
    original = sf.collect(events)
    wire = b""
    for item in written(ENCODERS[form](), events):
        name = f"event: {item['type']}\n" if form == "anthropic" else ""
        wire += f"{name}data: {item if item == '[DONE]' else json.encode(item).decode()}\n\n".encode()
    again = sf.read(form, wire)
    assert again.complete is original.complete
    assert again.text == original.text + original.refusal
    assert again.thinking == original.thinking
    if original.complete:
        assert [(call.name, call.arguments, bool(call.error)) for call in again.tool_calls] == [
            (call.name, call.arguments, bool(call.error)) for call in original.tool_calls
        ]
        assert again.stop_reason == original.stop_reason or "refus" in str(original.stop_reason)
    else:
        assert not [call for call in again.tool_calls if call.runnable]


@pytest.mark.parametrize("make", ENCODERS.values(), ids=ENCODERS)
def test_cut_anywhere_same_words(make):
    wire = b"".join(encode("anthropic", ANSWERS["everything"]))
    expected = _merged(written(make(), sf.decode("anthropic", wire, tool_accumulate())))
    for pieces in (cuts.single(wire), cuts.at_random(wire, Random(1)), cuts.at_random(wire, Random(2), 200)):
        assert _merged(written(make(), sf.decode("anthropic", pieces, tool_accumulate()))) == expected


def _merged(items):
    return "".join(json.encode(item).decode() for item in items)


@pytest.mark.parametrize("make", ENCODERS.values(), ids=ENCODERS)
def test_nothing_follows_the_end(make):
    for end in (StreamCompleted(), StreamCompleted("cancelled"), StreamFailed(ErrorInfo("StreamTruncated", "cut"))):
        encoder = make()
        assert written(encoder, [StreamStart(), end])
        assert written(encoder, [Notice("late"), Chunk(9, "text", "late"), StreamCompleted()]) == []


@pytest.mark.parametrize("make", ENCODERS.values(), ids=ENCODERS)
def test_an_answer_that_is_begun_anew_ends_with_an_error_where_something_was_said(make):
    begun = [StreamStart(), BlockStart(0, "text"), Chunk(0, "text", "Hel")]
    retry = Retrying(1, 2, "cut", discard=True)
    assert "rror" in str(written(make(), [*begun, retry])) or "ERROR" in str(written(make(), [*begun, retry]))
    quiet = written(make(), [StreamStart(), retry, StreamStart(), StreamCompleted()])
    assert "rror" not in str(quiet)
    assert "ERROR" not in str(quiet)


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_stop_never_looks_finished(form):
    items = written(ENCODERS[form](), [StreamStart(), Chunk(0, "text", "Hel"), StreamCompleted("cancelled")])
    assert "error" in items[-1]
    assert "[DONE]" not in items


def test_overlapping_calls_become_blocks_one_after_the_other_for_anthropic():
    events = [
        StreamStart(),
        BlockStart(0, "tool_call"),
        BlockStart(1, "tool_call"),
        Chunk(0, "tool_call", "{", part="input", tool_id="a", tool_name="f", visible=False),
        Chunk(1, "tool_call", "{", part="input", tool_id="b", tool_name="g", visible=False),
        Chunk(0, "tool_call", "}", part="input", tool_id="a", tool_name="f", visible=False),
        Chunk(1, "tool_call", "}", part="input", tool_id="b", tool_name="g", visible=False),
        BlockComplete(0, "tool_call", "{}", tool_id="a", tool_name="f", input={}),
        BlockComplete(1, "tool_call", "{}", tool_id="b", tool_name="g", input={}),
        StreamCompleted("tool_use"),
    ]
    made = written(anthropic_compat.MessageEvents("m", "m"), events)
    assert [event["index"] for event in made if "index" in event] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_pictures_and_sources_for_vercel():
    image = Image(GeneratedImage("image/png", data="aGk="))
    made = written(vercel.UIMessageStream("m"), [StreamStart(), Citation(0, "https://a.example", "A"), image])
    assert made[2] == {"type": "source-url", "sourceId": "source-1", "url": "https://a.example", "title": "A"}
    assert made[3] == {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="}


def test_a_conversation_of_vercels_becomes_one_of_ours():
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool-a", "toolCallId": "1", "state": "output-available", "input": {"x": 1}, "output": {"y": 2}},
        {"type": "dynamic-tool", "toolName": "b", "toolCallId": "2", "state": "output-error", "input": {},
         "errorText": "broken"},
        {"type": "tool-c", "toolCallId": "3", "state": "input-available", "input": {}},
        {"type": "tool-d", "toolCallId": "4", "state": "input-streaming"},
        {"type": "step-start"},
        {"type": "text", "text": "Done."},
        {"type": "data-notice", "data": {}},
    ]  # fmt: skip
    picture = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="}
    said = vercel.conversation(
        [
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}, picture]},
            {"id": "2", "role": "assistant", "parts": parts},
            {"id": "3", "role": "user", "parts": [{"type": "text", "text": "thanks"}]},
        ]
    )
    messages = sf.as_messages(said)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool", "tool", "assistant", "user"]
    assert [call.name for call in messages[1].tool_calls] == ["a", "b", "c"]
    assert [message.tool_results[0].is_error for message in messages[2:5]] == [False, True, True]
    for provider in ("openai", "anthropic", "gemini"):
        sf.build_request(provider, messages, model="m", api_key="k")


def test_a_conversation_of_ag_ui_becomes_one_of_ours():
    picture = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    run = agui.RunInput(
        "t",
        "r",
        [
            {"id": "1", "role": "user", "content": [{"type": "text", "text": "hi"}, picture]},
            {"id": "2", "role": "reasoning", "content": "hm"},
            {"id": "3", "role": "assistant", "toolCalls": [call]},
            {"id": "4", "role": "tool", "toolCallId": "c", "content": "sunny"},
        ],
        context=[{"description": "place", "value": "Rome"}],
    )
    messages = sf.as_messages(agui.conversation(run))
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool"]
    assert messages[0].text == "place: Rome"
    sf.build_request("anthropic", messages, model="m", api_key="k", tools=agui.tool_definitions(run))
