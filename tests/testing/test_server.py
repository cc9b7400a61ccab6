# ruff: noqa: SIM117
"""FakeProvider over real sockets: every kind of reply and fault, seen by a plain client."""

import asyncio
import time

import aiohttp
import pytest

import streamflow as sf
from streamflow.errors import UsageError
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
    Text,
    ToolUse,
    encode,
    gzip_bomb,
    redirect,
)

ASKED = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
PATH = "/v1/messages"


def _url(fake: FakeProvider) -> str:
    return fake.base_url("anthropic") + PATH


async def _body(fake: FakeProvider, asked: dict = ASKED) -> bytes:
    async with aiohttp.ClientSession() as session, session.post(_url(fake), json=asked) as response:
        return await response.read()


async def _until_error(fake: FakeProvider) -> tuple[bytes, BaseException | None]:
    got = b""
    async with aiohttp.ClientSession() as session:
        try:
            async with session.post(_url(fake), json=ASKED) as response:
                async for piece in response.content.iter_any():
                    got += piece
        except aiohttp.ClientError as error:
            return got, error
    return got, None


async def test_bytes_are_those_of_the_encoder_however_they_are_cut():
    answer = Answer("Hello big world, ", ToolUse("weather", {"city": "Rome"}), model="m")
    expected = b"".join(encode("anthropic", answer))
    for options in ({}, {"cut": 1}, {"cut": 7}, {"cut": 30, "seed": 4}):
        async with FakeProvider(Answer(*answer.parts, model="m", **options)) as fake:
            assert await _body(fake) == expected


async def test_requests_are_kept_with_headers_and_body():
    async with FakeProvider(Answer("Hi")) as fake, aiohttp.ClientSession() as session:
        async with session.post(_url(fake), json=ASKED, headers={"X-Api-Key": "k"}):
            pass
        (request,) = fake.requests
        assert (request.method, request.path, request.body) == ("POST", "/anthropic/v1/messages", ASKED)
        assert request.headers["x-api-key"] == "k"
        assert request.connection is fake.connections[0]


async def test_replies_come_in_order_and_the_last_repeats():
    async with FakeProvider(HttpError(503), Answer("one"), lambda ask: Answer(ask.text.upper())) as fake:
        assert sf.read("anthropic", await _body(fake)).error.kind == "api_error"
        texts = [sf.read("anthropic", await _body(fake)).text for _ in range(3)]
        assert texts == ["one", "HI", "HI"]


@pytest.mark.parametrize(
    ("fault", "error"), [(Drop(), aiohttp.ClientPayloadError), (Reset(), aiohttp.ClientError), (Cut(), None)]
)
async def test_faults_in_the_body(fault, error):
    async with FakeProvider(Answer("Hello there", fault, "never")) as fake:
        body, raised = await _until_error(fake)
        assert (raised is None) if error is None else isinstance(raised, error)
        answer = sf.read("anthropic", body)
        assert not answer.complete
        assert answer.error.type == "StreamTruncated"
        assert answer.text in ("Hello there", "")  # a reset may throw away what was not read yet


async def test_break_at_a_byte():
    whole = b"".join(encode("anthropic", Answer("Hello", model="m")))
    async with FakeProvider(Answer("Hello", model="m", break_at=100, break_with=Cut())) as fake:
        assert await _body(fake) == whole[:100]
    async with FakeProvider(Answer("Hello", model="m", break_at=100, break_with=Pause(0))) as fake:
        assert await _body(fake) == whole


@pytest.mark.parametrize("before", [Reset(), Drop()])
async def test_faults_before_the_headers(before):
    async with FakeProvider(Answer("Hello", before=before)) as fake:
        body, raised = await _until_error(fake)
        assert body == b""
        assert isinstance(raised, aiohttp.ClientError)


@pytest.mark.parametrize(
    "answer",
    [
        Answer("Hello", Stall()),
        Answer("x", before=Stall()),
        Answer(Endless(Ping())),
        Answer(Endless(Text("a "), 0.001)),
    ],
)
async def test_a_close_is_seen_at_once(answer):
    async with FakeProvider(answer) as fake:
        async with aiohttp.ClientSession() as session:
            task = asyncio.create_task(session.post(_url(fake), json=ASKED))
            await fake.wait_requests()
            if not answer.before:
                response = await task
                await response.content.readany()
            assert fake.open_connections == 1
            left_at = time.monotonic()
            if answer.before:
                task.cancel()
            else:
                response.close()
            closed_at = await fake.wait_closed()
            assert closed_at - left_at < 0.1
        assert fake.open_connections == 0


async def test_back_pressure_is_seen():
    async with FakeProvider(Answer(Endless(Bytes(b": " + b"x" * 20_000 + b"\n")))) as fake:
        async with aiohttp.ClientSession() as session, session.post(_url(fake), json=ASKED) as response:
            connection = await fake.wait_blocked()
            written, sent = connection.written, connection.sent
            assert 0 < sent < written
            for _ in range(1000):
                await response.content.readany()
                if connection.written > written:
                    break
            assert connection.written > written
        await fake.wait_closed()


async def test_virtual_sleep():
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    async with FakeProvider(Answer("a b", Pause(3600), delay_s=60), sleep=sleep) as fake:
        assert sf.read("anthropic", await _body(fake)).text == "a b"
    assert slept == [60, 60, 3600]


async def test_a_slow_close_keeps_the_connection_behind_the_end():
    async with FakeProvider(Answer("Hi", after=Stall())) as fake:
        async with aiohttp.ClientSession() as session, session.post(_url(fake), json=ASKED) as response:
            got = b""
            while b"message_stop" not in got:
                got += await response.content.readany()
            assert not response.content.at_eof()


async def test_http_errors_have_the_service_s_body_and_our_headers():
    async with FakeProvider(HttpError(429, "slow down", headers={"retry-after-ms": "20"})) as fake:
        async with aiohttp.ClientSession() as session, session.post(_url(fake), json=ASKED) as response:
            assert response.status == 429
            assert response.headers["retry-after-ms"] == "20"
            assert (await response.json())["error"] == {"type": "rate_limit_error", "message": "slow down"}


async def test_pages_redirects_bombs_and_raw_responses():
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"
    async with FakeProvider(Page("<html>"), redirect("/elsewhere"), gzip_bomb(1 << 20), RawHttp(raw)) as fake:
        async with aiohttp.ClientSession() as session:
            async with session.post(_url(fake), json=ASKED) as response:
                assert (response.content_type, await response.text()) == ("text/html", "<html>")
            async with session.post(_url(fake), json=ASKED, allow_redirects=False) as response:
                assert (response.status, response.headers["location"]) == (307, "/elsewhere")
            async with session.post(_url(fake), json=ASKED) as response:
                assert len(await response.read()) == (1 << 20) + 1
            with pytest.raises(aiohttp.ClientError):
                await session.post(_url(fake), json=ASKED)


async def test_not_streamed():
    answer = Answer("Hello ", Pause(0), "there", ToolUse("f", {"a": 1}, id="t1"))
    async with FakeProvider(answer, Answer("x", ErrorEvent("busy"))) as fake:
        asked = {**ASKED, "stream": False}
        response = sf.read("anthropic", await _body(fake, asked))
        assert (response.text, response.tool_calls[0].id, response.complete) == ("Hello there", "t1", True)
        assert sf.read("anthropic", await _body(fake, asked)).error.status == 529


async def test_unknown_address_and_bad_body():
    async with FakeProvider() as fake, aiohttp.ClientSession() as session:
        async with session.post(fake.root + "/nowhere", json={}) as response:
            assert response.status == 404
        async with session.post(_url(fake), data=b"[1") as response:
            assert response.status == 400


async def test_it_stops_whatever_goes_on():
    fake = await FakeProvider(Answer("x", Stall())).start()
    async with aiohttp.ClientSession() as session, session.post(_url(fake), json=ASKED) as response:
        await response.content.readany()
        await fake.stop()
        assert fake.open_connections == 0
    await fake.stop()


def test_wrong_use():
    with pytest.raises(UsageError, match="not running"):
        _ = FakeProvider().root
    with pytest.raises(UsageError, match="is no reply"):
        FakeProvider(Text("x"))
    with pytest.raises(UsageError, match="is no part"):
        Answer(HttpError(500))
    with pytest.raises(UsageError, match="endless"):
        encode("openai", Answer(Endless(Ping())))


async def test_waiting_says_what_did_not_come():
    async with FakeProvider() as fake:
        with pytest.raises(TimeoutError, match="saw no 1 requests within"):
            await fake.wait_requests(timeout_s=0.01)
