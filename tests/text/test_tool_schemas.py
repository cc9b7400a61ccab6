"""Every way to say what a tool is ends in one shape."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from streamflow.errors import UsageError
from streamflow.text.tool_schemas import ToolSchema, tool_schema, tool_schemas

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    unit: Literal["c", "f"] = "c"


def weather(city: Annotated[str, Field(description="a town")], days: int = 1, tags: list[str] | None = None) -> str:
    """The weather of a city."""
    return city


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}},
        {"type": "function", "name": "weather", "parameters": SCHEMA},
        {"name": "weather", "input_schema": SCHEMA},
        {"name": "weather", "inputSchema": SCHEMA},
        {"name": "weather", "parametersJsonSchema": SCHEMA},
        {"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}},
        {"title": "weather", **SCHEMA},
        ToolSchema("weather", "", SCHEMA),
    ],
)
def test_schemas_of_every_vendor(tool):
    entry = tool_schema(tool)
    assert entry.name == "weather"
    assert entry.parameters["properties"] == SCHEMA["properties"]


def test_a_model_and_a_function():
    model = tool_schema(Weather)
    assert (model.name, model.description) == ("Weather", "The weather of a city.")
    assert model.parameters["properties"]["unit"]["enum"] == ["c", "f"]
    function = tool_schema(weather)
    assert (function.name, function.description) == ("weather", "The weather of a city.")
    assert function.parameters["required"] == ["city"]
    assert function.parameters["properties"]["city"]["description"] == "a town"
    assert function.parameters["properties"]["days"]["type"] == "integer"


def test_a_mapping_of_names():
    assert list(tool_schemas({"a": SCHEMA, "b": weather, "c": {"parameters": SCHEMA}})) == ["a", "b", "c"]
    assert tool_schemas({"a": SCHEMA})["a"].parameters == SCHEMA


def test_bare_names_only_where_they_are_allowed():
    assert list(tool_schemas(["a"], names=True)) == ["a"]
    with pytest.raises(UsageError, match="'a' is no tool"):
        tool_schemas(["a"])


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ("abc", "tools='abc'"),
        (3, "tools=3"),
        ([3], "3 is no tool"),
        ([{}], "has no name"),
        ([{"function": "f"}], "has no name"),
        ([{"name": "f", "parameters": 3}], "schema of 'f'"),
        ([{"name": "f"}, {"name": "f"}], "'f' is given twice"),
        ([lambda x: x], "has no name"),
        ([int], "is no tool"),
    ],
)
def test_what_is_no_tool_is_named(tools, message):
    with pytest.raises(UsageError, match=message):
        tool_schemas(tools)


def test_untyped_parameters_are_named():
    def untyped(x): ...

    def many(*args: int): ...

    with pytest.raises(UsageError, match="'x' of untyped"):
        tool_schema(untyped)
    with pytest.raises(UsageError, match="ordinary parameter"):
        tool_schema(many)
