"""What happens when the reader of a branch is slower than the source."""

from collections import deque
from typing import Any

import msgspec

from streamflow.bridge import Backlog
from streamflow.errors import LimitExceeded, StreamflowError, UsageError
from streamflow.events import Chunk, Notice
from streamflow.flow.journal import weight

_BYTES = 64 << 20


class Policy(msgspec.Struct, frozen=True):
    """How a branch treats a slow reader; made by `block`, `conflate`, `drop_oldest`, `error` and `unbounded`."""

    name: str
    max_items: int = 0
    max_bytes: int = 0
    max_wait_s: float | None = None


def _positive(policy: str, **values: Any) -> None:
    for name, value in values.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
            raise UsageError(f"{policy}({name}={value!r}): {name} must be a positive number")


def block(max_wait_s: float | None = 30.0, max_items: int = 256) -> Policy:
    """The source waits for the reader, at most ``max_wait_s`` at a time; then the branch is cut off with an error.

    A source that cannot wait is held in memory up to the caps of the flow.

    >>> block(max_wait_s=5).max_wait_s
    5
    """
    _positive("block", max_items=max_items, **({} if max_wait_s is None else {"max_wait_s": max_wait_s}))
    return Policy("block", max_items, max_wait_s=max_wait_s)


def conflate(max_bytes: int = _BYTES) -> Policy:
    """Text that waits is merged into larger chunks; nothing is lost.

    >>> conflate().name
    'conflate'
    """
    _positive("conflate", max_bytes=max_bytes)
    return Policy("conflate", max_bytes=max_bytes)


def drop_oldest(n: int) -> Policy:
    """At most ``n`` items wait; older ones are dropped, and a ``Notice(code="dropped")`` says how many.

    >>> drop_oldest(10).max_items
    10
    """
    _positive("drop_oldest", n=n)
    return Policy("drop_oldest", n)


def error(n: int) -> Policy:
    """More than ``n`` items that wait end the branch with `LimitExceeded`.

    >>> error(10).name
    'error'
    """
    _positive("error", n=n)
    return Policy("error", n)


def unbounded(max_bytes: int = _BYTES) -> Policy:
    """Everything waits, up to ``max_bytes``; more ends the branch with `LimitExceeded`.

    >>> unbounded().max_bytes
    67108864
    """
    _positive("unbounded", max_bytes=max_bytes)
    return Policy("unbounded", max_bytes=max_bytes)


BLOCK = block()
_BY_BRANCH = {"ui": conflate()}


def default_policy(branch: str) -> Policy:
    """A screen conflates, everything else makes the source wait.

    >>> default_policy("ui").name, default_policy("tts").name
    ('conflate', 'block')
    """
    return _BY_BRANCH.get(branch, BLOCK)


class Queue:
    """Items in order, up to a number or a weight."""

    def __init__(self, policy: Policy) -> None:
        self._items: deque[Any] = deque()
        self._policy = policy
        self._bytes = 0

    def put(self, item: Any) -> StreamflowError | None:
        """Add one."""
        policy = self._policy
        if policy.max_items and len(self._items) >= policy.max_items:
            return _too_slow(policy.name, f"{policy.max_items} items")
        if policy.max_bytes:
            self._bytes += weight(item)
            if self._bytes > policy.max_bytes:
                return _too_slow(policy.name, f"{policy.max_bytes} bytes")
        self._items.append(item)
        return None

    def take(self) -> Any:
        """The oldest."""
        item = self._items.popleft()
        if self._policy.max_bytes:
            self._bytes -= weight(item)
        return item

    def __len__(self) -> int:
        return len(self._items)


class MergingQueue(Queue):
    """Chunks of the same block that wait side by side become one; strings too."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._parts: list[str] = []  # texts to add to the last item

    def put(self, item: Any) -> StreamflowError | None:
        """Add one, to the last where the two are one text."""
        last = self._items[-1] if self._items else None
        if last is None or not _one_text(last, item):
            self._settle()
            return super().put(item)
        text = item if item.__class__ is str else item.text
        self._bytes += len(text)
        if self._bytes > self._policy.max_bytes:
            return _too_slow(self._policy.name, f"{self._policy.max_bytes} bytes")
        self._parts.append(text)
        return None

    def take(self) -> Any:
        """The oldest, whole."""
        if len(self._items) == 1:
            self._settle()
        return super().take()

    def _settle(self) -> None:
        if self._parts:
            last = self._items.pop()
            more = "".join(self._parts)
            merged = last + more if last.__class__ is str else msgspec.structs.replace(last, text=last.text + more)
            self._bytes -= len(more) + weight(last)
            self._items.append(merged)
            self._bytes += weight(merged)
            self._parts.clear()


class DroppingQueue(Queue):
    """The newest items; a notice in front says how many were dropped."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(Policy(policy.name))
        self._limit = policy.max_items
        self._dropped = 0

    def put(self, item: Any) -> StreamflowError | None:
        """Add one, in the place of the oldest."""
        if len(self._items) >= self._limit:
            self._items.popleft()
            self._dropped += 1
        return super().put(item)

    def take(self) -> Any:
        """First how many are missing, then the oldest."""
        if self._dropped:
            count, self._dropped = self._dropped, 0
            return Notice("dropped", f"{count} items were dropped: the reader is too slow", count)
        return super().take()


def _one_text(last: Any, item: Any) -> bool:
    kind = item.__class__
    if kind is not last.__class__:
        return False
    if kind is str:
        return True
    return kind is Chunk and (last.index, last.part, last.depth) == (item.index, item.part, item.depth)


def _too_slow(policy: str, bound: str) -> LimitExceeded:
    return LimitExceeded(
        f"the reader of this branch fell behind by more than {bound} ({policy}); read faster, "
        "or give the branch another policy",
        kind="slow_reader",
    )


_BACKLOGS: dict[str, type[Queue]] = {"conflate": MergingQueue, "drop_oldest": DroppingQueue}


def backlog_for(policy: Policy, max_items: int, max_bytes: int) -> Backlog:
    """The backlog of a policy; where a policy sets no bound of its own, those of the flow hold."""
    if policy.name == "block":
        # Its own bound makes the source wait; these are for sources that cannot.
        return Queue(Policy("block", max_items, max_bytes))
    return _BACKLOGS.get(policy.name, Queue)(policy)
