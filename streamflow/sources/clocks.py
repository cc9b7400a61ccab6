"""The clocks of a stream: time to the first event, idle, no progress, total. One timer serves them all.

Nothing is armed or cancelled for a read: reads only note the time, and the timer looks at the notes when it fires.
The time in which nobody waits for the provider (the consumer is busy with what it has) counts for the total alone.
"""

import asyncio
import heapq
from collections.abc import Callable
from typing import Protocol

import msgspec

from streamflow.errors import LimitExceeded, StreamflowError, StreamStalled, UsageError


class TimerHandle(Protocol):
    """What `Clock.call_at` returns."""

    def cancel(self) -> None:
        """Forget the call."""
        ...


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> float:
        """Seconds, from any beginning, never going back."""
        ...

    def call_at(self, when: float, callback: Callable[[], None]) -> TimerHandle:
        """Call back at that moment."""
        ...


class LoopClock:
    """The time of the running event loop."""

    __slots__ = ("_loop", "now")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.now = loop.time

    def call_at(self, when: float, callback: Callable[[], None]) -> TimerHandle:
        """Call back at that moment."""
        return self._loop.call_at(when, callback)


class _VirtualTimer:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class VirtualClock:
    """Time that stands still until it is moved: for tests of timeouts and retries that must not wait.

    >>> clock = VirtualClock()
    >>> _ = clock.call_at(5.0, lambda: print("five"))
    >>> clock.advance(4); clock.advance(1)
    five
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._timers: list[tuple[float, int, _VirtualTimer]] = []
        self._count = 0

    def now(self) -> float:
        """Seconds since the clock was made."""
        return self._now

    def call_at(self, when: float, callback: Callable[[], None]) -> TimerHandle:
        """Call back when `advance` reaches that moment."""
        timer = _VirtualTimer(callback)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, timer))
        return timer

    def advance(self, seconds: float) -> None:
        """Move on, calling what is due in its order."""
        target = self._now + seconds
        while self._timers and self._timers[0][0] <= target:
            when, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, when)
            if timer.callback is not None:
                timer.callback()
        self._now = target

    @property
    def next_due_s(self) -> float | None:
        """How long until the next call, None when there is none.

        >>> VirtualClock().next_due_s is None
        True
        """
        due = [when for when, _, timer in self._timers if timer.callback is not None]
        return min(due) - self._now if due else None


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait by the given clock."""
    woken = asyncio.get_running_loop().create_future()
    handle = clock.call_at(clock.now() + seconds, lambda: None if woken.done() else woken.set_result(None))
    try:
        await woken
    finally:
        handle.cancel()


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds for each clock; None switches one off. See `docs/reliability.md`.

    >>> Timeouts().idle_timeout_s
    120.0
    """

    first_event_timeout_s: float | None = 300.0
    idle_timeout_s: float | None = 120.0
    no_progress_timeout_s: float | None = 300.0
    total_timeout_s: float | None = None
    connect_timeout_s: float | None = 10.0
    pings_keep_alive: bool = True

    def checked(self) -> "Timeouts":
        """Itself, if every duration makes sense.

        >>> Timeouts(idle_timeout_s=0).checked()
        Traceback (most recent call last):
        streamflow.errors.UsageError: idle_timeout_s must be a positive number of seconds, or None for no limit; not 0
        """
        for name in self.__struct_fields__:
            check_duration(name, getattr(self, name))
        return self


def check_duration(name: str, value: object) -> None:
    """Complain about a duration that is none.

    >>> check_duration("timeout_s", 1.5)
    """
    if name == "pings_keep_alive" or value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise UsageError(f"{name} must be a positive number of seconds, or None for no limit; not {value!r}")


class Watch:
    """Watches one stream and says once, through `expire`, which clock ran out.

    The reader sets `waiting` and `heard_at` itself, around each read: these are the only costs of a read.
    """

    def __init__(
        self,
        clock: Clock,
        timeouts: Timeouts,
        expire: Callable[[StreamflowError], None],
        *,
        limit_s: float | None = None,
    ) -> None:
        self._clock = clock
        self._timeouts = timeouts
        self._expire = expire
        self._timer: TimerHandle | None = None
        self._attempted = False
        self.now = clock.now
        self.began = self._attempt_began = self.heard_at = self._progressed_at = clock.now()
        self.waiting = False
        """True while the reader waits for the provider."""
        self.lapsed = False
        """True when a clock ran out while nobody waited: call `resume` before waiting again."""
        self.first_event_s: float | None = None
        # The context's limit and the client's own: whichever is shorter.
        totals = {"total_timeout_s": timeouts.total_timeout_s, "timeout_s": limit_s}
        self._total = min(((value, name) for name, value in totals.items() if value is not None), default=None)
        self._arm()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the stream began."""
        return self.now() - self.began

    def attempt(self) -> None:
        """A request is sent: the time to the first event starts."""
        self._attempt_began = self.now()
        self._attempted = self.waiting = True
        self._arm()

    def rest(self) -> None:
        """Between attempts only the total counts."""
        self._attempted = False
        self._arm()

    def resume(self) -> None:
        """The reader is back after a long time: the provider is not to blame for it."""
        self.lapsed = False
        self.heard_at = self._progressed_at = self.now()
        self._arm()

    def progress(self) -> None:
        """What was heard last is a semantic event."""
        self._progressed_at = self.heard_at
        if self.first_event_s is None:
            self.first_event_s = self.heard_at - self.began
            self._arm()

    def stop(self) -> None:
        """Nothing is watched any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._total = None
        self._attempted = False

    def _deadlines(self) -> list[tuple[float, str, float]]:
        """When each running clock is over, its name, and its seconds."""
        limits = self._timeouts
        due: list[tuple[float, str, float]] = []
        if self._total is not None:
            due.append((self.began + self._total[0], self._total[1], self._total[0]))
        if not self._attempted:
            return due
        if self.first_event_s is None:
            running = [(self._attempt_began, "first_event_timeout_s", limits.first_event_timeout_s)]
        else:
            alive_at = self.heard_at if limits.pings_keep_alive else self._progressed_at
            running = [
                (alive_at, "idle_timeout_s", limits.idle_timeout_s),
                (self._progressed_at, "no_progress_timeout_s", limits.no_progress_timeout_s),
            ]
        return due + [(since + seconds, name, seconds) for since, name, seconds in running if seconds is not None]

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self._deadlines()
        self._timer = self._clock.call_at(min(due)[0], self._check) if due else None

    def _check(self) -> None:
        self._timer = None
        now = self.now()
        past = [entry for entry in self._deadlines() if entry[0] <= now]
        blamed = [entry for entry in past if self.waiting or entry[1] in _TOTALS]
        if blamed:
            _, name, seconds = min(blamed)
            self.stop()
            self._expire(_over_time(name, seconds) if name in _TOTALS else _stalled(name, seconds))
        elif past:
            self.lapsed = True
            if self._total is not None:
                self._timer = self._clock.call_at(self.began + self._total[0], self._check)
        else:
            self._arm()


_TOTALS = ("total_timeout_s", "timeout_s")
_STALLS = {
    "first_event_timeout_s": "no event came within {:g} s of the request",
    "idle_timeout_s": "no bytes came for {:g} s",
    "no_progress_timeout_s": "nothing but keep-alives came for {:g} s",
}


def _stalled(name: str, seconds: float) -> StreamflowError:
    return StreamStalled(
        f"{_STALLS[name].format(seconds)}; the connection was closed. Raise {name}= if the model may take longer.",
        kind=name,
    )


def _over_time(name: str, seconds: float) -> StreamflowError:
    return LimitExceeded(f"the stream took longer than {name}={seconds:g}; the connection was closed", kind=name)
