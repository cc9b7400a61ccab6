"""The journal of a flow: every event with its number and time, bounded, with a snapshot of what was let go."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice, repeat
from typing import Any

from streamflow.errors import UsageError
from streamflow.events import BlockComplete, Chunk, Notice, Response, Stamped
from streamflow.fold import Fold

MAX_EVENTS = 1_000_000
MAX_BYTES = 256 << 20

# What an event weighs beside its text, roughly: the struct, its envelope, its place in the list.
_OVERHEAD = 240


def weight(item: Any) -> int:
    """About how many bytes an item holds.

    >>> weight(Chunk(0, "text", "hello")) - weight(Chunk(0, "text", ""))
    5
    """
    if item.__class__ is Chunk:
        return _OVERHEAD + len(item.text)
    if item.__class__ is BlockComplete:
        return _OVERHEAD + 2 * len(item.content) + len(item.raw or "")
    text = item if item.__class__ in (str, bytes) else getattr(item, "audio", None) or getattr(item, "text", None)
    return _OVERHEAD + (len(text) if isinstance(text, str | bytes) else 0)


def stamps(first: int, t: float, events: Sequence[Any]) -> Iterator[Stamped]:
    """Events that came together, with their numbers.

    >>> [stamped.seq for stamped in stamps(4, 0.0, [Notice("a"), Notice("b")])]
    [4, 5]
    """
    return map(Stamped, count(first), repeat(t), events)


class MemoryJournal:
    """Events in memory, numbered from 0 without gaps; the oldest leave when a bound is reached.

    >>> journal = MemoryJournal(clock=lambda: 0.0)
    >>> journal.append(Notice("a")).seq, journal.append(Notice("b")).seq
    (0, 1)
    >>> [stamped.event.code for stamped in journal.after(0)]
    ['b']
    """

    def __init__(self, *, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES, clock: Callable[[], float]) -> None:
        for name, value in (("max_events", max_events), ("max_bytes", max_bytes)):
            if not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} must be a positive number, not {value!r}")
        self.max_events = max_events
        self.max_bytes = max_bytes
        self.bytes = 0
        self._clock = clock
        self._origin: float | None = None
        # Stamps are made when they are asked for: most events are delivered once and never read here again.
        self._kept: deque[Any] = deque()
        self._times: deque[float] = deque()
        self._first = 0  # seq of the oldest event kept
        self._gone = Fold()  # of what was let go

    @property
    def next_seq(self) -> int:
        """The number of the next event."""
        return self._first + len(self._kept)

    @property
    def first_seq(self) -> int:
        """The number of the oldest event that is kept."""
        return self._first

    def append(self, event: Any) -> Stamped:
        """Number and keep one event."""
        first, t = self.append_all([event])
        return Stamped(first, t, event)

    def append_all(self, events: Sequence[Any]) -> tuple[int, float]:
        """Number and keep events that came together; the first of their numbers, and their time."""
        now = self._clock()
        if self._origin is None:
            self._origin = now
        t = now - self._origin
        kept = self._kept
        first = self._first + len(kept)
        kept.extend(events)
        self._times.extend([t] * len(events))
        size = 0
        for event in events:
            size += _OVERHEAD + len(event.text) if event.__class__ is Chunk else weight(event)
        self.bytes += size
        if len(kept) > self.max_events or self.bytes > self.max_bytes:
            self._let_go()
        return first, t

    def _let_go(self) -> None:
        kept, times = self._kept, self._times
        while len(kept) > 1 and (len(kept) > self.max_events or self.bytes > self.max_bytes):
            old = kept.popleft()
            times.popleft()
            self.bytes -= weight(old)
            self._gone.add(old)
            self._first += 1

    def after(self, seq: int) -> Iterator[Stamped]:
        """Everything behind ``seq``. Where the past is gone, a reset with a snapshot of it comes first."""
        if seq + 1 < self._first:
            yield self._reset(seq)
        begin = max(0, seq + 1 - self._first)
        yield from map(
            Stamped, count(self._first + begin), islice(self._times, begin, None), islice(self._kept, begin, None)
        )

    def page(self, seq: int, limit: int) -> list[Stamped]:
        """At most ``limit`` items behind ``seq``, for readers that come back for more; a reset first, as in `after`.

        >>> journal = MemoryJournal(clock=lambda: 0.0)
        >>> for code in "abc": _ = journal.append(Notice(code))
        >>> [stamped.event.code for stamped in journal.page(0, 1)]
        ['b']
        """
        kept, times, first = self._kept, self._times, self._first
        if seq + 1 < first:
            return [self._reset(seq)]
        begin = seq + 1 - first
        # Indexing: a deque is fast near both ends, where readers are, and skips blocks in between.
        return [
            Stamped(first + place, times[place], kept[place]) for place in range(begin, min(begin + limit, len(kept)))
        ]

    def _reset(self, seq: int) -> Stamped:
        missing = self._first - seq - 1
        notice = Notice(
            "reset",
            f"{missing} older events are gone; raw holds the answer up to event {self._first - 1}",
            self._gone.response(),
        )
        return Stamped(self._first - 1, self._times[0] if self._times else 0.0, notice)

    def snapshot(self) -> Response:
        """The answer as far as it was let go."""
        return self._gone.response()
