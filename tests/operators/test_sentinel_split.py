"""Blocks between sentinels, cut in every way."""

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import BlockStart
from streamflow.operators import sentinel_split
from tests.support.splits import blocks, split

FILE = '[[SEG_START {"type":"write_file","path":"/a.ts"}]]x = 1\n[[SEG_END]]'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a {FILE} b", [("text", "a "), ("write_file", "x = 1\n"), ("text", " b")]),
        ('[[SEG_START{"type":"run_bash"} \n ]]ls[[SEG_END]]', [("run_bash", "ls")]),
        ('[[SEG_START {"type":"run_terminal_cmd"}]]ls[[SEG_END]]', [("run_bash", "ls")]),
        ('[[SEG_START {"type":"reasoning"}]]hm[[SEG_END]]ok', [("thinking", "hm"), ("text", "ok")]),
        ('[[SEG_START {"type":"text"}]]hi[[SEG_END]]', [("text", "hi")]),
        ('[[SEG_START {"type":"edit_file","path":"]]"}]]x[[SEG_END]]', [("edit_file", "x")]),
        ('[[SEG_START {"type":"edit_file","path":"\\"]] }"}]]x[[SEG_END', [("edit_file!", "x[[SEG_END")]),
        ('[[SEG_START {"type":"tool","tool_name":"f"}]]{"a": 1}[[SEG_END]]', [("tool_call", ("f", {"a": 1}))]),
        ('[[SEG_START {"type":"tool","name":"f"}]][[SEG_END]]', [("tool_call", ("f", {}))]),
        ('[[SEG_START {"type":"tool_call"}]]{"name":"f","arguments":{}}[[SEG_END]]', [("tool_call", ("f", {}))]),
        ('[[SEG_START {"type":"tool","name":"f"}]]{"a": [[SEG_END]]z', [("tool_call!", '{"a": '), ("text", "z")]),
        ('[[SEG_START {"type":"tool","name":"f"}]]{"a": 1}', [("tool_call!", '{"a": 1}')]),
        (f"[[[SEG_START {FILE}", [("text", "[[[SEG_START "), ("write_file", "x = 1\n")]),
        (f"[{FILE}", [("text", "["), ("write_file", "x = 1\n")]),
        (f"`{FILE}`", [("text", f"`{FILE}`")]),
    ],
)
def test_blocks(text, expected):
    assert blocks(text, sentinel_split()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[[SEG_START {bad}]]x[[SEG_END]]",
        '[[SEG_START {"type":"nope"}]]x[[SEG_END]]',
        '[[SEG_START {"type":3}]]x',
        '[[SEG_START ["type"]]]x',
        '[[SEG_START {"path":"x"}]]x',
        '[[SEG_START {"type":"run_bash"} x]]',
        '[[SEG_START {"type":"run_bash"}]x',
        '[[SEG_START {"type":"run_b',
        "[[SEG_END]] [[SEG_STARTS {}]]",
    ],
)
def test_what_is_no_header_is_text(text):
    assert blocks(text, sentinel_split()) == [("text", text)]


@pytest.mark.parametrize(
    "text", ["[[SEG_START {>", '[[SEG_START {"a":x', '[[SEG_START {"a":1 "', "[[SEG_START x", '[[SEG_START {"a":1,}']
)
def test_a_header_leaves_as_soon_as_it_can_be_none(text):
    stage = sentinel_split().make_stage()
    stage.feed(text[:-1])
    assert stage.held == text[:-1]
    stage.feed(text[-1])
    assert stage.held == ""


def test_a_header_is_bounded():
    text = '[[SEG_START {"type":"run_bash","x":"' + "y" * 60 + '"}]]ls'
    assert blocks(text, sentinel_split(max_tag=64)) == [("text", text)]
    assert blocks(text, sentinel_split(max_tag=len(text) - 2)) == [("run_bash!", "ls")]


def test_other_fields_are_attributes_and_ids_are_used():
    start = split(FILE, sentinel_split())[0]
    assert start == BlockStart(0, "write_file", {"path": "/a.ts"})
    call = split('[[SEG_START {"type":"tool","name":"f","id":"c7","x":1}]]{}[[SEG_END]]', sentinel_split())[-1]
    assert (call.tool_id, call.attributes) == ("c7", {"x": 1})


def test_further_types_stand_for_themselves():
    assert blocks('[[SEG_START {"type":"plan"}]]x[[SEG_END]]', sentinel_split(["plan"])) == [("plan", "x")]


def test_wrong_options_are_named():
    with pytest.raises(UsageError, match="types='plan': give a list"):
        sentinel_split("plan")
    with pytest.raises(UsageError, match="types: 3 is no name; known without it are text"):
        sentinel_split([3])
    with pytest.raises(UsageError, match="max_tag=3"):
        sentinel_split(max_tag=3)
    with pytest.raises(UsageError, match="code='x'"):
        sf.operators.sentinel_split(code="x")
