"""Observables read by ``async for``."""

import asyncio
import threading

import pytest
import reactivex as rx
from reactivex.subject import Subject

import streamflow as sf


async def test_items_in_order_and_the_end():
    assert [item async for item in sf.aiter(rx.of(1, 2, 3))] == [1, 2, 3]


async def test_an_error_comes_after_what_was_before_it():
    source = rx.concat(rx.of(1), rx.throw(sf.StreamTruncated("cut")))
    seen = []
    iterator = sf.aiter(source)
    seen.append(await anext(iterator))
    with pytest.raises(sf.StreamTruncated):
        await anext(iterator)
    assert seen == [1]


async def test_cancelling_the_reader_unsubscribes():
    source = Subject()
    iterator = sf.aiter(source)
    task = asyncio.ensure_future(anext(iterator))
    await asyncio.sleep(0)
    assert source.observers
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not source.observers


async def test_leaving_early_unsubscribes():
    source = Subject()
    async with sf.aiter(source) as iterator:
        reading = asyncio.ensure_future(anext(iterator))
        await asyncio.sleep(0)
        source.on_next(1)
        assert await reading == 1
    assert not source.observers


async def test_other_threads_may_emit():
    source = Subject()
    iterator = sf.aiter(source)
    reading = asyncio.ensure_future(anext(iterator))
    await asyncio.sleep(0)

    def emit():
        for number in range(100):
            source.on_next(number)
        source.on_completed()

    thread = threading.Thread(target=emit)
    thread.start()
    assert [await reading, *[item async for item in iterator]] == list(range(100))
    thread.join()


async def test_the_buffer_is_bounded():
    iterator = sf.aiter(rx.from_iterable(range(100)), max_items=10)
    seen = [await anext(iterator) for _ in range(10)]
    with pytest.raises(sf.LimitExceeded, match="max_items"):
        await anext(iterator)
    assert seen == list(range(10))
