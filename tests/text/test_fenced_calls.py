"""Calls in fences are found in every shape that models write, and nothing else is taken for a call."""

import pytest

from streamflow.text import fenced_calls
from streamflow.text.fenced_calls import FencedCalls
from tests.support.turns import all_cuts

CALL = '{"name": "search", "arguments": {"q": "a ``` b"}}'
FOUND = [("search", {"q": "a ``` b"})]


def calls_of(text, pieces=None, names=("search", "read")):
    reader = FencedCalls(names)
    for piece in pieces or [text]:
        reader.feed(piece)
    reader.end()
    return [(call.name, call.value) for call in reader.found]


SHAPES = {
    "plain": (f"Wait.\n```json\n{CALL}\n```\nDone.", FOUND),
    "tildes, indented": (f"  ~~~ JSON\n{CALL}\n ~~~~", FOUND),
    "on one line": (f"```json {CALL} ```", FOUND),
    "close right after": (f"```json\n{CALL}```\nmore", FOUND),
    "pretty": ('```json\n{\n  "name": "search",\n  "arguments": {\n    "q": 1\n  }\n}\n```', [("search", {"q": 1})]),
    "never closed": (f"```json\n{CALL}", FOUND),
    "two documents": (f"```json\n{CALL}\n{CALL}\n```", FOUND * 2),
    "a list": (f"```json\n[{CALL}, {CALL}]\n```", FOUND * 2),
    "two fences": (f"```json\n{CALL}\n```\n```json\n{CALL}\n```", FOUND * 2),
    "parameters": ('```json\n{"name": "search", "parameters": {"q": 1}}\n```', [("search", {"q": 1})]),
    "text arguments": ('```json\n{"name": "search", "arguments": "{\\"q\\": 1}"}\n```', [("search", {"q": 1})]),
    "no arguments": ('```json\n{"name": "search"}\n```', [("search", {})]),
    "null arguments": ('```json\n{"name": "search", "arguments": null}\n```', [("search", {})]),
    "function": (
        '```json\n{"type": "function", "function": {"name": "search", "arguments": "{}"}}\n```',
        [("search", {})],
    ),
    "tool_calls": ('```json\n{"tool_calls": [{"name": "read", "args": {}}]}\n```', [("read", {})]),
    "tool": ('```json\n{"tool": "read", "input": {"p": 1}}\n```', [("read", {"p": 1})]),
    "other case": ('```json\n{"name": "Search", "arguments": {}}\n```', [("Search", {})]),
    "another name": ('```json\n{"name": "delete", "arguments": {}}\n```', []),
    "a person": ('```json\n{"name": "search", "age": 3}\n```', []),
    "another language": (f"```python\n{CALL}\n```", []),
    "an example in a longer fence": (f"````markdown\n```json\n{CALL}\n```\n````", []),
    "no fence": (CALL, []),
    "in the middle of a line": (f"use ```json\n{CALL}", []),
    "cut": ('```json\n{"name": "search", "arguments": {"q": \n```', []),
    "not JSON": ("```json\nname: search\n```", []),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_cutting_finds_the_same_calls(shape):
    text, expected = SHAPES[shape]
    for pieces in all_cuts(text):
        assert calls_of(text, pieces) == expected


def test_arguments_that_are_no_json_are_a_call_with_an_error():
    reader = FencedCalls(["f"])
    reader.feed('```json\n{"name": "f", "arguments": "{oops"}\n```')
    reader.end()
    (call,) = reader.found
    assert call.value is None
    assert call.error
    assert call.arguments == "{oops"


def test_an_id_of_the_model_is_kept():
    reader = FencedCalls(["f"])
    reader.feed('```json\n{"id": "x1", "type": "function", "function": {"name": "f", "arguments": {}}}\n```\n')
    assert reader.found[0].id == "x1"


def test_a_name_between_markers_belongs_to_the_next_fence():
    reader = FencedCalls(["weather"])
    for text, marker in (
        ("<｜tool▁call▁begin｜>", True),
        ("function", False),
        ("<｜tool▁sep｜>", True),
        ('weather\n```json\n{"city": "Rome"}\n```', False),
        ("<｜tool▁call▁end｜>", True),
    ):
        reader.feed(text, marker)
    reader.end()
    assert [(call.name, call.value) for call in reader.found] == [("weather", {"city": "Rome"})]


def test_a_fence_beyond_the_bound_is_counted_and_not_kept(monkeypatch):
    monkeypatch.setattr(fenced_calls, "MAX_FENCE", 100)
    reader = FencedCalls(["search"])
    reader.feed("```json\n" + '{"name": "search", "arguments": {"q": "')
    for _ in range(50):
        reader.feed("xxxx")
    reader.feed('"}}\n```')
    reader.end()
    assert (reader.found, reader.skipped) == ([], 1)
