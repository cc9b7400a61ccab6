"""What a loop was asked to do, and what a person decides in it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from streamflow.errors import UsageError
from streamflow.events import ToolCall
from streamflow.requests.blocks import ToolResultBlock
from streamflow.requests.messages import Message
from streamflow.stage import Operator
from streamflow.tools.registry import Tool
from streamflow.tools.running import failed, result_of

Approve = Callable[[ToolCall], "bool | str | Awaitable[bool | str]"]


class LoopPlan(msgspec.Struct, frozen=True):
    """What a loop was asked to do."""

    llm: Any
    messages: list[Message]
    tools: dict[str, Tool]
    max_rounds: int
    tool_timeout_s: float | None
    execute: str
    concurrency: int
    operators: tuple[Operator[Any, Any], ...]
    approve: Approve | None
    on_pre_tool_content: Callable[[str], Any] | None
    max_result_bytes: int
    options: dict[str, Any]


async def refusal_of(approve: Approve, call: ToolCall) -> str | None:
    """Why a call must not be run; None when it was approved."""
    try:
        answer = approve(call)
        if not isinstance(answer, bool | str):
            answer = await answer
    except Exception as error:
        return f"the call was not run, because its approval failed: {error}"
    if answer is True:
        return None
    return f"the call was not approved: {answer}" if answer else "the call was not approved"


def given_results(
    calls: list[ToolCall], results: Mapping[str, Any] | Iterable[Any], max_bytes: int
) -> list[ToolResultBlock]:
    """What a person gave for the calls, by id or in their order; a call without a result gets one that says so.

    >>> [result.text for result in given_results([ToolCall("a", "f"), ToolCall("b", "f")], {"a": "ok"}, 100)]
    ['ok', 'no result was given']
    """
    given = dict(results) if isinstance(results, Mapping) else _by_call(calls, list(results))
    unknown = [id for id in given if id not in {call.id for call in calls}]
    if unknown:
        raise UsageError(f"there is no open call {unknown[0]!r}; open: {', '.join(call.id for call in calls)}")
    return [
        result_of(call, given[call.id], max_bytes) if call.id in given else failed(call, "no result was given")
        for call in calls
    ]


def _by_call(calls: list[ToolCall], results: list[Any]) -> dict[str, Any]:
    if results and all(isinstance(result, ToolResultBlock) for result in results):
        return {result.tool_id: result for result in results}
    if len(results) != len(calls):
        raise UsageError(f"{len(calls)} calls wait for results, but {len(results)} were given; pass them by call id")
    return {call.id: result for call, result in zip(calls, results, strict=True)}
