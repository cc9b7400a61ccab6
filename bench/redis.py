"""One producer to 1, 10 and 100 readers over a private Redis, in two processes, and how late each event arrives.

The producer is a process of its own and writes the time into each event; all readers are in this one. ``streamflow``
reads once for all of them; beside it are the same journal with a connection for each reader, and a bare redis-py loop:
one XADD for each event, one connection and one XREAD loop for each reader, the same JSON.
"""

import asyncio
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from bench.measure import Row, at_least, at_most

READERS = (1, 10, 100)
EVENTS = 200
EACH_SECOND = 150
_BATCHED, _UNBATCHED, _EACH, _BARE = (
    "streamflow, shared reader",
    "streamflow, shared reader, not batched",
    "streamflow, a connection each",
    "redis-py loop, a connection each",
)


class Lateness(msgspec.Struct, frozen=True):
    """Milliseconds from the producer's hand to the readers', and microseconds of CPU for each delivery here."""

    p50_ms: float
    p99_ms: float
    cpu_us: float


# -- the producer, in its own process


async def _paced() -> AsyncIterator[Any]:
    from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart

    loop = asyncio.get_running_loop()
    yield StreamStart("bench")
    yield BlockStart(0, "text")
    begun, texts = loop.time(), []
    for number in range(EVENTS):
        await asyncio.sleep(max(0.0, begun + number / EACH_SECOND - loop.time()))
        texts.append(f"{time.monotonic_ns()} ")
        yield Chunk(0, "text", texts[-1])
    yield BlockComplete(0, "text", "".join(texts))
    yield StreamCompleted("end_turn")


async def _produce(kind: str, url: str, stream: str) -> None:
    """Claim, say so, wait for a line, write."""
    from redis import asyncio as aioredis

    from streamflow.encoding import to_json
    from streamflow.flow import Flow
    from streamflow.flow.publish import BATCH_S, publish
    from streamflow.flow.redis_journal import RedisJournal

    ready = asyncio.Event()

    async def source() -> AsyncIterator[Any]:
        await ready.wait()
        async for event in _paced():
            yield event

    if kind == "bare":
        client = aioredis.Redis.from_url(url)
        print("claimed", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        async for event in _paced():
            await client.xadd(stream, {"e": to_json(event)})
        await client.aclose()
        return
    journal = RedisJournal(url)
    publication = await publish(Flow(source()), journal, stream, batch_s=BATCH_S if kind == "batched" else 0.0)
    print("claimed", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    ready.set()
    assert await publication.done() == "ended"
    await journal.aclose()


# -- the readers, here


def _note(late: list[int], event: Any) -> int:
    if event.__class__.__name__ == "Chunk":
        late.append(time.monotonic_ns() - int(event.text))
        return int(event.text)
    return -1


async def _shared(url: str, stream: str, readers: int, late: list[int]) -> list[list[int]]:
    from streamflow.flow.redis_journal import RedisJournal

    journal = RedisJournal(url)
    try:
        return await asyncio.gather(*(_tail(journal, stream, late) for _ in range(readers)))
    finally:
        await journal.aclose()


async def _connection_each(url: str, stream: str, readers: int, late: list[int]) -> list[list[int]]:
    from streamflow.flow.redis_journal import RedisJournal

    journals = [RedisJournal(url) for _ in range(readers)]
    try:
        return await asyncio.gather(*(_tail(journal, stream, late) for journal in journals))
    finally:
        for journal in journals:
            await journal.aclose()


async def _tail(journal: Any, stream: str, late: list[int]) -> list[int]:
    tail = await journal.tail(stream)
    seen = []
    while not tail.ended:
        seen += [_note(late, record.event) for record in await tail.read(5.0)]
    return seen


async def _bare(url: str, stream: str, readers: int, late: list[int]) -> list[list[int]]:
    from redis import asyncio as aioredis

    from streamflow.encoding import from_json

    async def one() -> list[int]:
        client = aioredis.Redis.from_url(url)
        place, seen, ended = b"0-0", [], False
        while not ended:
            for _, entries in await client.xread({stream: place}, count=512, block=500) or ():
                for place, fields in entries:  # noqa: B007  the last one is where to go on
                    event = from_json(fields[b"e"])
                    seen.append(_note(late, event))
                    ended = event.__class__.__name__ == "StreamCompleted"
        await client.aclose()
        return seen

    return await asyncio.gather(*(one() for _ in range(readers)))


Read = Callable[[str, str, int, list[int]], Awaitable[list[list[int]]]]
CONTENDERS: dict[str, tuple[str, Read]] = {
    _BATCHED: ("batched", _shared),
    _UNBATCHED: ("unbatched", _shared),
    _EACH: ("unbatched", _connection_each),
    _BARE: ("bare", _bare),
}


async def _measure(url: str, contender: str, readers: int, stream: str) -> Lateness:
    kind, read = CONTENDERS[contender]
    producer = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.redis", kind, url, stream),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    )
    assert producer.stdin is not None
    assert producer.stdout is not None
    await producer.stdout.readline()
    late: list[int] = []
    reading = asyncio.ensure_future(read(url, stream, readers, late))
    await asyncio.sleep(0.3 + readers * 0.003)  # all are connected and wait
    before = resource.getrusage(resource.RUSAGE_SELF)
    producer.stdin.write(b"go\n")
    seen = await reading
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert await producer.wait() == 0
    assert all(one == seen[0] for one in seen), "all readers see the same"
    assert len(seen[0]) == EVENTS + 4, "and all of it"
    late.sort()
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Lateness(late[len(late) // 2] / 1e6, late[int(len(late) * 0.99)] / 1e6, 1e6 * used / len(late))


def lateness(rounds: int = 3, readers: tuple[int, ...] = READERS) -> dict[tuple[int, str], list[Lateness]]:
    """Every contender with every number of readers, interleaved."""
    from tests.support.redis_server import RedisServer

    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise SystemExit("the bench of the journal needs redis-server: apt-get install redis-server")
    found: dict[tuple[int, str], list[Lateness]] = {}
    with tempfile.TemporaryDirectory(prefix="sf") as directory:
        server = RedisServer(program, Path(directory), appendfsync="everysec").start()
        try:
            for number in range(rounds):
                for count in readers:
                    for place, contender in enumerate(CONTENDERS):
                        taken = asyncio.run(_measure(server.url, contender, count, f"r{number}-{count}-{place}"))
                        found.setdefault((count, contender), []).append(taken)
        finally:
            server.kill()
    return found


def rows() -> list[Row]:
    """Medians of the rounds."""
    found = lateness()
    made: list[Row] = []
    middle: dict[tuple[int, str, str], float] = {}
    for (count, contender), taken in found.items():
        for field, what in (("p50_ms", "p50, ms"), ("p99_ms", "p99, ms"), ("cpu_us", "us of CPU a delivery")):
            values = [getattr(one, field) for one in taken]
            middle[count, contender, field] = value = statistics.median(values)
            measure = f"Redis, {EACH_SECOND} events/s, {count} readers: {what}"
            spread = f"{min(values):.2f}..{max(values):.2f}"
            if field == "p50_ms" and contender == _BATCHED:
                made.append(at_most(measure, contender, value, 20, spread))
            else:
                made.append(Row(measure, contender, value, spread=spread))
    most = READERS[-1]
    for other in (_EACH, _BARE):
        ratio = middle[most, other, "cpu_us"] / middle[most, _UNBATCHED, "cpu_us"]
        made.append(at_least(f"Redis, {most} readers: CPU of others by ours, not batched", other, ratio, 3.0))
    return made


if __name__ == "__main__":
    asyncio.run(_produce(*sys.argv[1:4]))
