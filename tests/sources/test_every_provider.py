"""The client against the fake provider: every dialect, and every row of faults on the provider's side."""

import asyncio
import itertools
import time

import pytest

import streamflow as sf
from streamflow.events import Chunk, Retrying, StreamCompleted
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
    Pause,
    Ping,
    RawHttp,
    Reset,
    Stall,
    Thinking,
    ToolUse,
    assert_grammar,
    encode,
    gzip_bomb,
    redirect,
    run_virtually,
)

PLACES = {"region": "us-east-1", "project": "p", "location": "l", "account": "a"}
SOME = ["openai", "anthropic", "gemini", "bedrock", "openai-responses", "cohere", "ollama"]
MOMENT = Pause(0.02)  # because a reset overtakes what was sent right before it
SAID = "Hello big world, é \U0001f600"


def connected(fake: FakeProvider, provider: str = "openai", **options):
    places = PLACES if provider in ("vertex", "bedrock", "snowflake") else {}
    options = {"model": "m", "api_key": "canary-key-1", "base_url": fake.base_url(provider)} | places | options
    return sf.connect(provider, **options)


async def outcome(*script, provider: str = "openai", **options):
    """The events, the error or None, and the fake provider."""
    events: list = []
    async with FakeProvider(*script) as fake, connected(fake, provider, **options) as llm:
        try:
            async for event in llm.stream("hi"):
                events.append(event)
        except sf.StreamflowError as error:
            return events, error, fake
    return events, None, fake


def text_of(events) -> str:
    return "".join(event.text for event in events if isinstance(event, Chunk) and event.visible)


# -- every dialect


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("provider", sf.providers())
async def test_text_comes_from_every_provider(provider, stream):
    async with FakeProvider(Answer(SAID)) as fake, connected(fake, provider) as llm:
        if provider == "openai-assistants" and not stream:
            with pytest.raises(sf.UsageError, match="stream=True"):
                llm.stream("hi", stream=stream)
            return
        events = [event async for event in llm.stream("hi", stream=stream)]
    assert_grammar(events)
    response = events[-1].response
    assert (response.text, response.complete, response.stop_reason) == (SAID, True, "end_turn")


@pytest.mark.parametrize("provider", SOME)
async def test_thinking_and_calls_come(provider):
    script = Answer(Thinking("Hm."), ToolUse("weather", {"city": "Rome"}), cut=5, seed=1)
    async with FakeProvider(script) as fake, connected(fake, provider) as llm:
        response = await llm.collect("hi")
    assert [(call.name, call.arguments, call.runnable) for call in response.tool_calls] == [
        ("weather", {"city": "Rome"}, True)
    ]
    assert response.stop_reason == "tool_use"


# -- A1, A2


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_busy_provider_is_asked_again(provider, status):
    busy = HttpError(status, headers={"retry-after-ms": "1"})
    events, error, fake = await outcome(busy, busy, Answer(SAID), provider=provider)
    assert error is None
    assert len(fake.requests) == 3
    assert [isinstance(event, Retrying) for event in events[:3]] == [True, True, False]
    assert_grammar(events)


def test_the_waits_in_virtual_time():
    async def main() -> tuple[list[float], object]:
        loop = asyncio.get_running_loop()
        arrivals: list[float] = []

        def busy(ask) -> HttpError:
            arrivals.append(loop.time())
            return HttpError(503)

        _, error, _ = await outcome(busy, max_retries=4, random=lambda: 0.0)
        return arrivals, error

    arrivals, error = run_virtually(main())
    waits = [late - soon for soon, late in itertools.pairwise(arrivals)]
    assert waits == pytest.approx([0.5, 1, 2, 4], abs=0.1)
    assert error.status == 503


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
@pytest.mark.parametrize("provider", SOME)
async def test_a_refusal_is_one_typed_error(provider, status):
    refusal = HttpError(status, message="no, canary-key-1 is wrong")
    events, error, fake = await outcome(refusal, provider=provider)
    assert (events, len(fake.requests)) == ([], 1)
    assert (type(error), error.status, error.retryable, error.provider) == (sf.ProviderError, status, False, provider)
    assert "is wrong" in str(error)
    assert "canary" not in repr(error) + str(error) + repr(error.partial)


# -- A3 to A5


@pytest.mark.parametrize("provider", SOME)
async def test_an_error_inside_the_stream_keeps_the_text(provider):
    events, error, fake = await outcome(Answer(SAID, ErrorEvent()), provider=provider)
    assert type(error) is sf.ProviderError
    assert text_of(events) == error.partial.text == SAID
    assert (error.emitted, error.partial.complete, len(fake.requests)) == (True, False, 1)


@pytest.mark.parametrize("fault", [Cut(), Drop(), Reset()], ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("provider", SOME)
async def test_a_cut_stream_never_looks_finished(provider, fault):
    events, error, fake = await outcome(Answer(SAID, MOMENT, fault), provider=provider)
    assert type(error) is sf.StreamTruncated
    assert text_of(events) == error.partial.text == SAID
    assert not any(isinstance(event, StreamCompleted) for event in events)
    assert len(fake.requests) == 1


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_cut_at_any_byte_never_looks_finished(provider):
    cut = 0
    for place in range(1, 5000, 7):
        events, error, _ = await outcome(Answer("Hi é", break_at=place), provider=provider, max_retries=0)
        if error is None:  # the body is shorter than this
            break
        cut += 1
        assert type(error) is sf.StreamTruncated, place
        assert "Hi é".startswith(text_of(events))
        assert error.partial.text == text_of(events)
    assert cut > 60
    assert text_of(events) == "Hi é"


# -- A6, A7: in virtual time


def test_silence_ends_a_stream():
    async def main():
        begun = asyncio.get_running_loop().time()
        events, error, fake = await outcome(Answer(SAID, Stall()), idle_timeout_s=40)
        await fake.wait_closed()
        return events, error, asyncio.get_running_loop().time() - begun

    events, error, took = run_virtually(main())
    assert (type(error), error.kind, text_of(events)) == (sf.StreamStalled, "idle_timeout_s", SAID)
    assert took == pytest.approx(40, abs=1)


def test_keep_alives_are_no_progress():
    async def main():
        begun = asyncio.get_running_loop().time()
        _, error, _ = await outcome(
            Answer("Hi", Endless(Ping(), every_s=5)), idle_timeout_s=10, no_progress_timeout_s=60, provider="anthropic"
        )
        return error, asyncio.get_running_loop().time() - begun

    error, took = run_virtually(main())
    assert (type(error), error.kind) == (sf.StreamStalled, "no_progress_timeout_s")
    assert took == pytest.approx(60, abs=6)


# -- A8 to A14, A16


async def test_too_much_is_too_much():
    _, error, _ = await outcome(gzip_bomb(50_000_000), max_event_bytes=1_000_000)
    assert type(error) is sf.LimitExceeded
    _, error, _ = await outcome(Answer("Hi", Bytes(b"data: " + b"x" * 3_000_000)), max_event_bytes=1_000_000)
    assert type(error) is sf.LimitExceeded
    assert error.partial.text == "Hi"
    _, error, _ = await outcome(Answer(Endless(Bytes(b":" + b" " * 60_000 + b"\n"))), max_stream_bytes=1_000_000)
    assert (type(error), error.kind) == (sf.LimitExceeded, "max_stream_bytes")


async def test_malformed_json_is_a_typed_error():
    _, error, _ = await outcome(Answer("Hi", Bytes(b"data: {oops\n\n"), "more"))
    assert type(error) is sf.ProtocolError
    assert error.partial.text == "Hi"


@pytest.mark.parametrize("provider", SOME)
@pytest.mark.parametrize("cut", [1, 3])
async def test_the_cutting_does_not_matter(provider, cut):
    events, error, _ = await outcome(Answer(SAID, ToolUse("f", {"a": "é"}), cut=cut), provider=provider)
    assert error is None
    assert text_of(events) == SAID


async def test_data_after_the_end_is_ignored():
    wire = b"".join(encode("openai", Answer("Hello")))
    page = Page(wire + wire, content_type="text/event-stream")
    events, error, _ = await outcome(page)
    assert error is None
    assert text_of(events) == "Hello"
    assert isinstance(events[-1], StreamCompleted)


async def test_events_without_data_are_not_dispatched():
    odd = Bytes(b"retry: 10\n\nevent: x\n\nid: 5\n\n: hello\n\n")
    events, error, _ = await outcome(Answer(odd, "Hi", odd))
    assert error is None
    assert text_of(events) == "Hi"


@pytest.mark.parametrize(
    "reply",
    [Page("<html>Sign in</html>"), RawHttp(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")],
    ids=["html", "two lengths"],
)
@pytest.mark.parametrize("provider", SOME)
async def test_what_is_no_stream_is_a_protocol_error(provider, reply):
    events, error, _ = await outcome(reply, provider=provider)
    assert events == []
    assert type(error) is sf.ProtocolError


async def test_a_redirect_does_not_carry_the_key():
    async with FakeProvider(Answer("no")) as other:
        _, error, _ = await outcome(redirect(other.base_url("openai")))
        assert other.requests == []
    assert error.kind == "redirect"


async def test_a_broken_frame_of_aws_delivers_nothing():
    frames = encode("bedrock", Answer("Hello"))
    wire = bytearray(b"".join(frames))
    place = wire.index(b"Hello")
    wire[place] ^= 1
    page = Page(bytes(wire), content_type="application/vnd.amazon.eventstream")
    events, error, _ = await outcome(page, provider="bedrock", max_retries=0)
    assert isinstance(error, sf.ProtocolError)
    assert text_of(events) == ""


# -- leaving


@pytest.mark.parametrize(
    "script", [Answer("x", before=Stall()), Answer(Stall(), "x"), Answer("x", Stall())], ids=["head", "text", "middle"]
)
@pytest.mark.parametrize("way", ["dispose", "cancel", "task"])
async def test_the_provider_sees_the_close_at_once(script, way):
    async with FakeProvider(script) as fake, connected(fake) as llm:
        stream = llm.stream("hi")
        task = asyncio.create_task(stream.collect()) if way != "dispose" else None
        subscription = stream.subscribe(lambda event: None) if way == "dispose" else None
        await fake.wait_requests(1)
        await asyncio.sleep(0.01)
        left = time.monotonic()
        if subscription is not None:
            subscription.dispose()
        else:
            stream.cancel() if way == "cancel" else task.cancel()
        assert await fake.wait_closed() - left < 0.1
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled() is (way == "task")


async def test_a_pause_reaches_the_socket_of_the_provider():
    words = [f"word{number} " for number in range(20_000)]
    total = sum(map(len, encode("openai", Answer("".join(words)))))
    async with FakeProvider(Answer("".join(words)), send_buffer=4096) as fake, connected(fake) as llm:
        got: list[str] = []
        async for event in llm.stream("hi"):
            if isinstance(event, Chunk):
                if not got:
                    connection = await asyncio.wait_for(fake.wait_blocked(), 20)
                    sent = -1
                    while sent != connection.sent:  # the buffers on the way fill up first
                        sent = connection.sent
                        await asyncio.sleep(0.05)
                    assert sent < total / 2
                got.append(event.text)
    assert "".join(got) == "".join(words)
