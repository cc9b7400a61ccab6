"""Slow readers: what each policy does, and that nobody else notices."""

import asyncio

import pytest
from reactivex.subject import Subject

import streamflow as sf
from streamflow.events import Chunk, Notice, StreamCompleted
from streamflow.operators import visible_filter
from streamflow.testing import run_virtually
from tests.flow.events import Pulled, answer, text_of

WORDS = 2000


def text(items) -> str:
    return "".join(item.text for item in items if isinstance(item, Chunk))


async def until_error(reader):
    """What still comes, and the error after it."""
    items = []
    try:
        async for item in reader:
            items.append(item)
    except sf.StreamflowError as error:
        return items, error
    return items, None


async def read(branch, pause_s=0.0):
    items = []
    async for item in branch:
        items.append(item)
        if pause_s:
            await asyncio.sleep(pause_s)
    return items


def test_a_blocking_reader_makes_the_source_wait_and_loses_nothing():
    async def main():
        source = Pulled(answer(WORDS))
        flow = sf.Flow(source)
        lead = []
        reader = aiter(flow.branch("slow", policy=sf.block(max_items=10)))
        items = [await anext(reader)]
        for _ in range(200):
            await asyncio.sleep(0)
        lead.append(source.taken - len(items))
        async for item in reader:
            items.append(item)
            lead.append(source.taken - len(items))
        return items, lead

    items, lead = run_virtually(main())
    assert text(items) == text_of(WORDS)
    assert max(lead) <= 12


def test_b3_a_stuck_reader_is_cut_off_and_the_others_go_on():
    async def main():
        flow = sf.Flow(Pulled(answer(WORDS)))
        stuck = aiter(flow.branch("tts", visible_filter(), policy=sf.block(max_wait_s=5, max_items=100)))
        fast = asyncio.create_task(read(flow.branch("transcript")))
        first = await anext(stuck)
        items = await fast
        ended = asyncio.get_running_loop().time()
        rest, error = await until_error(stuck)
        return first, items, ended, rest, error

    first, items, ended, rest, error = run_virtually(main())
    assert first.text == "word0 "
    assert text(items) == text_of(WORDS)
    assert ended == pytest.approx(5)
    assert len(rest) == 100  # what waited for it is still delivered
    assert isinstance(error, sf.StreamStalled)
    assert (error.kind, "tts" in str(error)) == ("slow_reader", True)


def test_b3_a_conflating_reader_gets_larger_chunks_and_all_of_the_text():
    async def main():
        flow = sf.Flow(Pulled(answer(WORDS), pause_s=0.01))
        slow = asyncio.create_task(read(flow.branch("ui"), pause_s=0.1))
        await flow.response()
        source_end = asyncio.get_running_loop().time()
        return await slow, source_end

    items, source_end = run_virtually(main())
    assert text(items) == text_of(WORDS)
    assert len(items) < WORDS / 5
    assert source_end == pytest.approx(WORDS * 0.01, rel=0.05)
    assert isinstance(items[-1], StreamCompleted)


def test_b3_dropping_says_how_many_and_keeps_the_newest():
    async def main():
        flow = sf.Flow(Pulled(answer(50)))
        reader = aiter(flow.branch("meter", policy=sf.drop_oldest(5)))
        first = await anext(reader)
        await flow.response()
        return [first] + [item async for item in reader]

    items = run_virtually(main())
    dropped = [item for item in items if isinstance(item, Notice)]
    assert [item.code for item in dropped] == ["dropped"]
    assert dropped[0].raw + len(items) - 1 == len(answer(50))
    assert isinstance(items[-1], StreamCompleted)
    assert len(items) == 1 + 1 + 5


@pytest.mark.parametrize(
    ("policy", "bound"),
    [
        (sf.error(10), "10 items"),
        (sf.unbounded(max_bytes=5000), "5000 bytes"),
        (sf.conflate(max_bytes=5000), "5000 bytes"),
    ],
)
def test_b3_a_bound_that_is_reached_ends_the_branch_with_a_typed_error(policy, bound):
    async def main():
        flow = sf.Flow(Pulled(answer(WORDS)))
        reader = aiter(flow.branch("b", policy=policy))
        await anext(reader)
        return await flow.response(), await until_error(reader)

    response, (_, error) = run_virtually(main())
    assert response.complete
    assert isinstance(error, sf.LimitExceeded)
    assert bound in str(error)
    assert error.kind == "slow_reader"


def test_unbounded_waits_for_a_reader_that_comes_late():
    async def main():
        flow = sf.Flow(Pulled(answer(WORDS)))
        reader = aiter(flow.branch("b", policy=sf.unbounded()))
        first = await anext(reader)
        await flow.response()
        return [first] + [item async for item in reader]

    assert text(run_virtually(main())) == text_of(WORDS)


def test_a_source_that_cannot_wait_is_kept_up_to_the_cap():
    async def main(max_events):
        source = Subject()
        flow = sf.Flow(source, max_events=max_events)
        reader = aiter(flow.branch("b", policy=sf.block(max_items=10)))
        reading = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0)
        for event in answer(100):
            source.on_next(event)
        source.on_completed()
        return [await reading] + [item async for item in reader]

    assert text(run_virtually(main(1000))) == text_of(100)
    with pytest.raises(sf.LimitExceeded):
        run_virtually(main(50))


def test_b3_fast_transcript_slow_screen_dead_voice():
    """One source, three readers of three speeds: each gets what its policy promises."""

    async def main():
        source = Pulled(answer(WORDS), pause_s=0.001)
        flow = sf.Flow(source)
        transcript = asyncio.create_task(read(flow.branch("transcript")))
        screen = asyncio.create_task(read(flow.branch("ui", visible_filter()), pause_s=0.01))
        voice = aiter(flow.branch("tts", visible_filter(), policy=sf.block(max_wait_s=0.5)))
        await anext(voice)
        items = await transcript
        at = asyncio.get_running_loop().time()
        with pytest.raises(sf.StreamStalled):
            async for _ in voice:
                pass
        return items, at, await screen, flow.journal.bytes

    items, at, shown, kept = run_virtually(main())
    assert text(items) == text(shown) == text_of(WORDS)
    assert at < WORDS * 0.001 * 1.05 + 0.5 + 0.1
    assert kept < 2_000_000


def test_what_was_trimmed_is_answered_with_a_reset_and_a_snapshot():
    flow = sf.Flow(answer(100), max_events=20)
    flow.start()
    late = []
    flow.subscribe(late.append)
    reset = late[0].event
    assert (reset.code, late[0].seq, late[1].seq) == ("reset", len(answer(100)) - 21, len(answer(100)) - 20)
    assert reset.raw.text + text([item.event for item in late]) == text_of(100)
    assert [item.seq for item in late] == list(range(late[0].seq, len(answer(100))))


def test_the_journal_is_bounded_by_bytes_too():
    flow = sf.Flow(answer(1000), max_bytes=50_000).start()
    assert flow.journal.bytes <= 50_000
    assert flow.snapshot().text == text_of(1000)
