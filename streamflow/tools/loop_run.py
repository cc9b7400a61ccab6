"""A tool loop in progress."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any

from streamflow.errors import StreamflowError, StreamStalled, StreamTruncated, UsageError, error_from_info
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Response,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    ToolCall,
    ToolCallsReady,
    Usage,
)
from streamflow.fold import Fold, call_of, is_client_call, with_response
from streamflow.loops import run_on_loop
from streamflow.operators import tool_accumulate
from streamflow.requests.blocks import ToolResultBlock
from streamflow.requests.history import History
from streamflow.requests.messages import Message, as_messages
from streamflow.sources.context import StreamContext
from streamflow.sources.run import POLL_S, Stats
from streamflow.stage import Chain, Operator
from streamflow.tools.plan import LoopPlan, given_results, refusal_of
from streamflow.tools.registry import ToolContext
from streamflow.tools.running import failed, run_call
from streamflow.tools.turn import Places, Turn, image_events

NOT_RUN = "This call was not run: the limit of rounds was reached."


class LoopRun:
    """A loop in progress: `read` gives the next events until it gives None; `error` then says why.

    It is always in one step (begin a turn, read it, run tools, finish); a step leaves events in `_ready`, and the next
    step is taken when they have all been given out. So what the consumer never saw, never happened.
    """

    def __init__(self, plan: LoopPlan, operators: Sequence[Operator[Any, Any]], context: StreamContext) -> None:
        self._plan = plan
        self._loop = asyncio.get_running_loop()
        self._outer = context
        self._operators = operators
        self._chain = Chain([operator.make_stage() for operator in operators]) if operators else None
        self._fold = Fold()
        self._closed: set[int] = set()
        self._history = History()
        self._earlier: list[Message] = []
        self._injected: list[Message] = []
        self._ready: deque[Any] = deque()
        self._places = Places()
        self._turn = Turn(self._places)
        self._source: Any = None
        self._inner: StreamContext | None = None
        self._began_at = self._loop.time()
        self._provider: str | None = None
        self._started = False
        self._round = 0
        self._tasks: dict[asyncio.Task[ToolResultBlock], ToolCall] = {}
        self._early: dict[str, asyncio.Task[ToolResultBlock]] = {}
        self._results: list[ToolResultBlock] = []
        self._gate = asyncio.Semaphore(plan.concurrency)
        self._wake: asyncio.Future[None] = self._loop.create_future()
        self._provided: list[ToolResultBlock] | None = None
        self._failure: BaseException | None = None
        self._step: Callable[[], Coroutine[Any, Any, None]] = self._begin_turn
        self._leave = context.listen(self.cancel)
        self.stats = Stats()
        self.stopping = False
        self.over = False
        self.error: BaseException | None = None
        self.asks_context = context.is_cancelled is not None
        self.pumped_by: asyncio.Task[None] | None = None

    # -- what a live stream asks of a run

    async def read(self) -> Iterator[Any] | None:
        """The next events, None when there are no more. A cancelled reader disposes of the loop."""
        try:
            while not self.over:
                if self.stopping:
                    self._end_cancelled()
                while self._ready:
                    event = self._ready.popleft()
                    self._history.add(event)
                    out = [event] if self._chain is None else self._chain.feed(event)
                    if self._chain is not None and self._chain.error is not None and self._failure is None:
                        self._fail(self._chain.error)
                    if out:
                        return self._given(out)
                await self._step()
        except asyncio.CancelledError:
            self.dispose()
            raise
        except Exception as error:
            # Hooks of the caller may raise whatever they like.
            self._finish(error)
        return None

    def _given(self, events: list[Any]) -> Iterator[Any]:
        for event in events:
            self.stats.events += 1
            if event.__class__ is StreamCompleted:
                yield with_response(event, self._fold)
                continue
            self._fold.add(event)
            if event.__class__ is BlockComplete:
                self._closed.add(event.index)
            yield event

    def check_context(self) -> None:
        """Ask ``is_cancelled``, between events."""
        if self._outer.cancelled:
            self._stop()

    def cancel(self) -> None:
        """End with ``cancelled`` and what came; safe from any thread."""
        run_on_loop(self._loop, self._stop)

    def dispose(self) -> None:
        """End everything and say nothing more; safe from any thread."""
        run_on_loop(self._loop, self._finish, None)

    def response(self) -> Response:
        """What was given out so far."""
        return self._fold.response(self.error)

    def added_messages(self) -> list[Message]:
        """What the loop added to the conversation; valid at any moment."""
        return [*self._earlier, *self._history.messages(), *self._injected]

    # -- a turn of the model

    async def _begin_turn(self) -> None:
        if self._outer.cancelled:
            self._stop()
            return
        if self._injected:
            self._earlier = self.added_messages()
            self._injected = []
            self._history = History(self._provider)
        self._turn = Turn(self._places)
        self._inner = StreamContext(is_cancelled=self._outer.is_cancelled, timeout_s=self._time_left_s())
        plan = self._plan
        stream = plan.llm.stream(
            [*plan.messages, *self.added_messages()],
            tools=list(plan.tools.values()),
            context=self._inner,
            **plan.options,
        )
        self._source = aiter(stream.pipe(*plan.operators, tool_accumulate()))
        self._step = self._read_turn

    def _time_left_s(self) -> float | None:
        limit_s = self._outer.timeout_s
        return None if limit_s is None else max(0.001, self._began_at + limit_s - self._loop.time())

    async def _read_turn(self) -> None:
        try:
            event = await anext(self._source)
        except StopAsyncIteration:
            self._fail(StreamTruncated("the turn of the model has no end"))
        except StreamflowError as error:
            self._fail(error)
        else:
            handler = _HANDLERS.get(event.__class__)
            if handler is None:
                self._ready.append(event)
            else:
                handler(self, event)

    @property
    def _has_rounds(self) -> bool:
        return self._round < self._plan.max_rounds

    def _on_start(self, event: StreamStart) -> None:
        self._turn.id = event.id
        self._provider = event.provider or None
        if not self._started:
            self._started = True
            self._ready.append(event)

    def _on_block_start(self, event: BlockStart) -> None:
        self._ready.append(self._turn.block_start(event))

    def _on_chunk(self, event: Chunk) -> None:
        self._ready.append(self._turn.chunk(event))

    def _on_block_complete(self, event: BlockComplete) -> None:
        placed = self._turn.block_complete(event)
        self._ready.append(placed)
        if self._plan.execute == "on_complete_args" and is_client_call(placed) and self._has_rounds:
            call = call_of(placed)
            if call.runnable:
                self._early[call.id] = self._launch(call)

    def _on_citation(self, event: Citation) -> None:
        self._ready.append(self._turn.citation(event))

    def _on_usage(self, event: Usage) -> None:
        self._ready.append(self._turn.usage(event))

    def _on_calls(self, event: ToolCallsReady) -> None:
        self._ready.append(self._turn.ready(event))

    def _on_failed(self, event: StreamFailed) -> None:
        self._fail(error_from_info(event.error, event.partial))

    def _on_completed(self, end: StreamCompleted) -> None:
        self._source = None
        if end.stop_reason == "cancelled":
            self._end_with(end)
        elif self._turn.calls and self._has_rounds:
            self._round += 1
            self._step = self._start_tools
        elif self._turn.calls:
            self._history.unanswered = NOT_RUN
            self._end_with(StreamCompleted("round_limit", end.raw_stop_reason))
        elif end.stop_reason == "pause" and self._has_rounds:
            # The provider asks to be asked again, to go on where it stopped.
            self._round += 1
            self._history.add(end)
            self._step = self._begin_turn
        else:
            self._end_with(end)

    # -- tools

    async def _start_tools(self) -> None:
        hook = self._plan.on_pre_tool_content
        if hook is not None and self._turn.preamble.strip():
            answer = hook(self._turn.preamble)
            if asyncio.iscoroutine(answer) or isinstance(answer, asyncio.Future):
                await answer
        if self._plan.execute == "manual":
            self._step = self._wait_for_results
            return
        for call in self._turn.calls:
            task = self._early.pop(call.id, None) or self._launch(call)
            self._tasks[task] = call
        self._step = self._wait_for_tools

    def _launch(self, call: ToolCall) -> "asyncio.Task[ToolResultBlock]":
        context = ToolContext(
            call,
            raw_text=self._turn.text,
            preamble=self._turn.preamble,
            depth=max(0, self._round - 1) if self._plan.execute != "on_complete_args" else self._round,
            previous_results=tuple(self._results),
            accumulated="".join(self._places.text),
        )
        return self._loop.create_task(self._run_tool(call, context), name=f"tool {call.name}")

    async def _run_tool(self, call: ToolCall, context: ToolContext) -> ToolResultBlock:
        async with self._gate:
            if self._plan.approve is not None and call.runnable:
                refusal = await refusal_of(self._plan.approve, call)
                if refusal is not None:
                    return failed(call, refusal)
            return await run_call(
                self._plan.tools,
                call,
                context,
                timeout_s=self._plan.tool_timeout_s,
                max_result_bytes=self._plan.max_result_bytes,
            )

    async def _wait_for_tools(self) -> None:
        done = await self._waited({*self._tasks, self._wake})
        if self.stopping or self._failure is not None:
            return
        for task in [task for task in self._tasks if task in done]:
            call = self._tasks.pop(task)
            self._emit_result(failed(call, "the tool was cancelled") if task.cancelled() else task.result())
        if not self._tasks:
            self._step = self._begin_turn

    async def _waited(self, futures: "set[asyncio.Future[Any]]") -> "set[asyncio.Future[Any]]":
        """Wait for one of these, for a stop, or until the time of the whole loop is up."""
        left_s = self._time_left_s()
        wait_s = POLL_S if self.asks_context else left_s
        done, _ = await asyncio.wait(futures, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        if self.asks_context:
            self.check_context()
        if not done and left_s is not None and self._loop.time() - self._began_at >= (self._outer.timeout_s or 0):
            self._fail(StreamStalled(f"the loop took more than timeout_s={self._outer.timeout_s:g}"))
        return done

    async def _wait_for_results(self) -> None:
        if self._provided is None:
            await self._waited({self._wake})
        if self._provided is not None and not self.stopping:
            self._wake = self._loop.create_future()
            for result in self._provided:
                self._emit_result(result)
            self._provided = None
            self._step = self._begin_turn

    def provide(self, results: Mapping[str, Any] | Iterable[Any], messages: Any = ()) -> None:
        """Results for the calls that wait for them."""
        calls = self._turn.calls
        if self._plan.execute != "manual" or not calls or self.over:
            raise UsageError("no call waits for a result; provide() answers ToolCallsReady when execute='manual'")
        self._provided = given_results(calls, results, self._plan.max_result_bytes)
        self._injected += as_messages(messages) if messages else []
        if not self._wake.done():
            self._wake.set_result(None)

    def _emit_result(self, result: ToolResultBlock) -> None:
        self._results.append(result)
        self._ready.extend(image_events(result))
        index, self._places.index = self._places.index, self._places.index + 1
        text = result.text
        attributes: dict[str, Any] = {"tool_id": result.tool_id, "tool_name": result.tool_name}
        if result.custom:
            attributes["call"] = "custom"
        media = None
        if not isinstance(result.content, str) and result.media:
            media = {"content": [block.model_dump(mode="json", exclude_none=True) for block in result.content]}
        self._ready.append(BlockStart(index, "tool_result", attributes))
        if text:
            chunk = Chunk(index, "tool_result", text, False, tool_id=result.tool_id, tool_name=result.tool_name)
            self._ready.append(chunk)
        self._ready.append(
            BlockComplete(
                index,
                "tool_result",
                text,
                tool_id=result.tool_id,
                tool_name=result.tool_name,
                error=text if result.is_error else None,
                opaque=media,
                attributes=attributes,
            )
        )

    # -- ends

    def _end_with(self, end: StreamCompleted) -> None:
        self._drop_tools()
        self._ready.append(end)
        self._step = self._complete

    async def _complete(self) -> None:
        if self._chain is not None and self._chain.error is None:
            chain, self._chain = self._chain, None
            self._ready.extend(chain.finish())
            if self._ready:
                return
        self._finish(self._failure)

    def _fail(self, error: BaseException) -> None:
        """The stream broke: release what may be shown, then the error."""
        self._failure = error
        self._drop_tools()
        if self._chain is not None and self._chain.error is None:
            chain, self._chain = self._chain, None
            self._ready.extend(chain.abort(error))
        self._step = self._complete

    def _stop(self) -> None:
        if self.over or self.stopping or self._step in (self._complete,):
            return
        if self._source is not None and self._inner is not None:
            self._inner.cancel()  # the turn ends itself, with its open blocks closed
            return
        self.stopping = True
        if not self._wake.done():
            self._wake.set_result(None)

    def _end_cancelled(self) -> None:
        self.stopping = False
        self._drop_tools()
        self._ready.clear()
        response = self._fold.response()
        self._ready.extend(block for block in response.blocks if block.incomplete and block.index not in self._closed)
        self._ready.append(StreamCompleted("cancelled"))
        self._step = self._complete

    def _drop_tools(self) -> None:
        for task in (*self._tasks, *self._early.values()):
            task.cancel()
        self._tasks.clear()
        self._early.clear()

    def _finish(self, error: BaseException | None) -> None:
        if self.over:
            return
        self.over = True
        self.error = error
        if isinstance(error, StreamflowError):
            error.partial = self._fold.response(error)
            error.emitted = self._fold.emitted
        self._leave()
        self._drop_tools()
        source, self._source = self._source, None
        if self._inner is not None and source is not None:
            self._inner.cancel()


_HANDLERS: dict[type, Callable[[LoopRun, Any], None]] = {
    StreamStart: LoopRun._on_start,
    BlockStart: LoopRun._on_block_start,
    Chunk: LoopRun._on_chunk,
    BlockComplete: LoopRun._on_block_complete,
    Citation: LoopRun._on_citation,
    Usage: LoopRun._on_usage,
    ToolCallsReady: LoopRun._on_calls,
    StreamFailed: LoopRun._on_failed,
    StreamCompleted: LoopRun._on_completed,
}
