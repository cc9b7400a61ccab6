"""Calls are ready just before a proper end, and never otherwise; in whatever shape the provider sends them."""

import json
import random
import time

import pytest

import streamflow as sf
from streamflow.events import (
    BlockComplete,
    ErrorInfo,
    Retrying,
    StreamCompleted,
    StreamFailed,
    ToolCallsReady,
)
from streamflow.operators import tool_accumulate, xml_block_split
from tests.support.cuts import at_random
from tests.support.grammar import assert_grammar
from tests.support.turns import block, turn

GOOD = BlockComplete(0, "tool_call", "{}", tool_id="a", tool_name="f", input={})
BAD = BlockComplete(1, "tool_call", "{", tool_id="b", tool_name="g", error="not JSON")
SERVER = BlockComplete(2, "tool_call", "{}", attributes={"server": "search"})
FAILED = StreamFailed(ErrorInfo("StreamTruncated", ""))


def ready(*events):
    return [event for event in sf.run(events, tool_accumulate()) if isinstance(event, ToolCallsReady)]


def test_all_calls_of_a_turn_come_together():
    (event,) = ready(GOOD, BAD, SERVER, StreamCompleted("tool_use"))
    assert [(call.id, call.runnable) for call in event.calls] == [("a", True), ("b", False)]


@pytest.mark.parametrize("end", [StreamCompleted("cancelled"), FAILED])
def test_a_turn_that_did_not_end_properly_has_no_ready_calls(end):
    assert ready(GOOD, end) == []


def test_a_turn_without_calls_is_left_alone():
    assert sf.run([StreamCompleted()], tool_accumulate()) == [StreamCompleted()]


def test_turns_are_counted_apart():
    first, second = ready(GOOD, StreamCompleted("tool_use"), BAD, StreamCompleted("tool_use"))
    assert (len(first.calls), len(second.calls)) == (1, 1)


@pytest.mark.parametrize("over", [FAILED, Retrying(1, 2, discard=True)])
def test_calls_of_an_attempt_that_is_over_are_forgotten(over):
    (event,) = ready(GOOD, over, BAD, StreamCompleted("tool_use"))
    assert [call.id for call in event.calls] == ["b"]


def test_a_retry_that_keeps_what_was_shown_keeps_the_calls():
    (event,) = ready(GOOD, Retrying(1, 2), StreamCompleted("tool_use"))
    assert [call.id for call in event.calls] == ["a"]


def test_twice_in_a_chain_it_speaks_once():
    events = [GOOD, StreamCompleted("tool_use")]
    assert sf.run(events, tool_accumulate(), tool_accumulate()) == sf.run(events, tool_accumulate())


# -- the shapes of the wire: (index, id, name, arguments) as they come, and the calls that they are

ROME, OSLO = '{"city":"Rome"}', '{"city":"Oslo"}'
A, B = ("a", "f", {"city": "Rome"}), ("b", "g", {"city": "Oslo"})
NO_ID_A, NO_ID_B = ("", "f", {"city": "Rome"}), ("", "g", {"city": "Oslo"})

SHAPES = {
    "normal": ([(0, "a", "f", ""), (0, None, None, ROME), (1, "b", "g", ""), (1, None, None, OSLO)], [A, B]),
    "same index, two ids": ([(0, "a", "f", ROME), (0, "b", "g", OSLO)], [A, B]),
    "same index, two ids, in pieces": (
        [(0, "a", "f", ""), (0, None, None, ROME), (0, "b", "g", ""), (0, None, None, OSLO)],
        [A, B],
    ),
    "same index, no ids": ([(0, None, "f", ROME), (0, None, "g", OSLO)], [NO_ID_A, NO_ID_B]),
    "same index, no ids, name first": (
        [(0, None, "f", ""), (0, None, None, ROME), (0, None, "g", ""), (0, None, None, OSLO)],
        [NO_ID_A, NO_ID_B],
    ),
    "no index": ([(None, "a", "f", ""), (None, None, None, ROME), (None, "b", "g", OSLO)], [A, B]),
    "no index, ids everywhere": (
        [
            (None, "a", "f", ROME[:5]),
            (None, "b", "g", OSLO[:5]),
            (None, "a", None, ROME[5:]),
            (None, "b", None, OSLO[5:]),
        ],
        [A, B],
    ),
    "no index, the first without arguments": (
        [(None, None, "f", ""), (None, "b", "g", OSLO)],
        [("", "f", {}), B],
    ),
    "no id": ([(0, None, "f", ROME), (1, None, "g", OSLO)], [NO_ID_A, NO_ID_B]),
    "neither": ([(None, None, "f", ROME), (None, None, "g", OSLO)], [NO_ID_A, NO_ID_B]),
    "neither, the same tool twice": (
        [(None, None, "f", ROME), (None, None, "f", ROME)],
        [NO_ID_A, NO_ID_A],
    ),
    "neither, in pieces": (
        [(None, None, "f", ""), (None, None, None, ROME), (None, None, "g", ""), (None, None, None, OSLO)],
        [NO_ID_A, NO_ID_B],
    ),
    "id on every delta": ([(0, "a", "f", ""), (0, "a", None, ROME[:4]), (0, "a", None, ROME[4:])], [A]),
    "id and name on every delta": ([(0, "a", "f", ROME[:4]), (0, "a", "f", ROME[4:])], [A]),
    "empty ids later": ([(0, "a", "f", ROME[:4]), (0, "", "", ROME[4:])], [A]),
    "id again at another index": ([(0, "a", "f", ROME[:4]), (1, "a", None, ROME[4:])], [A]),
    "index only later": ([(None, "a", "f", ""), (0, None, None, ROME), (1, "b", "g", OSLO)], [A, B]),
    "index only at first": ([(0, "a", "f", ""), (None, None, None, ROME)], [A]),
    "gaps": ([(3, "a", "f", ROME), (7, "b", "g", OSLO)], [A, B]),
    "from one": ([(1, "a", "f", ROME), (2, "b", "g", OSLO)], [A, B]),
    "interleaved": (
        [(0, "a", "f", ROME[:4]), (1, "b", "g", OSLO[:7]), (0, None, None, ROME[4:]), (1, None, None, OSLO[7:])],
        [A, B],
    ),
    "out of order": ([(1, "b", "g", OSLO), (0, "a", "f", ROME)], [B, A]),
    "whole in one": ([(0, "a", "f", ROME)], [A]),
    "split name": ([(0, "a", "get_", ""), (0, None, "weather", ROME)], [("a", "get_weather", {"city": "Rome"})]),
    "name late": ([(0, "a", None, ROME), (0, None, "f", "")], [A]),
    "id late": ([(0, None, "f", ""), (0, "a", None, ROME)], [A]),
    "blanks after": ([(0, "a", "f", ROME), (0, None, None, "\n ")], [A]),
    "brackets in text": (
        [(None, "a", "f", '{"city":"Ro}{'), (None, None, None, '\\"}"}')],
        [("a", "f", {"city": 'Ro}{"}'})],
    ),
    "nothing at all": ([(0, "a", "f", ""), (0, None, None, "")], [("a", "f", {})]),
    "null": ([(0, "a", "f", "null")], [("a", "f", {})]),
    "blank": ([(0, "a", "f", "  ")], [("a", "f", {})]),
}


def fragment(index, id, name, arguments):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    parts = {"index": index, "id": id, "type": "function" if name else None, "function": function}
    return {key: value for key, value in parts.items() if value is not None}


def wire(fragments, before="Let me see.", after="", together=False):
    deltas = [{"tool_calls": [fragment(*one)]} for one in fragments]
    if together:
        deltas = [{"tool_calls": [call for one in deltas for call in one["tool_calls"]]}]
    deltas = [{"content": before}, *deltas, {"content": after}] if before else deltas
    payloads = [{"id": "1", "choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas]
    payloads.append({"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return "".join(f"data: {json.dumps(payload)}\n\n" for payload in payloads).encode() + b"data: [DONE]\n\n"


def calls_of(body):
    events = sf.decode("openai-compatible", body, tool_accumulate())
    assert_grammar(events)
    ready = [event for event in events if isinstance(event, ToolCallsReady)]
    return [call for event in ready for call in event.calls], events


@pytest.mark.parametrize("together", [False, True], ids=["apart", "together"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_shape_of_the_wire_gives_its_calls(shape, together):
    fragments, expected = SHAPES[shape]
    body = wire(fragments, after=" Done." if shape != "blanks after" else "", together=together)
    rng = random.Random(5)
    for cut in ([body], at_random(body, rng), at_random(body, rng)):
        calls, events = calls_of(cut)
        assert [(call.id, call.name, call.arguments) for call in calls] == expected
        assert all(call.runnable for call in calls)
        ids = [call.id for call in calls if call.id]
        assert len(ids) == len(set(ids))
        sent = "".join(arguments or "" for _, _, _, arguments in fragments)
        assert sorted("".join(call.raw for call in calls)) == sorted(sent)
        assert sf.collect(events).text.startswith("Let me see.")


@pytest.mark.parametrize("shape", [name for name, (fragments, _) in SHAPES.items() if any(f[3] for f in fragments)])
def test_arguments_cut_into_single_characters_change_nothing(shape):
    fragments, expected = SHAPES[shape]
    pieces = []
    for index, id, name, arguments in fragments:
        first, *rest = arguments or [""]
        again = id if shape in ("no index, ids everywhere", "id and name on every delta", "id on every delta") else None
        pieces.append((index, id, name, first))
        pieces += [(index, again, None, char) for char in rest]
    calls, _ = calls_of(wire(pieces))
    assert [(call.id, call.name, call.arguments) for call in calls] == expected


@pytest.mark.parametrize("arguments", ['{"city":', '{"city":"Ro', "{", "nope", '{"a":1}}', '{"a":NaN}', ROME + OSLO])
def test_a_bad_call_is_reported_and_the_others_are_unharmed(arguments):
    calls, events = calls_of(wire([(0, "a", "f", arguments), (1, "b", "g", OSLO)]))
    assert [(call.id, call.runnable) for call in calls] == [("a", False), ("b", True)]
    assert (calls[0].arguments, calls[0].raw) == (None, arguments)
    assert calls[0].error
    assert isinstance(events[-1], StreamCompleted)


def test_a_cut_turn_has_no_calls_that_run():
    body = wire([(0, "a", "f", ROME)]).removesuffix(b"data: [DONE]\n\n")
    body = body[: body.index(b'"tool_calls"}]}')]
    events = sf.decode("openai-compatible", body, tool_accumulate())
    assert not any(isinstance(event, ToolCallsReady) for event in events)
    assert not any(call.runnable for call in events[-1].partial.tool_calls)


def test_calls_written_in_text_are_gathered_like_native_ones():
    text = (
        '<function_calls><invoke name="f"><parameter name="city">Rome</parameter></invoke>'
        '<invoke name="g"><parameter name="city">Oslo</parameter></invoke></function_calls>'
    )
    out = sf.run(turn(block([text])), xml_block_split(), tool_accumulate())
    assert_grammar(out)
    assert [(call.name, call.arguments) for call in out[-2].calls] == [("f", A[2]), ("g", B[2])]
    cut = sf.run(turn(block([text[:-40]])), xml_block_split(), tool_accumulate())
    assert [call.runnable for call in cut[-2].calls] == [True, False]


def test_cost_is_linear_in_the_fragments():
    def cost(count):
        arguments = json.dumps({"text": "x" * count * 4})
        pieces = [(None, None, None, arguments[place : place + 4]) for place in range(0, len(arguments), 4)]
        body = wire([(None, "a", "f", ""), *pieces])
        best = 9.9
        for _ in range(3):
            begin = time.process_time()
            calls_of(body)
            best = min(best, time.process_time() - begin)
        return best

    cost(500)
    assert cost(8000) < 3 * cost(4000) + 0.01


def test_calls_written_in_plain_text_are_ready_when_the_text_ends():
    text = '<tool name="f"><arguments><arg name="q">a</arg></arguments></tool>'
    chain = (xml_block_split(tables=("tool",)), tool_accumulate())
    out = sf.run(list(text), *chain)
    assert [(call.name, call.arguments, call.error) for call in out[-1].calls] == [("f", {"q": "a"}, None)]
    cut = sf.run([text[:-3]], *chain)
    assert not any(call.runnable for event in cut if isinstance(event, ToolCallsReady) for call in event.calls)
