"""The first source that answers."""

import asyncio
from typing import Any

import pytest

import streamflow as sf
from streamflow.events import Retrying
from streamflow.operators import seam, visible_filter
from streamflow.sources.fallback import fallback
from streamflow.testing import Answer, Cut, FakeProvider, HttpError, Stall, Text, assert_grammar


def connect(provider: str, fake: FakeProvider) -> sf.Client:
    return sf.connect(
        provider, model="m", api_key="k", base_url=fake.base_url(provider), environ={}, max_retries=0
    )


async def both(first: Any, second: Any, *operators: Any) -> tuple[list[Any], Exception | None, tuple[int, int]]:
    async with (
        FakeProvider(first) as a,
        FakeProvider(second) as b,
        connect("openai", a) as one,
        connect("anthropic", b) as two,
    ):
        stream = fallback([one.stream("hi"), lambda: two.stream("hi")])
        events: list[Any] = []
        error = None
        try:
            async for event in stream.pipe(*operators) if operators else stream:
                events.append(event)
        except sf.StreamflowError as fault:
            error = fault
        return events, error, (len(a.requests), len(b.requests))


async def test_the_second_is_not_asked_when_the_first_answers() -> None:
    events, error, asked = await both(Answer("Hello."), Answer("never"))
    assert error is None
    assert asked == (1, 0)
    assert events[-1].response.text == "Hello."


@pytest.mark.parametrize("status", [401, 429, 500, 529])
async def test_a15_a_refusal_before_the_first_event_asks_the_second(status: int) -> None:
    events, error, asked = await both(HttpError(status), Answer("Hello."))
    assert error is None
    assert asked == (1, 1)
    assert isinstance(events[0], Retrying)
    assert not events[0].discard
    assert "openai" in events[0].reason
    assert_grammar(events)
    assert events[-1].response.text == "Hello."


async def test_a_cut_before_the_first_event_asks_the_second() -> None:
    events, error, asked = await both(Answer(Cut()), Answer("Hello."))
    assert error is None
    assert asked == (1, 1)
    assert events[-1].response.text == "Hello."


async def test_a15_after_the_first_event_the_failure_stands() -> None:
    events, error, asked = await both(Answer(Text("So far"), Cut()), Answer("never"))
    assert isinstance(error, sf.StreamTruncated)
    assert asked == (1, 0)
    assert "".join(event.text for event in events if isinstance(event, sf.events.Chunk)) == "So far"
    assert error.partial is not None
    assert error.partial.text == "So far"


async def test_the_last_failure_is_the_streams() -> None:
    _, error, asked = await both(HttpError(500), HttpError(503))
    assert isinstance(error, sf.ProviderError)
    assert error.status == 503
    assert asked == (1, 1)


async def test_operators_see_one_stream() -> None:
    events, _, _ = await both(HttpError(500), Answer("Hello there."), visible_filter())
    assert "".join(chunk.text for chunk in events if isinstance(chunk, sf.events.Chunk)) == "Hello there."


async def test_a15_it_is_an_observable_that_a_seam_can_follow() -> None:
    async with (
        FakeProvider(HttpError(500)) as a,
        FakeProvider(Answer(Text("The quick brown"), Cut())) as b,
        FakeProvider(Answer("quick brown fox.")) as c,
        connect("openai", a) as one,
        connect("openai", b) as two,
        connect("anthropic", c) as three,
    ):
        seen: list[Any] = []
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stream = fallback([one.stream("hi"), two.stream("hi")]).pipe(seam(lambda partial: three.stream("go on")))
        stream.subscribe(seen.append, done.set_exception, lambda: done.set_result(None))
        await asyncio.wait_for(done, 5)
        assert_grammar(seen)
        assert sf.collect(seen).text == "The quick brown fox."


async def test_cancel_and_leaving_close_the_connection() -> None:
    for how in ("cancel", "leave"):
        async with (
            FakeProvider(HttpError(500)) as a,
            FakeProvider(Answer(Text("Hello"), Stall())) as b,
            connect("openai", a) as one,
            connect("openai", b) as two,
        ):
            stream = fallback([one.stream("hi"), two.stream("hi")])
            async for event in stream:
                if isinstance(event, sf.events.Chunk):
                    if how == "leave":
                        break
                    stream.cancel()
            if how == "cancel":
                assert stream.response is not None
                assert stream.response.stop_reason == "cancelled"
            async with asyncio.timeout(5):
                while b.connections[0].closed_at is None:
                    await asyncio.sleep(0.01)


@pytest.mark.parametrize("sources", [[], ["openai"], [3]])
def test_wrong_use(sources: Any) -> None:
    with pytest.raises(sf.UsageError, match="fallback"):
        fallback(sources)
