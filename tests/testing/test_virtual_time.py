"""Virtual time: jumps over waiting, waits for sockets, finds what hangs."""

import asyncio
import time

import aiohttp
import pytest

import streamflow as sf
from streamflow.testing import Answer, FakeProvider, Pause, run_virtually


def test_waiting_takes_no_time_and_keeps_its_order():
    seen = []

    async def wait(seconds):
        await asyncio.sleep(seconds)
        seen.append(seconds)

    async def main():
        async with asyncio.TaskGroup() as group:
            for seconds in (30, 10, 20, 10):
                group.create_task(wait(seconds))
        return asyncio.get_running_loop().time()

    began = time.monotonic()
    assert run_virtually(main()) == 30
    assert seen == [10, 10, 20, 30]
    assert time.monotonic() - began < 1


def test_what_can_never_happen_is_said():
    async def main():
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="nothing is left to happen"):
        run_virtually(main())


def test_tasks_left_over_are_a_fault():
    async def main():
        main.task = asyncio.create_task(asyncio.sleep(5))

    with pytest.raises(AssertionError, match="left over"):
        run_virtually(main())


def test_a_fake_provider_in_virtual_time():
    async def main():
        answer = Answer("a b c", Pause(3600), "d", delay_s=60)
        patient = aiohttp.ClientTimeout(total=None)
        async with FakeProvider(answer) as fake, aiohttp.ClientSession(timeout=patient) as http:
            url = fake.base_url("openai") + "/chat/completions"
            async with http.post(url, json={"stream": True, "messages": []}) as response:
                body = await response.read()
        return body, asyncio.get_running_loop().time()

    began = time.monotonic()
    body, at = run_virtually(main())
    assert sf.read("openai", body).text == "a b cd"
    assert at == pytest.approx(3600 + 4 * 60, abs=5)
    assert time.monotonic() - began < 2
