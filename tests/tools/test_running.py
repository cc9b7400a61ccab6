"""What a tool returned, as a result."""

import asyncio
import contextvars
import dataclasses
import threading
from typing import Any

import pytest
from pydantic import BaseModel

import streamflow as sf
from streamflow.requests.blocks import Base64Source, ImageBlock
from streamflow.tools.registry import Tool, ToolContext
from streamflow.tools.running import in_thread, result_of, run_call

CALL = sf.ToolCall("c", "f", {})


@dataclasses.dataclass
class Point:
    x: int


class Model(BaseModel):
    x: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("words", "words"),
        ("", ""),
        (None, "null"),
        (3, "3"),
        (True, "true"),
        (2**70, str(2**70)),
        ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
        ((1, 2), "[1,2]"),
        (Point(1), '{"x":1}'),
        (Model(x=1), '{"x":1}'),
        (b"bytes of text", "bytes of text"),
        ([], "[]"),
    ],
)
def test_values(value: Any, text: str) -> None:
    result = result_of(CALL, value)
    assert (result.text, result.is_error, result.tool_id) == (text, False, "c")


@pytest.mark.parametrize("value", [object(), {1, 2}, b"\xff", lambda: 1, {"a": object()}])
def test_values_that_cannot_be_written(value: Any) -> None:
    result = result_of(CALL, value)
    assert result.is_error
    assert "neither text nor JSON" in result.text


def test_a_lone_surrogate_can_be_sent() -> None:
    result_of(CALL, "a\ud800b").text.encode()


@pytest.mark.parametrize(("size", "is_error"), [(100, False), (101, True)])
def test_the_limit_is_exact(size: int, is_error: bool) -> None:
    assert result_of(CALL, "x" * size, max_bytes=100).is_error == is_error


def test_a_ready_result_keeps_its_flag_but_not_a_foreign_id() -> None:
    given = sf.ToolResultBlock(tool_id="other", content="no", is_error=True)
    result = result_of(CALL, given)
    assert (result.tool_id, result.is_error, result.text) == ("c", True, "no")


async def test_variables_of_the_context_reach_the_thread() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("here")
    name, value = await in_thread(lambda: (threading.current_thread().name, variable.get()), "tool f")
    assert (name, value) == ("tool f", "here")


async def test_a_function_that_returns_an_awaitable_is_waited_for() -> None:
    async def later() -> str:
        return "later"

    tools = {"f": Tool({"name": "f"}, lambda: later())}
    result = await run_call(tools, CALL, ToolContext(CALL), timeout_s=1)
    assert (result.text, result.is_error) == ("later", False)


async def test_a_tool_that_refuses_to_end_is_left_behind() -> None:
    release = asyncio.Event()

    async def stubborn() -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    tools = {"f": Tool({"name": "f"}, stubborn)}
    result = await asyncio.wait_for(run_call(tools, CALL, ToolContext(CALL), timeout_s=0.05), 5)
    assert result.is_error
    assert "within 0.05 s" in result.text
    release.set()
    await asyncio.sleep(0)


async def test_a_generator_is_no_result() -> None:
    def counts() -> Any:
        yield 1

    result = await run_call({"f": Tool({"name": "f"}, counts)}, CALL, ToolContext(CALL), timeout_s=1)
    assert result.is_error
    assert "generator" in result.text


@pytest.mark.parametrize("together", [list, tuple])
def test_words_and_pictures_together(together: Any) -> None:
    picture = ImageBlock(source=Base64Source(media_type="image/png", data="aGk="))
    result = result_of(CALL, together(("a cat", picture)))
    assert (result.text, result.media, result.is_error) == ("a cat", [picture], False)
    assert result_of(CALL, [picture, 3]).is_error
