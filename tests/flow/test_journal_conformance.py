"""What every journal promises, held against both."""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from streamflow.errors import UsageError
from streamflow.events import BlockComplete, BlockStart, Chunk, Notice, Stamped, StreamCompleted, StreamFailed
from streamflow.flow.embedded import EmbeddedJournal
from streamflow.flow.ports import Fenced, Journal, Tail, Taken, Timing, UnknownStream
from streamflow.fold import collect
from tests.flow.events import answer, text_of

FAST = Timing(lease_s=0.3, keep_s=60)


@pytest.fixture(params=["embedded", "redis"])
async def make(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[Timing], Journal]]:
    made: list[Journal] = []

    def make_one(timing: Timing) -> Journal:
        if request.param == "embedded":
            made.append(EmbeddedJournal(timing))
        else:
            from streamflow.flow.redis_journal import RedisJournal

            made.append(RedisJournal(request.getfixturevalue("shared_redis").url, timing=timing))
        return made[-1]

    yield make_one
    for journal in made:
        await journal.aclose()


@pytest.fixture
def journal(make: Callable[[Timing], Journal]) -> Journal:
    return make(FAST)


@pytest.fixture
def name() -> str:
    return secrets.token_urlsafe(16)


def stamped(events: Sequence[Any], first: int = 0) -> list[Stamped]:
    return [Stamped(first + number, float(first + number), event) for number, event in enumerate(events)]


async def read_all(tail: Tail) -> list[Stamped]:
    read: list[Stamped] = []
    async with asyncio.timeout(20):
        while not tail.ended:
            read += await tail.read(5.0)
    return read


async def test_what_was_written_is_read(journal: Journal, name: str) -> None:
    records = stamped(answer(5))
    claim = await journal.claim(name, owner="ann")
    assert claim.next_seq == 0
    assert await claim.append(records[:3]) == 2
    state = await journal.state(name)
    assert state is not None
    assert (state.id, state.owner, state.epoch, state.last_seq, state.ended) == (name, "ann", claim.epoch, 2, False)
    assert await claim.append(records[3:]) == records[-1].seq
    state = await journal.state(name)
    assert state is not None
    assert state.ended
    assert await read_all(await journal.tail(name)) == records
    behind = await journal.tail(name, records[-1].seq)  # behind the end there is nothing to wait for
    assert await behind.read(5.0) == []
    assert behind.ended


async def test_readers_wait_for_what_comes(journal: Journal, name: str) -> None:
    records = stamped(answer(20))
    claim = await journal.claim(name)
    tails = [await journal.tail(name) for _ in range(5)]
    readers = [asyncio.create_task(read_all(tail)) for tail in tails]
    for record in records:
        await claim.append([record])
    assert await asyncio.gather(*readers) == [records] * 5


async def test_a_reader_that_hears_nothing_comes_back(journal: Journal, name: str) -> None:
    await journal.claim(name)
    tail = await journal.tail(name)
    assert await tail.read(0.01) == []
    assert not tail.ended
    tail.close()


async def test_late_join_at_every_position(journal: Journal, name: str) -> None:
    records = stamped(answer(995))
    assert len(records) == 1000
    claim = await journal.claim(name)
    await claim.append(records[:400])
    early = [asyncio.create_task(read_all(await journal.tail(name, after))) for after in range(-1, 400, 50)]
    for start in range(400, 1000, 60):
        await claim.append(records[start : start + 60])
    for after, reading in zip(range(-1, 400, 50), early, strict=True):
        assert await reading == records[after + 1 :]
    for after in range(-1, 999):
        assert await read_all(await journal.tail(name, after)) == records[after + 1 :], after


async def test_join_at_every_position_while_it_is_written(journal: Journal, name: str) -> None:
    records = stamped(answer(995))
    claim = await journal.claim(name)
    readers: list[tuple[int, asyncio.Task[list[Stamped]]]] = []
    chance = random.Random(3)
    for record in records[:-1]:
        await claim.append([record])
        # At the newest, or at some place before it.
        after = record.seq if record.seq % 4 else chance.randrange(-1, record.seq + 1)
        readers.append((after, asyncio.create_task(read_all(await journal.tail(name, after)))))
    await claim.append(records[-1:])
    for after, reading in readers:
        assert await reading == records[after + 1 :], after


async def test_a_stream_is_kept_from_its_end_on(make: Callable[[Timing], Journal], name: str) -> None:
    journal = make(Timing(lease_s=0.3, keep_s=0.6))
    records = stamped(answer(45))
    claim = await journal.claim(name)
    for record in records:
        await claim.append([record])
        await asyncio.sleep(0.02)  # longer than it is kept, and never silent for as long as a heartbeat
    assert await read_all(await journal.tail(name)) == records
    async with asyncio.timeout(10):
        while await journal.state(name) is not None:
            await asyncio.sleep(0.02)
    with pytest.raises(UnknownStream):
        await journal.tail(name)


async def test_one_producer_wins(journal: Journal, name: str) -> None:
    claims = await asyncio.gather(*(journal.claim(name) for _ in range(50)), return_exceptions=True)
    assert sum(not isinstance(claim, Taken) for claim in claims) == 1
    assert all(claim.state is not None and claim.state.id == name for claim in claims if isinstance(claim, Taken))


async def test_a_batch_that_is_sent_again_is_not_doubled(journal: Journal, name: str) -> None:
    records = stamped(answer(4))
    claim = await journal.claim(name)
    await claim.append(records[:4])
    assert await claim.append(records[:4]) == 3
    assert await claim.append(records[2:6]) == 5
    assert await claim.append(records[6:]) == records[-1].seq
    assert await claim.append(records[6:]) == records[-1].seq  # the end, too
    assert await read_all(await journal.tail(name)) == records


async def test_a_gap_is_not_written(journal: Journal, name: str) -> None:
    records = stamped(answer(4))
    claim = await journal.claim(name)
    await claim.append(records[:2])
    assert await claim.append(records[3:]) == 1
    assert await claim.append(records[2:]) == records[-1].seq
    assert await read_all(await journal.tail(name)) == records


async def test_nothing_follows_the_end(journal: Journal, name: str) -> None:
    records = stamped(answer(1))
    claim = await journal.claim(name)
    await claim.append(records)
    with pytest.raises(Fenced):
        await claim.append(stamped([Notice("more")], len(records)))
    with pytest.raises(Taken):
        await journal.claim(name, takeover=True)
    assert await read_all(await journal.tail(name)) == records


async def test_a_stale_producer_is_fenced(journal: Journal, name: str) -> None:
    records = stamped(answer(4))
    first = await journal.claim(name, owner="ann")
    await first.append(records[:3])
    with pytest.raises(Taken):
        await journal.claim(name, takeover=True)  # it is alive
    await first.release()
    second = await journal.claim(name, takeover=True)
    assert second.epoch > first.epoch
    assert second.next_seq == 3
    with pytest.raises(Fenced):
        await first.append(records[3:])
    await second.append(records[3:])
    assert await read_all(await journal.tail(name)) == records
    # Every place is the same place after a change of the producer.
    for after in range(-1, len(records) - 1):
        assert await read_all(await journal.tail(name, after)) == records[after + 1 :]
    state = await journal.state(name)
    assert state is not None
    assert (state.epoch, state.owner) == (first.epoch, "ann")


async def test_a_lost_producer_ends_once_and_properly(journal: Journal, name: str) -> None:
    records = stamped([answer(3)[0], BlockStart(0, "text"), Chunk(0, "text", "Hel")])
    claim = await journal.claim(name)
    await claim.append(records)
    tails = [await journal.tail(name) for _ in range(3)]
    await claim.release()
    for read in await asyncio.gather(*map(read_all, tails)):
        assert read[:3] == records
        block, failed = (record.event for record in read[3:])
        assert isinstance(block, BlockComplete)
        assert (block.content, block.incomplete) == ("Hel", True)
        assert isinstance(failed, StreamFailed)
        assert failed.error.kind == "producer_lost"
        assert failed.partial is not None
        assert failed.partial.text == "Hel"
    with pytest.raises(Fenced):
        await claim.append(stamped([StreamCompleted()], 3))


async def test_a_trimmed_past_is_a_reset_with_a_snapshot(journal: Journal, name: str) -> None:
    records = stamped(answer(300))
    claim = await journal.claim(name)
    await claim.append(records[:200])
    slow = await journal.tail(name)
    await claim.let_go(149, collect([record.event for record in records[:150]]))
    await claim.append(records[200:])
    for seen in (-1, 0, 148):
        reset, *rest = await read_all(await journal.tail(name, seen))
        assert rest == records[150:], seen
        assert reset.seq == 149
        assert reset.event.code == "reset"
        assert reset.event.raw.text == text_of(148)
    assert await read_all(await journal.tail(name, 149)) == records[150:]
    # Whoever was there before has the records in its process, or is told as well: there is no silent jump.
    read = await read_all(slow)
    assert read == records or (read[0].event.code == "reset" and read[1:] == records[150:])


async def test_what_was_never_written_can_be_skipped(journal: Journal, name: str) -> None:
    records = stamped(answer(100))
    claim = await journal.claim(name)
    await claim.append(records[:10])
    tail = await journal.tail(name, 4)
    await claim.let_go(49, collect([record.event for record in records[:50]]))
    assert await claim.append(records[50:]) == records[-1].seq
    reset, *rest = await read_all(tail)
    assert (reset.seq, reset.event.code, reset.event.raw.text) == (49, "reset", text_of(48))
    assert rest == records[50:]


async def test_a_lost_producer_after_a_trim(journal: Journal, name: str) -> None:
    records = stamped(answer(100))
    claim = await journal.claim(name)
    await claim.append(records[:60])
    await claim.let_go(29, collect([record.event for record in records[:30]]))
    await claim.release()
    reset, *rest = await read_all(await journal.tail(name))
    assert reset.event.code == "reset"
    assert rest[-1].event.partial.text == text_of(58)
    assert rest[-2].event.content == text_of(58)


async def test_stop_reaches_the_producer(journal: Journal, name: str) -> None:
    claim = await journal.claim(name)
    asked = asyncio.Event()
    claim.on_stop(asked.set)
    await journal.stop(name)
    await journal.stop(name)
    async with asyncio.timeout(5):
        await asked.wait()
    late = asyncio.Event()
    claim.on_stop(late.set)  # whoever asks later is told too
    assert late.is_set()
    await claim.append(stamped([StreamCompleted("cancelled")]))
    await journal.stop(name)  # it has ended: nothing to do


async def test_unknown_streams_and_places(journal: Journal, name: str) -> None:
    assert await journal.state(name) is None
    for asking in (journal.tail(name), journal.stop(name)):
        with pytest.raises(UnknownStream):
            await asking
    claim = await journal.claim(name)
    await claim.append(stamped(answer(1)))
    for after in (-2, 99, "0", True):
        with pytest.raises(UsageError):
            await journal.tail(name, after)  # type: ignore[arg-type]
    for wrong in ("", "a b", "a{b}", "ä", "x" * 129, "a:b"):
        with pytest.raises(UsageError, match="no stream id"):
            await journal.claim(wrong)


async def test_a_slow_reader_holds_nobody_up(journal: Journal, name: str) -> None:
    records = stamped(answer(5000))
    claim = await journal.claim(name)
    slow = await journal.tail(name)
    fast = asyncio.create_task(read_all(await journal.tail(name)))
    for start in range(0, len(records), 500):
        await claim.append(records[start : start + 500])
    assert await fast == records
    assert await read_all(slow) == records
