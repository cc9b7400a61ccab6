"""`Flow`: one source, many subscribers, nothing lost."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from reactivex import Observable, abc
from reactivex.disposable import Disposable
from reactivex.scheduler import TimeoutScheduler
from reactivex.scheduler.eventloop import AsyncIOThreadSafeScheduler

from streamflow.errors import StreamflowError, UsageError
from streamflow.events import Response, Stamped, StreamCompleted, StreamFailed, StreamStart
from streamflow.flow.branch import Branch, Events, trampoline
from streamflow.flow.feed import Operators, Stopped, feed_of
from streamflow.flow.graph import FlowGraph, graph_of
from streamflow.flow.journal import MAX_BYTES, MAX_EVENTS, MemoryJournal, stamps
from streamflow.flow.policies import Policy, default_policy
from streamflow.flow.reader import BranchReader
from streamflow.flow.serial import Serial
from streamflow.fold import Fold

logger = logging.getLogger("streamflow")

OnNext = Callable[[Any], None]


class Subscriber:
    """One subscription to the journal, for stamped items or for the plain events."""

    __slots__ = ("on_completed", "on_error", "on_items", "on_next", "over", "stamped")

    def __init__(
        self,
        on_next: OnNext,
        on_error: Callable[[Any], None],
        on_completed: Callable[[], None],
        on_items: OnNext | None,
        stamped: bool,
    ) -> None:
        self.on_next = on_next
        self.on_items = on_items
        self.stamped = stamped
        self.on_error = on_error
        self.on_completed = on_completed
        self.over = False


class Flow:
    """A shared, journaled stream. It runs its source once, whoever subscribes, and however many.

    It starts with the first subscription, or with `start`. When the last subscriber is gone the source is disposed
    after ``linger_s``; `stop` ends it for everybody. A subscriber that raises is detached with its own error.

    >>> from streamflow.events import BlockStart, Chunk, BlockComplete
    >>> from streamflow.operators import visible_filter
    >>> events = [StreamStart(), BlockStart(0, "text"), Chunk(0, "text", "Hi"), BlockComplete(0, "text", "Hi"),
    ...           StreamCompleted("end_turn")]
    >>> flow = Flow(events)
    >>> flow.branch("ui", visible_filter()).subscribe(lambda chunk: print(chunk.text)) and None
    Hi
    >>> flow.snapshot().text
    'Hi'
    """

    def __init__(
        self,
        source: Any,
        *operators: Any,
        max_events: int = MAX_EVENTS,
        max_bytes: int = MAX_BYTES,
        linger_s: float = 0,
        clock: Callable[[], float] = time.monotonic,
        scheduler: abc.SchedulerBase | None = None,
    ) -> None:
        if not isinstance(linger_s, int | float) or linger_s < 0:
            raise UsageError(f"linger_s must be a number of seconds from 0 on, not {linger_s!r}")
        _check_operators(operators)
        self.operators = operators
        self.source = source
        self.journal = MemoryJournal(max_events=max_events, max_bytes=max_bytes, clock=clock)
        self.branches: dict[str, Branch] = {}
        self.started = False
        self.ended = False
        self.error: BaseException | None = None
        self._feed = feed_of(source, operators)
        self._serial = Serial()
        self._fold = Fold()
        self._subscribers: tuple[Subscriber, ...] = ()
        self._linger_s = linger_s
        self._lingering: abc.DisposableBase | None = None
        self._scheduler = scheduler
        self._full: dict[BranchReader, None] = {}
        self._room: asyncio.Event | None = None
        self._pump_loop: asyncio.AbstractEventLoop | None = None
        self._stop_reason: str | None = None

    # -- views

    @property
    def events(self) -> Observable[Any]:
        """All events, as an Observable; a late subscriber gets them from the first on."""
        return Events(self)

    def branch(self, name: str, *operators: Any, policy: Policy | None = None, after: int = -1) -> Branch:
        """A named view with its own operators and its own policy for slow readers."""
        if name in self.branches:
            raise UsageError(f"the flow has a branch {name!r} already; take flow[{name!r}], or choose another name")
        if policy is not None and not isinstance(policy, Policy):
            raise UsageError(
                f"policy={policy!r}: choose one of "
                "sf.block(), sf.conflate(), sf.drop_oldest(n), sf.error(n), sf.unbounded()"
            )
        _check_operators(operators)
        made = self.branches[name] = Branch(self, name, operators, policy or default_policy(name), after)
        return made

    def __getitem__(self, name: str) -> Branch:
        try:
            return self.branches[name]
        except KeyError:
            known = ", ".join(map(repr, self.branches)) or "none yet: make one with flow.branch(...)"
            raise UsageError(f"the flow has no branch {name!r}; its branches: {known}") from None

    def subscribe(
        self,
        on_next: Any = None,
        on_error: Callable[[Any], None] | None = None,
        on_completed: Callable[[], None] | None = None,
        *,
        after: int = -1,
    ) -> abc.DisposableBase:
        """The journal itself: `Stamped` items behind ``after``, each exactly once, then the live ones."""
        self.check_position(after)
        stamped: Observable[Stamped] = Observable(
            lambda observer, _: self.attach(
                observer.on_next, observer.on_error, observer.on_completed, after, stamped=True
            )
        )
        return stamped.subscribe(on_next, on_error, on_completed)

    def snapshot(self) -> Response:
        """The answer so far."""
        error = self.error if isinstance(self.error, StreamflowError) else None
        return self._fold.response(error)

    async def response(self) -> Response:
        """Wait for the end; the whole answer. A failed stream has ``complete=False`` and its error inside."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not ended.done():
                ended.set_result(None)

        def wake(_: object = None) -> None:
            loop.call_soon_threadsafe(settle)

        subscription = self.attach(lambda event: None, wake, wake, self.journal.next_seq - 1)
        try:
            await ended
        finally:
            subscription.dispose()
        return self.snapshot()

    @property
    def linger_s(self) -> float:
        """How long the source goes on without subscribers."""
        return self._linger_s

    @property
    def subscriber_count(self) -> int:
        """How many listen now."""
        return len(self._subscribers)

    def graph(self) -> FlowGraph:
        """What is connected to what, with counts."""
        return graph_of(self)

    # -- life

    def start(self) -> "Flow":
        """Run the source. A synchronous one runs in here; an async one needs a running event loop."""
        if not self.started:
            self.started = True
            if self._feed.can_wait:
                self._pump_loop = asyncio.get_running_loop() if _in_loop() else None
            self._feed.start(self, self._serial)
        return self

    def stop(self) -> None:
        """End the flow for everybody: what is open is closed, the end is ``cancelled``. From any thread, any time."""
        self._serial.run(self._stop, "stopped")

    def _stop(self, why: str) -> None:
        if self.ended or self._stop_reason is not None:
            return
        self._stop_reason = why
        self._full.clear()
        self._release_pump()
        if self.started:
            self._feed.stop()
        else:
            self.started = True
            self._end_cancelled()

    def on_next(self, event: Any) -> None:
        """The source said something."""
        self.on_batch([event])

    def on_batch(self, events: list[Any]) -> None:
        """The source said several things at once."""
        if self.ended:
            return
        self._fold.add_all(events)
        if events[-1].__class__ is StreamCompleted:
            events = [*events[:-1], replace(events[-1], response=self.snapshot())]
        self._record(events)

    def on_error(self, error: BaseException) -> None:
        """The source failed, or was stopped."""
        if self.ended:
            return
        if isinstance(error, Stopped):
            self._end_cancelled()
            return
        self.error = error
        if isinstance(error, StreamflowError):
            error.partial = error.partial or self.snapshot()
            self._record([StreamFailed(error.info(), error.partial)])
        self._end()

    def on_completed(self) -> None:
        """The source ended."""
        if not self.ended:
            self._end()

    def _end_cancelled(self) -> None:
        if not self._fold.emitted and self.journal.next_seq == 0:
            self.on_next(StreamStart())
        for block in self._fold.open_blocks():
            self.on_next(block)
        self.on_next(StreamCompleted("cancelled", self._stop_reason))
        self._end()

    def _record(self, events: list[Any]) -> None:
        first, t = self.journal.append_all(events)
        for subscriber in self._subscribers:
            try:
                if subscriber.on_items is not None:
                    if not subscriber.over:
                        subscriber.on_items(events)
                    continue
                on_next = subscriber.on_next
                for item in stamps(first, t, events) if subscriber.stamped else events:
                    if subscriber.over:
                        break
                    on_next(item)
            except Exception as fault:
                self._detach(subscriber, fault)

    def _end(self) -> None:
        self.ended = True
        self._release_pump()
        for subscriber in self._subscribers:
            self._finish(subscriber)
        self._subscribers = ()

    def _finish(self, subscriber: Subscriber) -> None:
        if subscriber.over:
            return
        subscriber.over = True
        try:
            if self.error is not None:
                subscriber.on_error(self.error)
            else:
                subscriber.on_completed()
        except Exception as fault:
            if fault is not self.error:
                logger.warning("a subscriber raised at the end of its flow", exc_info=fault)

    def _detach(self, subscriber: Subscriber, fault: Exception) -> None:
        """Its own fault, told to it alone."""
        subscriber.over = True
        try:
            subscriber.on_error(fault)
        except Exception as again:
            # Without an error hook of its own reactivex raises the fault again: the log is all that is left.
            logger.warning("a subscriber of a flow raised and was detached", exc_info=again)
        self._serial.run(self._remove, subscriber)

    # -- subscribers

    def check_position(self, after: int) -> None:
        """A place that the journal does not have is wrong use."""
        last = self.journal.next_seq - 1
        if not isinstance(after, int) or not -1 <= after <= last:
            raise UsageError(
                f"after={after!r}: give the number of the last event that was seen, up to {last}, or -1 for everything"
            )

    def attach(
        self,
        on_next: OnNext,
        on_error: Callable[[Any], None],
        on_completed: Callable[[], None],
        after: int = -1,
        *,
        on_items: OnNext | None = None,
        stamped: bool = False,
    ) -> abc.DisposableBase:
        """Give a subscriber everything behind ``after``, past and future, once and in order.

        With ``on_items`` it gets live events that came together in one call.
        """
        self.check_position(after)
        subscriber = Subscriber(on_next, on_error, on_completed, on_items, stamped)
        self._serial.run(self._join, (subscriber, after))
        if not self.started:
            self.start()
        return Disposable(lambda: self._leave(subscriber))

    def _join(self, request: tuple[Subscriber, int]) -> None:
        subscriber, after = request
        if subscriber.over:
            return
        if self._lingering is not None:
            self._lingering.dispose()
            self._lingering = None
        # Registered first: a source that this replay wakes up must not find the flow empty.
        self._subscribers = (*self._subscribers, subscriber)
        if self.journal.next_seq:
            for stamped in self.journal.after(after):
                if subscriber.over:
                    break
                try:
                    subscriber.on_next(stamped if subscriber.stamped else stamped.event)
                except Exception as fault:
                    self._detach(subscriber, fault)
        if self.ended:
            self._finish(subscriber)
            self._remove(subscriber)

    def _leave(self, subscriber: Subscriber) -> None:
        if not subscriber.over:
            subscriber.over = True
            self._serial.run(self._remove, subscriber)

    def _remove(self, subscriber: Subscriber) -> None:
        self._subscribers = tuple(other for other in self._subscribers if other is not subscriber)
        if self._subscribers or self.ended or not self.started or self._lingering is not None:
            return
        if self._linger_s == 0 and trampoline.schedule_required():
            self._abandon()
        elif self._linger_s == 0:
            # Inside a source that runs at once: it runs to its end, so that nothing depends on who came first.
            trampoline.schedule(lambda *_: self._serial.run(lambda _: self._abandon(), None))
        else:
            self._lingering = self._timer().schedule_relative(
                self._linger_s, lambda *_: self._serial.run(lambda _: self._abandon(), None)
            )

    def _timer(self) -> abc.SchedulerBase:
        if self._scheduler is not None:
            return self._scheduler
        return AsyncIOThreadSafeScheduler(asyncio.get_running_loop()) if _in_loop() else TimeoutScheduler.singleton()

    def _abandon(self) -> None:
        """Nobody listens any more: close the source. Whoever comes later reads the journal up to here."""
        self._lingering = None
        if self._subscribers or self.ended:
            return
        self._feed.dispose()
        self._stop_reason = "abandoned"
        self._end_cancelled()

    # -- back-pressure

    @property
    def crowded(self) -> bool:
        """True when a reader makes the source wait."""
        return bool(self._full)

    def is_full(self, reader: BranchReader) -> None:
        """A blocking reader is as far behind as it may be."""
        if self._feed.can_wait and not self.ended and self._stop_reason is None:
            self._full[reader] = None

    def has_room(self, reader: BranchReader) -> None:
        """A blocking reader caught up, or left."""
        if self._full.pop(reader, self) is not self:
            self._release_pump()

    def _release_pump(self) -> None:
        room, loop = self._room, self._pump_loop
        if room is not None and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(room.set)

    async def room(self) -> None:
        """Wait until no reader makes the source wait; one that takes too long is cut off."""
        while self._full and not self.ended:
            reader = next(iter(self._full))
            self._room = asyncio.Event()
            try:
                async with asyncio.timeout(reader.policy.max_wait_s):
                    while reader in self._full and not self.ended:
                        await self._room.wait()
                        self._room.clear()
            except TimeoutError:
                self._full.pop(reader, None)
                reader.cut_off()

    def __repr__(self) -> str:
        state = "ended" if self.ended else "running" if self.started else "not started"
        return f"Flow({state}, {self.journal.next_seq} events, branches: {', '.join(self.branches) or 'none'})"


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _check_operators(operators: Operators) -> None:
    for operator in operators:
        if not callable(operator):
            raise UsageError(f"{operator!r} is no operator; did you forget to call it?")
