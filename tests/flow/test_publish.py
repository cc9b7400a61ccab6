"""The producer's side: batches, ends, stops, and who may write."""

import asyncio
import secrets
import threading
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from reactivex.subject import Subject

from streamflow.errors import StreamTruncated, UsageError
from streamflow.events import BlockStart, Chunk, Notice, Stamped, StreamFailed, StreamStart
from streamflow.flow import Flow
from streamflow.flow.embedded import EmbeddedJournal
from streamflow.flow.ports import Journal, Taken
from streamflow.flow.publish import BATCH_EVENTS, publish
from streamflow.testing import run_virtually
from tests.flow.events import Pulled, answer, text_of
from tests.support.redis_server import RedisServer


async def read_all(journal: Journal, stream: str) -> list[Stamped]:
    tail = await journal.tail(stream)
    read: list[Stamped] = []
    async with asyncio.timeout(30):
        while not tail.ended:
            read += await tail.read(1.0)
    return read


async def _timed_pages(events: list[Any], pause_s: float) -> list[tuple[float, int]]:
    """When a reader got how many records."""
    journal, loop = EmbeddedJournal(), asyncio.get_running_loop()
    publication = await publish(Flow(Pulled(events, pause_s=pause_s)), journal, "a")
    tail = await journal.tail("a")
    pages: list[tuple[float, int]] = []
    while not tail.ended:
        page = await tail.read(1.0)
        pages.append((loop.time(), len(page)))
    await publication.done()
    await journal.aclose()
    return pages


def test_the_first_delta_goes_at_once_and_later_ones_gather_for_10_to_20_ms() -> None:
    pages = run_virtually(_timed_pages(answer(200), pause_s=0.001))
    assert pages[0] == (pytest.approx(0.001), 1)
    assert sum(count for _, count in pages) == 205
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(pages[:-1])]
    assert all(0.010 <= gap <= 0.020 for gap in gaps), gaps
    assert pages[-1][0] == pytest.approx(0.205), "the end waits for nobody"


def test_a_slow_source_never_waits() -> None:
    pages = run_virtually(_timed_pages(answer(20), pause_s=0.03))
    assert [count for _, count in pages] == [1] * 25
    assert [when for when, _ in pages] == pytest.approx([0.03 * number for number in range(1, 26)])


def test_a_burst_goes_in_batches() -> None:
    pages = run_virtually(_timed_pages(answer(1000), pause_s=0.0))
    assert sum(count for _, count in pages) == 1005
    assert pages[-1][0] < 0.1
    assert max(count for _, count in pages) <= 512
    assert BATCH_EVENTS == 64


async def test_batches_reach_redis_as_few_commands(shared_redis: RedisServer) -> None:
    from streamflow.flow.redis_journal import RedisJournal

    journal, stream = RedisJournal(shared_redis.url), secrets.token_hex(8)
    flow = Flow(Pulled(answer(300), pause_s=0.001))
    publication = await publish(flow, journal, stream)
    assert await publication.done() == "ended"
    before = shared_redis.command("INFO", "commandstats")["cmdstat_evalsha"]["calls"]
    again = await publish(Flow(Pulled(answer(300), pause_s=0.001)), journal, secrets.token_hex(8))
    assert await again.done() == "ended"
    calls = shared_redis.command("INFO", "commandstats")["cmdstat_evalsha"]["calls"] - before
    assert calls <= 80, f"{calls} scripts for 305 events"
    assert [record.event for record in await read_all(journal, stream)] == [
        stamped.event for stamped in flow.journal.after(-1)
    ]
    await journal.aclose()


async def test_two_flows_of_one_id_one_wins_and_the_other_reads() -> None:
    journal = EmbeddedJournal()
    flows = [Flow(Pulled(answer(30), pause_s=0.001)) for _ in range(2)]
    first, second = await asyncio.gather(*(publish(flow, journal, "a") for flow in flows), return_exceptions=True)
    assert isinstance(second, Taken)
    assert not flows[1].started, "a source that nobody may write down is not run"
    assert [stamped.event.__class__ for stamped in await read_all(journal, "a")][-1].__name__ == "StreamCompleted"
    await first.done()


async def test_a_source_without_an_end_gets_one() -> None:
    journal = EmbeddedJournal()
    events = [StreamStart(), BlockStart(0, "text"), Chunk(0, "text", "Hel")]
    for number, (error, kind) in enumerate(((None, "StreamTruncated"), (ValueError("x"), "StreamTruncated"))):
        publication = await publish(Flow(Pulled(events, error=error)), journal, f"s{number}")
        assert await publication.done() == "ended"
        *_, block, failed = (stamped.event for stamped in await read_all(journal, f"s{number}"))
        assert (block.content, block.incomplete) == ("Hel", True)
        assert isinstance(failed, StreamFailed)
        assert failed.error.type == kind


async def test_a_typed_failure_is_the_end() -> None:
    journal = EmbeddedJournal()
    flow = Flow(Pulled(answer(3)[:3], error=StreamTruncated("cut", provider="openai")))
    publication = await publish(flow, journal, "a")
    assert await publication.done() == "ended"
    read = await read_all(journal, "a")
    assert read[-1].event.error.message == "cut"
    assert [isinstance(stamped.event, StreamFailed) for stamped in read].count(True) == 1


async def test_stop_ends_the_flow_and_writes_that() -> None:
    journal = EmbeddedJournal()
    source = Pulled(answer(100_000), pause_s=0.001)
    publication = await publish(Flow(source), journal, "a")
    tail = await journal.tail("a")
    read: list[Stamped] = []
    while len(read) < 5:
        read += await tail.read(1.0)
    await journal.stop("a")
    assert await publication.done() == "ended"
    assert source.closed
    read = await read_all(journal, "a")
    assert read[-1].event.stop_reason == "cancelled"
    assert read[-2].event.incomplete


async def test_whoever_loses_the_stream_stops_its_source() -> None:
    journal = EmbeddedJournal()
    source = Pulled(answer(100_000), pause_s=0.001)
    publication = await publish(Flow(source), journal, "a")
    await publication._claim.release()
    heir = await journal.claim("a", takeover=True)
    assert await publication.done() == "fenced"
    assert source.closed
    assert (await journal.state("a")).last_seq == heir.next_seq - 1


async def test_aclose_writes_the_end() -> None:
    journal = EmbeddedJournal()
    publication = await publish(Flow(Pulled(answer(100_000), pause_s=0.001)), journal, "a")
    await publication.aclose()
    assert publication.state == "ended"
    assert (await read_all(journal, "a"))[-1].event.stop_reason == "cancelled"


async def test_a_flow_that_lets_go_lets_the_journal_go_too() -> None:
    journal = EmbeddedJournal()
    publication = await publish(Flow(Pulled(answer(5000)), max_events=200), journal, "a")
    assert await publication.done() == "ended"
    reset, *rest = await read_all(journal, "a")
    assert reset.event.code == "reset"
    assert [stamped.seq for stamped in rest] == list(range(reset.seq + 1, 5005))
    assert len(rest) < 600
    told = reset.event.raw.text + "".join(stamped.event.text for stamped in rest if isinstance(stamped.event, Chunk))
    assert told == text_of(5000)


async def test_a_source_in_another_thread() -> None:
    journal, source = EmbeddedJournal(), Subject()
    publication = await publish(Flow(source), journal, "a")
    thread = threading.Thread(target=lambda: [source.on_next(event) for event in answer(500)])
    thread.start()
    assert await publication.done() == "ended"
    thread.join()
    assert (await read_all(journal, "a"))[-1].event.response.text == text_of(500)


async def test_an_event_without_a_json_form_ends_the_publication(shared_redis: RedisServer) -> None:
    from streamflow.flow.redis_journal import RedisJournal

    journal, stream = RedisJournal(shared_redis.url), secrets.token_hex(8)
    source = Pulled([*answer(3)[:3], Notice("odd", raw=object()), *answer(10_000)[3:]], pause_s=0.001)
    publication = await publish(Flow(source), journal, stream)
    assert await publication.done() == "failed"
    assert isinstance(publication.error, UsageError)
    assert source.closed
    await journal.aclose()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"on_outage": "wait"}, "on_outage='wait': choose one of stop, continue"),
        ({"batch_s": -1}, "batch_s must be a number from 0 on"),
        ({"buffer_events": "many"}, "buffer_events must be a number from 0 on"),
        ({"give_up_s": True}, "give_up_s must be a number from 0 on"),
    ],
)
async def test_wrong_options(option: dict[str, Any], message: str) -> None:
    journal = EmbeddedJournal()
    with pytest.raises(UsageError, match=message):
        await publish(Flow([]), journal, "a", **option)
    assert await journal.state("a") is None


async def _never() -> AsyncIterator[Any]:
    await asyncio.Event().wait()
    yield None


async def test_a_publication_can_be_looked_at() -> None:
    journal = EmbeddedJournal()
    publication = await publish(Flow(_never()), journal, "a")
    assert repr(publication) == "Publication('a', live, 0 events written)"
    assert not publication.over
    await publication.aclose()
    assert publication.over
