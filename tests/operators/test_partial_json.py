"""Arguments are shown as they come; the events themselves pass untouched."""

import json
import time

import pytest

import streamflow as sf
from streamflow.events import Chunk, Retrying
from streamflow.operators import partial_json
from streamflow.views import ArgumentsView, PartialArguments
from tests.support.turns import all_cuts, block, call_block, turn

VALUE = {"path": "a/é.py", "content": 'print("😀")\n', "lines": [1, 2, {"x": None}], "force": True}
TEXT = json.dumps(VALUE)


def steps(events):
    return [event for event in sf.run(events, partial_json()) if isinstance(event, PartialArguments)]


def test_every_cutting_ends_in_the_arguments():
    for pieces in all_cuts(TEXT):
        events = turn(call_block(pieces, 3, id="c", name="write"))
        out = sf.run(events, partial_json())
        views = [event for event in out if isinstance(event, PartialArguments)]
        assert [event for event in out if not isinstance(event, PartialArguments)] == events
        assert views[-1].arguments == VALUE
        assert {(view.index, view.tool_id, view.tool_name) for view in views} == {(3, "c", "write")}
        view = ArgumentsView()
        for event in views:
            view.add(event)
        assert view.value == VALUE


def test_each_event_shows_its_own_moment_even_later():
    views = steps(call_block(['{"a": "x', 'y", "b": [1', ", 2]}"]))
    assert [view.arguments for view in views] == [
        {},
        {"a": "x"},
        {"a": "xy"},
        {"a": "xy", "b": []},
        {"a": "xy", "b": [1]},
        {"a": "xy", "b": [1, 2]},
    ]
    assert views[1].arguments == {"a": "x"}


def test_parallel_calls_are_read_apart():
    one = call_block(['{"a": 1', "}"], 0, id="x")
    two = call_block(['{"b": 2', "}"], 1, id="y")
    mixed = [event for pair in zip(one, two, strict=True) for event in pair]
    assert [(view.tool_id, view.arguments) for view in steps(mixed)][-2:] == [("x", {"a": 1}), ("y", {"b": 2})]


def test_a_number_that_is_all_there_is_ends_with_the_call():
    assert [view.value for view in steps(call_block(["1", "2"]))] == [12]
    assert steps(call_block(["1", "2"], incomplete=True)) == []


def test_broken_arguments_are_shown_as_far_as_they_go():
    assert steps(call_block(['{"a": "x", oops']))[-1].arguments == {"a": "x"}


@pytest.mark.parametrize("events", [["plain"], turn(block(["text"])), [Chunk(0, "write_file", "{", part=None)]])
def test_other_things_pass(events):
    assert sf.run(events, partial_json()) == events


def test_a_retry_that_discards_starts_anew():
    events = [*call_block(['{"a": 1'])[:-1], Retrying(1, 2, discard=True), *call_block(['{"b": 2}'])]
    assert steps(events)[-1].arguments == {"b": 2}


def test_cost_is_linear():
    def cost(size):
        text = json.dumps({"content": "x y " * (size // 4)})
        events = call_block([text[place : place + 8] for place in range(0, size, 8)])
        best = 9.9
        for _ in range(5):
            begin = time.process_time()
            sf.run(events, partial_json())
            best = min(best, time.process_time() - begin)
        return best

    cost(1000)
    assert cost(100_000) < 0.5
    assert cost(200_000) < 2.5 * cost(100_000) + 0.005
