"""One argument as it arrives, decoded, with what must be known before it."""

import json

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import BlockStart, Chunk, Retrying
from streamflow.operators import _field_stream, field_stream, xml_block_split
from streamflow.views import Field
from tests.support.turns import all_cuts, block, call_block, turn

CONTENT = 'print("café 😀")\n\t\b\f/\\ \u2028 end'
PATH_FIRST = json.dumps({"opts": {"path": "/evil", "content": "no"}, "path": "/a", "content": CONTENT, "x": [1]})
PATH_LAST = json.dumps({"content": CONTENT, "opts": {"path": "/evil"}, "path": "/a"})


def fields(events, name="content", **options):
    return [event for event in sf.run(events, field_stream(name, **options)) if isinstance(event, Field)]


def joined(found):
    """Text, values and finality of each call's field, pieces joined where their values agree."""
    out = []
    for field in found:
        if out and out[-1][1] == field.values and not out[-1][2]:
            out[-1] = (out[-1][0] + field.text, field.values, field.final)
        else:
            out.append((field.text, field.values, field.final))
    return out


@pytest.mark.parametrize("text", [PATH_FIRST, PATH_LAST])
def test_every_cutting_gives_the_decoded_text_with_its_path(text):
    for pieces in all_cuts(text):
        events = turn(call_block(pieces, 2, id="c", name="write_file"))
        out = sf.run(events, field_stream("content", after="path"))
        assert [event for event in out if not isinstance(event, Field)] == events
        found = [event for event in out if isinstance(event, Field)]
        assert joined(found) == [(CONTENT, {"path": "/a"}, True)]
        assert {(field.tool_id, field.tool_name, field.index) for field in found} == {("c", "write_file", 2)}


def test_escaped_and_plain_documents_stream_the_same():
    plain = json.dumps({"path": "/a", "content": CONTENT}, ensure_ascii=False)
    assert joined(fields(call_block([plain]))) == joined(fields(call_block([json.dumps({"content": CONTENT})])))


def test_text_leaves_with_the_piece_that_brings_it():
    feeder = sf.Feeder(field_stream("content"))
    _, name, id, one, two, three, done = call_block(['{"content": "ab\\', 'u00e', '9c"}'])
    assert [feeder.feed(event)[1:] for event in (name, id)] == [[], []]
    assert [[field.text for field in feeder.feed(event)[1:]] for event in (one, two, three)] == [["ab"], [], ["éc"]]
    assert feeder.feed(done) == [done]


def test_values_of_any_kind_are_waited_for():
    text = '{"content": "x", "lines": [1, {"a": "b"}], "force": true}'
    for pieces in all_cuts(text):
        expected = {"lines": [1, {"a": "b"}], "force": True}
        assert joined(fields(call_block(pieces), after=["lines", "force"])) == [("x", expected, True)]


def test_what_never_comes_is_not_waited_for_beyond_the_call():
    assert joined(fields(call_block(['{"content": "x"}']), after="path")) == [("x", {}, True)]
    assert joined(fields(call_block(['{"content": "x"'])[:-1], after="path")) == [("x", {}, True)]


def test_a_cut_field_is_never_final():
    cut = call_block(['{"path": "/a", "content": "x\\'], incomplete=True, error="cut")
    assert joined(fields(cut, after="path")) == [("x", {"path": "/a"}, False)]
    assert joined(fields(cut[:-1], after="other")) == [("x", {}, False)]


def test_an_empty_text_is_said_once_when_it_is_over():
    assert joined(fields(call_block(['{"content": "', '"}']))) == [("", {}, True)]


@pytest.mark.parametrize("value", ["7", "null", '{"content": "x"}', '["x"]'])
def test_only_text_is_streamed(value):
    assert fields(call_block([f'{{"content": {value}, "b": 1}}'])) == []


def test_the_first_of_two_values_counts():
    assert joined(fields(call_block(['{"content": "a", "content": "b"}']))) == [("a", {}, True)]


def test_a_name_that_comes_late_is_waited_for():
    start, name, _, *rest = call_block(['{"content": "x"}'])
    parts = [Chunk(e.index, e.kind, e.text, False, part="input") for e in rest[:-1]]
    (field,) = fields([start, *parts, name, rest[-1]])
    assert (field.tool_name, field.text, field.final) == ("f", "x", True)


def test_too_much_text_does_not_wait_any_longer(monkeypatch):
    monkeypatch.setattr(_field_stream, "MAX_WAITING", 10)
    text = '{"content": "0123456789abcdef", "path": "/a"}'
    for pieces in all_cuts(text):
        assert joined(fields(call_block(pieces), after="path")) == [("0123456789abcdef", {}, True)]


def test_parallel_calls_and_two_operators_do_not_meet():
    one, two = call_block(['{"content": "a', '1"}'], 0, id="x"), call_block(['{"command": "b', '2"}'], 1, id="y")
    mixed = [event for pair in zip(one, two, strict=True) for event in pair]
    out = sf.run(mixed, field_stream("content"), field_stream("command"))
    found = [event for event in out if isinstance(event, Field)]
    assert [(field.tool_id, field.name, field.text) for field in found] == [
        ("x", "content", "a"), ("y", "command", "b"), ("x", "content", "1"), ("y", "command", "2"),
    ]  # fmt: skip


def test_a_retry_that_discards_starts_anew():
    events = [*call_block(['{"content": "x'])[:-1], Retrying(1, 2, discard=True), *call_block(['{"content": "y"}'])]
    assert [field.text for field in fields(events)] == ["x", "y"]


@pytest.mark.parametrize("events", [["plain"], turn(block(["text"])), [BlockStart(0, "tool_call")]])
def test_other_things_pass(events):
    assert sf.run(events, field_stream("content")) == events


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [
        (("",), {}, "name"),
        ((7,), {}, "name"),
        (("content",), {"after": "content"}, "after"),
        (("content",), {"after": ""}, "after"),
        (("content",), {"after": [7]}, "after"),
        (("content",), {"after": 7}, "after"),
    ],
)
def test_wrong_options_are_said_at_once(arguments, options, named):
    with pytest.raises(UsageError, match=named):
        field_stream(*arguments, **options)


def test_calls_written_in_text_stream_their_field_like_native_ones():
    text = (
        '<function_calls><invoke name="write"><parameter name="path">/a</parameter>'
        '<parameter name="content">x = "1"\né 😀</parameter></invoke></function_calls>'
    )
    for pieces in all_cuts(text):
        out = sf.run(turn(block(pieces)), xml_block_split(), field_stream("content", after="path"))
        found = [event for event in out if isinstance(event, Field)]
        assert joined(found) == [('x = "1"\né 😀', {"path": "/a"}, True)]
