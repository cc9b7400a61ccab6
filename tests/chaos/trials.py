"""Trials: each kills something at random places so many times and then counts what must add up."""

import asyncio
import random
import secrets
import signal
from collections.abc import Callable
from dataclasses import dataclass

from streamflow.events import TERMINAL, Stamped
from streamflow.flow.ports import Timing
from streamflow.flow.redis_journal import RedisJournal
from tests.chaos.nursery import Nursery, Worker
from tests.chaos.workers import digest
from tests.flow.events import answer, text_of
from tests.support.redis_server import RedisServer

LEASE_S = 1.0  # long enough for a machine that is busy with other things
LONG_LEASE_S = 3.0  # where nobody is to be lost


@dataclass
class Result:
    """What a trial did."""

    name: str
    kills: int = 0
    streams: int = 0
    records: int = 0
    slowest_s: float = 0.0  # from a kill to the terminal record

    def __str__(self) -> str:
        slowest = f", the end after at most {self.slowest_s:.2f} s" if self.slowest_s else ""
        return f"{self.name}: {self.kills} kills, {self.streams} streams, {self.records} records, all exact{slowest}"


async def until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Wait for something to become true."""
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.002)


async def whole_log(journal: RedisJournal, stream: str) -> list[Stamped]:
    """Everything that Redis has of a stream."""
    log: list[Stamped] = []
    while page := await journal.fetch(stream, log[-1].seq if log else -1):
        log += page
    return log


def check_log(log: list[Stamped], words: int) -> None:
    """Numbers without a gap, events of the answer in their order, one terminal record, the last one."""
    assert [record.seq for record in log] == list(range(len(log)))
    ends = [record.seq for record in log if isinstance(record.event, TERMINAL)]
    assert ends == [len(log) - 1], ends
    expected = answer(words)[:-1]
    body = [record.event for record in log[:-1]]
    if log[-1].event.__class__.__name__ == "StreamCompleted":
        assert body == expected
        assert log[-1].event.response.text == text_of(words)
    else:
        common = next((place for place, event in enumerate(body) if event != expected[place]), len(body))
        assert len(body) - common <= 1, "only the completion of the open block may differ"
        if body[common:]:
            assert body[common].incomplete


def acked(producer: Worker) -> int:
    """The newest record that the producer knows to be safe."""
    return max((int(line.split()[1]) for line in producer.lines() if line.startswith("acked")), default=-1)


async def claimed(journal: RedisJournal, stream: str) -> None:
    async with asyncio.timeout(10):
        while await journal.state(stream) is None:
            await asyncio.sleep(0.005)


async def reader_kills(nursery: Nursery, server: RedisServer, seed: int, kills: int) -> Result:
    """A reader dies again and again and goes on where it was: all that it saw together is the stream."""
    chance, result = random.Random(seed), Result("reader")
    journal = RedisJournal(server.url)
    while result.kills < kills:
        stream, words = secrets.token_hex(8), 1500
        nursery.worker("produce", server.url, stream, LONG_LEASE_S, words, 0.0005)
        await claimed(journal, stream)
        seen: list[str] = []
        while True:
            reader = nursery.worker("read", server.url, stream, LONG_LEASE_S, len(seen) - 1)
            target = chance.randrange(1, 150) if result.kills < kills else 10**9
            await until(lambda: len(reader.lines()) >= target or not reader.alive)  # noqa: B023
            ended = "end" in reader.lines()
            if not ended:
                reader.signal(signal.SIGKILL)
                await until(lambda: not reader.alive)  # noqa: B023
                ended = "end" in reader.lines()
                result.kills += 1
            seen += [line for line in reader.lines() if line != "end"]
            if ended:
                break
        log = await whole_log(journal, stream)
        check_log(log, words)
        assert seen == [digest(record) for record in log]
        result.streams += 1
        result.records += len(log)
    await journal.aclose()
    return result


async def producer_kills(nursery: Nursery, server: RedisServer, seed: int, kills: int) -> Result:
    """A producer dies: what it knew to be written is there, and one end is said for it, in time."""
    chance, result = random.Random(seed), Result("producer")
    timing = Timing(lease_s=LEASE_S, keep_s=600)
    journals = [RedisJournal(server.url, timing=timing) for _ in range(3)]
    loop = asyncio.get_running_loop()

    async def one() -> None:
        stream, words = secrets.token_hex(8), 3000
        producer = nursery.worker("produce", server.url, stream, LEASE_S, words, 0.001)
        await claimed(journals[0], stream)
        tails = [await journal.tail(stream) for journal in journals]
        target = chance.randrange(0, 400)
        await until(lambda: acked(producer) >= target)
        producer.signal(signal.SIGKILL)
        killed_at = loop.time()
        await until(lambda: not producer.alive)
        safe = acked(producer)
        reads: list[list[Stamped]] = []
        for tail in tails:
            read: list[Stamped] = []
            async with asyncio.timeout(20):
                while not tail.ended:
                    read += await tail.read(1.0)
            reads.append(read)
        result.slowest_s = max(result.slowest_s, loop.time() - killed_at)
        log = await whole_log(journals[0], stream)
        check_log(log, words)
        assert reads == [log] * len(journals)
        assert log[-1].event.error.kind == "producer_lost"
        assert log[-1].seq > safe
        result.kills += 1
        result.streams += 1
        result.records += len(log)

    while result.kills < kills:
        # Several at a time: most of a trial is waiting for the lease.
        await asyncio.gather(*(one() for _ in range(min(5, kills - result.kills))))
    for journal in journals:
        await journal.aclose()
    return result


async def broker_kills(nursery: Nursery, server: RedisServer, seed: int, kills: int) -> Result:
    """The broker dies again and again in mid-stream and comes back: nothing that it acknowledged is lost or doubled."""
    chance, result = random.Random(seed), Result("broker")
    journal = RedisJournal(server.url)
    while result.kills < kills:
        stream, words = secrets.token_hex(8), 1500
        producer = nursery.worker("produce", server.url, stream, LONG_LEASE_S, words, 0.001)
        await claimed(journal, stream)
        reader = nursery.worker("read", server.url, stream, LONG_LEASE_S, -1)
        for _ in range(min(5, kills - result.kills)):
            target = len(reader.lines()) + chance.randrange(1, 200)
            await until(lambda: len(reader.lines()) >= target or not reader.alive)  # noqa: B023
            server.kill()
            safe = acked(producer)
            await asyncio.to_thread(server.start)
            state = await journal.state(stream)
            assert state is not None
            assert state.last_seq >= safe
            result.kills += 1
        await until(lambda: not reader.alive and not producer.alive)  # noqa: B023
        assert producer.lines()[-1] == "state ended"
        log = await whole_log(journal, stream)
        check_log(log, words)
        assert reader.lines() == [*(digest(record) for record in log), "end"]
        result.streams += 1
        result.records += len(log)
    await journal.aclose()
    return result


async def zombies(nursery: Nursery, server: RedisServer, seed: int, kills: int) -> Result:
    """A producer is stopped, its stream goes on without it, and it wakes up: not one record of it comes through."""
    chance, result = random.Random(seed), Result("zombie")
    journal = RedisJournal(server.url, timing=Timing(lease_s=LEASE_S, keep_s=600))

    async def one(replaced: bool) -> None:
        stream, words = secrets.token_hex(8), 3000
        producer = nursery.worker("produce", server.url, stream, LEASE_S, words, 0.001)
        await claimed(journal, stream)
        target = chance.randrange(1, 300)
        await until(lambda: acked(producer) >= target)
        producer.signal(signal.SIGSTOP)
        if replaced:
            heir = nursery.worker("replace", server.url, stream, LEASE_S, words)
            await until(lambda: "end" in heir.lines())
        else:
            tail = await journal.tail(stream)
            async with asyncio.timeout(30):
                while not tail.ended:
                    await tail.read(1.0)
        before = await whole_log(journal, stream)
        producer.signal(signal.SIGCONT)
        await until(lambda: not producer.alive)
        assert producer.lines()[-1] == "state fenced", producer.lines()[-1]
        log = await whole_log(journal, stream)
        assert log == before
        check_log(log, words)
        assert log[-1].event.__class__.__name__ == ("StreamCompleted" if replaced else "StreamFailed")
        assert log[-1].seq > acked(producer)
        result.kills += 1
        result.streams += 1
        result.records += len(log)

    while result.kills < kills:
        await asyncio.gather(*(one(bool(number % 2)) for number in range(min(4, kills - result.kills))))
    await journal.aclose()
    return result


TRIALS = {"reader": reader_kills, "producer": producer_kills, "broker": broker_kills, "zombie": zombies}
