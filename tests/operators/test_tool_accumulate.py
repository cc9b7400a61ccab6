"""Calls are ready just before a proper end, and never otherwise."""

import pytest

import streamflow as sf
from streamflow.events import BlockComplete, StreamCompleted, StreamFailed, ToolCallsReady
from streamflow.operators import tool_accumulate

GOOD = BlockComplete(0, "tool_call", "{}", tool_id="a", tool_name="f", input={})
BAD = BlockComplete(1, "tool_call", "{", tool_id="b", tool_name="g", error="not JSON")
SERVER = BlockComplete(2, "tool_call", "{}", attributes={"server": "search"})


def ready(*events):
    return [event for event in sf.run(events, tool_accumulate()) if isinstance(event, ToolCallsReady)]


def test_all_calls_of_a_turn_come_together():
    (event,) = ready(GOOD, BAD, SERVER, StreamCompleted("tool_use"))
    assert [(call.id, call.runnable) for call in event.calls] == [("a", True), ("b", False)]


@pytest.mark.parametrize(
    "end", [StreamCompleted("cancelled"), StreamFailed(sf.events.ErrorInfo("StreamTruncated", ""))]
)
def test_a_turn_that_did_not_end_properly_has_no_ready_calls(end):
    assert ready(GOOD, end) == []


def test_a_turn_without_calls_is_left_alone():
    assert sf.run([StreamCompleted()], tool_accumulate()) == [StreamCompleted()]


def test_turns_are_counted_apart():
    first, second = ready(GOOD, StreamCompleted("tool_use"), BAD, StreamCompleted("tool_use"))
    assert (len(first.calls), len(second.calls)) == (1, 1)
