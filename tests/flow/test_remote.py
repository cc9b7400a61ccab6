"""The reader's side: a stream that is produced elsewhere, as an Observable, an async iterable and a source."""

import asyncio
from typing import Any

import pytest

from streamflow.errors import StreamTruncated, UsageError
from streamflow.events import Stamped
from streamflow.flow import Flow
from streamflow.flow.embedded import EmbeddedJournal
from streamflow.flow.ports import UnknownStream
from streamflow.flow.publish import publish
from streamflow.flow.remote import remote_flow
from streamflow.operators import visible_filter
from tests.flow.events import Pulled, answer, text_of


async def test_it_is_an_async_iterable_from_any_place() -> None:
    journal = EmbeddedJournal()
    flow = Flow(answer(20))
    await publish(flow, journal, "a")
    whole = [stamped async for stamped in remote_flow(journal, "a")]
    assert whole == list(flow.journal.after(-1))
    for after in range(-1, 24):
        assert [stamped async for stamped in remote_flow(journal, "a", after)] == whole[after + 1 :]


async def test_it_is_an_observable() -> None:
    journal = EmbeddedJournal()
    await publish(Flow(Pulled(answer(20), pause_s=0.001)), journal, "a")
    seen: list[Stamped] = []
    done = asyncio.Event()
    remote_flow(journal, "a").subscribe(seen.append, on_completed=done.set)
    async with asyncio.timeout(10):
        await done.wait()
    assert [stamped.seq for stamped in seen] == list(range(25))


async def test_it_is_the_source_of_a_flow_here() -> None:
    journal = EmbeddedJournal()
    await publish(Flow(Pulled(answer(50), pause_s=0.001)), journal, "a")
    here = Flow(remote_flow(journal, "a").events)
    branch = here.branch("ui", visible_filter())
    assert "".join([chunk.text async for chunk in branch]) == text_of(50)
    assert here.snapshot().complete


async def test_a_failure_there_is_a_failure_here() -> None:
    journal = EmbeddedJournal()
    error = StreamTruncated("cut", provider="openai")
    await publish(Flow(Pulled(answer(3)[:3], error=error)), journal, "a")
    reading = aiter(remote_flow(journal, "a"))
    seen = [(await anext(reading)).event for _ in range(4)]
    assert type(seen[-1]).__name__ == "StreamFailed"
    with pytest.raises(StreamTruncated, match="cut"):
        await anext(reading)
    here = Flow(remote_flow(journal, "a").events)
    response = await here.response()
    assert (response.complete, response.text) == (False, "word0 ")
    assert isinstance(response.error, StreamTruncated)
    failed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    remote_flow(journal, "a").subscribe(on_error=failed.set_result)
    assert isinstance(await failed, StreamTruncated)


async def test_stop_from_here() -> None:
    journal = EmbeddedJournal()
    source = Pulled(answer(100_000), pause_s=0.001)
    await publish(Flow(source), journal, "a")
    remote = remote_flow(journal, "a")
    seen: list[Any] = []
    async for stamped in remote:
        seen.append(stamped.event)
        if stamped.seq == 5:
            await remote.stop()
    assert seen[-1].stop_reason == "cancelled"
    assert source.closed


async def test_leaving_is_no_stop() -> None:
    journal = EmbeddedJournal()
    publication = await publish(Flow(Pulled(answer(100), pause_s=0.001)), journal, "a")
    first = asyncio.Event()
    subscription = remote_flow(journal, "a").subscribe(lambda stamped: first.set())
    async with asyncio.timeout(10):
        await first.wait()
    subscription.dispose()
    assert await publication.done() == "ended"
    assert publication.flow.snapshot().complete


async def test_wrong_use() -> None:
    journal = EmbeddedJournal()
    with pytest.raises(UnknownStream):
        [stamped async for stamped in remote_flow(journal, "nobody")]
    with pytest.raises(UsageError, match="no stream id"):
        remote_flow(journal, "a b")
    assert repr(remote_flow(journal, "a")) == "RemoteFlow('a')"


def test_without_a_loop() -> None:
    with pytest.raises(UsageError, match="running event loop"):
        remote_flow(EmbeddedJournal(), "a").subscribe(print)
