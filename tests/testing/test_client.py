"""The client against FakeProvider: every provider, and every fault of the wire with its typed error."""

import asyncio
import gc
import time
import tracemalloc

import pytest

import streamflow as sf
from streamflow.testing import (
    Answer,
    Bytes,
    Cut,
    Drop,
    Endless,
    ErrorEvent,
    FakeProvider,
    HttpError,
    Page,
    Ping,
    RawHttp,
    Reset,
    Stall,
    Text,
    Thinking,
    Tokens,
    ToolUse,
    assert_grammar,
    gzip_bomb,
    redirect,
)

PLACES = {"vertex": {"project": "p", "location": "l"}, "snowflake": {"account": "a"}}
NO_STRUCTURE = {"openai-completions"}
NO_THINKING = NO_STRUCTURE | {"openai-assistants"}


def _connect(fake: FakeProvider, provider: str, **options):
    return sf.connect(
        provider,
        model="m",
        api_key="key-of-a-test",
        base_url=fake.base_url(provider),
        environ={},
        random=lambda: 0.0,
        **PLACES.get(provider, {}),
        **options,
    )


every_provider = pytest.mark.parametrize("provider", sf.providers())


@every_provider
async def test_an_answer_of_every_provider(provider):
    answer = Answer(
        Thinking("Let me see.", "c2ln"),
        "Grüß Gott, 世界",
        ToolUse("weather", {"city": "Köln"}),
        usage=Tokens(31, 17),
        cut=5,
    )
    async with FakeProvider(answer) as fake, _connect(fake, provider) as llm:
        stream = llm.stream("hi")
        events = [event async for event in stream]
        assert_grammar(events)
        response = stream.response
    assert (response.text, response.complete) == ("Grüß Gott, 世界", True)
    assert response.thinking == ("" if provider in NO_THINKING else "Let me see.")
    if provider not in NO_STRUCTURE:
        assert [(call.name, call.arguments) for call in response.tool_calls] == [("weather", {"city": "Köln"})]
    if provider != "openai-assistants":  # a run that waits for its tools has no counts yet
        assert (response.usage.input_tokens, response.usage.output_tokens) == (31, 17)


@every_provider
async def test_a_refusal_of_every_provider(provider):
    async with FakeProvider(HttpError(400, "wrong question")) as fake, _connect(fake, provider) as llm:
        with pytest.raises(sf.ProviderError, match="wrong question") as caught:
            await llm.collect("hi")
        assert (caught.value.status, len(fake.requests)) == (400, 1)


@every_provider
async def test_a_busy_provider_is_asked_again(provider):
    busy = HttpError(503, "busy", headers={"retry-after-ms": "1"})
    async with FakeProvider(busy, busy, Answer("Hi")) as fake, _connect(fake, provider) as llm:
        assert (await llm.collect("hi")).text == "Hi"
        assert len(fake.requests) == 3


@every_provider
@pytest.mark.parametrize("fault", [Cut(), Drop(), Reset()], ids=["cut", "drop", "reset"])
async def test_a_cut_answer_of_every_provider(provider, fault):
    async with FakeProvider(Answer("Hello", fault)) as fake, _connect(fake, provider) as llm:
        with pytest.raises(sf.TransportError) as caught:
            await llm.collect("hi")
        assert not caught.value.partial.complete
        if fault != Reset():  # which may overtake what was not read yet
            assert isinstance(caught.value, sf.StreamTruncated)
            assert caught.value.partial.text == "Hello"
            assert len(fake.requests) == 1


@every_provider
async def test_an_error_inside_the_stream_of_every_provider(provider):
    answer = Answer("Hello", ErrorEvent("too busy", status=503))
    async with FakeProvider(answer) as fake, _connect(fake, provider) as llm:
        with pytest.raises(sf.ProviderError, match="too busy") as caught:
            await llm.collect("hi")
        assert (caught.value.partial.text, caught.value.emitted, len(fake.requests)) == ("Hello", True, 1)


@pytest.mark.parametrize(
    ("reply", "error", "options"),
    [
        (Page("<html>Sign in</html>"), sf.ProtocolError, {}),
        (redirect("http://127.0.0.1:9/"), sf.StreamflowError, {"max_retries": 0}),
        (gzip_bomb(64 << 20), sf.LimitExceeded, {"max_stream_bytes": 1 << 20}),
        (Answer("a", Bytes(b": " + b"x" * 70_000 + b"\n\n")), sf.LimitExceeded, {"max_event_bytes": 65536}),
        (Answer("a", Bytes(b"data: {oops\n\n")), sf.ProtocolError, {}),
        (Answer("a", Stall()), sf.StreamStalled, {"idle_timeout_s": 0.05}),
        (Answer("a", Endless(Ping(), 0.005)), sf.StreamStalled, {"no_progress_timeout_s": 0.1}),
        (Answer("a", before=Stall()), sf.TransportError, {"first_event_timeout_s": 0.05, "max_retries": 0}),
        (Answer("a", before=Reset()), sf.TransportError, {"max_retries": 0}),
        (Answer(Endless(Text("word "))), sf.LimitExceeded, {"max_events": 500}),
        (
            RawHttp(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
            sf.StreamflowError,
            {"max_retries": 0},
        ),
    ],
    ids=["page", "redirect", "bomb", "long", "json", "stall", "loris", "silent", "reset", "endless", "lengths"],
)
async def test_faults_have_their_types(reply, error, options):
    async with FakeProvider(reply) as fake, _connect(fake, "anthropic", **options) as llm:
        with pytest.raises(error):
            await llm.collect("hi")
        if isinstance(reply, Answer) and isinstance((*reply.parts, *reply.before)[-1], Stall | Endless):
            await fake.wait_closed()  # the server would have gone on for ever


async def test_a_slow_close_does_not_hold_up_the_answer():
    async with FakeProvider(Answer("Hi", after=Stall())) as fake, _connect(fake, "anthropic") as llm:
        assert (await llm.collect("hi")).text == "Hi"


async def test_back_pressure_reaches_the_server_and_nothing_is_lost():
    count = 3000
    parts = [Text(f"<{number:05d}>" + "x" * 2000) for number in range(count)]
    answer = Answer(*parts, delta=4000)
    async with FakeProvider(answer, send_buffer=65536) as fake, _connect(fake, "anthropic") as llm:
        tracemalloc.start()
        iterator = aiter(llm.stream("hi"))
        first = [await anext(iterator) for _ in range(3)]
        connection = await fake.wait_blocked()
        gc.collect()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert connection.sent < count * 2000
        assert peak < 3_000_000
        events = [*first, *[event async for event in iterator]]
    text = "".join(event.text for event in events if isinstance(event, sf.events.Chunk))
    assert len(text) == count * 2007
    assert sf.collect(events).complete


@pytest.mark.parametrize("answer", [Answer("a", Stall()), Answer("a", before=Stall()), Answer(Stall())])
async def test_a_cancelled_task_closes_the_socket(answer):
    async with FakeProvider(answer) as fake, _connect(fake, "anthropic") as llm:
        task = asyncio.create_task(llm.collect("hi"))
        await fake.wait_requests()
        await asyncio.sleep(0)
        left_at = time.monotonic()
        task.cancel()
        assert await fake.wait_closed() - left_at < 0.1
        with pytest.raises(asyncio.CancelledError):
            await task
