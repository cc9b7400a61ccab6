"""The shapes in which providers send tool calls, as a table."""

import pytest

from streamflow.providers.turn import Turn
from streamflow.text.calls import DocumentScanner, parse_arguments, split_documents

SHAPES = {
    "normal": ([(0, "a", "f", ""), (0, None, None, '{"x"'), (0, None, None, ":1}")], [("a", "f", '{"x":1}')]),
    "same index, two ids": ([(0, "a", "f", "{}"), (0, "b", "g", "{}")], [("a", "f", "{}"), ("b", "g", "{}")]),
    "no index": ([(None, "a", "f", '{"x"'), (None, None, None, ":1}")], [("a", "f", '{"x":1}')]),
    "no id": ([(0, None, "f", "{}"), (1, None, "g", "{}")], [(None, "f", "{}"), (None, "g", "{}")]),
    "neither": (
        [(None, None, "f", '{"x":1}'), (None, None, "f", '{"x":2}')],
        [(None, "f", '{"x":1}'), (None, "f", '{"x":2}')],
    ),
    "neither, arguments only": (
        [(None, None, "f", '{"x":1}'), (None, None, None, '{"x":2}')],
        [(None, "f", '{"x":1}'), (None, None, '{"x":2}')],
    ),
    "id on every delta": ([(0, "a", "f", '{"x"'), (0, "a", None, ":1}")], [("a", "f", '{"x":1}')]),
    "id again at another index": ([(0, "a", "f", '{"x"'), (1, "a", None, ":1}")], [("a", "f", '{"x":1}')]),
    "gaps": ([(1, "a", "f", "{}"), (5, "b", "g", "{}")], [("a", "f", "{}"), ("b", "g", "{}")]),
    "interleaved": (
        [(0, "a", "f", "{"), (1, "b", "g", "{"), (0, None, None, "}"), (1, None, None, "}")],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "whole in one": ([(0, "a", "f", '{"x":1}')], [("a", "f", '{"x":1}')]),
    "split name": ([(0, "a", "get_", ""), (0, None, "weather", "{}")], [("a", "get_weather", "{}")]),
    "name repeated": ([(0, "a", "f", ""), (0, "a", "f", "{}")], [("a", "f", "{}")]),
    "id late": ([(0, None, "f", ""), (0, "a", None, "{}")], [("a", "f", "{}")]),
    "empty ids later": ([(0, "a", "f", "{"), (0, "", None, "}")], [("a", "f", "{}")]),
    "braces in strings": (
        [(None, "a", "f", '{"x":"}{'), (None, None, None, '\\"}"}')],
        [("a", "f", '{"x":"}{\\"}"}')],
    ),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_fragments_find_their_call(shape):
    fragments, expected = SHAPES[shape]
    turn = Turn("p")
    for fragment in fragments:
        turn.call(*fragment)
    turn.complete()
    response = turn.partial()
    assert [(block.tool_id, block.tool_name, block.content) for block in response.blocks] == expected
    assert all(call.runnable for call in response.tool_calls)


@pytest.mark.parametrize("raw", ["", " \n", "null", "{}"])
def test_no_arguments_are_an_empty_object(raw):
    assert parse_arguments(raw) == ({}, None)


@pytest.mark.parametrize("raw", ['{"a":', "{", '{"a":1}}', "nope", "[" * 200_000, '{"a": NaN}'])
def test_bad_arguments_are_an_error_and_never_a_value(raw):
    value, error = parse_arguments(raw)
    assert value is None
    assert error


def test_long_integers_keep_every_digit():
    assert parse_arguments('{"id": 123456789012345678901234567890}')[0] == {"id": 123456789012345678901234567890}


def test_a_document_is_found_whole_at_every_cut():
    text = '{"a":"\\\\\\"}]","b":[{"c":"{"}]} tail'
    end = text.index(" tail")
    for place in range(len(text)):
        scanner = DocumentScanner()
        first = scanner.feed(text[:place])
        found = first if first >= 0 else place + scanner.feed(text[place:])
        assert found == end


def test_documents_are_split_where_they_close():
    assert split_documents('{"a":1} [2]{"b"') == ['{"a":1}', " [2]", '{"b"']
