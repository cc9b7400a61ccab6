"""The tool loop: ask, run the calls, give the results back, ask again, until the model calls nothing more."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from streamflow.errors import UsageError
from streamflow.requests.messages import Message, as_messages
from streamflow.sources.context import StreamContext
from streamflow.sources.live import LiveStream
from streamflow.sources.run import Run
from streamflow.stage import Operator
from streamflow.tools.loop_run import LoopRun
from streamflow.tools.plan import Approve, LoopPlan
from streamflow.tools.registry import tool_table
from streamflow.tools.running import MAX_RESULT_BYTES

EXECUTE = ("on_finish", "on_complete_args", "manual")
DEFAULT_TIMEOUT_S = 60.0


class ToolLoop(LiveStream):
    """What `tool_loop` returns: an Observable of events that is an async iterable too.

    `messages` is the conversation so far, and can be sent at any moment.
    """

    def __init__(self, plan: LoopPlan, context: StreamContext | None) -> None:
        self._plan = plan
        self._latest: LoopRun | None = None
        super().__init__(self._start_loop, context)

    def _start_loop(self, operators: Sequence[Operator[Any, Any]], context: StreamContext) -> Run:
        self._latest = run = LoopRun(self._plan, operators, context)
        return cast("Run", run)  # it can do what a live stream asks of a run

    @property
    def messages(self) -> list[Message]:
        """The messages that the loop began with, and those that it added in its latest run."""
        added = [] if self._latest is None else self._latest.added_messages()
        return [*self._plan.messages, *added]

    def provide(self, results: Mapping[str, Any] | Iterable[Any], messages: Any = ()) -> None:
        """Results for the calls that a loop with ``execute="manual"`` waits for, by call id or in the calls' order.

        ``messages`` are said right after the results.
        """
        if self._latest is None:
            raise UsageError("the loop has not begun: iterate over it or subscribe to it first")
        self._latest.provide(results, messages)


def tool_loop(
    llm: Any,
    messages: Any,
    tools: Iterable[Any] | Mapping[str, Any],
    *,
    max_rounds: int = 10,
    tool_timeout_s: float | None = DEFAULT_TIMEOUT_S,
    execute: str = "on_finish",
    concurrency: int = 8,
    operators: Iterable[Operator[Any, Any]] = (),
    approve: Approve | None = None,
    on_pre_tool_content: Callable[[str], Any] | None = None,
    max_result_bytes: int = MAX_RESULT_BYTES,
    context: StreamContext | None = None,
    **options: Any,
) -> ToolLoop:
    """Stream turns of a model, run the tools that it calls and go on until it calls none.

    ``tools`` are typed functions, `Tool` objects, or pydantic models with a method ``run``; async ones run in the event
    loop, others in threads. ``execute="on_complete_args"`` starts a tool as soon as its arguments are whole, while the
    model still speaks; ``"manual"`` runs nothing and waits for `ToolLoop.provide`. ``approve(call)`` says True, or
    False or a reason not to run it. A tool that fails gives a result that says so, and the stream goes on.

    The results are ``tool_result`` blocks of the same stream. After ``max_rounds`` rounds of tools the stream ends with
    ``round_limit``. ``operators`` work on each turn, before its calls are gathered; further options go to every
    request.

    >>> tool_loop(None, "hi", [], execute="never")
    Traceback (most recent call last):
    streamflow.errors.UsageError: execute is 'never'; expected on_finish, on_complete_args or manual
    """
    if execute not in EXECUTE:
        raise UsageError(f"execute is {execute!r}; expected {', '.join(EXECUTE[:-1])} or {EXECUTE[-1]}")
    if max_rounds < 0 or concurrency < 1:
        raise UsageError("max_rounds must be 0 or more, and concurrency 1 or more")
    if tool_timeout_s is not None and tool_timeout_s <= 0:
        raise UsageError(f"tool_timeout_s is {tool_timeout_s}; expected more than 0 seconds, or None for no limit")
    plan = LoopPlan(
        llm,
        as_messages(messages),
        tool_table(tools, must_run=execute != "manual"),
        max_rounds,
        tool_timeout_s,
        execute,
        concurrency,
        tuple(operators),
        approve,
        on_pre_tool_content,
        max_result_bytes,
        options,
    )
    return ToolLoop(plan, context)
