"""The stream object: with operators of both kinds, through iterators and subscribers."""

import asyncio

import pytest
import reactivex as rx
from reactivex import operators as ops

import streamflow as sf
from streamflow.events import Chunk, StreamCompleted
from streamflow.operators import sentence_segment, to_response, tool_accumulate, visible_filter, xml_block_split
from streamflow.sources.live import LiveStream
from streamflow.testing import Answer, ErrorEvent, FakeProvider, Stall, ToolUse, assert_grammar


def connected(fake: FakeProvider):
    return sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai"))


async def test_operators_of_reactivex_mix():
    async with FakeProvider(Answer("one two three", Stall())) as fake, connected(fake) as llm:
        stream = llm.stream("hi").pipe(visible_filter(), ops.map(lambda chunk: chunk.text), ops.take(2))
        assert isinstance(stream, rx.Observable)
        assert [text async for text in sf.aiter(stream)] == ["one", " two"]
        await fake.wait_closed()


async def test_an_operator_may_also_be_called():
    async with FakeProvider(Answer("one two")) as fake, connected(fake) as llm:
        observable = visible_filter()(llm.stream("hi"))
        assert [chunk.text async for chunk in sf.aiter(observable)] == ["one", " two"]


async def test_a_timed_operator_runs_on_the_loop():
    from streamflow.operators import smooth

    async with FakeProvider(Answer("one two three")) as fake, connected(fake) as llm:
        stream = llm.stream("hi").pipe(tool_accumulate(), smooth())
        assert not isinstance(stream, LiveStream)
        events = [event async for event in sf.aiter(stream)]
    assert "".join(event.text for event in events if isinstance(event, Chunk)) == "one two three"


async def test_the_response_is_that_of_the_operators():
    async with FakeProvider(Answer("<thinking>hm</thinking>yes")) as fake, connected(fake) as llm:
        stream = llm.stream("hi").pipe(xml_block_split())
        events = [event async for event in stream]
    assert_grammar(events)
    assert (events[-1].response.thinking, events[-1].response.text) == ("hm", "yes")
    assert stream.response == events[-1].response


async def test_the_partial_response_of_an_error_is_that_of_the_operators():
    async with FakeProvider(Answer("<thinking>hm</thinking>yes", ErrorEvent())) as fake, connected(fake) as llm:
        with pytest.raises(sf.ProviderError) as caught:
            await llm.stream("hi").pipe(xml_block_split()).collect()
    assert (caught.value.partial.thinking, caught.value.partial.text) == ("hm", "yes")


async def test_held_text_is_released_by_a_cancel():
    async with FakeProvider(Answer("a <think", Stall(), delta=100)) as fake, connected(fake) as llm:
        stream = llm.stream("hi").pipe(xml_block_split())
        events: list = []
        async for event in stream:
            events.append(event)
            if isinstance(event, Chunk):
                stream.cancel()
    assert_grammar(events)
    assert "".join(event.text for event in events if isinstance(event, Chunk)) == "a <think"
    assert events[-1].response.text == "a <think"


async def test_items_that_are_no_events():
    async with FakeProvider(Answer("One is here. Two is there.")) as fake, connected(fake) as llm:
        stream = llm.stream("hi").pipe(visible_filter(), sentence_segment())
        sentences = [item async for item in stream if isinstance(item, sf.Sentence)]
        assert [sentence.text.strip() for sentence in sentences] == ["One is here.", "Two is there."]
        assert stream.response.complete


async def test_a_fault_of_an_operator_ends_the_stream():
    class Broken:
        def feed(self, item):
            if isinstance(item, Chunk):
                raise ZeroDivisionError
            return [item]

        def flush(self):
            return []

        def abort(self, error):
            return []

    async with FakeProvider(Answer("one two", Stall())) as fake, connected(fake) as llm:
        with pytest.raises(ZeroDivisionError):
            await llm.stream("hi").pipe(sf.lift(Broken, "broken")).collect()
        await fake.wait_closed()


async def test_a_response_that_was_filled_already_is_not_spoilt():
    async with FakeProvider(Answer("Hi", ToolUse("f", {}))) as fake, connected(fake) as llm:
        events = [event async for event in llm.stream("hi").pipe(tool_accumulate(), to_response())]
    assert events[-1].response.tool_calls[0].name == "f"
    assert sum(isinstance(event, StreamCompleted) for event in events) == 1


async def test_many_streams_at_once():
    async with FakeProvider(lambda ask: Answer(ask.text, delta=3)) as fake, connected(fake) as llm:
        answers = await asyncio.gather(*(llm.collect(f"message number {number}") for number in range(150)))
        assert [answer.text for answer in answers] == [f"message number {number}" for number in range(150)]


async def test_a_shared_stream_is_one_request_and_the_last_to_leave_closes_it():
    async with FakeProvider(Answer("one two", Stall())) as fake, connected(fake) as llm:
        shared = llm.stream("hi").pipe(ops.share())
        got: list[list] = [[], [], []]
        subscriptions = [shared.subscribe(events.append) for events in got]
        while not all(len(events) == 4 for events in got):
            await asyncio.sleep(0.001)
        assert len(fake.requests) == 1
        for subscription in subscriptions[:2]:
            subscription.dispose()
        await asyncio.sleep(0.02)
        assert fake.connections[0].is_open
        subscriptions[2].dispose()
        await fake.wait_closed()


async def test_reading_on_after_the_end():
    async with FakeProvider(Answer("Hi")) as fake, connected(fake) as llm:
        iterator = aiter(llm.stream("hi"))
        assert [event async for event in iterator]
        assert [event async for event in iterator] == []
    async with FakeProvider(Answer(ErrorEvent())) as fake, connected(fake) as llm:
        iterator = aiter(llm.stream("hi"))
        with pytest.raises(sf.ProviderError):
            _ = [event async for event in iterator]
        assert [event async for event in iterator] == []


async def test_the_numbers_of_a_run():
    async with FakeProvider(Answer("one two three")) as fake, connected(fake) as llm:
        stream = llm.stream("hi")
        assert stream.stats is None
        events = [event async for event in stream]
        stats = stream.stats
    assert stats.events == len(events)
    assert stats.attempts == 1
    assert stats.bytes > 100
    assert 0 < stats.first_event_s <= stats.total_s


async def test_two_readers_of_one_iterator_are_told():
    async with FakeProvider(Answer("Hi", Stall())) as fake, connected(fake) as llm:
        iterator = aiter(llm.stream("hi"))
        first = asyncio.create_task(anext(iterator))
        await asyncio.sleep(0)
        with pytest.raises(sf.UsageError, match="two tasks"):
            await anext(iterator)
        assert (await first).provider == "openai"
        await iterator.aclose()


async def test_a_kept_connection_does_not_remember_its_answers():
    async with FakeProvider(Answer("Hi")) as fake, connected(fake) as llm:
        for _ in range(5):
            await llm.collect("hi")
        assert len(fake.connections) == 1
        [(protocol, _)] = next(iter(llm._settings.http._session.connector._conns.values()))
        assert not protocol.closed._callbacks


async def test_leaving_closes_the_connection_whoever_keeps_an_exception():
    kept: list[BaseException] = []
    async with FakeProvider(Answer("one", Stall())) as fake, connected(fake) as llm:
        stream = llm.stream("hi")
        start = stream._start

        def remembering(*arguments):
            run = start(*arguments)
            read = run.read

            async def remember_and_read():
                try:
                    raise KeyError("its frames are those of all who wait")
                except KeyError as error:
                    kept.append(error)
                return await read()

            run.read = remember_and_read
            return run

        stream._start = remembering
        async for event in stream:
            if isinstance(event, Chunk):
                break
        await fake.wait_closed()
    assert kept
