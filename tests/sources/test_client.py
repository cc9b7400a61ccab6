"""The client in ordinary use, and used wrongly."""

import asyncio

import orjson
import pytest

import streamflow as sf
from streamflow.events import BlockStart, Chunk, StreamCompleted, StreamStart
from streamflow.operators import tool_accumulate, visible_filter
from tests.support.grammar import assert_grammar
from tests.support.raw_server import CHUNKED, Connection, RawServer, chat, chunk, whole

END = b"0\r\n\r\n"


def client(server: RawServer, **options):
    return sf.connect("openai", **{"model": "m", "api_key": "sk-canary-0123456789", "base_url": server.url} | options)


async def hello(connection: Connection) -> None:
    await connection.send(CHUNKED + chunk(chat("Hel", "lo")) + END)


async def test_text_streams_and_the_end_carries_the_response():
    async with RawServer(hello) as server, client(server) as llm:
        events = [event async for event in llm.stream("hi")]
    assert_grammar(events)
    assert [type(event) for event in events[:3]] == [StreamStart, BlockStart, Chunk]
    assert isinstance(events[-1], StreamCompleted)
    assert events[-1].response.text == "Hello"
    assert events[-1].response.complete


async def test_the_request_says_what_was_asked():
    async with RawServer(hello) as server, client(server, temperature=0.5) as llm:
        await llm.collect([{"role": "user", "content": "hi"}], max_tokens=7)
    request = server.requests[0]
    assert request.head.startswith(b"POST /v1/chat/completions HTTP/1.1")
    assert request.header("authorization") == "Bearer sk-canary-0123456789"
    body = orjson.loads(request.body)
    assert body["model"] == "m"
    assert body["stream"] is True
    assert body["temperature"] == 0.5


@pytest.mark.parametrize("as_keyword", [True, False])
async def test_a_raw_body_is_sent_as_it_is(as_keyword):
    body = {"messages": [{"role": "user", "content": "x"}], "vendor_field": {"a": 1}, "model": "other"}
    async with RawServer(hello) as server, client(server) as llm:
        await (llm.collect(body=body) if as_keyword else llm.collect(body))
    sent = orjson.loads(server.requests[0].body)
    assert {name: sent[name] for name in body} == body
    assert sent["stream"] is True


async def test_collect_gives_the_whole_response():
    async with RawServer(hello) as server, client(server) as llm:
        response = await llm.collect("hi")
    assert (response.text, response.complete, response.stop_reason) == ("Hello", True, "end_turn")


async def test_subscribing_pushes_the_same_events():
    async with RawServer(hello) as server, client(server) as llm:
        pulled = [event async for event in llm.stream("hi")]
        pushed: list = []
        over = asyncio.Event()
        llm.stream("hi").subscribe(pushed.append, on_completed=over.set)
        await over.wait()
    assert pushed == pulled


async def test_nothing_is_sent_before_somebody_listens_and_each_listener_has_its_own_request():
    async with RawServer(hello) as server, client(server) as llm:
        stream = llm.stream("hi")
        assert stream.response is None
        await asyncio.sleep(0)
        assert server.requests == []
        await stream.collect()
        await stream.collect()
        assert len(server.requests) == 2


async def test_a_pipe_of_our_operators_stays_a_live_stream():
    async with RawServer(hello) as server, client(server) as llm:
        stream = llm.stream("hi").pipe(tool_accumulate(), visible_filter())
        assert [item.text async for item in stream] == ["Hel", "lo"]
        assert stream.response.text == "Hello"
        assert stream.response.complete


async def test_whole_answers_give_the_same_events():
    message = {"role": "assistant", "content": "Hello"}
    answer = {"id": "1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

    async def at_once(connection: Connection) -> None:
        await connection.send(whole(200, orjson.dumps(answer), content_type="application/json"))

    async with RawServer(at_once) as server, client(server) as llm:
        events = [event async for event in llm.stream("hi", stream=False)]
    assert_grammar(events)
    assert events[-1].response.text == "Hello"
    assert not orjson.loads(server.requests[0].body).get("stream")


async def test_the_connection_is_kept():
    async with RawServer(hello) as server, client(server) as llm:
        for _ in range(3):
            await llm.collect("hi")
        assert (server.sockets, len(server.requests)) == (1, 3)


async def test_a_late_end_of_the_body_delays_nothing_and_keeps_the_connection():
    release = asyncio.Event()

    async def slow_close(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(chat("Hello")))
        await release.wait()
        await connection.send(END)

    async with RawServer(slow_close) as server, client(server) as llm:
        assert (await llm.collect("hi")).text == "Hello"
        release.set()
        await asyncio.sleep(0.02)
        await llm.collect("hi")
        assert server.sockets == 1


@pytest.mark.parametrize(
    ("provider", "options", "says"),
    [
        ("openai", {"environ": {}, "model": "m"}, "OPENAI_API_KEY"),
        ("anthropic", {"environ": {}, "model": "m"}, "ANTHROPIC_API_KEY"),
        ("gemini", {"environ": {}, "model": "m"}, "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("opnai", {"api_key": "k"}, "Did you mean 'openai'"),
        ("openai", {"api_key": "k", "base_url": "not a url"}, "base_url"),
        ("openai", {"api_key": "k", "base_url": "ftp://x"}, "base_url"),
        ("openai", {"api_key": "k", "base_url": "http://x:99999"}, "base_url"),
        ("openai", {"api_key": "k", "base_url": "http://me:pw@x"}, "base_url"),
        ("openai", {"api_key": "two words"}, "copy it again"),
        ("openai", {"api_key": 5}, "api_key must be a string"),
        ("openai-compatible", {"environ": {}}, "base_url="),
        ("openai", {"api_key": "k", "idle_timeout_s": -1}, "idle_timeout_s"),
        ("openai", {"api_key": "k", "max_retries": -1}, "max_retries"),
        ("openai", {"api_key": "k", "max_event_bytes": 0}, "max_event_bytes"),
        ("openai", {"api_key": "k", "max_events": 0}, "max_events"),
    ],
)
def test_wrong_connections_say_what_to_do(provider, options, says):
    with pytest.raises(sf.UsageError, match=says.replace("(", r"\(")):
        sf.connect(provider, **options)


async def test_wrong_streams_say_what_to_do():
    async with sf.connect("openai", api_key="k", environ={}) as llm:
        with pytest.raises(sf.UsageError, match="which model"):
            llm.stream("hi")
        with pytest.raises(sf.UsageError, match="nothing to send"):
            llm.stream()
        with pytest.raises(sf.UsageError, match="on_bad_frame"):
            llm.stream("hi", model="m", on_bad_frame="maybe")
        stream = llm.stream("hi", model="m")
    with pytest.raises(sf.UsageError, match="closed"):
        llm.stream("hi", model="m")
    with pytest.raises(sf.UsageError, match="closed"):
        await stream.collect()


def test_subscribing_outside_of_a_loop_says_what_to_do():
    stream = sf.connect("openai", api_key="k", model="m", environ={}).stream("hi")
    errors: list = []
    stream.subscribe(print, errors.append)
    assert "running event loop" in str(errors[0])
