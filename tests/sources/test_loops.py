"""The same client on uvloop."""

import asyncio
import sys
import time

import pytest

import streamflow as sf
from streamflow.sources.loops import run_async
from streamflow.testing import Answer, Drop, FakeProvider, Pause, Reset, Stall


def connected(fake: FakeProvider, **options):
    return sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai"), **options)


def test_without_uvloop_it_is_asyncio(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvloop", None)

    async def loop_name() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert run_async(loop_name()).startswith("asyncio")


@pytest.mark.parametrize("fault", [Drop(), Reset()], ids=lambda fault: type(fault).__name__)
def test_answers_and_faults_on_uvloop(fault):
    uvloop = pytest.importorskip("uvloop")

    async def main() -> tuple[str, sf.StreamflowError]:
        assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
        async with FakeProvider(Answer("Hello"), Answer("Hel", Pause(0.02), fault)) as fake, connected(fake) as llm:
            text = (await llm.collect("hi")).text
            with pytest.raises(sf.StreamTruncated) as caught:
                await llm.collect("hi")
            return text, caught.value

    text, error = run_async(main())
    assert (text, error.partial.text) == ("Hello", "Hel")


@pytest.mark.parametrize("script", [Answer("x", before=Stall()), Answer("x", Stall())], ids=["head", "middle"])
def test_leaving_closes_the_socket_at_once_on_uvloop(script):
    pytest.importorskip("uvloop")

    async def main() -> float:
        async with FakeProvider(script) as fake, connected(fake) as llm:
            subscription = llm.stream("hi").subscribe(lambda event: None)
            await fake.wait_requests(1)
            await asyncio.sleep(0.01)
            left = time.monotonic()
            subscription.dispose()
            return await fake.wait_closed() - left

    assert run_async(main()) < 0.1
