"""Arguments written as text: what they are worth, with a schema and without."""

import json

import pytest

from streamflow.text.argument_values import ArgumentTypes, is_streamed, json_value, quoted
from streamflow.text.tool_schemas import tool_schemas

SCHEMA = {
    "name": "Tool",
    "parameters": {
        "properties": {
            "plain": {"type": "string"},
            "upper": {"type": "STRING"},
            "many": {"type": ["integer", "null"]},
            "any_of": {"anyOf": [{"type": "string"}, {"type": "array"}]},
            "ref": {"$ref": "#/$defs/thing"},
            "loop": {"$ref": "#/properties/loop"},
            "dangling": {"$ref": "#/$defs/none"},
            "choice": {"enum": [1, True, None, "x", {}]},
            "constant": {"const": 2.5},
            "untyped": {},
        },
        "$defs": {"thing": {"type": "object"}},
    },
}


@pytest.mark.parametrize(
    ("argument", "types"),
    [
        ("plain", ("string",)),
        ("upper", ("string",)),
        ("many", ("integer", "null")),
        ("any_of", ("string", "array")),
        ("ref", ("object",)),
        ("loop", ()),
        ("dangling", ()),
        ("choice", ("number", "boolean", "null", "string", "object")),
        ("constant", ("number",)),
        ("untyped", ()),
        ("unknown", ()),
    ],
)
def test_types_come_from_the_schema(argument, types):
    assert ArgumentTypes(tool_schemas([SCHEMA])).of("tOOL", argument) == types


def test_files_are_text_unless_a_schema_says_otherwise():
    assert ArgumentTypes({}).of("Write_File", "content") == ("string",)
    other = ArgumentTypes(
        tool_schemas([{"name": "write_file", "parameters": {"properties": {"content": {"type": "object"}}}}])
    )
    assert other.of("write_file", "content") == ("object",)


@pytest.mark.parametrize(
    ("types", "text", "value"),
    [
        ((), "", ""),
        ((), "{", "{"),
        ((), '[1, {"a": 2}]', [1, {"a": 2}]),
        ((), '\n{"a": 1}', '\n{"a": 1}'),
        (("string",), "[1]", "[1]"),
        (("string", "array"), "[1]", [1]),
        (("string", "array"), '{"a": 1}', '{"a": 1}'),
        (("integer",), "12345678901234567890123", 12345678901234567890123),
        (("integer",), "2.0", 2),
        (("number",), "2.0", 2.0),
        (("boolean",), " TRUE ", True),
        (("null", "integer"), "null", None),
        (("object", "array", "number", "boolean", "null"), "3", 3),
    ],
)
def test_values(types, text, value):
    written, error = json_value(types, text)
    assert error is None
    got = json.loads(written)
    assert (got, type(got)) == (value, type(value))
    if text and is_streamed(types, text[0]):
        assert got == text


@pytest.mark.parametrize(
    ("types", "text"),
    [(("integer",), "2.5"), (("integer",), "true"), (("boolean",), "yes"), (("null",), ""), (("object",), "[]")],
)
def test_what_does_not_fit(types, text):
    written, error = json_value(types, text)
    assert json.loads(written) == text
    assert f"not of type {types[0]}" in error


def test_pieces_of_a_string_join_to_the_string():
    text = 'a"b\\c\n\u2028İ😀\x00'
    assert json.loads('"' + "".join(quoted(character) for character in text) + '"') == text
