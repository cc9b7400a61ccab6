"""Reading from Redis: one connection and one blocking read for all streams of a process, fanned out in the process."""

import asyncio
import contextlib
import logging
import random
import secrets
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from redis.exceptions import RedisError

from streamflow.encoding import from_json
from streamflow.errors import ProtocolError, StreamflowError
from streamflow.events import TERMINAL, Stamped
from streamflow.flow.journal import weight
from streamflow.flow.ports import BrokerUnavailable, record_id
from streamflow.flow.redis_lease import Keys
from streamflow.flow.redis_link import Link

if TYPE_CHECKING:
    from redis import asyncio as aioredis

logger = logging.getLogger("streamflow")

BLOCK_S = 0.5  # a blocking read that hears nothing comes back after that long
_COUNT = 512
_PAGE = 512
REPLICA_EVENTS = 2048  # of one stream that stay in the process; older ones are read from Redis again
REPLICA_BYTES = 4 << 20
_PAUSE_PER_STREAM_S = 10e-6  # between two reads: naming 1,000 streams for each record costs more than the records
_MOST_PAUSE_S = 0.01

Entries = list[tuple[bytes, dict[bytes, bytes]]]
Feed = Callable[[Entries], None]


class SharedReader:
    """Follows any number of Redis streams over one connection; each has its own place, so a cut loses nothing."""

    def __init__(self, client: "aioredis.Redis", link: Link, prefix: str) -> None:
        self._client = client
        self._link = link
        self._places: dict[str, str] = {}
        self._feeds: dict[str, Feed] = {}
        self._wake_key = f"{prefix}:wake:{secrets.token_hex(8)}"
        self._waking: asyncio.Task[None] | None = None
        self._unnamed = False  # streams that the running read does not name
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    def follow(self, key: str, place: str, feed: Feed) -> None:
        """Give everything behind a place to ``feed``."""
        self._places[key] = place
        self._feeds[key] = feed
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done():
            self._places.setdefault(self._wake_key, "0-0")
            self._task = loop.create_task(self._run(), name="streamflow redis reader")
            return
        self._unnamed = True
        if self._waking is None or self._waking.done():
            self._waking = loop.create_task(self._wake(), name="streamflow redis wake")

    def leave(self, key: str) -> None:
        """Follow a stream no more."""
        self._places.pop(key, None)
        self._feeds.pop(key, None)

    async def aclose(self) -> None:
        """Close the connection."""
        self._closed = True  # redis-py answers a cancelled connect with an error of its own
        for task in (self._task, self._waking):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._client.aclose()

    async def _wake(self) -> None:
        """End the blocking read, so that the next one names the new streams."""
        # A broker that takes no writes costs half a second here: the read comes back by itself.
        with contextlib.suppress(BrokerUnavailable):
            while self._unnamed:
                self._unnamed = False
                await asyncio.gather(
                    self._link.call("XADD", self._wake_key, "MAXLEN", 1, "*", "w", 1),
                    self._link.call("PEXPIRE", self._wake_key, 60_000),
                )

    async def _run(self) -> None:
        failures = 0
        while self._feeds and not self._closed:
            names = list(self._places)
            try:
                answer = await self._client.execute_command(  # type: ignore[no-untyped-call]
                    "XREAD", "COUNT", _COUNT, "BLOCK", int(BLOCK_S * 1000), "STREAMS", *names, *self._places.values()
                )
            except (RedisError, OSError) as error:
                if not failures:
                    logger.warning("the broker is away; reading goes on when it is back: %s", type(error).__name__)
                failures += 1
                await asyncio.sleep(min(0.5, 0.02 * 2 ** min(failures, 6)) * (0.5 + random.random() / 2))
                continue
            failures = 0
            for key, entries in answer or ():
                self._deliver(key.decode(), entries)
            if answer:
                await asyncio.sleep(min(_MOST_PAUSE_S, len(names) * _PAUSE_PER_STREAM_S))

    def _deliver(self, key: str, entries: Entries) -> None:
        if key in self._places and entries:
            self._places[key] = entries[-1][0].decode()
            feed = self._feeds.get(key)
            if feed is not None:
                feed(entries)


def decoded(entry: tuple[bytes, dict[bytes, bytes]], stream_id: str) -> Stamped:
    """The record of an entry. What another program wrote there is refused, not believed."""
    name, fields = entry
    try:
        _, seq = record_id(name.decode())
        return Stamped(seq, float(fields[b"t"]), from_json(fields[b"e"]))
    except (KeyError, ValueError, msgspec.MsgspecError, StreamflowError) as fault:
        raise ProtocolError(
            f"the record {name.decode(errors='replace')} of stream {stream_id!r} cannot be read: {fault}",
            kind="bad_record",
        ) from None


class Replica:
    """The newest records of one stream, once in the process, for all of its readers there."""

    def __init__(self, stream_id: str, keys: Keys, after: int) -> None:
        self.stream_id = stream_id
        self.keys = keys
        self.records: deque[Stamped] = deque()
        self.next = after + 1
        self._met = False  # the first record that belongs here has come
        self.bytes = 0
        self.over = False
        self.fault: StreamflowError | None = None
        self.heard_at = asyncio.get_running_loop().time()
        self.readers: set[asyncio.Event] = set()

    @property
    def first(self) -> int:
        """The number of the oldest record here."""
        return self.next - len(self.records)

    def feed(self, entries: Entries) -> None:
        """Records came."""
        self.heard_at = asyncio.get_running_loop().time()
        try:
            for entry in entries:
                self._add(decoded(entry, self.stream_id))
        except ProtocolError as fault:
            self.fail(fault)
        self.wake()

    def fail(self, fault: StreamflowError) -> None:
        """Nothing more will come."""
        self.fault, self.over = fault, True
        self.wake()

    def _add(self, record: Stamped) -> None:
        if self.over:
            return  # whoever writes behind the end, it was not a producer
        if record.seq < self.next and not self._met:
            return  # a place is a number, and a later epoch is behind all numbers of the first
        self._met = True
        if record.seq < self.next:
            raise ProtocolError(f"stream {self.stream_id!r} was written anew by its broker", kind="rewritten")
        if record.seq > self.next:
            # Older ones were let go before we read them: readers behind this place ask Redis, and are told.
            self.records.clear()
            self.bytes = 0
        self.records.append(record)
        self.next = record.seq + 1
        self.bytes += weight(record.event)
        while len(self.records) > REPLICA_EVENTS or (self.bytes > REPLICA_BYTES and len(self.records) > 1):
            self.bytes -= weight(self.records.popleft().event)
        if isinstance(record.event, TERMINAL):
            self.over = True

    def wake(self) -> None:
        """Tell the readers."""
        for reader in self.readers:
            reader.set()

    def page(self, after: int) -> list[Stamped]:
        """The records behind a place that is in here."""
        begin = after + 1 - self.first
        return list(islice(self.records, begin, begin + _PAGE))


class RedisTail:
    """A place in a stream; made by `RedisJournal.tail`. A slow reader holds nothing but its place."""

    def __init__(self, journal: Any, replica: Replica, after: int) -> None:
        self._journal = journal
        self._replica = replica
        self._seq = after
        self._ended = False
        self._news = asyncio.Event()
        replica.readers.add(self._news)

    @property
    def ended(self) -> bool:
        """True when the terminal record has been read."""
        return self._ended

    async def read(self, wait_s: float) -> list[Stamped]:
        """The next records; nothing while the broker is away."""
        if self._ended:
            return []
        replica = self._replica
        if replica.next <= self._seq + 1 and not replica.over:
            await self._wait(wait_s)
        if self._seq + 1 < replica.first:
            try:
                page: list[Stamped] = await self._journal.fetch(replica.stream_id, self._seq, _PAGE)
            except BrokerUnavailable:
                await self._wait(min(wait_s, BLOCK_S))
                return []
        else:
            page = replica.page(self._seq)
            if not page and replica.fault is not None:
                self.close()
                raise replica.fault
        if page:
            self._seq = page[-1].seq
        if replica.over and replica.fault is None and self._seq + 1 >= replica.next:
            self._ended = True
            self.close()
        return page

    async def _wait(self, wait_s: float) -> None:
        self._news.clear()
        # No task and no timeout scope: this runs once for each batch and each reader.
        timer = asyncio.get_running_loop().call_later(wait_s, self._news.set)
        try:
            await self._news.wait()
        finally:
            timer.cancel()

    def close(self) -> None:
        """Leave."""
        self._replica.readers.discard(self._news)
        self._journal.left(self._replica)
