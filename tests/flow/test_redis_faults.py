"""Rows C3, C10 and C11: a broker that is away, hanging, full, read-only, and how all goes on."""

import asyncio
import os
import resource
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis

from streamflow.events import Stamped, StreamCompleted
from streamflow.flow import Flow
from streamflow.flow.ports import BrokerUnavailable, Timing
from streamflow.flow.publish import Publication, publish
from streamflow.flow.redis_journal import RedisJournal
from tests.flow.events import Pulled, answer, text_of
from tests.support.redis_server import RedisServer

CALM = Timing(lease_s=3.0, keep_s=60)


@asynccontextmanager
async def journals(server: RedisServer, count: int = 2, timing: Timing = CALM) -> AsyncIterator[list[RedisJournal]]:
    made = [RedisJournal(server.url, timing=timing) for _ in range(count)]
    try:
        yield made
    finally:
        for journal in made:
            await journal.aclose()


async def until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.002)


async def read_all(journal: RedisJournal, stream: str, after: int = -1) -> list[Stamped]:
    tail = await journal.tail(stream, after)
    read: list[Stamped] = []
    async with asyncio.timeout(30):
        while not tail.ended:
            read += await tail.read(1.0)
    return read


def written(flow: Flow) -> list[tuple[int, Any]]:
    return [(stamped.seq, stamped.event) for stamped in flow.journal.after(-1)]


def numbered(read: list[Stamped]) -> list[tuple[int, Any]]:
    return [(stamped.seq, stamped.event) for stamped in read]


# -- faults that come and go: how each begins, how it ends, and what it is called

FAULTS: dict[str, tuple[Callable[[RedisServer], Any], Callable[[RedisServer], Any], str]] = {
    "away": (RedisServer.kill, RedisServer.start, "broker_away"),
    "out of memory": (
        lambda server: server.command("CONFIG", "SET", "maxmemory", "1"),
        lambda server: server.command("CONFIG", "SET", "maxmemory", "0"),
        "broker_full",
    ),
    "read-only": (
        lambda server: server.command("REPLICAOF", "127.0.0.1", "1"),
        lambda server: server.command("REPLICAOF", "NO", "ONE"),
        "broker_read_only",
    ),
    "disk full": (RedisServer.fill_disk, RedisServer.free_disk, "broker_disk"),
}


WITHOUT_ROOM = [fault for fault in FAULTS if fault != "away"]


async def test_c03_a_broker_that_is_away_at_the_start_is_told(own_redis: RedisServer) -> None:
    await _told_at_the_start(own_redis, "away")


@pytest.mark.parametrize("fault", WITHOUT_ROOM)
async def test_c11_a_broker_that_takes_nothing_at_the_start_is_told(own_redis: RedisServer, fault: str) -> None:
    await _told_at_the_start(own_redis, fault)


async def test_c03_a_broker_that_goes_away_in_mid_stream_gets_the_rest_later(own_redis: RedisServer) -> None:
    await _goes_on_later(own_redis, "away")


@pytest.mark.parametrize("fault", WITHOUT_ROOM)
async def test_c11_a_broker_that_takes_nothing_in_mid_stream_gets_it_later(own_redis: RedisServer, fault: str) -> None:
    await _goes_on_later(own_redis, fault)


async def _told_at_the_start(own_redis: RedisServer, fault: str) -> None:
    begin, end, kind = FAULTS[fault]
    own_redis.start()
    begin(own_redis)
    async with journals(own_redis, 1) as [journal]:
        if fault == "disk full":  # the broker learns of it by writing
            own_redis.command("SET", "a", "b")
            await until(lambda: own_redis.command("INFO", "persistence")["aof_last_write_status"] != "ok")
        with pytest.raises(BrokerUnavailable) as refused:
            await publish(Flow(Pulled(answer(5))), journal, secrets.token_hex(8))
        assert refused.value.kind == kind
        assert refused.value.retryable
        assert str(own_redis.url) not in str(refused.value)
        end(own_redis)
        stream, flow = secrets.token_hex(8), Flow(answer(5))
        publication = await _published(flow, journal, stream)
        assert await publication.done() == "ended"
        assert numbered(await read_all(journal, stream)) == written(flow)


async def _published(flow: Flow, journal: RedisJournal, stream: str) -> Publication:
    async with asyncio.timeout(30):
        while True:
            try:
                return await publish(flow, journal, stream)
            except BrokerUnavailable:  # a disk with room again is seen a moment later, too
                await asyncio.sleep(0.02)


async def _goes_on_later(own_redis: RedisServer, fault: str) -> None:
    begin, end, _ = FAULTS[fault]
    own_redis.start()
    async with journals(own_redis) as [here, there]:
        flow, stream = Flow(Pulled(answer(400), pause_s=0.001)), secrets.token_hex(8)
        publication = await publish(flow, here, stream)
        reading = asyncio.create_task(read_all(there, stream))
        await until(lambda: publication.acked > 20)
        begin(own_redis)
        await until(lambda: publication.state == "waiting" and flow.journal.next_seq > publication.acked + 20)
        assert not publication.over
        end(own_redis)
        assert await publication.done() == "ended"
        assert flow.snapshot().complete
        assert numbered(await reading) == written(flow)
        assert flow.snapshot().text == text_of(400)


async def test_c03_a_broker_that_hangs_is_a_broker_that_is_away(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamflow.flow.redis_link.connect.__kwdefaults__", {"answer_s": 0.3, "connections": 4})
    own_redis.start()
    async with journals(own_redis) as [here, there]:
        flow, stream = Flow(Pulled(answer(300), pause_s=0.001)), secrets.token_hex(8)
        publication = await publish(flow, here, stream)
        reading = asyncio.create_task(read_all(there, stream))
        await until(lambda: publication.acked > 20)
        own_redis.pause()
        await until(lambda: publication.state == "waiting")
        own_redis.go_on()
        assert await publication.done() == "ended"
        assert numbered(await reading) == written(flow)


# -- the policies for more than may wait


async def test_c03_stop_ends_the_flow_when_more_waits_than_may(own_redis: RedisServer) -> None:
    own_redis.start()
    async with journals(own_redis) as [here, there]:
        source, stream = Pulled(answer(100_000), pause_s=0.0005), secrets.token_hex(8)
        flow = Flow(source)
        publication = await publish(flow, here, stream, on_outage="stop", buffer_events=50)
        await until(lambda: publication.acked > 20)
        own_redis.kill()
        await until(lambda: flow.ended)
        assert source.closed
        assert flow.journal.next_seq < 5000, "what waits is bounded"
        own_redis.start()
        assert await publication.done() == "ended"
        read = await read_all(there, stream)
        assert numbered(read) == written(flow)
        assert isinstance(read[-1].event, StreamCompleted)
        assert read[-1].event.stop_reason == "cancelled"


async def test_c03_continue_lets_the_flow_go_on_for_its_own_readers(own_redis: RedisServer) -> None:
    own_redis.start()
    async with journals(own_redis) as [here, there]:
        stream = secrets.token_hex(8)
        flow = Flow(Pulled(answer(600), pause_s=0.0005), max_events=100)
        local: list[Stamped] = []
        flow.subscribe(local.append)
        publication = await publish(flow, here, stream, on_outage="continue", buffer_events=10)
        reading = asyncio.create_task(read_all(there, stream))
        await until(lambda: publication.acked > 20)
        own_redis.kill()
        await until(lambda: flow.ended)
        own_redis.start()
        assert await publication.done() == "ended"
        assert [stamped.seq for stamped in local] == list(range(605)), "who reads here has missed nothing"
        read = await reading
        resets = [place for place, stamped in enumerate(read) if getattr(stamped.event, "code", "") == "reset"]
        assert len(resets) == 1, "who reads there is told"
        before, reset, rest = read[: resets[0]], read[resets[0]], read[resets[0] + 1 :]
        assert numbered(before) == numbered(local)[: len(before)]
        assert numbered(rest) == numbered(local)[reset.seq + 1 :]
        assert text_of(600).startswith(reset.event.raw.text)
        assert read[-1].event.response.text == text_of(600)


async def test_c03_a_flow_that_has_ended_is_given_up_in_the_end(own_redis: RedisServer) -> None:
    own_redis.start()
    async with journals(own_redis, 1) as [journal]:
        flow = Flow(Pulled(answer(50), pause_s=0.001))
        publication = await publish(flow, journal, "a", give_up_s=0.1)
        await until(lambda: publication.acked > 5)
        own_redis.kill()
        assert await publication.done() == "failed"
        assert isinstance(publication.error, BrokerUnavailable)
        assert flow.snapshot().text == text_of(50)


# -- clocks


async def test_c10_a_clock_that_jumps_here_moves_no_lease(
    shared_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    timing = Timing(lease_s=1.0, keep_s=60)
    async with journals(shared_redis, timing=timing) as [here, there]:
        flow, stream = Flow(Pulled(answer(300), pause_s=0.001)), secrets.token_hex(8)
        publication = await publish(flow, here, stream)
        reading = asyncio.create_task(read_all(there, stream))
        true_time = time.time
        for jump_s in (86_400.0, -86_400.0, 3.0e9):
            seen = publication.acked
            monkeypatch.setattr(time, "time", lambda jump_s=jump_s: true_time() + jump_s)
            await until(lambda: publication.acked > seen + 20)  # noqa: B023
        monkeypatch.setattr(time, "time", true_time)
        assert await publication.done() == "ended"
        assert numbered(await reading) == written(flow)


async def test_c10_a_lease_that_fell_to_a_jump_of_the_brokers_clock_is_renewed(shared_redis: RedisServer) -> None:
    timing = Timing(lease_s=1.5, keep_s=60)
    async with journals(shared_redis, timing=timing) as [here, there]:
        claim = await here.claim("jump-" + secrets.token_hex(8))
        records = [Stamped(seq, 0.0, event) for seq, event in enumerate(answer(3))]
        await claim.append(records[:2])
        reading = asyncio.create_task(read_all(there, claim.stream_id))
        for _ in range(3):
            shared_redis.command("DEL", claim.keys.lease)  # as when the broker's clock went on by an hour
            await until(lambda: shared_redis.command("EXISTS", claim.keys.lease))
        await claim.append(records[2:])
        assert await reading == records, "nobody was lost"


# -- descriptors


async def test_c11_without_file_descriptors_it_is_told_and_later_it_works(shared_redis: RedisServer) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with journals(shared_redis, 1) as [journal]:
        lowest_free = os.open(os.devnull, os.O_RDONLY)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        try:
            with pytest.raises(BrokerUnavailable) as refused:
                await journal.claim("fds")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert refused.value.kind == "broker_away"
        stream = secrets.token_hex(8)
        claim = await journal.claim(stream)
        await claim.append([Stamped(0, 0.0, StreamCompleted())])
        assert len(await read_all(journal, stream)) == 1


async def test_c11_a_broker_without_room_for_a_client(own_redis: RedisServer) -> None:
    own_redis.start()
    own_redis.command("CONFIG", "SET", "maxclients", "1")
    with redis.Redis.from_url(own_redis.url) as occupant:
        occupant.ping()
        async with journals(own_redis, 1) as [journal]:
            with pytest.raises(BrokerUnavailable) as refused:
                await journal.claim("clients")
            assert refused.value.retryable
            occupant.config_set("maxclients", 100)
            await journal.claim("clients")
