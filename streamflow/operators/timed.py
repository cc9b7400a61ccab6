"""Stages that also act when time passes, and how they run: on the scheduler of the subscription.

A timed stage is a stage with a wish: ``due_s`` is the time at which ``wake()`` is to be called, None when it waits for
nothing. It reads the time from the clock that it is made with. Without a scheduler of the subscription the running
asyncio loop keeps the time, and a timer thread where there is none. In ``sf.run`` and `Feeder`, where no time passes,
a timed stage is an ordinary one.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SerialDisposable
from reactivex.scheduler import TimeoutScheduler
from reactivex.scheduler.eventloop import AsyncIOScheduler

from streamflow.stage import Chain, Operator, Stage

A = TypeVar("A")
B = TypeVar("B")
Out = TypeVar("Out", covariant=True)
In = TypeVar("In", contravariant=True)
Clock = Callable[[], float]


class TimedStage(Stage[In, Out], Protocol[In, Out]):
    """The contract of a pure core that waits."""

    due_s: float | None

    def wake(self) -> Iterable[Out]:
        """The time `due_s` has come."""
        ...

    def end(self) -> Iterable[Out]:
        """The source completed; the stage is woken until `due_s` is None, then the stream ends."""
        ...


def scheduler_for(given: abc.SchedulerBase | None) -> abc.SchedulerBase:
    """The scheduler of the subscription, else the running loop's, else a timer thread's.

    >>> scheduler_for(None) is TimeoutScheduler.singleton()
    True
    """
    if given is not None:
        return given
    try:
        return AsyncIOScheduler(asyncio.get_running_loop())
    except RuntimeError:
        return TimeoutScheduler.singleton()


def clock_of(scheduler: abc.SchedulerBase) -> Clock:
    """Seconds by a scheduler's own time. An asyncio scheduler's `now` is the wall's: its loop knows better.

    >>> from reactivex.testing import TestScheduler
    >>> clock_of(TestScheduler(3.0))()
    3.0
    """
    loop = getattr(scheduler, "_loop", None)
    if isinstance(loop, asyncio.AbstractEventLoop):
        return loop.time
    return lambda: scheduler.now.timestamp()


class Timed(Observable[B]):
    """An Observable that runs a timed stage over its source; made by `lift_timed`."""

    def __init__(self, source: Observable[Any], make_stage: Callable[[Clock], TimedStage[Any, B]]) -> None:
        super().__init__()
        self.source = source
        self.make_stage = make_stage

    def _subscribe_core(
        self, observer: abc.ObserverBase[B], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        timekeeper = scheduler_for(scheduler)
        run = _TimedRun(self.make_stage(clock_of(timekeeper)), observer, timekeeper)
        run.subscription.disposable = self.source.subscribe(
            run.on_next, run.on_error, run.on_completed, scheduler=scheduler
        )
        return Disposable(run.dispose)


class _TimedRun:
    """One subscription: one stage, one timer, one observer. The lock is for sources and timers on other threads."""

    def __init__(
        self, stage: TimedStage[Any, Any], observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase
    ) -> None:
        self._stage = stage
        self._chain = Chain([stage])
        self._observer = observer
        self._scheduler = scheduler
        self._clock = clock_of(scheduler)
        self._timer = SerialDisposable()
        self._timer_due: float | None = None
        self._completing = False
        self._stopped = False
        self._lock = threading.RLock()
        self._subscriber_fault: BaseException | None = None
        self.subscription = SerialDisposable()

    def on_next(self, item: Any) -> None:
        with self._lock:
            if self._stopped:
                self.dispose()  # of a source that went on after a subscriber's fault
                return
            self._deliver(self._chain.feed(item))

    def on_error(self, error: Exception) -> None:
        with self._lock:
            if error is self._subscriber_fault:
                self._subscriber_fault = None
                self._observer.on_error(error)
            elif not self._stopped:
                self._deliver(self._chain.abort(error))

    def on_completed(self) -> None:
        with self._lock:
            if not self._stopped:
                self._completing = True
                self._guarded(self._stage.end)

    def dispose(self) -> None:
        self._stopped = True
        self._timer.dispose()
        self.subscription.dispose()

    def _on_timer(self, due: float) -> None:
        with self._lock:
            if self._stopped or self._timer_due != due:
                return
            self._timer_due = None
            self._guarded(self._stage.wake)

    def _guarded(self, step: Callable[[], Iterable[Any]]) -> None:
        ready: list[Any] = []
        try:
            ready += step()
        except Exception as error:
            ready += self._chain.abort(error)
        self._deliver(ready)

    def _deliver(self, ready: Iterable[Any]) -> None:
        try:
            for item in ready:
                if self._stopped:
                    return
                self._observer.on_next(item)
        except Exception as fault:
            self._subscriber_fault = fault
            self._stopped = True
            self._timer.dispose()
            raise
        if self._stopped:
            return
        if self._chain.error is not None:
            self.dispose()
            self._observer.on_error(self._chain.error)  # type: ignore[arg-type]
        elif self._completing and self._stage.due_s is None:
            self.dispose()
            self._observer.on_completed()
        else:
            self._set_timer()

    def _set_timer(self) -> None:
        due = self._stage.due_s
        if due == self._timer_due:
            return
        self._timer_due = due
        if due is None:
            self._timer.disposable = Disposable()
        else:
            delay = max(0.0, due - self._clock())
            self._timer.disposable = self._scheduler.schedule_relative(delay, lambda *_: self._on_timer(due))


class TimedOperator(Operator[A, B]):
    """A reactivex operator made of a timed stage."""

    __slots__ = ("_make_timed",)

    def __init__(self, make_stage: Callable[[Clock], TimedStage[A, B]], name: str) -> None:
        super().__init__(lambda: make_stage(_no_time), name)
        self._make_timed = make_stage

    def __call__(self, source: Observable[A]) -> Observable[B]:
        super().__call__(source)  # tells what is not an Observable
        return Timed(source, self._make_timed)


def _no_time() -> float:
    return 0.0


def lift_timed(make_stage: Callable[[Clock], TimedStage[A, B]], name: str) -> TimedOperator[A, B]:
    """Make an operator from a function that makes a timed stage from a clock.

    >>> lift_timed(lambda clock: None, "nap")
    nap()
    """
    return TimedOperator(make_stage, name)
