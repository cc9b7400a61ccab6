"""Leases: who may write a stream in Redis, for how long, and what happens when a producer is lost."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from streamflow.encoding import to_json
from streamflow.errors import UsageError
from streamflow.events import TERMINAL, Response, Stamped
from streamflow.flow.ports import BrokerUnavailable, Fenced, Timing
from streamflow.flow.redis_link import Link
from streamflow.flow.redis_scripts import APPEND, LET_GO, RELEASE, RENEW

if TYPE_CHECKING:
    from streamflow.flow.redis_reader import Replica

logger = logging.getLogger("streamflow")


class Keys:
    """The keys of one stream.

    >>> Keys("sf", "a").log
    'sf:{a}:log'
    """

    __slots__ = ("ctl", "lease", "log", "meta", "snap")

    def __init__(self, prefix: str, stream_id: str) -> None:
        self.log, self.meta, self.lease, self.ctl, self.snap = (
            f"{prefix}:{{{stream_id}}}:{part}" for part in ("log", "meta", "lease", "ctl", "snap")
        )

    @property
    def all(self) -> list[str]:
        """In the order that the scripts want."""
        return [self.log, self.meta, self.lease, self.ctl, self.snap]


class RedisClaim:
    """The right to write a stream; made by `RedisJournal.claim`."""

    def __init__(
        self, link: Link, keys: Keys, timing: Timing, *, stream_id: str, token: str, epoch: int, next_seq: int
    ) -> None:
        self.stream_id = stream_id
        self.epoch = epoch
        self.next_seq = next_seq
        self.renewed_at = 0.0
        self.kept_at = 0.0  # when the life of the keys was prolonged: appending renews the lease alone
        self.over = False  # ended, fenced or released
        self.keys = keys
        self._link = link
        self._timing = timing
        self._token = token
        self._start = next_seq
        self._stop_asked = False
        self._on_stop: list[Callable[[], None]] = []
        self.on_over: Callable[[RedisClaim], None] = lambda claim: None

    async def append(self, records: Sequence[Stamped]) -> int:
        """Write records, and renew the lease by it."""
        if not records:
            return self.next_seq - 1
        terminal = isinstance(records[-1].event, TERMINAL)
        arguments: list[Any] = []
        for record in records:
            arguments += (to_json(record.event), f"{record.t:.6f}")
        now = asyncio.get_running_loop().time()
        status, last = await self._link.run(
            APPEND,
            self.keys.all,
            self.epoch,
            self._token,
            _ms(self._timing.lease_s),
            _ms(self._timing.keep_s),
            int(terminal),
            records[0].seq,
            *arguments,
        )
        self._check(status)
        self.renewed_at = now
        self.next_seq = int(last) + 1
        if terminal and self.next_seq > records[-1].seq:
            self._finish()
        return int(last)

    async def let_go(self, through: int, snapshot: Response) -> None:
        """Drop the oldest records, and keep a snapshot of them, in one go."""
        if through + 1 < self._start:
            raise UsageError(f"through={through}: records before {self._start} were written by an earlier producer")
        status = await self._link.run(
            LET_GO,
            [self.keys.log, self.keys.meta, self.keys.snap],
            self.epoch,
            through,
            to_json({"through": through, "response": snapshot}),
            _ms(self._timing.keep_s),
        )
        self._check(status)
        self.next_seq = max(self.next_seq, through + 1)

    async def renew(self) -> None:
        """Prolong the lease."""
        now = asyncio.get_running_loop().time()
        status = await self._link.run(
            RENEW, self.keys.all, self.epoch, self._token, _ms(self._timing.lease_s), _ms(self._timing.keep_s)
        )
        if not self.over:
            self._check(status)
            self.renewed_at = self.kept_at = now

    async def release(self) -> None:
        """Give the right back."""
        if not self.over:
            self._finish()
            await self._link.run(RELEASE, [self.keys.meta, self.keys.lease], self.epoch, self._token)

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call back when the end is asked for."""
        self._on_stop.append(callback)
        if self._stop_asked:
            callback()

    def ask_stop(self, _: object = None) -> None:
        """Somebody wants the stream to end, or it is no longer ours."""
        if not self._stop_asked:
            self._stop_asked = True
            for callback in self._on_stop:
                callback()

    def _check(self, status: bytes) -> None:
        if status == b"ok":
            return
        self._finish()
        raise Fenced(
            f"the broker has lost the stream {self.stream_id!r}"
            if status == b"gone"
            else f"epoch {self.epoch} of the stream {self.stream_id!r} is over"
        )

    def _finish(self) -> None:
        if not self.over:
            self.over = True
            self.on_over(self)


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


class LeaseKeeper:
    """One task in a process: it renews the leases of its producers and looks after those of its readers' streams."""

    def __init__(self, link: Link, timing: Timing, end_lost: Callable[[str], Awaitable[None]]) -> None:
        self.claims: set[RedisClaim] = set()
        self.replicas: dict[str, Replica] = {}
        self._link = link
        self._timing = timing
        self._end_lost = end_lost
        self._task: asyncio.Task[None] | None = None
        self._missing: dict[str, float] = {}  # streams without a lease, since when
        self._blind_until = 0.0

    def wake(self) -> None:
        """There is something to keep."""
        if self._task is None or self._task.done():
            loop = asyncio.get_running_loop()
            # A broker that was away for all of us has let leases run out that nobody could renew.
            self._blind_until = loop.time() + self._timing.lease_s
            self._task = loop.create_task(self._keep(), name="streamflow leases")

    async def aclose(self) -> None:
        """Stop keeping."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        while self.claims or self.replicas:
            await asyncio.sleep(self._timing.check_s)
            try:
                await self._renew(loop.time())
                await self._look(loop.time())
            except BrokerUnavailable:
                self._missing.clear()
                self._blind_until = loop.time() + self._timing.lease_s

    async def _renew(self, now: float) -> None:
        timing = self._timing
        due = [
            claim
            for claim in self.claims
            if now - claim.renewed_at >= timing.heartbeat_s or now - claim.kept_at >= timing.keep_s / 3
        ]
        results = await asyncio.gather(*(claim.renew() for claim in due), return_exceptions=True)
        away: BrokerUnavailable | None = None
        for claim, result in zip(due, results, strict=True):
            if isinstance(result, Fenced):
                logger.warning("a producer of stream %s was fenced", claim.stream_id)
                claim.ask_stop()
            elif isinstance(result, BrokerUnavailable):
                away = result
            elif isinstance(result, BaseException):
                raise result
        if away is not None:
            raise away

    async def _look(self, now: float) -> None:
        timing = self._timing
        silent = [
            replica
            for replica in self.replicas.values()
            if not replica.over and now - replica.heard_at > timing.heartbeat_s
        ]
        leases = await asyncio.gather(
            *(self._link.call("EXISTS", replica.keys.lease, replica.keys.meta) for replica in silent)
        )
        missing: dict[str, float] = {}
        for replica, found in zip(silent, leases, strict=True):
            if found == 2:
                continue
            since = missing[replica.stream_id] = self._missing.get(replica.stream_id, now)
            if now - since >= timing.grace_s and now >= self._blind_until:
                await self._end_lost(replica.stream_id)
        self._missing = missing


class Snapshot(msgspec.Struct, frozen=True):
    """The answer up to the last record that was let go."""

    through: int
    response: Response
