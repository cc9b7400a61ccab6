"""One connection reads for all streams and all readers of a process."""

import asyncio
import secrets
from typing import Any

from streamflow.events import Stamped
from streamflow.flow.redis_journal import RedisJournal
from tests.flow.events import answer
from tests.support.redis_server import RedisServer


async def read_all(journal: RedisJournal, stream: str) -> list[Stamped]:
    tail = await journal.tail(stream)
    read: list[Stamped] = []
    async with asyncio.timeout(30):
        while not tail.ended:
            read += await tail.read(1.0)
    return read


def connections(server: RedisServer) -> list[Any]:
    """Those of others than the one that asks."""
    return [client for client in server.command("CLIENT LIST") if not client["cmd"].startswith("client")]


async def test_a_hundred_readers_of_twenty_streams_share_one_connection(own_redis: RedisServer) -> None:
    own_redis.start()
    journal = RedisJournal(own_redis.url)
    records = [Stamped(seq, 0.0, event) for seq, event in enumerate(answer(30))]
    claims = [await journal.claim(secrets.token_hex(8)) for _ in range(20)]
    readers = [asyncio.create_task(read_all(journal, claim.stream_id)) for claim in claims for _ in range(5)]
    for record in records[:-1]:
        await asyncio.gather(*(claim.append([record]) for claim in claims))
    open_now = connections(own_redis)
    assert len(open_now) <= 3, open_now
    assert sum(client["cmd"] == "xread" for client in open_now) == 1
    await asyncio.gather(*(claim.append(records[-1:]) for claim in claims))
    assert await asyncio.gather(*readers) == [records] * 100
    await journal.aclose()
    async with asyncio.timeout(10):
        while connections(own_redis):
            await asyncio.sleep(0.01)


async def test_records_come_once_however_many_read(own_redis: RedisServer) -> None:
    own_redis.start()
    journal, stream = RedisJournal(own_redis.url), secrets.token_hex(8)
    claim = await journal.claim(stream)
    readers = [asyncio.create_task(read_all(journal, stream)) for _ in range(100)]
    records = [Stamped(seq, 0.0, event) for seq, event in enumerate(answer(300))]
    await claim.append(records[:1])
    before = own_redis.command("INFO", "stats")["total_net_output_bytes"]
    for record in records[1:]:
        await claim.append([record])
    assert await asyncio.gather(*readers) == [records] * 100
    sent = own_redis.command("INFO", "stats")["total_net_output_bytes"] - before
    assert sent < 305 * 1000, f"{sent} bytes: a copy for each reader would be millions"
    await journal.aclose()
