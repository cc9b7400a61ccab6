"""Arguments against JSON schemas."""

from typing import Any

import pytest

from streamflow.tools.schema_check import problems

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["city"],
    "additionalProperties": False,
    "properties": {
        "city": {"type": "string"},
        "days": {"type": ["integer", "null"]},
        "unit": {"enum": ["C", "F"]},
        "places": {"type": "array", "items": {"$ref": "#/$defs/place"}},
        "when": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    },
    "$defs": {"place": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
}


@pytest.mark.parametrize(
    "value",
    [
        {"city": "Rome"},
        {"city": "", "days": None, "unit": "C"},
        {"city": "Rome", "days": 3, "places": [{"name": "a"}, {"name": "b", "more": 1}], "when": 1.5},
    ],
)
def test_what_fits(value: Any) -> None:
    assert problems(SCHEMA, value) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, ["arguments.city is missing"]),
        ([], ["arguments is list; expected object"]),
        ("x", ["arguments is str; expected object"]),
        (None, ["arguments is NoneType; expected object"]),
        ({"city": 1}, ["arguments.city is int; expected string"]),
        ({"city": "a", "days": True}, ["arguments.days is bool; expected integer or null"]),
        ({"city": "a", "days": 1.5}, ["arguments.days is float; expected integer or null"]),
        ({"city": "a", "unit": "K"}, ["arguments.unit is 'K'; expected one of ['C', 'F']"]),
        ({"city": "a", "town": "b"}, ["arguments.town is unknown"]),
        ({"city": "a", "places": [{}]}, ["arguments.places[0].name is missing"]),
        ({"city": "a", "places": {}}, ["arguments.places is dict; expected array"]),
        ({"city": "a", "when": []}, ["arguments.when is list; expected string"]),
    ],
)
def test_what_does_not_fit(value: Any, expected: list[str]) -> None:
    assert problems(SCHEMA, value) == expected


def test_a_schema_that_refers_to_itself_ends() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#"}}}
    value: dict[str, Any] = {}
    for _ in range(500):
        value = {"child": value}
    assert problems(tree, value) == []
    assert problems({"$ref": "#"}, 1) == []
    assert problems({"$ref": "#/nowhere"}, 1) == []
    assert problems(True, 1) == []
