"""Some rounds of the storms; ``make chaos`` goes on for minutes."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.chaos.nodes import FAULTS, weather
from tests.chaos.storm import PROCESS_FAULTS, PROVIDER_FAULTS, READER_FAULTS, storm
from tests.support.redis_server import require_redis


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are counted as Linux shows them")
def test_c11_clients_and_flows_under_faults_leave_nothing_behind() -> None:
    # In a loop of its own: descriptors and tasks are counted.
    report = asyncio.run(storm(20, rounds=10))
    assert report.rounds == 10
    assert set(report.injected) == {*PROVIDER_FAULTS, *READER_FAULTS, *PROCESS_FAULTS}, "all faults were there"
    assert (report.tasks_left, report.descriptors_left) == (0, 0)
    assert report.outcomes["whole"] > 10


def test_a_plan_is_the_same_again() -> None:
    one, again = (asyncio.run(storm(7, rounds=1)) for _ in range(2))
    assert one.injected == again.injected


async def test_c07_servers_under_faults_lose_nothing() -> None:
    assert sys.platform != "win32"
    report = await weather(require_redis(), 20, rounds=2)
    assert set(report.injected) == set(FAULTS[:2])
    assert report.outcomes.total() == 12
