"""The journal on Redis Streams: producers, servers and readers on many machines."""

import contextlib
import secrets
from typing import Any

import msgspec

from streamflow.errors import ProtocolError, UsageError
from streamflow.events import TERMINAL, Stamped
from streamflow.flow.closing import PRODUCER_LOST, closing_events
from streamflow.flow.embedded import reset_record
from streamflow.flow.ports import (
    SCHEMA,
    Fenced,
    StreamState,
    Taken,
    Timing,
    UnknownStream,
    checked_position,
    checked_stream_id,
)
from streamflow.flow.redis_lease import Keys, LeaseKeeper, RedisClaim, Snapshot
from streamflow.flow.redis_link import ANSWER_S, Link, connect
from streamflow.flow.redis_reader import BLOCK_S, Entries, RedisTail, Replica, SharedReader, decoded
from streamflow.flow.redis_scripts import CLAIM, FETCH

_PAGE = 512
_NEW, _TAKE_OVER, _TAKE_OVER_ONLY = 0, 1, 2  # of a claim
_snapshots = msgspec.json.Decoder(Snapshot)


class RedisJournal:
    """Streams in Redis (6.2 or newer) or Valkey; one of these for each process and event loop.

    Nothing is connected before the first call. It holds two connections for commands and, while somebody reads, one for
    reading, however many streams there are. ``prefix`` keeps tenants apart.

    >>> journal = RedisJournal("redis://localhost:6379/0")
    >>> journal
    RedisJournal(prefix='sf')
    """

    def __init__(self, url: str, *, prefix: str = "sf", timing: Timing | None = None) -> None:
        if not prefix or set(prefix) & set("{}: \n*?[]"):
            raise UsageError(f"prefix={prefix!r}: choose one without braces, colons, spaces and wildcards")
        self.prefix = prefix
        self.timing = timing or Timing()
        self.writes = Link(connect(url, connections=1))
        self.reads = Link(connect(url, connections=1))
        self._reader = SharedReader(connect(url, answer_s=BLOCK_S + ANSWER_S, connections=1), self.writes, prefix)
        self._keeper = LeaseKeeper(self.writes, self.timing, self._end_lost)
        self._replicas: dict[str, Replica] = self._keeper.replicas

    async def claim(self, stream_id: str, *, owner: str = "", takeover: bool = False) -> RedisClaim:
        """Become the producer of a stream; exactly one of many who try does."""
        claim = await self._claim(stream_id, owner, _TAKE_OVER if takeover else _NEW)
        claim.on_over = self._claim_over
        self._keeper.claims.add(claim)
        self._keeper.wake()
        self._reader.follow(claim.keys.ctl, "0-0", claim.ask_stop)
        return claim

    async def _claim(self, stream_id: str, owner: str, how: int) -> RedisClaim:
        keys = self._keys(stream_id)
        token = secrets.token_hex(16)
        status, *answer = await self.writes.run(
            CLAIM,
            [keys.meta, keys.lease],
            token,
            round(self.timing.lease_s * 1000),
            round(self.timing.keep_s * 1000),
            owner,
            SCHEMA,
            how,
        )
        epoch, first, last, owner, ended = (value.decode() for value in answer)
        if status == b"schema":
            raise _unknown_schema(stream_id, epoch)
        if status == b"none":
            raise UnknownStream(f"the broker has lost the stream {stream_id!r}")
        if status != b"won":
            state = StreamState(stream_id, owner, int(first), int(last), ended == "1")
            raise Taken(f"the stream {stream_id!r} has a producer, or had one", state=state)
        return RedisClaim(
            self.writes,
            keys,
            self.timing,
            stream_id=stream_id,
            token=token,
            epoch=int(epoch),
            next_seq=int(last) + 1,
        )

    def _claim_over(self, claim: RedisClaim) -> None:
        self._keeper.claims.discard(claim)
        self._reader.leave(claim.keys.ctl)

    async def state(self, stream_id: str) -> StreamState | None:
        """How far a stream is."""
        meta = await self.reads.call("HMGET", self._keys(stream_id).meta, "owner", "first", "last", "state", "schema")
        if meta[1] is None:
            return None
        owner, first, last, state, schema = (value.decode() for value in meta)
        if schema != str(SCHEMA):
            raise _unknown_schema(stream_id, schema)
        return StreamState(stream_id, owner, int(first), int(last), state == "ended")

    async def tail(self, stream_id: str, after: int = -1) -> RedisTail:
        """Read a stream behind a record."""
        state = await self.state(stream_id)
        if state is None:
            raise UnknownStream(f"there is no stream {stream_id!r}")
        checked_position(state, after)
        replica = self._replicas.get(stream_id)
        if replica is None:
            replica = self._follow(state)
        return RedisTail(self, replica, after)

    def _follow(self, state: StreamState) -> Replica:
        # What comes from now on is read once for all readers here; the past is read by whoever wants it, page by page,
        # and the numbers say where the one ends and the other begins.
        replica = Replica(state.id, self._keys(state.id), state.last_seq)
        if state.ended:
            replica.over = True
            return replica
        self._replicas[state.id] = replica
        # Of the first epoch: a later one is behind this place with all its numbers, and what is old is left out.
        place = f"{state.epoch}-{state.last_seq}" if state.last_seq >= 0 else "0-0"

        def feed(entries: Entries) -> None:
            replica.feed(entries)
            if replica.over:
                self._reader.leave(replica.keys.log)

        self._reader.follow(replica.keys.log, place, feed)
        self._keeper.wake()
        return replica

    def left(self, replica: Replica) -> None:
        """A reader is gone; the last one closes the door."""
        if not replica.readers and self._replicas.get(replica.stream_id) is replica:
            del self._replicas[replica.stream_id]
            self._reader.leave(replica.keys.log)

    async def fetch(self, stream_id: str, after: int, limit: int = _PAGE) -> list[Stamped]:
        """A page of records behind a place; a reset first where they are gone."""
        keys = self._keys(stream_id)
        start = ""
        while True:
            schema, *found = await self.reads.run(FETCH, [keys.log, keys.meta, keys.snap], after, start, limit)
            if schema is None:
                raise UnknownStream(f"there is no stream {stream_id!r} any more")
            if schema != str(SCHEMA).encode():
                raise _unknown_schema(stream_id, schema.decode())
            _, _, entries, past = found
            records = _readable(entries, stream_id, after)
            page = _through_end([record for record in records if record.seq > after])
            if page or not records:
                return self._with_reset(page, after, past)
            start = f"({entries[-1][0].decode()}"

    def _with_reset(self, page: list[Stamped], after: int, past: bytes | None) -> list[Stamped]:
        if page and page[0].seq == after + 1:
            return page
        snapshot = _snapshot(past) if past else None
        if page:
            response = snapshot.response if snapshot is not None and snapshot.through == page[0].seq - 1 else None
            return [reset_record(after, page[0].seq, page[0].t, response), *page]
        if snapshot is not None and snapshot.through > after:
            return [reset_record(after, snapshot.through + 1, 0.0, snapshot.response)]
        return []

    async def stop(self, stream_id: str) -> None:
        """Ask the producer for the end, on whatever machine it is."""
        state = await self.state(stream_id)
        if state is None:
            raise UnknownStream(f"there is no stream {stream_id!r}")
        if not state.ended:
            keys = self._keys(stream_id)
            await self.writes.call("XADD", keys.ctl, "MAXLEN", 16, "*", "c", "stop")
            await self.writes.call("PEXPIRE", keys.ctl, round(self.timing.keep_s * 1000))

    async def _end_lost(self, stream_id: str) -> None:
        """Say the end for a producer that cannot; of many who notice, one does."""
        past: list[Stamped] = []
        try:
            claim = await self._claim(stream_id, "", _TAKE_OVER_ONLY)
            with contextlib.suppress(ProtocolError):  # a record that nobody can read: the end is said all the same
                while page := await self.fetch(stream_id, past[-1].seq if past else -1):
                    past += page
            t = past[-1].t if past else 0.0
            events = closing_events(past, PRODUCER_LOST)
            await claim.append([Stamped(claim.next_seq + n, t, event) for n, event in enumerate(events)])
        except (Taken, Fenced):
            return
        except UnknownStream as gone:
            if (replica := self._replicas.get(stream_id)) is not None:
                replica.fail(gone)
                self._reader.leave(replica.keys.log)

    def _keys(self, stream_id: str) -> Keys:
        return Keys(self.prefix, checked_stream_id(stream_id))

    async def aclose(self) -> None:
        """Close all connections. Claims that are left run out."""
        await self._keeper.aclose()
        await self._reader.aclose()
        await self.writes.aclose()
        await self.reads.aclose()

    def __repr__(self) -> str:
        return f"RedisJournal(prefix={self.prefix!r})"


def _readable(entries: list[Any], stream_id: str, after: int) -> list[Stamped]:
    """The records up to one that cannot be read; that one is an error when nothing new comes before it."""
    records: list[Stamped] = []
    try:
        for name, fields in entries:
            records.append(decoded((name, _fields(fields)), stream_id))
    except ProtocolError:
        if not records or records[-1].seq <= after:
            raise
    return records


def _snapshot(past: bytes) -> Snapshot:
    try:
        return _snapshots.decode(past)
    except (msgspec.MsgspecError, RecursionError) as fault:
        raise ProtocolError(f"a snapshot cannot be read: {fault}", kind="bad_record") from None


def _through_end(page: list[Stamped]) -> list[Stamped]:
    """Whatever is behind the end, no producer wrote it."""
    for place, record in enumerate(page):
        if isinstance(record.event, TERMINAL):
            return page[: place + 1]
    return page


def _fields(flat: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _unknown_schema(stream_id: str, schema: Any) -> ProtocolError:
    return ProtocolError(
        f"the stream {stream_id!r} was written by another version: schema {schema}, here {SCHEMA}", kind="schema"
    )
