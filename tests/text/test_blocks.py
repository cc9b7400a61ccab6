"""The shared stage: numbers, offsets, foreign events, ends, and that text and native blocks look alike."""

import json

import msgspec
import pytest

import streamflow as sf
from streamflow.errors import ProtocolError, StreamTruncated
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    ErrorInfo,
    Notice,
    Retrying,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    ToolCallsReady,
    Usage,
)
from streamflow.operators import (
    block_split,
    json_tool_split,
    sentinel_split,
    tag_holdback,
    tool_accumulate,
    xml_block_split,
)
from tests.support.cuts import merged
from tests.support.grammar import assert_grammar
from tests.support.splits import as_events, cuttings


def feed(stage, *items):
    return [event for item in items for event in stage.feed(item)]


def names(events):
    return [type(event).__name__ for event in events]


# -- parity with native blocks


def anthropic(*contents, stop="end_turn"):
    events = [{"type": "message_start", "message": {"id": "m", "model": "x", "content": []}}]
    for index, (start, deltas) in enumerate(contents):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events += [{"type": "message_delta", "delta": {"stop_reason": stop}}, {"type": "message_stop"}]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def text_answer(text, size=3):
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    return anthropic(({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]))


def alike(events):
    """What a consumer may rely on: offsets, ids, raw and opaque aside."""
    out = []
    for event in merged(events):
        if isinstance(event, Chunk):
            if event.part == "id":
                event = msgspec.structs.replace(event, text="id")
            event = msgspec.structs.replace(event, start=-1, tool_id=event.tool_id and "id")
        elif isinstance(event, BlockComplete):
            event = msgspec.structs.replace(event, raw=None, opaque=None, tool_id=event.tool_id and "id")
        elif isinstance(event, StreamCompleted):
            event = msgspec.structs.replace(event, raw_stop_reason=None)
        elif isinstance(event, ToolCallsReady):
            event = [(call.name, call.arguments, call.error, call.kind) for call in event.calls]
        out.append(event)
    return out


NATIVE = anthropic(
    ({"type": "thinking", "thinking": ""}, [{"type": "thinking_delta", "thinking": "Let me see."}]),
    ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "I will look."}]),
    (
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
        [{"type": "input_json_delta", "partial_json": part} for part in ('{"city":"Ro', 'me","days":', "[1,2]}")],
    ),
    (
        {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
        [{"type": "input_json_delta", "partial_json": "{}"}],
    ),
    stop="tool_use",
)

WEATHER = '{"city":"Rome","days":[1,2]}'
THOUGHT = "<think>Let me see.</think>I will look."

WRITTEN = {
    "xml": [
        "<thinking>Let me see.</thinking>I will look.",
        '<function_calls>\n<invoke name="weather">\n<parameter name="city">Rome</parameter>\n',
        '<parameter name="days">[1,2]</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</function_calls>',
    ],
    "hermes": [
        THOUGHT,
        f'<tool_call>\n{{"name": "weather", "arguments": {WEATHER}}}\n</tool_call>',
        '<tool_call>{"name": "now", "arguments": {}}</tool_call>',
    ],
    "tool": [
        THOUGHT,
        '<tool name="weather"><arguments><arg name="city">Rome</arg><arg name="days">[1,2]</arg></arguments></tool>',
        '<tool name="now"></tool>',
    ],
    "channels": [
        "<|channel|>analysis<|message|>Let me see.<|end|>",
        "<|start|>assistant<|channel|>final<|message|>I will look.<|end|>",
        f"<|start|>assistant to=functions.weather<|channel|>commentary<|message|>{WEATHER}<|call|>",
        "<|start|>assistant to=functions.now<|channel|>commentary<|message|>{}<|call|>",
    ],
    "json": [
        THOUGHT,
        f'{{"tool": {{"function": "weather", "parameters": {WEATHER}}}}}',
        '{"tool": {"function": "now", "parameters": {}}}',
    ],
    "sentinel": [
        '[[SEG_START {"type":"thinking"}]]Let me see.[[SEG_END]]I will look.',
        f'[[SEG_START {{"type":"tool","name":"weather"}}]]{WEATHER}[[SEG_END]]',
        '[[SEG_START {"type":"tool","name":"now"}]]{}[[SEG_END]]',
    ],
}

OPERATORS = {
    "xml": xml_block_split(),
    "hermes": xml_block_split(("thinking", "tool_call")),
    "tool": xml_block_split(("thinking", "tool")),
    "channels": xml_block_split(("channels",)),
    "json": block_split(["xml", "json"]),
    "sentinel": sentinel_split(),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_an_answer_written_in_text_looks_like_a_native_one(way):
    text, operator = "".join(WRITTEN[way]), OPERATORS[way]
    native = alike(sf.decode("anthropic", NATIVE, operator, tool_accumulate()))
    assert native == alike(sf.decode("anthropic", NATIVE, tool_accumulate()))
    for size in (1, 3, 1000):
        written = sf.decode("anthropic", text_answer(text, size), operator, tool_accumulate())
        assert_grammar(written)
        assert alike(written) == native


def test_the_response_of_both_is_alike():
    text, operator = "".join(WRITTEN["xml"]), OPERATORS["xml"]
    native = sf.collect(sf.decode("anthropic", NATIVE))
    written = sf.collect(sf.decode("anthropic", text_answer(text), operator))
    assert (written.text, written.thinking, written.complete) == (native.text, native.thinking, True)
    assert [(call.name, call.arguments, call.runnable) for call in written.tool_calls] == [
        (call.name, call.arguments, call.runnable) for call in native.tool_calls
    ]
    assert (written.stop_reason, written.raw_stop_reason) == ("tool_use", "end_turn")


# -- numbers and offsets


def test_native_blocks_and_blocks_from_text_are_numbered_together():
    turn = [
        BlockStart(0, "thinking"),
        Chunk(0, "thinking", "n", False),
        BlockComplete(0, "thinking", "n"),
        BlockStart(1, "text"),
        Chunk(1, "text", "a<think>b</think>c", start=0),
        BlockComplete(1, "text", "a<think>b</think>c"),
        BlockStart(2, "tool_call"),
        Chunk(2, "tool_call", "{}", False, part="input"),
        Citation(2, url="u"),
        BlockComplete(2, "tool_call", "{}", input={}),
        StreamCompleted("tool_use"),
    ]
    out = sf.run([StreamStart("1"), *turn, *turn], xml_block_split())
    assert [(event.index, event.kind) for event in out if isinstance(event, BlockStart)] == [
        (0, "thinking"), (1, "text"), (2, "thinking"), (3, "text"), (4, "tool_call"),
        (5, "thinking"), (6, "text"), (7, "thinking"), (8, "text"), (9, "tool_call"),
    ]  # fmt: skip
    assert [event.index for event in out if isinstance(event, Citation)] == [4, 9]
    assert [event.index for event in out if isinstance(event, Chunk)] == [*range(10)]


def test_offsets_point_into_the_raw_text():
    text = "a <think>b</think> `<think>` c</think> d <thin e"
    for pieces in cuttings(text):
        out = sf.run(as_events(pieces), tag_holdback(["think"]), xml_block_split(), json_tool_split(), sentinel_split())
        for event in out:
            if isinstance(event, Chunk):
                assert text[event.start :].startswith(event.text), event


def test_offsets_follow_text_that_was_left_out_before():
    out = sf.run([Chunk(0, "text", "a <thi", start=10), Chunk(0, "text", "s b", start=20)], xml_block_split())
    assert [(event.text, event.start) for event in out if isinstance(event, Chunk)] == [
        ("a ", 10),
        ("<thi", 12),
        ("s b", 20),
    ]


def test_strings_are_counted_from_zero_and_what_has_no_offset_gets_none():
    def starts(*items):
        return [(event.text, event.start) for event in sf.run(items, xml_block_split()) if isinstance(event, Chunk)]

    assert starts("ab", "<think>c") == [("ab", 0), ("c", 9)]
    assert starts(Chunk(0, "text", "ab"), Chunk(0, "text", "<think>c")) == [("ab", -1), ("c", -1)]
    mixed = (
        Chunk(0, "text", "ab"),
        Chunk(0, "text", "c", start=7),
        Chunk(0, "text", "d", start=8),
        Chunk(0, "text", "e"),
    )
    assert starts(*mixed) == [("ab", -1), ("c", 7), ("d", 8), ("e", -1)]


def test_what_is_shown_again_has_no_offset():
    out = sf.run(["a<think>b", "c"], xml_block_split(on_unclosed="show"), json_tool_split())
    assert [(event.text, event.start) for event in out if isinstance(event, Chunk) and event.visible] == [
        ("a", 0),
        ("bc", -1),
    ]


def test_citations_move_with_their_text():
    stage = xml_block_split().make_stage()
    feed(stage, BlockStart(3, "text"), Chunk(3, "text", "ab<think>c</think>de</think>fg", start=0))
    assert feed(stage, Citation(3, "u", start=19, end=20)) == [Citation(2, "u", start=1, end=2)]
    assert feed(stage, Citation(3, "u", start=28, end=30)) == [Citation(2, "u", start=2, end=4)]
    assert feed(stage, Citation(3, "u", start=0, end=2)) == [Citation(0, "u", start=0, end=2)]
    assert feed(stage, Citation(3, "u")) == [Citation(2, "u")]
    feed(stage, BlockComplete(3, "text", ""))
    assert feed(stage, Citation(3, "v")) == [Citation(2, "v")]


# -- foreign events


def test_metadata_passes_at_once_and_the_text_stays_held():
    stage = xml_block_split().make_stage()
    assert names(feed(stage, BlockStart(0, "text"), Chunk(0, "text", "a <thi", start=0))) == ["BlockStart", "Chunk"]
    for event in (Usage(1), Notice("x"), Citation(0), Retrying(1, 2), ToolCallsReady([]), object()):
        assert type(feed(stage, event)[0]) is type(event)
        assert stage.held == "<thi"
    assert [event.kind for event in feed(stage, Chunk(0, "text", "nking>b", start=6))] == [
        "text",
        "thinking",
        "thinking",
    ]


@pytest.mark.parametrize(
    "ending",
    [
        BlockStart(1, "tool_call"),
        BlockStart(1, "text"),
        BlockComplete(0, "text", "a <thi"),
        StreamCompleted(),
        StreamStart(),
    ],
)
def test_what_ends_the_block_releases_held_text_first(ending):
    stage = xml_block_split().make_stage()
    feed(stage, BlockStart(0, "text"), Chunk(0, "text", "a <thi", start=0))
    assert feed(stage, ending)[0] == Chunk(0, "text", "<thi", start=2)
    assert stage.held == ""


def test_text_without_a_sign_of_structure_passes_as_it_is():
    chunk = Chunk(0, "text", "plain", start=1)
    stage = xml_block_split().make_stage()
    feed(stage, BlockStart(0, "text"), Chunk(0, "text", "a", start=0))
    assert feed(stage, chunk)[0] is chunk


def test_thought_goes_on_in_the_next_text_block_and_a_call_does_not():
    # Citations cut text into many blocks, anywhere.
    blocks = lambda index, text: [
        BlockStart(index, "text"),
        Chunk(index, "text", text),
        BlockComplete(index, "text", text),
    ]
    out = sf.run([*blocks(0, "<think>a"), *blocks(1, "b</think>c")], xml_block_split())
    assert [(e.kind, e.content) for e in out if isinstance(e, BlockComplete)] == [("thinking", "ab"), ("text", "c")]
    tool = [BlockStart(1, "tool_call"), BlockComplete(1, "tool_call")]
    out = sf.run([*blocks(0, "<think>a"), *tool, *blocks(2, "b</think>c")], xml_block_split())
    assert [(e.kind, e.content) for e in out if isinstance(e, BlockComplete)][1:] == [("thinking", "ab"), ("text", "c")]
    call = '<function_calls><invoke name="f">'
    out = sf.run([*blocks(0, call), *tool, *blocks(2, "</invoke></function_calls>c")], xml_block_split())
    done = [event for event in out if isinstance(event, BlockComplete)]
    assert [(event.kind, event.incomplete) for event in done] == [
        ("tool_call", True),
        ("tool_call", False),
        ("text", False),
    ]


def test_opaque_material_is_never_lost():
    for text, kinds in (("a", ["text"]), ("a<think>b</think>", ["text", "thinking", "text"])):
        out = sf.run([Chunk(0, "text", text), BlockComplete(0, "text", text, opaque={"s": 1})], xml_block_split())
        done = [event for event in out if isinstance(event, BlockComplete)]
        assert [event.kind for event in done] == kinds
        assert [event.opaque for event in done][-1] == {"s": 1}


def test_a_block_that_came_at_once_is_split_too():
    out = sf.run([BlockComplete(0, "text", "a<think>b</think>"), StreamCompleted()], xml_block_split())
    assert names(out) == ["BlockStart", "Chunk", "BlockComplete"] * 2 + ["StreamCompleted"]


def test_a_discard_forgets_what_is_held():
    stage = xml_block_split().make_stage()
    feed(stage, StreamStart(), BlockStart(0, "text"), Chunk(0, "text", "a <thi", start=0))
    out = feed(stage, Retrying(1, 2, "refusal", discard=True), StreamStart(), BlockStart(0, "text"))
    assert names(out) == ["BlockComplete", "Retrying", "StreamStart"]
    assert out[0].incomplete
    assert names(feed(stage, Chunk(0, "text", "nking>", start=0))) == ["BlockStart", "Chunk"]


def test_every_turn_starts_open_again_and_offsets_begin_anew():
    turn = [BlockStart(0, "text"), Chunk(0, "text", "a</think>b", start=0), BlockComplete(0, "text"), StreamCompleted()]
    out = sf.run([StreamStart(), *turn, *turn], xml_block_split(starts_open="think"))
    chunks = [event for event in out if isinstance(event, Chunk)]
    assert [(event.index, event.kind, event.start) for event in chunks] == [
        (0, "thinking", 0),
        (1, "text", 9),
        (2, "thinking", 0),
        (3, "text", 9),
    ]


# -- ends

OPEN_THOUGHT = "a<thinking>secret</thin"
OPEN_CALL = 'a<function_calls><invoke name="f"><parameter name="q">x'


def test_a_forgotten_close_fails_once_in_the_middle_of_the_text():
    stage = xml_block_split(on_unclosed="error").make_stage()
    text = '<function_calls><invoke name="f"><parameter name="q">x</parameter></function_calls>'
    with pytest.raises(ProtocolError, match="ended inside the call of 'f'") as raised:
        stage.feed(text)
    done = [event for event in stage.abort(raised.value) if isinstance(event, BlockComplete)]
    assert [(event.kind, event.tool_name, event.incomplete) for event in done] == [("tool_call", "f", True)]


@pytest.mark.parametrize("end", ["completed", "flush", "abort", "failed"])
@pytest.mark.parametrize("policy", ["keep", "show", "error"])
@pytest.mark.parametrize("text", [OPEN_THOUGHT, OPEN_CALL])
def test_what_the_end_cuts(text, policy, end):
    stage = xml_block_split(on_unclosed=policy).make_stage()
    out = feed(stage, StreamStart("1"), *as_events([text])[1:-2])
    raised = None
    try:
        if end == "completed":
            out += feed(stage, BlockComplete(0, "text", text), StreamCompleted())
        elif end == "flush":
            out += stage.flush()
        elif end == "failed":
            out += feed(stage, StreamFailed(ErrorInfo("StreamTruncated", "cut")))
        else:
            out += stage.abort(StreamTruncated("cut"))
    except ProtocolError as error:
        raised = error
        out += stage.abort(error)
    assert (raised is not None) == (policy == "error" and end in ("completed", "flush"))
    done = [event for event in out if isinstance(event, BlockComplete)]
    assert [event.kind for event in done[:2]] == ["text", "thinking" if text == OPEN_THOUGHT else "tool_call"]
    assert done[1].incomplete
    shown = [(event.kind, event.content) for event in done[2:]]
    content = "secret</thin" if text == OPEN_THOUGHT else OPEN_CALL[len("a<function_calls>") :]
    assert shown == ([("text", content)] if policy == "show" else [])
    partial = stage.partial(None)
    assert stage.emitted
    assert partial.text == "a" + (content if policy == "show" else "")
    assert all(not call.runnable for call in partial.tool_calls)


def test_an_error_of_the_source_has_the_split_view_as_its_partial():
    wire = text_answer("a<thinking>b</thinking>c <thi")[:-80]
    for operators in ((xml_block_split(),), (xml_block_split(), tool_accumulate())):
        failed = sf.decode("anthropic", wire, *operators)[-1]
        assert isinstance(failed, StreamFailed)
        assert failed.error.emitted
        assert (failed.partial.thinking, failed.partial.complete) == ("b", False)
        assert failed.partial.text.startswith("ac ")


def test_calls_of_a_cancelled_turn_are_not_ready():
    text = '<function_calls><invoke name="f"></invoke></function_calls>'
    for reason, ready in (("end_turn", True), ("stop_sequence", True), ("cancelled", False)):
        events = [*as_events([text])[:-1], StreamCompleted(reason)]
        out = sf.run(events, xml_block_split(), tool_accumulate())
        assert any(isinstance(event, ToolCallsReady) for event in out) == ready
        assert out[-1].stop_reason == ("tool_use" if reason == "end_turn" else reason)
        assert sf.collect(out).tool_calls[0].runnable == ready


def test_a_stop_sequence_on_the_wrapper_leaves_its_calls_whole():
    events = [*as_events(['<function_calls>\n<invoke name="f">\n</invoke>\n'])[:-1], StreamCompleted("stop_sequence")]
    assert sf.collect(sf.run(events, xml_block_split())).tool_calls[0].runnable


def test_the_operators_work_in_either_order():
    text = "a <think>b</think> <thin c"
    expected = merged(sf.run([text], xml_block_split()))
    for pieces in cuttings(text):
        holdback = tag_holdback(["think", "thinking"])
        assert merged(sf.run(pieces, holdback, xml_block_split())) == expected
        assert merged(sf.run(pieces, xml_block_split(), holdback)) == expected


def test_each_subscription_has_its_own_state():
    operator = xml_block_split()
    first, second = operator.make_stage(), operator.make_stage()
    feed(first, "<think>a")
    assert [event.kind for event in feed(second, "b")] == ["text", "text"]
