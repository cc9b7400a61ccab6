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

SHORT_ABSENCE_S = 0.01  # not worth a new timer


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
    """Watches one stream and says once, through `expire`, which clock ran out."""

    def __init__(
        self,
        clock: Clock,
        timeouts: Timeouts,
        expire: Callable[[StreamflowError], None],
        *,
        limit_s: float | None = None,
    ) -> None:
        self._clock = clock
        self._now = clock.now
        self._timeouts = timeouts
        self._expire = expire
        self._timer: TimerHandle | None = None
        self._attempted = False
        self._first_seen = False
        self._away_since: float | None = None
        self._lapsed = False  # the timer fired while nobody waited, and knew only the total
        self.began = self._attempt_began = self._heard = self._progressed = clock.now()
        # The context's limit and the client's own: whichever is shorter.
        totals = {"total_timeout_s": timeouts.total_timeout_s, "timeout_s": limit_s}
        self._total = min(((value, name) for name, value in totals.items() if value is not None), default=None)
        self._arm()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the stream began."""
        return self._now() - self.began

    def attempt(self) -> None:
        """A request is sent: the time to the first event starts."""
        self._attempt_began = self._now()
        self._attempted = True
        self._arm()

    def rest(self) -> None:
        """Between attempts only the total counts."""
        self._attempted = False
        self._arm()

    def wait(self) -> None:
        """The reader waits for the provider from now on."""
        since = self._away_since
        if since is not None:
            self._away_since = None
            away = self._now() - since
            self._heard += away
            self._progressed += away
            if away > SHORT_ABSENCE_S or self._lapsed:
                self._arm()

    def heard(self) -> None:
        """Bytes came; the reader turns to them."""
        now = self._now()
        self._away_since = now
        if self._timeouts.pings_keep_alive:
            self._heard = now

    def progress(self) -> None:
        """A semantic event came."""
        self._progressed = self._heard = self._now() if self._away_since is None else self._away_since
        if not self._first_seen:
            self._first_seen = True
            self._arm()

    def stop(self) -> None:
        """Nothing is watched any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._total = None
        self._attempted = False

    def _deadlines(self) -> list[tuple[float, Callable[[], StreamflowError]]]:
        limits = self._timeouts
        due: list[tuple[float, Callable[[], StreamflowError]]] = []
        if self._total is not None:
            limit, name = self._total
            due.append((self.began + limit, lambda: _over_time(name, limit)))
        if not self._attempted or self._away_since is not None:
            return due
        if not self._first_seen:
            if (first := limits.first_event_timeout_s) is not None:
                due.append((self._attempt_began + first, lambda: _stalled("first_event_timeout_s", first)))
            return due
        if (idle := limits.idle_timeout_s) is not None:
            due.append((self._heard + idle, lambda: _stalled("idle_timeout_s", idle)))
        if (progress := limits.no_progress_timeout_s) is not None:
            due.append((self._progressed + progress, lambda: _stalled("no_progress_timeout_s", progress)))
        return due

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self._deadlines()
        self._timer = self._clock.call_at(min(when for when, _ in due), self._check) if due else None
        self._lapsed = self._away_since is not None

    def _check(self) -> None:
        self._timer = None
        self._lapsed = self._away_since is not None
        due = self._deadlines()
        if not due:
            return
        when, error = min(due, key=lambda entry: entry[0])
        if when <= self._now():
            self.stop()
            self._expire(error())
        else:
            self._arm()


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
