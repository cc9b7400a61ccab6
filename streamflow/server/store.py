"""Where flows live: a small protocol, and the store in memory."""

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import Protocol

import msgspec
from reactivex import abc

from streamflow.events import TERMINAL, ErrorInfo, Stamped, StreamFailed
from streamflow.flow import Flow
from streamflow.server.limits import Limits
from streamflow.server.refusals import Refused

_PAGE = 512


class FlowState(msgspec.Struct, frozen=True):
    """What is known of a flow at this moment. ``last_seq`` is its newest event, -1 before the first.

    >>> FlowState("f", "local", 7).last_seq
    -1
    """

    id: str
    owner: str
    epoch: int
    last_seq: int = -1
    ended: bool = False


class Subscription(Protocol):
    """One reader's place in the journal of a flow, wherever that is kept."""

    @property
    def ended(self) -> bool:
        """True when the end of the flow has been read."""
        ...

    async def read(self, wait_s: float) -> list[Stamped]:
        """The next items, in order, without a gap; an empty list when none came in ``wait_s``."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


class FlowStore(Protocol):
    """The flows of a server, or of several that share them."""

    async def create(self, owner: str, flow: Flow, *, alias: str | None = None) -> FlowState:
        """Take over a flow and run it. Under an alias its owner finds it again."""
        ...

    async def get(self, flow_id: str) -> FlowState | None:
        """The state of a flow; None where there is none."""
        ...

    async def find(self, owner: str, alias: str) -> FlowState | None:
        """The newest flow that this owner has under an alias."""
        ...

    async def subscribe(self, flow_id: str, after: int) -> Subscription:
        """Read a flow behind an event. Raises `KeyError` where there is no such flow."""
        ...

    async def stop(self, flow_id: str) -> None:
        """End a flow, wherever it runs; once more does no harm."""
        ...

    async def live(self) -> int:
        """How many flows run here."""
        ...

    async def close(self) -> None:
        """Let everything go."""
        ...


class Cursor:
    """Reads the journal of a flow of this process page by page: a slow reader holds nothing but its place."""

    def __init__(self, flow: Flow, after: int) -> None:
        self._flow = flow
        self._seq = after
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._ended = False
        # From the newest on: the past is read from the journal, this only says that there is more.
        self._subscription: abc.DisposableBase = flow.attach(self._wake, self._wake, self._wake, _newest(flow))

    @property
    def ended(self) -> bool:
        """True when the end has been read."""
        return self._ended

    async def read(self, wait_s: float) -> list[Stamped]:
        """The next page."""
        if self._flow.journal.next_seq <= self._seq + 1 and not self._flow.ended:
            self._news.clear()
            # No task, no timeout scope: this runs once for each event and each reader.
            timer = self._loop.call_later(wait_s, self._news.set)
            try:
                await self._news.wait()
            finally:
                timer.cancel()
        page = self._flow.journal.page(self._seq, _PAGE)
        if page:
            self._seq = page[-1].seq
        if self._flow.ended and self._seq + 1 >= self._flow.journal.next_seq:
            self._ended = True
            if not page or not isinstance(page[-1].event, TERMINAL):
                page += self._missing_end()
            self.close()
        return page

    def close(self) -> None:
        """Unsubscribe."""
        self._subscription.dispose()

    def _missing_end(self) -> list[Stamped]:
        """An end for a source that had none, so that a cut stream never looks finished."""
        last = self._flow.journal.page(self._seq - 1, 1)
        if last and isinstance(last[-1].event, TERMINAL):
            return []
        fault = self._flow.error
        text = "the source ended without saying so" if fault is None else f"the source failed: {type(fault).__name__}"
        failed = StreamFailed(ErrorInfo("StreamTruncated", text), self._flow.snapshot())
        return [Stamped(self._seq + 1, last[-1].t if last else 0.0, failed)]

    def _wake(self, _: object = None) -> None:
        if _running_loop() is self._loop:
            self._news.set()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)


class _Kept:
    """A flow in the store."""

    __slots__ = ("alias", "ended_at", "epoch", "flow", "id", "owner")

    def __init__(self, owner: str, flow: Flow, alias: str | None) -> None:
        self.id = secrets.token_urlsafe(16)  # 128 random bits
        self.epoch = secrets.randbelow(1 << 47) * 2 + 2  # even: the odd one next to it is for the flow's voice
        self.owner = owner
        self.flow = flow
        self.alias = alias
        self.ended_at: float | None = None

    def state(self) -> FlowState:
        return FlowState(self.id, self.owner, self.epoch, _newest(self.flow), self.flow.ended)


class MemoryFlowStore:
    """Flows of one process.

    >>> import asyncio
    >>> from streamflow.events import StreamStart, StreamCompleted
    >>> async def main():
    ...     store = MemoryFlowStore()
    ...     state = await store.create("local", Flow([StreamStart(), StreamCompleted()]))
    ...     reader = await store.subscribe(state.id, -1)
    ...     return [stamped.seq for stamped in await reader.read(1.0)], reader.ended
    >>> asyncio.run(main())
    ([0, 1], True)
    """

    def __init__(self, limits: Limits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = (limits or Limits()).checked()
        self._clock = clock
        self._flows: dict[str, _Kept] = {}
        self._aliases: dict[tuple[str, str], str] = {}

    async def create(self, owner: str, flow: Flow, *, alias: str | None = None) -> FlowState:
        """Run a flow; refused where its owner has too many already."""
        self._let_go()
        own = [kept for kept in self._flows.values() if kept.owner == owner and not kept.flow.ended]
        if len(own) >= self._limits.flows_per_owner:
            raise Refused(
                429,
                "too_many_flows",
                f"{self._limits.flows_per_owner} flows run already; wait, or stop one",
                {"retry-after": "5"},
            )
        kept = _Kept(owner, flow, alias)
        self._flows[kept.id] = kept
        if alias is not None:
            self._aliases[owner, alias] = kept.id
        # Somebody came and went: from here on the flow lingers until the first reader is there.
        flow.attach(_ignore, _ignore, _ignore).dispose()
        return kept.state()

    async def get(self, flow_id: str) -> FlowState | None:
        """The state of a flow."""
        self._let_go()
        kept = self._flows.get(flow_id)
        return None if kept is None else kept.state()

    async def find(self, owner: str, alias: str) -> FlowState | None:
        """The newest flow under an alias."""
        flow_id = self._aliases.get((owner, alias))
        return None if flow_id is None else await self.get(flow_id)

    async def subscribe(self, flow_id: str, after: int) -> Subscription:
        """Read behind an event."""
        return Cursor(self._flows[flow_id].flow, after)

    async def stop(self, flow_id: str) -> None:
        """End a flow."""
        self._flows[flow_id].flow.stop()

    async def live(self) -> int:
        """How many run."""
        return sum(not kept.flow.ended for kept in self._flows.values())

    async def close(self) -> None:
        """Stop everything."""
        for kept in self._flows.values():
            kept.flow.stop()

    def _let_go(self) -> None:
        """Forget flows that ended long ago, and the oldest of an owner who has too many."""
        now, limits = self._clock(), self._limits
        counts: dict[str, int] = {}
        gone: list[_Kept] = []
        for kept in reversed(self._flows.values()):
            if not kept.flow.ended:
                continue
            if kept.ended_at is None:
                kept.ended_at = now
            counts[kept.owner] = counts.get(kept.owner, 0) + 1
            if now - kept.ended_at > limits.keep_s or counts[kept.owner] > limits.kept_per_owner:
                gone.append(kept)
        for kept in gone:
            del self._flows[kept.id]
            if kept.alias is not None and self._aliases.get((kept.owner, kept.alias)) == kept.id:
                del self._aliases[kept.owner, kept.alias]


def _newest(flow: Flow) -> int:
    return flow.journal.next_seq - 1


def _ignore(_: object = None) -> None:
    return None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
