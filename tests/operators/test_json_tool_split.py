"""Calls written as JSON in prose, cut in every way."""

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import BlockComplete
from streamflow.operators import json_tool_split
from tests.support.splits import blocks, split

F = ("tool_call", ("f", {"a": 1}))


@pytest.mark.parametrize(
    ("profile", "text", "expected"),
    [
        ("default", 'x {"tool": {"function": "f", "parameters": {"a": 1}}} y', [("text", "x "), F, ("text", " y")]),
        ("default", '{"tool": {"function": {"name": "f"}, "arguments": {"a": 1}}}', [F]),
        ("default", '{"tool": "f", "arguments": {"a": 1}}', [F]),
        ("default", '{ "function" :\n{"name": "f", "arguments": {"a": 1}}}', [F]),
        ("default", '{"function": {"arguments": {"a": 1}, "name": "f"}}', [F]),
        ("openai", '{"function": {"name": "f", "arguments": "{\\"a\\": 1}"}, "id": "late"}.', [F, ("text", ".")]),
        ("openai", '[{"function": {"name": "f", "arguments": {"a": 1}}}]', [F]),
        ("mistral", '{"tools": [{"name": "f", "args": {"a": 1}} ,\n {"name": "f", "args": {"a": 1}}]}', [F, F]),
        (
            "deepseek",
            '{"tool_calls": [{"id": "1", "type": "x", "function": {"name": "f", "arguments": {"a": 1}}}], "n": {}}!',
            [F, ("text", "!")],
        ),
        ("gemini", '{"name": "f", "args": {"a": 1}}', [F]),
        (
            "gemini",
            '[{"name": "f", "args": {"a": 1}}, {"name": "g", "args": {"s": "]}"}}] z',
            [F, ("tool_call", ("g", {"s": "]}"})), ("text", " z")],
        ),
        (
            "any",
            '{"name":"f","arguments":{"s":"say \\" now"}} x',
            [("tool_call", ("f", {"s": 'say " now'})), ("text", " x")],
        ),
        ("any", '{"name":"f","arguments":{"s":"\\\\"}} x', [("tool_call", ("f", {"s": "\\"})), ("text", " x")]),
        ("any", '{"name":"f","arguments":null}', [("tool_call", ("f", {}))]),
        ("any", '{"name":"f","arguments":null1 x', [("tool_call!", ""), ("text", "null1 x")]),
        ("any", '{"name":"f","arguments":{"a":', [("tool_call!", '{"a":')]),
        ("any", '{"name":"f","arguments":{"a":1} x', [("tool_call!", '{"a":1}'), ("text", "x")]),
        ("any", '{"name":"f","arguments":{a}} x', [("tool_call!", "{a}"), ("text", " x")]),
        ("any", '[{"name":"f","args":{"a":1}}, 5] x', [F, ("text", ", 5] x")]),
        ("any", '{"na{"name": "f", "args": {"a": 1}}', [("text", '{"na'), F]),
    ],
)
def test_calls(profile, text, expected):
    assert blocks(text, json_tool_split(profile)) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Bob", "age": 3}',
        '{"name": "Bob"}',
        '{"tool": "hammer"}',
        '{"tool": 3, "arguments": {}}',
        '{"function": {"name": "f", "description": "a schema", "parameters": {}}}',
        '{"tool_calls": []}',
        '{"tool_calls": [3]}',
        'a { b } [ c ] {"x": 1}',
        '`{"name": "f", "args": {}}`',
        '{"name": "f", "args"',
        '{"name": "", "args": {}}',
    ],
)
def test_what_is_no_call_is_text(text):
    assert blocks(text, json_tool_split("any")) == [("text", text)]


def test_only_the_tools_that_are_given():
    operator = json_tool_split("any", tools=["Search"])
    assert blocks('{"name": "search"} {"name": "Bob", "args": {}}', operator) == [
        ("tool_call", ("search", {})),
        ("text", ' {"name": "Bob", "args": {}}'),
    ]
    stage = operator.make_stage()
    stage.feed('{"name": "Sea')
    assert stage.held == '{"name": "Sea'
    stage.feed("l")
    assert stage.held == ""


@pytest.mark.parametrize(
    "text", ['{"name": "Bob", "ag', '{"name": "f", "args": 3', '{"name": 3', '{"tool" x', '[{"name":"f","\n']
)
def test_an_object_leaves_as_soon_as_it_can_be_no_call(text):
    stage = json_tool_split("any").make_stage()
    stage.feed(text[:-1])
    assert stage.held == text[:-1]
    stage.feed(text[-1])
    assert stage.held == ""


def test_a_call_streams_in_the_parts_of_a_native_one():
    stage = json_tool_split("any").make_stage()
    assert list(stage.feed('{"name": "f", "id": "c1", "args": ')) == []
    out = list(stage.feed('{"a": "x'))
    assert [(getattr(event, "part", "start"), getattr(event, "text", "")) for event in out] == [
        ("start", ""),
        ("name", "f"),
        ("id", "c1"),
        ("input", '{"a": "x'),
    ]
    done = [event for event in stage.feed('"}}') if isinstance(event, BlockComplete)]
    assert (done[0].tool_id, done[0].input) == ("c1", {"a": "x"})
    assert done[0].raw == '{"name": "f", "id": "c1", "args": {"a": "x"}}'


def test_the_head_of_a_call_is_bounded():
    text = '{"name": "' + "x" * 5000 + '", "args": {}}'
    stage = json_tool_split("gemini").make_stage()
    for character in text:
        stage.feed(character)
        assert len(stage.held) < 4096
    assert [event.kind for event in sf.run([text], json_tool_split("gemini"))] == ["text"] * 3


def test_calls_of_a_list_have_their_own_source():
    done = split('[{"name":"f","args":{}},{"name":"g","args":{}}]', json_tool_split("any"))
    assert [e.raw for e in done if isinstance(e, BlockComplete)] == ['{"name":"f","args":{}}', '{"name":"g","args":{}}']


def test_wrong_options_are_named():
    with pytest.raises(UsageError, match="profile='x': choose one of default, openai"):
        json_tool_split("x")
    with pytest.raises(UsageError, match="tools: 3 is no tool"):
        json_tool_split(tools=[3])
