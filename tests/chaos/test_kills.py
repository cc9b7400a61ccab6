"""Rows C1 and C3 to C6 over processes: ten kills of each kind; ``make chaos`` does a hundred."""

import asyncio
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamflow.flow.redis_journal import RedisJournal
from tests.chaos.nursery import Nursery
from tests.chaos.trials import broker_kills, producer_kills, reader_kills, until, zombies
from tests.support.redis_server import RedisServer, require_redis

SEED, KILLS = 20, 10


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    require_redis()
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def broker() -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory(prefix="sf") as directory:
        server = RedisServer(require_redis(), Path(directory)).start()
        yield server
        server.kill()


async def test_c01_a_reader_that_is_killed_goes_on_where_it_was(nursery: Nursery, broker: RedisServer) -> None:
    result = await reader_kills(nursery, broker, SEED, KILLS)
    assert result.kills == KILLS


async def test_c04_a_broker_that_is_killed_loses_and_doubles_nothing(nursery: Nursery, broker: RedisServer) -> None:
    result = await broker_kills(nursery, broker, SEED, KILLS)
    assert result.kills == KILLS


async def test_c05_a_producer_that_is_killed_has_one_end_in_time(nursery: Nursery, broker: RedisServer) -> None:
    result = await producer_kills(nursery, broker, SEED, KILLS)
    assert result.kills == KILLS
    assert 0 < result.slowest_s < 5


async def test_c05_a_producer_that_was_stopped_and_goes_on_is_fenced(nursery: Nursery, broker: RedisServer) -> None:
    result = await zombies(nursery, broker, SEED, 4)
    assert result.kills == 4


async def test_c06_of_fifty_racers_in_five_processes_one_wins(
    nursery: Nursery, broker: RedisServer, tmp_path: Path
) -> None:
    stream, go = secrets.token_hex(8), tmp_path / "go"
    racers = [nursery.worker("race", broker.url, stream, str(go), 10) for _ in range(5)]
    await until(lambda: all("ready" in racer.lines() for racer in racers))
    go.touch()
    await until(lambda: all("end" in racer.lines() for racer in racers))
    said = [line for racer in racers for line in racer.lines()]
    assert (said.count("won"), said.count("lost"), said.count("reads")) == (1, 49, 5), said
    journal = RedisJournal(broker.url)
    state = await journal.state(stream)
    assert state is not None
    assert not state.ended
    await journal.aclose()
    assert len(asyncio.all_tasks()) == 1
