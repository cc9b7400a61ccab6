"""What a tool is, and how its arguments are checked."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

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
