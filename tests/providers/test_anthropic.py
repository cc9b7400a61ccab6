"""The Anthropic dialect, on payloads as the API describes them."""

import json
from typing import Any

import pytest

from streamflow.errors import ProtocolError, ProviderError, StreamTruncated
from streamflow.events import BlockComplete, BlockStart, Chunk, Event, Frame, Notice, Response, StreamCompleted
from streamflow.fold import collect
from streamflow.providers.anthropic import Anthropic
from streamflow.providers.normalizer import Normalizer
from streamflow.providers.provider import Provider

ROW = Provider("anthropic", (Anthropic,))


def events_of(payloads: list[Any]) -> list[Event]:
    normalizer = Normalizer(ROW)
    events: list[Event] = []
    for payload in payloads:
        events += normalizer.feed(Frame(data=payload if isinstance(payload, str) else json.dumps(payload)))
    return events + normalizer.flush()


def read(payloads: list[Any]) -> Response:
    return collect(events_of(payloads))


def begin(**fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 11, "output_tokens": 1, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": []}
    return {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage, **fields}}


def start(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str | None = "end_turn", **fields: Any) -> list[dict[str, Any]]:
    said = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, **fields}
    return [said, {"type": "message_stop"}]


PLAIN = [
    begin(),
    start(0, type="text", text=""),
    {"type": "ping"},
    delta(0, "text_delta", text="Hel"),
    delta(0, "text_delta", text="lo 東京 🌤"),
    stop(0),
    *end(usage={"output_tokens": 9}),
]

THOUGHT = [
    begin(),
    start(0, type="thinking", thinking="", signature=""),
    delta(0, "thinking_delta", thinking="First, "),
    delta(0, "thinking_delta", thinking="look."),
    delta(0, "signature_delta", signature="c2lnLys="),
    stop(0),
    start(1, type="redacted_thinking", data="ZW5j+/=="),
    stop(1),
    start(2, type="text", text=""),
    delta(2, "text_delta", text="Done"),
    stop(2),
    *end(),
]

CALLS = [
    begin(),
    start(0, type="text", text=""),
    delta(0, "text_delta", text="I look."),
    stop(0),
    start(1, type="tool_use", id="toolu_1", name="weather", input={}),
    delta(1, "input_json_delta", partial_json=""),
    delta(1, "input_json_delta", partial_json='{"city": "Ro'),
    delta(1, "input_json_delta", partial_json='me"}'),
    stop(1),
    start(2, type="tool_use", id="toolu_2", name="clock", input={}),
    delta(2, "input_json_delta", partial_json=""),
    stop(2),
    start(3, type="tool_use", id="toolu_3", name="move", input={"to": [1, 2]}, caller={"type": "direct"}),
    stop(3),
    *end("tool_use"),
]

FOUND = [{"type": "web_search_result", "url": "https://example.org/a", "encrypted_content": "QUJD"}]
WEB = {"type": "web_search_result_location", "url": "https://example.org/a", "title": "A", "cited_text": "so it is"}
PAGE = {"type": "char_location", "document_title": "B", "cited_text": "x", "start_char_index": 70, "end_char_index": 71}

SERVER = [
    begin(),
    start(0, type="server_tool_use", id="srv_1", name="web_search", input={}),
    delta(0, "input_json_delta", partial_json='{"query": "rain"}'),
    stop(0),
    start(1, type="web_search_tool_result", tool_use_id="srv_1", content=FOUND),
    stop(1),
    start(2, type="mcp_tool_use", id="mcp_1", name="ask", input={}, server_name="wiki"),
    stop(2),
    start(3, type="mcp_tool_result", tool_use_id="mcp_1", is_error=True, content=[]),
    stop(3),
    start(4, type="text", text="", citations=[]),
    delta(4, "text_delta", text="It rains."),
    delta(4, "citations_delta", citation=WEB),
    delta(4, "citations_delta", citation=PAGE),
    stop(4),
    *end(),
]

COMPACTED = [
    begin(),
    start(0, type="compaction", content=None),
    delta(0, "compaction_delta", content="What was said before."),
    stop(0),
    start(1, type="fallback", **{"from": {"model": "a"}, "to": {"model": "b"}}),
    stop(1),
    start(2, type="text", text=""),
    delta(2, "text_delta", text="On."),
    stop(2),
    *end(),
]

PREFILLED = [
    begin(
        content=[{"type": "tool_use", "id": "toolu_9", "name": "roll", "input": {"player": 2}}],
        stop_reason="tool_use",
    ),
    {"type": "message_stop"},
]

ALL = {
    "plain": PLAIN,
    "thought": THOUGHT,
    "calls": CALLS,
    "server": SERVER,
    "compacted": COMPACTED,
    "prefilled": PREFILLED,
}


def test_text_streams_as_it_comes() -> None:
    events = events_of(PLAIN)
    assert [type(event).__name__ for event in events] == [
        "StreamStart",
        "Usage",
        "BlockStart",
        "Chunk",
        "Chunk",
        "BlockComplete",
        "Usage",
        "StreamCompleted",
    ]
    assert [event.start for event in events if isinstance(event, Chunk)] == [0, 3]
    response = collect(events)
    assert (response.id, response.model, response.text) == ("msg_1", "claude-test", "Hello 東京 🌤")
    assert response.complete


def test_later_usage_wins_and_nothing_is_added() -> None:
    usage = {"input_tokens": 400, "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 3}}
    said = read([begin(), *end(usage=usage)]).usage
    assert said is not None
    assert (said.input_tokens, said.output_tokens, said.reasoning_tokens) == (400, 9, 3)
    assert (said.cache_read_tokens, said.cache_write_tokens) == (4, 2)


def test_thinking_keeps_what_must_be_sent_back() -> None:
    response = read(THOUGHT)
    assert (response.thinking, response.text) == ("First, look.", "Done")
    assert [block.opaque for block in response.blocks] == [
        {"type": "thinking", "signature": "c2lnLys="},
        {"type": "redacted_thinking", "data": "ZW5j+/=="},
        None,
    ]


def test_tool_calls_with_fragments_without_arguments_and_whole_in_the_start() -> None:
    response = read(CALLS)
    assert [(call.id, call.name, call.arguments, call.runnable) for call in response.tool_calls] == [
        ("toolu_1", "weather", {"city": "Rome"}, True),
        ("toolu_2", "clock", {}, True),
        ("toolu_3", "move", {"to": [1, 2]}, True),
    ]
    assert response.blocks[3].opaque == {"type": "tool_use", "caller": {"type": "direct"}}
    assert response.stop_reason == "tool_use"


def test_name_then_id_then_input() -> None:
    parts = [event.part for event in events_of(CALLS) if isinstance(event, Chunk) and event.tool_name == "weather"]
    assert parts == ["name", "id", "input", "input"]


def test_deltas_win_over_the_input_of_the_start() -> None:
    call = [
        start(0, type="tool_use", id="t", name="f", input={"a": 1}),
        delta(0, "input_json_delta", partial_json='{"a": 2}'),
        stop(0),
    ]
    assert read([begin(), *call, *end("tool_use")]).tool_calls[0].arguments == {"a": 2}


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_a_call_cut_before_its_first_character_is_not_a_call_without_arguments(reason: str) -> None:
    call = [start(0, type="tool_use", id="t", name="wipe", input={}), stop(0)]
    response = read([begin(), *call, *end(reason)])
    assert response.complete
    assert not response.tool_calls[0].runnable
    assert read([begin(), *call, *end("tool_use")]).tool_calls[0].runnable


def test_a_call_that_was_never_closed_does_not_run() -> None:
    call = [start(0, type="tool_use", id="t", name="f", input={}), delta(0, "input_json_delta", partial_json="{}")]
    assert not read([begin(), *call, *end("tool_use")]).tool_calls[0].runnable


def test_server_tools_are_not_the_clients() -> None:
    response = read(SERVER)
    assert response.tool_calls == []
    assert [(tool.type, tool.id, tool.name) for tool in response.server_tools] == [
        ("server_tool_use", "srv_1", "web_search"),
        ("web_search_tool_result", "srv_1", None),
        ("mcp_tool_use", "mcp_1", "ask"),
        ("mcp_tool_result", "mcp_1", None),
    ]
    assert response.server_tools[0].input == {"query": "rain"}
    assert json.loads(response.server_tools[1].content) == FOUND
    assert response.blocks[2].opaque == {"type": "mcp_tool_use", "server_name": "wiki"}
    assert response.blocks[3].opaque == {"type": "mcp_tool_result", "is_error": True}


def test_citations_belong_to_their_block() -> None:
    response = read(SERVER)
    assert [(cite.index, cite.url, cite.title, cite.text) for cite in response.citations] == [
        (4, "https://example.org/a", "A", "so it is"),
        (4, "", "B", "x"),
    ]
    assert response.blocks[4].opaque == {"type": "text", "citations": [WEB, PAGE]}


def test_compaction_and_fallback_are_listed_and_are_no_text() -> None:
    response = read(COMPACTED)
    assert [(tool.type, tool.id) for tool in response.server_tools] == [("compaction", None), ("fallback", None)]
    assert response.server_tools[0].content == "What was said before."
    assert json.loads(response.server_tools[1].content) == {"from": {"model": "a"}, "to": {"model": "b"}}
    assert response.text == "On."


def test_prefilled_start() -> None:
    response = read(PREFILLED)
    assert [(call.id, call.arguments) for call in response.tool_calls] == [("toolu_9", {"player": 2})]
    assert (response.raw_stop_reason, response.complete) == ("tool_use", True)


def test_adjacent_blocks_stay_apart_and_nothing_is_put_between() -> None:
    blocks = [start(0, type="text", text="a"), stop(0), start(1, type="text", text="b"), stop(1)]
    response = read([begin(), *blocks, *end()])
    assert response.text == "ab"
    assert [block.content for block in response.blocks] == ["a", "b"]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("tool_use", "tool_use"),
        ("pause_turn", "pause"),
        ("refusal", "refusal"),
        ("brand_new", "other"),
    ],
)
def test_stop_reasons(raw: str, reason: str) -> None:
    response = read([begin(), *end(raw)])
    assert (response.stop_reason, response.raw_stop_reason) == (reason, raw)


@pytest.mark.parametrize(
    ("kind", "status", "retryable"),
    [
        ("overloaded_error", 529, True),
        ("rate_limit_error", 429, True),
        ("api_error", 500, True),
        ("timeout_error", 504, True),
        ("invalid_request_error", 400, False),
        ("new_error", None, False),
    ],
)
def test_error_event(kind: str, status: int | None, retryable: bool) -> None:
    with pytest.raises(ProviderError) as caught:
        read([*PLAIN[:4], {"type": "error", "error": {"type": kind, "message": "no"}}])
    error = caught.value
    assert (error.kind, error.status, error.retryable, error.provider) == (kind, status, retryable, "anthropic")


def whole_of(payloads: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer without streaming that says the same."""
    contents: dict[int, dict[str, Any]] = {}
    message = dict(payloads[0]["message"])
    texts = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
    inputs: dict[int, str] = {}
    for payload in payloads:
        index = payload.get("index", -1)
        if payload["type"] == "content_block_start":
            contents[index] = json.loads(json.dumps(payload["content_block"]))
        elif payload["type"] == "content_block_delta":
            piece = payload["delta"]
            if piece["type"] in texts:
                contents[index][texts[piece["type"]]] += piece[texts[piece["type"]]]
            elif piece["type"] == "input_json_delta":
                inputs[index] = inputs.get(index, "") + piece["partial_json"]
            elif piece["type"] == "citations_delta":
                contents[index]["citations"].append(piece["citation"])
            else:
                contents[index]["content"] = piece["content"]
        elif payload["type"] == "message_delta":
            message["stop_reason"] = payload["delta"]["stop_reason"]
            message["usage"] = {**message["usage"], **payload.get("usage", {})}
    for index, text in inputs.items():
        contents[index]["input"] = json.loads(text or "{}")
    return {**message, "content": message["content"] + list(contents.values())}


@pytest.mark.parametrize("name", ALL)
def test_whole_answer_says_what_the_stream_says(name: str) -> None:
    streamed, whole = read(ALL[name]), read([whole_of(ALL[name])])
    assert whole.complete
    for field in ("id", "model", "text", "thinking", "citations", "stop_reason", "raw_stop_reason"):
        assert getattr(whole, field) == getattr(streamed, field)
    assert [(call.id, call.name, call.arguments) for call in whole.tool_calls] == [
        (call.id, call.name, call.arguments) for call in streamed.tool_calls
    ]
    assert [(b.kind, b.input, b.opaque, b.attributes) for b in whole.blocks] == [
        (b.kind, b.input, b.opaque, b.attributes) for b in streamed.blocks
    ]


@pytest.mark.parametrize("name", ALL)
def test_cut_after_every_payload(name: str) -> None:
    payloads = ALL[name]
    for length in range(len(payloads)):
        normalizer = Normalizer(ROW)
        events: list[Event] = []
        for payload in payloads[:length]:
            events += normalizer.feed(Frame(data=json.dumps(payload)))
        with pytest.raises(StreamTruncated) as caught:
            normalizer.flush()
        events += normalizer.abort(caught.value)
        opened = {event.index for event in events if isinstance(event, BlockStart)}
        assert opened == {event.index for event in events if isinstance(event, BlockComplete)}
        partial = normalizer.partial(caught.value)
        assert not partial.complete
        assert not any(call.runnable for call in partial.tool_calls)


def test_unknown_things_are_said_and_do_not_stop_the_stream() -> None:
    strange = [
        {"type": "brand_new", "x": 1},
        start(0, type="hologram", data="d"),
        delta(0, "hologram_delta", data="e"),
        stop(0),
        start(1, type="teleport_tool_use", id="s", name="go", input={}),
        stop(1),
    ]
    events = events_of([begin(), *strange, *end()])
    notices = [(event.code, event.message) for event in events if isinstance(event, Notice)]
    assert notices == [
        ("unknown_event", "brand_new"),
        ("unknown_block", "hologram"),
        ("unknown_event", "content_block_delta hologram_delta"),
    ]
    assert [tool.type for tool in collect(events).server_tools] == ["hologram", "teleport_tool_use"]


def test_details_beside_the_stop_are_said() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    payload = end("refusal", context_management={"applied_edits": []})
    payload[0]["delta"] |= {"stop_details": details, "container": {"id": "c1"}}
    notices = [event for event in events_of([begin(), *payload]) if isinstance(event, Notice)]
    assert [(notice.code, notice.raw) for notice in notices] == [
        ("stop_details", details),
        ("container", {"id": "c1"}),
    ]


def test_second_message_start_cuts_the_first() -> None:
    half = [
        start(0, type="tool_use", id="a", name="f", input={}),
        delta(0, "input_json_delta", partial_json='{"v": "Spa'),
    ]
    again = [begin(id="msg_2"), start(0, type="text", text=""), delta(0, "text_delta", text="ok"), stop(0), *end()]
    events = events_of([begin(), *half, *again])
    response = collect(events)
    assert "second_message" in [event.code for event in events if isinstance(event, Notice)]
    assert [call.runnable for call in response.tool_calls] == [False]
    assert (response.text, response.complete) == ("ok", True)


@pytest.mark.parametrize(
    "payload",
    [
        delta(7, "text_delta", text="x"),
        {"type": "content_block_delta", "index": 0},
        {"type": "message_start"},
        stop(3),
        start(0, text="no type"),
    ],
)
def test_wrong_shape(payload: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        read([begin(), payload])


def test_surrogate_pair_torn_over_two_deltas() -> None:
    torn = [
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83c"}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\udf24b"}}',
    ]
    assert read([begin(), start(0, type="text", text=""), *torn, stop(0), *end()]).text == "a🌤b"


def test_old_text_completions() -> None:
    lines = [
        {"type": "completion", "id": "c", "completion": " Hi", "stop_reason": None, "model": "m"},
        {"type": "ping"},
        {"type": "completion", "id": "c", "completion": "", "stop_reason": "stop_sequence", "model": "m"},
    ]
    events = events_of(lines)
    assert collect(events).text == " Hi"
    assert events[-1] == StreamCompleted("stop_sequence", "stop_sequence")
