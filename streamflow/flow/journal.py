"""The journal of a flow: every event with its number and time, bounded, with a snapshot of what was let go."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
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
        self._kept: deque[Stamped] = deque()
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
        now = self._clock()
        if self._origin is None:
            self._origin = now
        kept = self._kept
        count = len(kept)
        stamped = Stamped(self._first + count, now - self._origin, event)
        kept.append(stamped)
        self.bytes += _OVERHEAD + len(event.text) if event.__class__ is Chunk else weight(event)
        if count >= self.max_events or self.bytes > self.max_bytes:
            self._let_go()
        return stamped

    def _let_go(self) -> None:
        kept = self._kept
        while len(kept) > 1 and (len(kept) > self.max_events or self.bytes > self.max_bytes):
            old = kept.popleft()
            self.bytes -= weight(old.event)
            self._gone.add(old.event)
            self._first += 1

    def after(self, seq: int) -> Iterator[Stamped]:
        """Everything behind ``seq``. Where the past is gone, a reset with a snapshot of it comes first."""
        if seq + 1 < self._first:
            t = self._kept[0].t if self._kept else 0.0
            yield Stamped(self._first - 1, t, self._reset(seq))
        yield from islice(self._kept, max(0, seq + 1 - self._first), None)

    def page(self, seq: int, limit: int) -> list[Stamped]:
        """At most ``limit`` items behind ``seq``, for readers that come back for more; a reset first, as in `after`.

        >>> journal = MemoryJournal(clock=lambda: 0.0)
        >>> for code in "abc": _ = journal.append(Notice(code))
        >>> [stamped.event.code for stamped in journal.page(0, 1)]
        ['b']
        """
        kept, first = self._kept, self._first
        if seq + 1 < first:
            return [Stamped(first - 1, kept[0].t if kept else 0.0, self._reset(seq))]
        begin = seq + 1 - first
        # Indexing: a deque is fast near both ends, where readers are, and skips blocks in between.
        return [kept[place] for place in range(begin, min(begin + limit, len(kept)))]

    def _reset(self, seq: int) -> Notice:
        missing = self._first - seq - 1
        return Notice(
            "reset",
            f"{missing} older events are gone; raw holds the answer up to event {self._first - 1}",
            self._gone.response(),
        )

    def snapshot(self) -> Response:
        """The answer as far as it was let go."""
        return self._gone.response()
