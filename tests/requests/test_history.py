"""Stream, events, history, next request: signatures byte-equal and in order, every call with a result."""

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

import streamflow as sf
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    GeneratedImage,
    Image,
    Stamped,
    StreamCompleted,
    StreamStart,
    ToolCall,
    ToolCallsReady,
)
from streamflow.requests.history import INTERRUPTED
from tests.requests.validators import VALIDATORS
from tests.support import corpus


def sse(*payloads: dict[str, Any], done: bool = False) -> bytes:
    frames = [f"data: {json.dumps(payload)}\n\n" for payload in payloads]
    return "".join([*frames, "data: [DONE]\n\n" if done else ""]).encode()


def anthropic(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], stop: str = "tool_use") -> bytes:
    payloads: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "msg_1", "model": "m"}}]
    for index, (start, deltas) in enumerate(blocks):
        payloads.append({"type": "content_block_start", "index": index, "content_block": start})
        payloads += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        payloads.append({"type": "content_block_stop", "index": index})
    payloads += [{"type": "message_delta", "delta": {"stop_reason": stop}}, {"type": "message_stop"}]
    return sse(*payloads)


THOUGHT = (
    {"type": "thinking", "thinking": "", "signature": ""},
    [
        {"type": "thinking_delta", "thinking": "Hm"},
        {"type": "signature_delta", "signature": "AB+/"},
        {"type": "signature_delta", "signature": "c=="},
    ],
)
REDACTED = ({"type": "redacted_thinking", "data": "ZW5jcnlwdGVk+/=="}, [])
CALL = (
    {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
    [{"type": "input_json_delta", "partial_json": '{"city": "Rome"}'}],
)
BARE_CALL = ({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}, [])


def next_body(provider: str, wire: bytes) -> Any:
    said = sf.message_of(sf.read(provider, wire), provider)
    results = [sf.Message.tool_result(call.id, "ok") for call in said.tool_calls]
    body = sf.build_request(provider, ["q", said, *results, "next"], model="m").json
    VALIDATORS[provider](body)
    return body


def test_anthropic_signed_and_redacted_thinking_with_calls() -> None:
    content = next_body("anthropic", anthropic(THOUGHT, REDACTED, CALL, BARE_CALL))["messages"][1]["content"]
    assert content == [
        {"type": "thinking", "thinking": "Hm", "signature": "AB+/c=="},
        {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk+/=="},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Rome"}},
        {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
    ]


def test_anthropic_server_tools_and_citations_go_back() -> None:
    used = ({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}, [])
    found = (
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srv_1",
            "content": [{"type": "web_search_result", "url": "https://e.org", "encrypted_content": "RW5j"}],
        },
        [],
    )
    citation = {"type": "web_search_result_location", "url": "https://e.org", "encrypted_index": "SWR4"}
    text = (
        {"type": "text", "text": ""},
        [{"type": "text_delta", "text": "Sunny."}, {"type": "citations_delta", "citation": citation}],
    )
    content = next_body("anthropic", anthropic(used, found, text, stop="end_turn"))["messages"][1]["content"]
    assert content == [used[0], found[0], {"type": "text", "text": "Sunny.", "citations": [citation]}]


def test_gemini_signatures_on_text_and_calls() -> None:
    parts = [
        {"text": "Hm", "thought": True},
        {"text": "Let me see.", "thoughtSignature": "dGV4dA=="},
        {"functionCall": {"name": "weather", "args": {"city": "Rome"}}, "thoughtSignature": "Y2FsbA=="},
        {"functionCall": {"name": "now", "args": {}}},
    ]
    wire = sse({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "responseId": "r1"})
    contents = next_body("gemini", wire)["contents"]
    assert contents[1]["parts"] == parts[1:]
    assert [part["functionResponse"]["name"] for part in contents[2]["parts"][:2]] == ["weather", "now"]
    assert "id" not in contents[2]["parts"][0]["functionResponse"]


def test_gemini_signature_of_an_empty_text() -> None:
    parts = [{"text": "Done."}, {"text": "", "thoughtSignature": "ZW5k"}]
    wire = sse({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    written = next_body("gemini", wire)["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in written][-1] == "ZW5k"


def test_responses_encrypted_reasoning() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z0FBQUFB+/=="}
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "weather",
        "arguments": '{"city": "Rome"}',
        "status": "completed",
    }
    response = {"id": "resp_1", "model": "m", "status": "completed", "output": [reasoning, call]}
    wire = sse(
        {"type": "response.created", "response": {"id": "resp_1", "model": "m"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**reasoning, "encrypted_content": ""}},
        {"type": "response.output_item.done", "output_index": 0, "item": reasoning},
        {"type": "response.output_item.added", "output_index": 1, "item": {**call, "arguments": ""}},
        {"type": "response.output_item.done", "output_index": 1, "item": call},
        {"type": "response.completed", "response": response},
    )
    items = next_body("openai-responses", wire)["input"]
    assert items[1] == reasoning
    assert {name: items[2][name] for name in ("id", "call_id", "arguments")} == {
        "id": "fc_1",
        "call_id": "call_1",
        "arguments": '{"city": "Rome"}',
    }


def test_a_call_loses_its_item_id_with_its_reasoning() -> None:
    said = sf.Message.assistant(
        [{"type": "tool_call", "id": "call_1", "name": "f", "opaque": {"id": "fc_1"}}], provider="openai-responses"
    )
    body = sf.build_request("openai-responses", ["q", said, sf.Message.tool_result("call_1", "ok")], model="m").json
    assert "id" not in body["input"][1]


def test_openrouter_details() -> None:
    details = [
        {"type": "reasoning.text", "text": "Hm", "index": 0, "format": "anthropic-claude-v1"},
        {"type": "reasoning.text", "text": ", yes", "index": 0},
        {"type": "reasoning.text", "signature": "c2ln+/==", "index": 0},
        {"type": "reasoning.encrypted", "data": "ZW5j", "index": 1},
    ]
    chunks = [{"choices": [{"delta": {"reasoning_details": [detail]}}]} for detail in details]
    wire = sse(*chunks, {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}, done=True)
    said = sf.message_of(sf.read("openrouter", wire), "openrouter")
    body = sf.build_request("openrouter", ["q", said, "next"], model="m").json
    assert body["messages"][1]["reasoning_details"] == [
        {
            "type": "reasoning.text",
            "text": "Hm, yes",
            "index": 0,
            "format": "anthropic-claude-v1",
            "signature": "c2ln+/==",
        },
        {"type": "reasoning.encrypted", "data": "ZW5j", "index": 1},
    ]


def test_the_arguments_go_back_as_the_model_wrote_them() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{ "a" : 1 }'}}
    wire = sse({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}, done=True)
    body = next_body("openai", wire)
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{ "a" : 1 }'


@pytest.mark.parametrize("arguments", ['{"a": ', "not json", "[1, 2", '"text'])
def test_arguments_that_are_no_json_leave_a_valid_history(arguments: str) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}}
    wire = sse({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}, done=True)
    said = sf.message_of(sf.read("openai", wire), "openai")
    assert said.tool_calls[0].input == {"INVALID_JSON": arguments}
    next_body("openai", wire)


def test_signed_pictures_keep_their_place_among_the_parts() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "cGlj"}
    parts = [{"text": "Here:"}, picture, {"text": "And:"}, {**picture, "thoughtSignature": "dHdv"}]
    wire = sse({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    assert next_body("gemini", wire)["contents"][1]["parts"] == parts
    made = sf.Response(blocks=[BlockComplete(0, "text", "a")], images=[GeneratedImage(data="aGk=")], complete=True)
    assert [block.type for block in sf.message_of(made).content] == ["text", "generated_image"]


def test_text_picture_text_stay_in_order() -> None:
    picture = Image(GeneratedImage("image/png", data="aGk=", id="ig_1"))
    events = [
        BlockComplete(0, "text", "Before."),
        picture,
        BlockComplete(1, "text", "After."),
        StreamCompleted(),
    ]
    (said,) = sf.history_of(events, "gemini")
    assert [block.type for block in said.content] == ["text", "generated_image", "text"]


# -- a loop of two tools in two rounds, cancelled after every event


def loop_events(provider: str) -> list[Any]:
    signed: dict[str, Any] = {
        "anthropic": {"type": "thinking", "signature": "c2ln"},
        "bedrock": {"signature": "c2ln"},
        "openai-responses": {"type": "reasoning", "id": "rs_1", "summary": []},
        "gemini": {"thoughtSignature": "c2ln"},
    }
    opaque = signed.get(provider)

    def turn(first: int, ids: Iterable[str]) -> list[Any]:
        events: list[Any] = [
            BlockStart(first, "thinking"),
            Chunk(first, "thinking", "Hm", visible=False),
            BlockComplete(first, "thinking", "Hm", opaque=opaque),
            BlockStart(first + 1, "text"),
            Chunk(first + 1, "text", "Let me "),
            Chunk(first + 1, "text", "see."),
            BlockComplete(first + 1, "text", "Let me see."),
        ]
        for index, id in enumerate(ids, first + 2):
            events += [
                BlockStart(index, "tool_call"),
                Chunk(index, "tool_call", "f", visible=False, part="name", tool_id=id, tool_name="f"),
                Chunk(index, "tool_call", '{"a":', visible=False, part="input", tool_id=id, tool_name="f"),
                Chunk(index, "tool_call", "1}", visible=False, part="input", tool_id=id, tool_name="f"),
                BlockComplete(index, "tool_call", '{"a":1}', tool_id=id, tool_name="f", input={"a": 1}, raw='{"a":1}'),
            ]
        return events

    def results(first: int, ids: Iterable[str]) -> list[Any]:
        events: list[Any] = []
        for index, id in enumerate(ids, first):
            events += [
                BlockStart(index, "tool_result"),
                Chunk(index, "tool_result", "ok", visible=False, tool_id=id),
                BlockComplete(index, "tool_result", "ok", tool_id=id, tool_name="f"),
            ]
        return events

    def ready(ids: Iterable[str]) -> ToolCallsReady:
        return ToolCallsReady([ToolCall(id, "f", {"a": 1}) for id in ids])

    return [
        StreamStart("r1", "m", provider),
        *turn(0, ["a", "b"]),
        ready(["a", "b"]),
        *results(4, ["a", "b"]),
        *turn(6, ["c"]),
        ready(["c"]),
        *results(9, ["c"]),
        BlockStart(10, "text"),
        Chunk(10, "text", "Done."),
        BlockComplete(10, "text", "Done."),
        StreamCompleted("end_turn"),
    ]


@pytest.mark.parametrize("provider", VALIDATORS)
def test_the_history_is_valid_wherever_the_loop_is_cancelled(provider: str) -> None:
    events = loop_events(provider)
    seen: set[tuple[str, ...]] = set()
    for cut in range(len(events) + 1):
        cancelled = [*events[:cut], StreamCompleted("cancelled")] if cut < len(events) else events
        added = sf.history_of(cancelled, provider)
        body = sf.build_request(provider, ["q", *added, "go on"], model="m").json
        VALIDATORS[provider](body)
        seen.add(tuple(message.role for message in added))
    assert {
        (),
        ("assistant",),
        ("assistant", "tool"),
        ("assistant", "tool", "assistant", "tool", "assistant"),
    } <= {tuple(_merged(roles)) for roles in seen}


def _merged(roles: Iterable[str]) -> list[str]:
    out: list[str] = []
    for role in roles:
        if not out or out[-1] != role:
            out.append(role)
    return out


def test_a_call_that_was_ready_may_have_run_and_one_that_was_cut_has_not() -> None:
    events = loop_events("anthropic")
    ready = next(index for index, event in enumerate(events) if isinstance(event, ToolCallsReady))
    before = sf.history_of(events[:ready], "anthropic")
    assert before[-1].role == "assistant"
    assert before[-1].tool_calls == []
    after = sf.history_of(events[: ready + 4], "anthropic")  # the first of two results has come
    texts = {result.tool_id: result.text for message in after for result in message.tool_results}
    assert texts == {"a": "ok", "b": INTERRUPTED}
    assert "may have run" in INTERRUPTED


def test_stamped_events_are_the_same() -> None:
    events = loop_events("openai")
    stamped = [Stamped(seq, 0.0, event) for seq, event in enumerate(events)]
    assert sf.history_of(stamped, "openai") == sf.history_of(events, "openai")


def test_open_calls_are_answered_on_request() -> None:
    called = sf.Message.assistant([{"type": "tool_call", "id": "c", "name": "f"}])
    closed = sf.answer_open_calls(["q" and sf.Message.user("q"), called, sf.Message.user("next")], "not run")
    assert [message.role for message in closed] == ["user", "assistant", "tool", "user"]
    assert closed[2].tool_results[0].is_error
    assert sf.answer_open_calls(closed) == closed


# -- recorded streams of real providers

_OPAQUE = re.compile(rb'"(?:signature|thoughtSignature|encrypted_content|data)"\s*:\s*"([A-Za-z0-9+/=_-]{40,})"')
ROWS = corpus.streams()


@pytest.mark.skipif(not ROWS, reason="the corpus of recorded streams is not here")
def test_recorded_answers_can_be_sent_back() -> None:
    checked = 0
    for row in ROWS:
        provider = corpus.provider_name(row)
        if provider not in VALIDATORS or (row["protocol"] in ("openai_responses",) and provider != "openai-responses"):
            continue
        response = sf.read(provider, corpus.wire(row))
        said = sf.message_of(response, provider)
        if not said.content or (said.content[0].type == "server_tool" and said.content[0].kind == "tool_result"):
            continue  # nothing to send, or the second half of a turn that was paused
        results = [sf.Message.tool_result(call.id, "ok", custom=call.custom) for call in said.tool_calls]
        body = sf.build_request(provider, ["q", said, *results, "next"], model="m").json
        try:
            VALIDATORS[provider](body)
        except AssertionError as error:
            raise AssertionError(f"{row['key']}: {error}") from error
        checked += 1
    assert checked > 50


@pytest.mark.skipif(not ROWS, reason="the corpus of recorded streams is not here")
@pytest.mark.parametrize("provider", ["anthropic", "gemini", "openai-responses"])
def test_recorded_signatures_are_byte_equal_in_the_next_request(provider: str) -> None:
    checked = 0
    for row in ROWS:
        if corpus.provider_name(row) != provider:
            continue
        response = sf.read(provider, corpus.wire(row))
        signatures = [
            str(value)
            for block in response.blocks
            if isinstance(block.opaque, dict)
            for name, value in block.opaque.items()
            if name in ("signature", "thoughtSignature", "encrypted_content", "data") and value
        ]
        said = sf.message_of(response, provider)
        if not signatures or not response.complete or sf.message_of(response).content[-1].type == "thinking":
            continue
        results = [sf.Message.tool_result(call.id, "ok", custom=call.custom) for call in said.tool_calls]
        text = sf.build_request(provider, ["q", said, *results, "next"], model="m").body.decode()
        places = [text.find(signature) for signature in signatures]
        assert -1 not in places, row["key"]
        assert places == sorted(places), row["key"]
        checked += 1
    assert checked >= 3


@pytest.mark.parametrize(("provider", "kept"), [("anthropic", False), ("bedrock", False), ("deepseek", True)])
def test_a_thought_that_came_without_a_signature_is_kept_only_where_none_is_wanted(provider: str, kept: bool) -> None:
    events = [BlockComplete(0, "thinking", "Hm"), BlockComplete(1, "text", "Yes."), StreamCompleted()]
    (said,) = sf.history_of(events, provider)
    assert bool(said.thinking) == kept
    assert sf.build_request(provider, ["q", said, "r"], model="m")
