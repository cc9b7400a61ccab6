"""What a reader of a flow gets: the journal itself, or what the operators of a branch make of it, with ids."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from reactivex import Observable
from reactivex.subject import Subject

from streamflow.errors import error_from_info
from streamflow.events import TERMINAL, ErrorInfo, Notice, Stamped, StreamFailed
from streamflow.server.positions import BEGINNING, WHOLE, Position, write_id
from streamflow.server.store import Subscription


class Item(msgspec.Struct, frozen=True):
    """One thing to send, and the id to come back behind it.

    >>> Item("7-0", Notice("gap")).id
    '7-0'
    """

    id: str
    event: Any


class View(Protocol):
    """A source of items for one client."""

    @property
    def ended(self) -> bool:
        """True when the last item was given out."""
        ...

    async def read(self, wait_s: float) -> list[Item]:
        """The next items; an empty list when none came in ``wait_s``."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


class JournalView:
    """Every event, each under its own id."""

    def __init__(self, epoch: int, subscription: Subscription) -> None:
        self._epoch = epoch
        self._subscription = subscription

    @property
    def ended(self) -> bool:
        """True when the end was given out."""
        return self._subscription.ended

    async def read(self, wait_s: float) -> list[Item]:
        """The next events."""
        epoch = self._epoch
        return [Item(f"{epoch}-{stamped.seq}", stamped.event) for stamped in await self._subscription.read(wait_s)]

    def close(self) -> None:
        """Unsubscribe."""
        self._subscription.close()


class BranchView:
    """The output of operators that read the journal from its beginning, so that their state is right at every place.

    The k-th output of event ``seq`` has the id ``<epoch>-<seq>.<k>``: the same on every server and in every replay.
    Where the operators keep the end of the stream to themselves, it is told behind their last output.
    """

    def __init__(
        self, epoch: int, subscription: Subscription, operators: Sequence[Any], after: Position = BEGINNING
    ) -> None:
        self._epoch = epoch
        self._subscription = subscription
        self._after = after
        self._seq = -1
        self._k = 0
        self._ready: list[Item] = []
        self._end: Stamped | None = None
        self._told_end = False
        self._over = False
        self._events: Subject[Any] = Subject()
        piped: Observable[Any] = self._events.pipe(*operators)
        self._piped = piped.subscribe(self._put, self._failed, self._completed)

    @property
    def ended(self) -> bool:
        """True when the end was given out."""
        return self._over and not self._ready

    async def read(self, wait_s: float) -> list[Item]:
        """What the next events became."""
        if not self._subscription.ended:
            for stamped in await self._subscription.read(wait_s):
                self._feed(stamped)
            if self._subscription.ended:
                self._finish()
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> None:
        """Unsubscribe."""
        self._piped.dispose()
        self._subscription.close()

    def _feed(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, Notice) and event.code == "reset":
            # The past that the operators would need is gone. The client is told, whatever the operators let through.
            self._seq, self._k = stamped.seq, WHOLE
            self._ready.append(Item(write_id(self._epoch, stamped.seq), event))
            return
        self._seq, self._k = stamped.seq, 0
        if isinstance(event, TERMINAL):
            self._end = stamped
        self._events.on_next(event)

    def _finish(self) -> None:
        end = self._end.event if self._end is not None else None
        if isinstance(end, StreamFailed):
            self._events.on_error(error_from_info(end.error))
        else:
            self._events.on_completed()
        self._over = True
        if self._end is not None and not self._told_end and self._after < Position(self._end.seq):
            self._ready.append(Item(write_id(self._epoch, self._end.seq), end))

    def _put(self, item: Any) -> None:
        position = Position(self._seq, self._k)
        self._k += 1
        if isinstance(item, TERMINAL):
            self._told_end = True
        if self._after < position:
            self._ready.append(Item(write_id(self._epoch, self._seq, position.k), item))

    def _failed(self, error: BaseException) -> None:
        self._over = True
        if self._end is None:
            # An operator of the branch raised: the branch ends here, in words that a client understands.
            failed = StreamFailed(ErrorInfo("StreamflowError", f"the branch failed: {type(error).__name__}"))
            self._ready.append(Item(write_id(self._epoch, self._seq, self._k), failed))
            self._subscription.close()

    def _completed(self) -> None:
        self._over = True
