from collections.abc import Callable
from typing import Any

from streamflow.errors import UsageError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Notice,
    StreamCompleted,
    StreamFailed,
    StreamStart,
)
from streamflow.operators.timed import Clock, TimedOperator, lift_timed
from streamflow.views import Field, PartialArguments

# Their index is the block's, and many share one.
_BLOCK_EVENTS = (BlockStart, Chunk, BlockComplete, Citation, Field, PartialArguments)
_MESSAGE_ENDS = (StreamStart, StreamCompleted, StreamFailed)

MAX_PENDING = 1024


def item_index(item: Any) -> int | None:
    """The default number of an item: its ``index``, unless that is the index of a block.

    >>> from streamflow.events import Sentence
    >>> item_index(Sentence(3, "Hi.")), item_index(Chunk(3, "text", "Hi")), item_index("Hi")
    (3, None, None)
    """
    if isinstance(item, _BLOCK_EVENTS):
        return None
    index = getattr(item, "index", None)
    return index if isinstance(index, int) else None


class Reorder:
    """Holds numbered items until their turn comes, or until a gap has been waited for long enough.

    >>> reorder = Reorder(lambda item: item, 0, 5.0, lambda: 0.0)
    >>> reorder.feed(1), reorder.due_s, reorder.feed(0), reorder.due_s
    ([], 5.0, [0, 1], None)
    """

    def __init__(self, key: Callable[[Any], int | None], first: int, gap_s: float, clock: Clock) -> None:
        self._key = key
        self._first = first
        self._gap_s = gap_s
        self._clock = clock
        self._pending: dict[int, Any] = {}
        self._next = first
        self.due_s: float | None = None

    @property
    def expected(self) -> int:
        """The number that is to be delivered next."""
        return self._next

    def feed(self, item: Any) -> list[Any]:
        """Deliver an item at its turn, hold an early one, report a late one."""
        if isinstance(item, _MESSAGE_ENDS):
            out = [*self.flush(), item]
            self._next = self._first
            return out
        number = self._number(item)
        if number is None:
            return [item]
        if number == self._next:
            self._next += 1
            self.due_s = None
            return [item, *self._successors()]
        if number < self._next:
            return [Notice("late", f"{number} came when {self._next} was next; it is dropped", [number, self._next])]
        if number in self._pending:
            return [Notice("repeat", f"{number} came again before its turn; the second is dropped", [number])]
        self._pending[number] = item
        if len(self._pending) > MAX_PENDING:
            return self.wake()
        self._watch_gap()
        return []

    def wake(self) -> list[Any]:
        """The gap was waited for long enough: go on with the smallest number at hand."""
        self.due_s = None
        if not self._pending:
            return []
        smallest = min(self._pending)
        missing = smallest - self._next
        notice = Notice("skipped", f"{missing} missing before {smallest}", [self._next, smallest])
        self._next = smallest
        return [notice, *self._successors()]

    def end(self) -> list[Any]:
        """Nothing more comes, so no gap can close."""
        return self.flush()

    def flush(self) -> list[Any]:
        """All that is held, in order."""
        out: list[Any] = []
        while self._pending:
            out += self.wake()
        self.due_s = None
        return out

    def abort(self, error: BaseException) -> list[Any]:
        """All that is held, in order."""
        return self.flush()

    def _number(self, item: Any) -> int | None:
        try:
            number = self._key(item)
        except AttributeError:  # the usual key reads an attribute that foreign events do not have
            return None
        if isinstance(number, int):
            return number
        if number is None or callable(number):  # the `index` of a string or a list is a method
            return None
        raise UsageError(f"reorder(key=...): the key of an item is {number!r}, not a whole number or None")

    def _successors(self) -> list[Any]:
        out = []
        while self._next in self._pending:
            out.append(self._pending.pop(self._next))
            self._next += 1
        self._watch_gap()
        return out

    def _watch_gap(self) -> None:
        if self._pending and self.due_s is None:
            self.due_s = self._clock() + self._gap_s


def reorder(
    key: Callable[[Any], int | None] = item_index, first: int = 0, gap_s: float = 5.0
) -> TimedOperator[Any, Any]:
    """Numbered items in the order of their numbers; a missing one is waited for at most ``gap_s`` seconds.

    ```
    in   --0--2-----1--4--------------------5--3--|
    out  --0--------1 2----[gap_s]-Notice-4-5--N--|
    ```

    ``key`` gives an item's number; an item without one (None, or no such attribute) passes at once. After the wait
    `Notice("skipped")` says what is missing and the smallest number at hand goes on. A number that comes after its turn
    is dropped and reported as `Notice("late")`, a repeated one as `Notice("repeat")`. `StreamStart` and the end of a
    message release what is held and begin again at ``first``. The timer runs on the scheduler of the subscription.

    >>> import streamflow as sf
    >>> sf.run([2, 0, 1], reorder(key=lambda item: item))
    [0, 1, 2]
    """
    if not callable(key):
        raise UsageError(f"reorder(key={key!r}): a function from an item to its number or None is needed")
    if gap_s < 0:
        raise UsageError(f"reorder(gap_s={gap_s!r}): 0 or more seconds are needed")
    return lift_timed(lambda clock: Reorder(key, first, gap_s, clock), "reorder")
