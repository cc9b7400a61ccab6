"""What a tool is, and how its arguments are checked."""

import dataclasses
import enum
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import streamflow as sf
from streamflow.tools.registry import InvalidArguments, Tool, ToolContext, tool_table

CONTEXT = ToolContext(sf.ToolCall("c", "f"))


def book(seats: Annotated[int, Field(ge=1)], where: Literal["in", "out"] = "in", notes: list[str] | None = None) -> str:
    """Book a table."""
    return f"{seats} {where} {notes}"


class Add(BaseModel):
    """Add two numbers."""

    a: int
    b: int


class Machine:
    """Methods are tools too."""

    def __init__(self) -> None:
        self.calls = 0

    def run(self, times: int, context: ToolContext) -> int:
        """Run it."""
        self.calls += times
        return self.calls + context.depth


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"seats": 2}, "2 in None"),
        ({"seats": "2", "where": "out"}, "2 out None"),
        ({"seats": 2, "notes": ["window"]}, "2 in ['window']"),
    ],
)
def test_arguments_that_fit(arguments: dict[str, Any], expected: str) -> None:
    assert Tool(book).prepare(arguments, None)() == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "seats: Field required"),
        ({"seats": 0}, "seats: Input should be greater than or equal to 1"),
        ({"seats": 1, "where": "up"}, "where: Input should be 'in' or 'out'"),
        ({"seats": 1, "chairs": 2}, "chairs: Extra inputs are not permitted"),
        ([1], "Input should be a valid dictionary"),
        ("1", "Input should be a valid dictionary"),
        (None, "Input should be a valid dictionary"),
    ],
)
def test_arguments_that_do_not_fit_are_explained_and_never_echoed(arguments: Any, words: str) -> None:
    with pytest.raises(InvalidArguments, match=words):
        Tool(book).prepare(arguments, None)


def test_a_model_with_a_function_gets_the_checked_model() -> None:
    tool = Tool(Add, lambda numbers: numbers.a + numbers.b)
    assert tool.name == "Add"
    assert tool.prepare({"a": 1, "b": "2"}, None)() == 3
    with pytest.raises(InvalidArguments, match="b: Field required"):
        tool.prepare({"a": 1}, None)


def test_methods_and_their_context() -> None:
    machine = Machine()
    tool = Tool(machine.run)
    assert list(tool.schema.parameters["properties"]) == ["times"]
    assert tool.prepare({"times": 3}, ToolContext(sf.ToolCall("c", "run"), depth=2))() == 5
    assert machine.calls == 3


def test_the_context_cannot_be_given_by_the_model() -> None:
    with pytest.raises(InvalidArguments, match="context: Extra inputs"):
        Tool(Machine().run).prepare({"times": 1, "context": {}}, CONTEXT)


def test_a_schema_with_a_function_by_names_or_as_one_object() -> None:
    schema = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    assert Tool(schema, lambda x=1: x * 2).prepare({"x": 4}, None)() == 8
    assert Tool(schema, lambda arguments: arguments).prepare({"x": 4}, None)() == {"x": 4}
    with pytest.raises(InvalidArguments, match="expected integer"):
        Tool(schema, lambda x: x).prepare({"x": "4"}, None)


def test_async_is_recognised() -> None:
    async def waits() -> None: ...

    class Waits:
        """An object that is called."""

        async def __call__(self) -> None: ...

    assert Tool(waits).is_async
    assert Tool({"name": "w"}, Waits()).is_async
    assert not Tool(book).is_async


def test_a_table_by_names() -> None:
    table = tool_table({"reserve": book})
    assert list(table) == ["reserve"]
    assert table["reserve"].schema.description == "Book a table."
    assert table["reserve"].prepare({"seats": 1}, None)() == "1 in None"


@pytest.mark.parametrize("tools", [[5], [lambda x: x], [Add], [{"name": "f"}], "book", [book, book]])
def test_what_is_no_tool(tools: Any) -> None:
    with pytest.raises(sf.UsageError, match="tool"):
        tool_table(tools)


# -- hints of every kind


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Spot:
    x: int
    marks: list[str] = dataclasses.field(default_factory=list)


class Size(TypedDict):
    wide: int


def optional(city: Optional[str] = None, days: "int | str" = 1) -> Any:  # noqa: UP045  people write it so
    return city, days


def nested(spot: Spot, add: Add, size: Size, colour: Colour) -> Any:
    return spot.x, add.b, size["wide"], colour


def formed(day: date, id: UUID, tags: set[str], pair: tuple[int, str]) -> Any:
    return day.year, id.int, tags, pair


def loose(table: dict, rows: list, anything: Any, counts: dict[str, int] | None = None) -> Any:  # type: ignore[type-arg]
    return table, rows, anything, counts


def noted(city: Annotated[str, "a town"], days: int = Field(3, ge=1, description="how many")) -> Any:
    return city, days


def shadowing(model_config: str, schema: str, _page: int = 1, *, json: str = "", copy: bool = False) -> Any:
    return model_config, schema, _page, json, copy


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (optional, {}, (None, 1)),
        (optional, {"city": None, "days": "two"}, (None, "two")),
        (
            nested,
            {"spot": {"x": 1}, "add": {"a": 1, "b": 2}, "size": {"wide": 3}, "colour": "red"},
            (1, 2, 3, Colour.RED),
        ),
        (
            formed,
            {"day": "2024-02-29", "id": str(UUID(int=7)), "tags": ["a", "a"], "pair": [1, "b"]},
            (2024, 7, {"a"}, (1, "b")),
        ),
        (loose, {"table": {"a": [1]}, "rows": [1, "b"], "anything": None}, ({"a": [1]}, [1, "b"], None, None)),
        (noted, {"city": "Rome"}, ("Rome", 3)),
        (shadowing, {"model_config": "a", "schema": "b", "_page": 2, "json": "{}"}, ("a", "b", 2, "{}", False)),
    ],
)
def test_hints_of_every_kind(function: Any, arguments: dict[str, Any], expected: Any) -> None:
    tool = Tool(function)
    assert set(arguments) <= set(tool.schema.parameters["properties"])
    assert tool.prepare(arguments, None)() == expected
    with pytest.raises(InvalidArguments, match="nobody"):
        tool.prepare({**arguments, "nobody": 1}, None)


def test_what_is_noted_about_a_parameter_is_told_to_the_model() -> None:
    properties = Tool(noted).schema.parameters["properties"]
    assert properties["city"]["description"] == "a town"
    assert properties["days"] == {
        "default": 3,
        "description": "how many",
        "minimum": 1,
        "title": "Days",
        "type": "integer",
    }
    with pytest.raises(InvalidArguments, match="days"):
        Tool(noted).prepare({"city": "Rome", "days": 0}, None)


def test_hints_that_no_model_can_fill() -> None:
    def later(visit: Callable[[int], int]) -> None: ...

    def unknown(town: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    for function in (later, unknown):
        with pytest.raises(sf.UsageError, match="have no JSON schema"):
            Tool(function)
