"""Several servers over one Redis: every route on every node."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import pytest

from streamflow.flow.ports import Timing
from streamflow.server import Limits
from streamflow.server.redis_store import RedisFlowStore
from tests.server.serving import Served, serving, text_of
from tests.support.redis_server import RedisServer, require_redis

FAST = Timing(lease_s=0.5, keep_s=60)


@pytest.fixture
def broker() -> Iterator[RedisServer]:
    with TemporaryDirectory(prefix="sf") as directory:
        server = RedisServer(require_redis(), Path(directory))
        yield server
        server.kill()


@asynccontextmanager
async def nodes(url: str, **options: object) -> AsyncIterator[tuple[Served, Served]]:
    limits = Limits(drain_s=0.0, linger_s=5.0)
    async with (
        serving(limits=limits, store=RedisFlowStore(url, limits, timing=FAST), **options) as one,
        serving(limits=limits, store=RedisFlowStore(url, limits, timing=FAST), **options) as other,
    ):
        yield one, other


async def test_begun_here_read_there(broker: RedisServer) -> None:
    async with nodes(broker.start().url) as (one, other):
        flow = await one.begin("sim:long 30 2")
        here, there = await asyncio.gather(one.events(flow), other.events(flow))
        assert here == there
        assert len({place for place, _ in here}) == len(here)
        assert here[-1][1]["type"] == "StreamCompleted"
        assert text_of(here) == here[-1][1]["response"]["text"]
        assert await other.events(flow, "ui") == await one.events(flow, "ui")


async def test_resume_on_another_node_at_every_place(broker: RedisServer) -> None:
    async with nodes(broker.start().url) as (one, other):
        flow = await one.begin("sim:long 20 1")
        whole = await one.events(flow)
        for place in range(len(whole)):
            assert await other.events(flow, after=whole[place][0]) == whole[place + 1 :]


async def test_a_live_reader_moves_to_another_node(broker: RedisServer) -> None:
    async with nodes(broker.start().url) as (one, other):
        flow = await one.begin("sim:long 60 5")
        first = await one.events(flow, limit=20)
        rest = await other.events(flow, after=first[-1][0])
        assert first + rest == await one.events(flow)


async def test_b06_stop_from_another_node(broker: RedisServer) -> None:
    async with nodes(broker.start().url) as (one, other):
        flow = await one.begin("sim:long 5000 5")
        await other.events(flow, limit=5)
        async with other.session.delete(f"{other.root}/flows/{flow}") as response:
            assert response.status == 204
        items = await one.events(flow)
        assert items[-1][1]["type"] == "StreamCompleted"
        assert items[-1][1]["stop_reason"] == "cancelled"
        assert sum(item["type"] in ("StreamCompleted", "StreamFailed") for _, item in items) == 1


async def test_owners_are_the_same_on_every_node(broker: RedisServer) -> None:
    async with nodes(broker.start().url, tokens={"t-ann-1234567890": "ann", "t-bob-1234567890": "bob"}) as (one, other):
        one.headers = {"authorization": "Bearer t-ann-1234567890"}
        flow = await one.begin("sim:text hi")
        for token, status in (("t-ann-1234567890", 200), ("t-bob-1234567890", 404)):
            async with other.session.get(
                f"{other.root}/flows/{flow}", headers={"authorization": f"Bearer {token}"}
            ) as response:
                assert response.status == status


async def test_places_that_are_not_there(broker: RedisServer) -> None:
    async with nodes(broker.start().url) as (one, other):
        flow = await one.begin("sim:text hi")
        items = await one.events(flow)
        epoch, seq = items[-1][0].split("-")
        for wrong in ("garbage", f"{int(epoch) + 2}-0", f"{epoch}-{int(seq) + 1}"):
            async with other.session.get(
                f"{other.root}/flows/{flow}/events", headers={"last-event-id": wrong}
            ) as response:
                assert response.status == 409, wrong
        async with other.session.get(f"{other.root}/flows/nosuchflow") as response:
            assert response.status == 404


async def test_c03_without_a_broker_503(broker: RedisServer) -> None:
    async with nodes(broker.url) as (one, _):
        body = {"messages": [{"role": "user", "content": "hi"}]}
        async with one.session.post(f"{one.root}/flows", json=body) as response:
            assert response.status == 503
            assert response.headers["retry-after"] == "1"
            assert (await response.json())["error"]["type"] == "journal_unavailable"
        async with one.session.get(f"{one.root}/flows/abc/events") as response:
            assert response.status == 503
        broker.start()
        assert "hi" in await one.text(await one.begin("sim:text hi"))


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
        (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
    ],
    ids=["out of memory", "read-only"],
)
async def test_c11_a_broker_that_takes_nothing_503(broker: RedisServer, begin: tuple, end: tuple) -> None:
    async with nodes(broker.start().url) as (one, other):
        told = await one.begin("sim:text told before")
        whole = await one.events(told)
        broker.command(*begin)
        body = {"messages": [{"role": "user", "content": "hi"}]}
        async with one.session.post(f"{one.root}/flows", json=body) as response:
            assert response.status == 503
            assert (await response.json())["error"]["type"] == "journal_unavailable"
        assert await other.events(told) == whole, "what is there can still be read"
        broker.command(*end)
        assert "hi" in await other.text(await one.begin("sim:text hi"))


async def test_c04_a_broker_that_restarts_in_mid_stream(broker: RedisServer) -> None:
    async with nodes(broker.start().url) as (one, other):
        flow = await one.begin("sim:long 150 4")
        reading = asyncio.create_task(other.events(flow))
        for _ in range(3):
            await one.events(flow, limit=10)
            broker.kill()
            broker.start()
        items = await reading
        assert items[-1][1]["type"] == "StreamCompleted"
        assert text_of(items) == items[-1][1]["response"]["text"]
        assert [int(place.split("-")[1]) for place, _ in items] == list(range(len(items)))


async def test_a_flow_that_nobody_reads_anywhere_ends(broker: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # Long enough for a slow machine: a reader that is late by that much would count as gone.
    monkeypatch.setattr("streamflow.server.redis_store._SEEN_MS", 2000)
    monkeypatch.setattr("streamflow.server.redis_store.PRESENCE_S", 0.1)
    limits = Limits(drain_s=0.0, linger_s=2.0)
    async with (
        serving(limits=limits, store=RedisFlowStore(broker.start().url, limits, timing=FAST)) as one,
        serving(limits=limits, store=RedisFlowStore(broker.url, limits, timing=FAST)) as other,
    ):
        read = await one.begin("sim:long 100000 20")
        reading = asyncio.create_task(other.events(read))
        unread = await one.begin("sim:long 100000 20")
        async with asyncio.timeout(30):
            while not await _ended(one, unread):
                await asyncio.sleep(0.05)
        assert (await one.events(unread))[-1][1]["stop_reason"] == "cancelled"
        assert not await _ended(one, read)  # its reader is on the other node
        await other.session.delete(f"{other.root}/flows/{read}")
        assert (await reading)[-1][1]["stop_reason"] == "cancelled"


async def _ended(node: Served, flow: str) -> bool:
    async with node.session.get(f"{node.root}/flows/{flow}") as response:
        return bool((await response.json())["ended"])


async def test_c05_two_processes_a_stop_and_a_kill(broker: RedisServer) -> None:
    """`streamflow serve --redis` twice: stopped from the other one; killed, and the other one says so."""
    broker.start()
    run = "from streamflow.cli import main; main()"
    command = [sys.executable, "-c", run, "serve", "--port", "0", "--simulate", "--voice", "none"]
    processes = [
        await asyncio.create_subprocess_exec(
            *command, "--redis", broker.url, stdout=asyncio.subprocess.PIPE, env={**os.environ, "NO_COLOR": "1"}
        )
        for _ in range(2)
    ]
    try:
        roots = [(await process.stdout.readline()).decode().strip() for process in processes if process.stdout]
        async with aiohttp.ClientSession() as session:
            body = {"messages": [{"role": "user", "content": "sim:long 100000 5"}]}
            async with session.post(f"{roots[0]}/flows", json=body) as response:
                stopped = (await response.json())["id"]
            async with session.delete(f"{roots[1]}/flows/{stopped}") as response:
                assert response.status == 204
            async with session.get(f"{roots[1]}/flows/{stopped}/events") as response:
                assert b'"stop_reason":"cancelled"' in await response.read()
            async with session.post(f"{roots[0]}/flows", json=body) as response:
                flow = (await response.json())["id"]
            ends, killed_at, loop = [], 0.0, asyncio.get_running_loop()
            async with session.get(f"{roots[1]}/flows/{flow}/events") as response:
                async for line in response.content:
                    if line.startswith(b"data:"):
                        event = json.loads(line[5:])
                        if event["type"] == "Chunk" and not killed_at:
                            processes[0].send_signal(signal.SIGKILL)
                            killed_at = loop.time()
                        if event["type"] in ("StreamCompleted", "StreamFailed"):
                            ends.append(event)
            assert [end["error"]["kind"] for end in ends] == ["producer_lost"]
            assert killed_at
            assert loop.time() - killed_at < 5
    finally:
        for process in processes:
            if process.returncode is None:
                process.terminate()
            await process.wait()
