"""Flows that several servers share: whoever asks, whichever node answers. What is written is in Redis."""

import asyncio
import contextlib
import hashlib
import secrets
from collections import Counter
from collections.abc import Iterator

from streamflow.errors import StreamflowError
from streamflow.events import Stamped, StreamFailed
from streamflow.flow import Flow
from streamflow.flow.ports import BrokerUnavailable, Tail, Timing
from streamflow.flow.publish import Publication, publish
from streamflow.flow.redis_journal import RedisJournal
from streamflow.server.limits import Limits
from streamflow.server.refusals import Refused
from streamflow.server.store import FlowState

PRESENCE_S = 0.5  # how often a node says which flows are read there
_SEEN_MS = 3000
_ALIAS_S = 24 * 3600


class RedisFlowStore:
    """The flows of all nodes that use the same Redis and the same prefix.

    A flow runs where it was begun, and can be read and stopped everywhere. It ends when nobody has read it anywhere
    for as long as it lingers. A node without its Redis refuses new requests with 503.

    >>> RedisFlowStore("redis://localhost:6379/0")
    RedisFlowStore(RedisJournal(prefix='sf'))
    """

    def __init__(
        self, url: str, limits: Limits | None = None, *, prefix: str = "sf", timing: Timing | None = None
    ) -> None:
        self._limits = (limits or Limits()).checked()
        self.journal = RedisJournal(url, prefix=prefix, timing=timing)
        self._running: dict[str, tuple[str, Publication]] = {}
        self._readers: Counter[str] = Counter()
        self._last_seen: dict[str, float] = {}
        self._presence: asyncio.Task[None] | None = None

    async def create(self, owner: str, flow: Flow, *, alias: str | None = None) -> FlowState:
        """Run a flow on this node; refused where its owner has too many here already."""
        self._let_go()
        if sum(kept == owner for kept, _ in self._running.values()) >= self._limits.flows_per_owner:
            raise Refused(
                429,
                "too_many_flows",
                f"{self._limits.flows_per_owner} flows run already; wait, or stop one",
                {"retry-after": "5"},
            )
        flow_id = secrets.token_urlsafe(16)  # 128 random bits
        with _refusing():
            publication = await publish(flow, self.journal, flow_id, owner=owner)
            self._running[flow_id] = (owner, publication)
            self._last_seen[flow_id] = asyncio.get_running_loop().time()
            self._watch_presence()
            if alias is not None:
                await self.journal.writes.call("SET", self._alias_key(owner, alias), flow_id, "EX", _ALIAS_S)
        return FlowState(flow_id, owner, publication.epoch, publication.acked)

    async def get(self, flow_id: str) -> FlowState | None:
        """The state of a flow, of whatever node."""
        with _refusing():
            state = await self.journal.state(flow_id)
        return None if state is None else FlowState(state.id, state.owner, state.epoch, state.last_seq, state.ended)

    async def find(self, owner: str, alias: str) -> FlowState | None:
        """The newest flow under an alias."""
        with _refusing():
            flow_id = await self.journal.reads.call("GET", self._alias_key(owner, alias))
        return None if flow_id is None else await self.get(flow_id.decode())

    async def subscribe(self, flow_id: str, after: int) -> "Reading":
        """Read behind an event."""
        with _refusing():
            tail = await self.journal.tail(flow_id, after)
        self._readers[flow_id] += 1
        self._watch_presence()
        return Reading(self, flow_id, tail, after)

    async def stop(self, flow_id: str) -> None:
        """End a flow, wherever it runs."""
        with _refusing():
            await self.journal.stop(flow_id)

    async def live(self) -> int:
        """How many run on this node."""
        self._let_go()
        return len(self._running)

    async def close(self) -> None:
        """Stop what runs here, write that down, and leave."""
        if self._presence is not None:
            self._presence.cancel()
            await asyncio.gather(self._presence, return_exceptions=True)
        await asyncio.gather(*(publication.aclose() for _, publication in self._running.values()))
        await self.journal.aclose()

    def __repr__(self) -> str:
        return f"RedisFlowStore({self.journal!r})"

    # -- who reads what

    def left(self, flow_id: str) -> None:
        """A reader is gone."""
        self._readers[flow_id] -= 1
        if self._readers[flow_id] <= 0:
            del self._readers[flow_id]
            running = self._running.get(flow_id)
            if running is not None and running[1].flow.linger_s == 0:
                running[1].flow.stop()

    def _watch_presence(self) -> None:
        if self._presence is None or self._presence.done():
            self._presence = asyncio.get_running_loop().create_task(self._tell_presence(), name="streamflow presence")

    async def _tell_presence(self) -> None:
        """Say which flows are read here, and end those of this node that nobody reads anywhere."""
        loop = asyncio.get_running_loop()
        while self._readers or self._running:
            self._let_go()
            try:
                await asyncio.gather(*map(self._say_seen, list(self._readers)))
                await asyncio.gather(*map(self._see, list(self._running)))
            except BrokerUnavailable:
                # Readers could not be seen: that is no reason to end anything.
                self._last_seen = dict.fromkeys(self._running, loop.time())
            for flow_id, (_, publication) in self._running.items():
                patience_s = max(publication.flow.linger_s, _SEEN_MS / 1000)
                if loop.time() - self._last_seen[flow_id] > patience_s:
                    publication.flow.stop()
            await asyncio.sleep(PRESENCE_S)

    async def _say_seen(self, flow_id: str) -> None:
        key = self._seen_key(flow_id)
        # A broker that is full still prolongs what is there.
        if not await self.journal.writes.call("PEXPIRE", key, _SEEN_MS):
            await self.journal.writes.call("SET", key, 1, "PX", _SEEN_MS)

    async def _see(self, flow_id: str) -> None:
        if await self.journal.reads.call("EXISTS", self._seen_key(flow_id)):
            self._last_seen[flow_id] = asyncio.get_running_loop().time()

    def _let_go(self) -> None:
        for flow_id, (_, publication) in list(self._running.items()):
            if publication.over:
                del self._running[flow_id]
                self._last_seen.pop(flow_id, None)

    def _seen_key(self, flow_id: str) -> str:
        return f"{self.journal.prefix}:{{{flow_id}}}:seen"

    def _alias_key(self, owner: str, alias: str) -> str:
        # A digest: an alias comes from a client, and a key is no place for what a client wrote.
        digest = hashlib.sha256(f"{owner}\n{alias}".encode()).hexdigest()
        return f"{self.journal.prefix}:alias:{digest}"


class Reading:
    """One reader's place; made by `RedisFlowStore.subscribe`."""

    def __init__(self, store: RedisFlowStore, flow_id: str, tail: Tail, after: int) -> None:
        self._store = store
        self._flow_id = flow_id
        self._tail = tail
        self._last = Stamped(after, 0.0, None)
        self._failed = False
        self._closed = False

    @property
    def ended(self) -> bool:
        """True when the end of the flow has been read."""
        return self._failed or self._tail.ended

    async def read(self, wait_s: float) -> list[Stamped]:
        """The next items; none while the broker is away."""
        try:
            page = await self._tail.read(wait_s)
        except StreamflowError as error:
            # A record that cannot be read, or a stream that is gone: a cut stream never looks finished.
            self._failed = True
            page = [Stamped(self._last.seq + 1, self._last.t, StreamFailed(error.info()))]
        if page:
            self._last = page[-1]
        return page

    def close(self) -> None:
        """Leave."""
        if not self._closed:
            self._closed = True
            self._tail.close()
            self._store.left(self._flow_id)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except BrokerUnavailable as away:
        raise Refused(503, "journal_unavailable", away.message, {"retry-after": "1"}) from away
