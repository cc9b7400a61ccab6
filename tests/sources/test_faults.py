"""Every fault on the provider's side ends in one typed error with what came before it; against bare sockets."""

import asyncio
import gzip
import tracemalloc
import zlib

import orjson
import pytest

import streamflow as sf
from streamflow.events import Chunk, Retrying, StreamCompleted
from tests.sources.test_client import END, client, hello
from tests.support.raw_server import CHUNKED, OK, UNTIL_CLOSE, Connection, RawServer, chat, chunk, whole

TEXT = chat("Hel", "lo", finish=None, done=False)


async def outcome(script, **options):
    """The events, the error (None if there is none) and the server."""
    events: list = []
    decoding = {name: options.pop(name) for name in ("on_bad_frame",) if name in options}
    async with RawServer(script) as server, client(server, **{"max_retries": 0} | options) as llm:
        try:
            async for event in llm.stream("hi", **decoding):
                events.append(event)
        except sf.StreamflowError as error:
            return events, error, server
    return events, None, server


def text_of(events) -> str:
    return "".join(event.text for event in events if isinstance(event, Chunk))


def assert_cut(events, error, kind=sf.StreamTruncated, text="Hello"):
    assert type(error) is kind
    assert text_of(events) == text
    assert error.partial.text == text
    assert error.partial.complete is False
    assert error.partial.error is error
    assert error.emitted is (text != "")
    assert error.provider == "openai"
    assert not any(isinstance(event, StreamCompleted) for event in events)


# -- A2: refusals


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a2_a_refusal_is_final_and_typed(status):
    body = orjson.dumps({"error": {"message": "wrong key sk-canary-0123456789", "type": "invalid_request_error"}})

    async def refuse(connection: Connection) -> None:
        await connection.send(whole(status, body, content_type="application/json", x_request_id="req_7"))

    events, error, server = await outcome(refuse, max_retries=2)
    assert (events, len(server.requests)) == ([], 1)
    assert type(error) is sf.ProviderError
    assert (error.status, error.kind, error.retryable) == (status, "invalid_request_error", False)
    assert "req_7" in error.message
    assert "canary" not in str(error) + repr(error) + repr(error.partial)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'[{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}]', "not valid"),
        (b'{"message": "no such model"}', "no such model"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b"<html>Bad Gateway</html>", "Bad Gateway"),
        (b"", "no explanation"),
        (b'{"error": ', "error"),
    ],
)
async def test_a_refusal_says_what_the_body_says(body, says):
    async def refuse(connection: Connection) -> None:
        await connection.send(whole(400, body))

    _, error, _ = await outcome(refuse)
    assert says in error.message
    assert "HTTP 400" in error.message


async def test_a_refusal_in_gzip_is_read():
    async def refuse(connection: Connection) -> None:
        await connection.send(whole(400, gzip.compress(b'{"message": "no"}'), content_encoding="gzip"))

    _, error, _ = await outcome(refuse)
    assert error.message.startswith("openai: no (")


# -- A3: errors inside a good answer


async def test_a3_an_error_event_keeps_the_text_and_is_not_retried():
    wrong = b'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n'

    async def fail(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(TEXT + wrong) + END)

    events, error, server = await outcome(fail, max_retries=2)
    assert_cut(events, error, sf.ProviderError)
    assert error.retryable
    assert len(server.requests) == 1


# -- A4, A5: cuts


async def test_a4_a_reset_keeps_what_came():
    async def reset(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(TEXT))
        await asyncio.sleep(0.02)  # a reset overtakes what was sent right before it
        connection.reset()

    events, error, _ = await outcome(reset)
    assert_cut(events, error)


async def test_a4_a_cut_chunk_keeps_what_came():
    async def cut(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(TEXT) + b"ff\r\ndata: {")
        connection.writer.close()

    events, error, _ = await outcome(cut)
    assert_cut(events, error)


@pytest.mark.parametrize("garbage", [b"zz\r\nabc\r\n", b"5\r\nabcdefgh\r\n", b"-1\r\n", b"f" * 20 + b"\r\n"])
async def test_a4_garbled_chunks_are_seen_at_once(garbage):
    async def garble(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(TEXT))
        await asyncio.sleep(0.01)
        await connection.send(garbage)
        await connection.closed()

    async with asyncio.timeout(5):
        events, error, _ = await outcome(garble)
    assert_cut(events, error, sf.ProtocolError)


async def test_a_cut_body_that_nobody_was_reading_is_not_lost():
    sent = asyncio.Event()

    async def cut(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(chat("a", finish=None, done=False)))
        await asyncio.sleep(0.01)
        await connection.send(chunk(chat("b", "c", finish=None, done=False)) + b"ff\r\n")
        connection.writer.close()
        sent.set()

    seen: list = []

    async def read_with_a_pause(llm) -> None:
        async for event in llm.stream("hi"):
            seen.append(event)
            if isinstance(event, Chunk) and event.text == "a":
                await sent.wait()
                await asyncio.sleep(0.02)

    async with RawServer(cut) as server, client(server) as llm:
        with pytest.raises(sf.StreamTruncated) as caught:
            await read_with_a_pause(llm)
    assert text_of(seen) == caught.value.partial.text == "abc"


@pytest.mark.parametrize(
    "tail",
    [b"", b"data: {", b'data: {"id":"1","choices":[{"delta":{"content":"\xc3', chat("", finish="stop", done=False)],
    ids=["clean", "in an event", "in a character", "after the finish reason"],
)
@pytest.mark.parametrize("framing", ["chunked", "until close", "length"])
async def test_a5_an_end_without_the_end_marker_is_a_cut(tail, framing):
    body = TEXT + tail

    async def end(connection: Connection) -> None:
        if framing == "chunked":
            await connection.send(CHUNKED + chunk(body) + END)
        elif framing == "length":
            await connection.send(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        else:
            await connection.send(UNTIL_CLOSE + body)
        connection.writer.close()

    assert_cut(*(await outcome(end))[:2])


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200", CHUNKED, OK + b"Content-Length: 0\r\n\r\n"])
async def test_a5_no_answer_at_all_is_a_fault_of_the_network(answer):
    async def leave(connection: Connection) -> None:
        await connection.send(answer)
        connection.writer.close()

    events, error, _ = await outcome(leave)
    assert events == []
    assert isinstance(error, sf.TransportError)
    assert error.emitted is False


# -- A8, S9, S11: too much


async def test_a8_an_event_without_end_is_refused():
    async def long_line(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(TEXT))
        piece = chunk(b"x" * 65536)
        await connection.send(chunk(b"data: "))
        while True:
            await connection.send(piece)

    events, error, _ = await outcome(long_line, max_event_bytes=1_000_000)
    assert_cut(events, error, sf.LimitExceeded)
    assert error.kind == "max_event_bytes"


async def test_a8_a_stream_without_end_is_refused():
    async def endless(connection: Connection) -> None:
        await connection.send(CHUNKED)
        piece = chunk(chat(*["x" * 1000] * 50, finish=None, done=False))
        while True:
            await connection.send(piece)

    _, error, _ = await outcome(endless, max_stream_bytes=500_000)
    assert type(error) is sf.LimitExceeded
    assert error.kind == "max_stream_bytes"
    assert 100_000 < len(error.partial.text) < 500_000
    _, error, _ = await outcome(endless, max_events=1000)
    assert (type(error), error.kind) == (sf.LimitExceeded, "max_events")


def bomb(text: bytes, size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = [packer.compress(TEXT)]
    packed += [packer.compress(text * (1_000_000 // len(text))) for _ in range(size // 1_000_000)]
    return b"".join(packed) + packer.flush()


@pytest.mark.parametrize("text", [b"data: " + b"x" * 99_994, b":" + b"x" * 997 + b"\n\n"], ids=["line", "pings"])
async def test_a8_a_bomb_ends_in_a_limit_with_little_memory(text):
    packed = bomb(text, 100_000_000)

    async def explode(connection: Connection) -> None:
        await connection.send(CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + chunk(packed) + END)

    tracemalloc.start()
    try:
        events, error, _ = await outcome(explode, max_event_bytes=2_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert_cut(events, error, sf.LimitExceeded)
    assert peak < 16_000_000


async def test_honest_compression_is_read():
    packed = gzip.compress(chat(*[f"word{n} " for n in range(500)]))

    async def pack(connection: Connection) -> None:
        await connection.send(CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n"))
        for place in range(0, len(packed), 7):
            await connection.send(chunk(packed[place : place + 7]))
        await connection.send(END)

    events, error, _ = await outcome(pack)
    assert error is None
    assert text_of(events) == "".join(f"word{n} " for n in range(500))


@pytest.mark.parametrize("encoding", ["br", "gzip"])
async def test_compression_that_cannot_be_read_is_named(encoding):
    async def pack(connection: Connection) -> None:
        head = CHUNKED.replace(b"\r\n\r\n", f"\r\nContent-Encoding: {encoding}\r\n\r\n".encode())
        await connection.send(head + chunk(b"no compression at all") + END)

    _, error, _ = await outcome(pack)
    assert type(error) is sf.ProtocolError
    assert "compressed" in error.message


# -- A9 to A13: odd bytes


@pytest.mark.parametrize("bad", [b"data: {no json}\n\n", b"data: [1]\n\n", b"data: " + b"[" * 100_000 + b"\n\n"])
async def test_a9_a_malformed_frame_is_an_error_or_a_notice(bad):
    async def malformed(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(TEXT + bad + chat("!")) + END)

    events, error, _ = await outcome(malformed)
    assert_cut(events, error, sf.ProtocolError)
    assert error.position is not None
    events, error, _ = await outcome(malformed, on_bad_frame="skip")
    assert error is None
    assert text_of(events) == "Hello!"
    assert any(getattr(event, "code", "") == "bad_frame" for event in events)


async def test_a10_a_surrogate_pair_over_two_deltas_is_joined():
    halves = b"".join(b'data: {"choices":[{"delta":{"content":"\\u%s"}}]}\n\n' % half for half in (b"d83d", b"de00"))

    async def torn(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(halves + chat()) + END)

    events, error, _ = await outcome(torn)
    assert error is None
    assert text_of(events) == "\U0001f600"


@pytest.mark.parametrize("size", [1, 2, 7])
async def test_a11_odd_bytes_in_small_pieces(size):
    wire = b"\xef\xbb\xbf: hello\r\nretry: 10\r\n\r\nevent: x\r\r\n" + chat("é\u2028\x85\x0b", "\U0001f600").replace(
        b"\n", b"\r\n"
    )

    async def drip(connection: Connection) -> None:
        await connection.send(CHUNKED)
        for place in range(0, len(wire), size):
            await connection.send(chunk(wire[place : place + size]))
        await connection.send(END)

    events, error, _ = await outcome(drip)
    assert error is None
    assert text_of(events) == "é\u2028\x85\x0b\U0001f600"


async def test_a11_invalid_utf8_is_replaced():
    async def invalid(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(chat("a#b").replace(b"#", b"\xff")) + END)

    events, error, _ = await outcome(invalid)
    assert error is None
    assert text_of(events) == "a\ufffdb"


@pytest.mark.parametrize("together", [True, False])
async def test_a12_data_after_the_end_is_ignored(together):
    async def chatter(connection: Connection) -> None:
        await connection.send(CHUNKED + chunk(chat("Hello") + chat("more") * together))
        await connection.send(chunk(chat("more")) + END)

    events, error, _ = await outcome(chatter)
    assert error is None
    assert isinstance(events[-1], StreamCompleted)
    assert events[-1].response.text == text_of(events) == "Hello"


# -- A14: not a stream


@pytest.mark.parametrize(
    "answer",
    [
        whole(200, b"<!doctype html><html><body>Sign in</body></html>", content_type="text/html"),
        whole(200, b"<html>Sign in</html>", content_type="text/event-stream"),
        whole(200, b"data: 1\n\n", content_type="text/html\r\nContent-Type: text/event-stream"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 9\r\n\r\ndata: 1\n\n",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad Header\r\n\r\n",
    ],
    ids=["html", "html as events", "two types", "two lengths", "ssh", "bad header"],
)
async def test_a14_what_is_no_stream_is_a_protocol_error(answer):
    async def other(connection: Connection) -> None:
        await connection.send(answer)
        connection.writer.close()

    events, error, server = await outcome(other, max_retries=2)
    assert events == []
    assert type(error) is sf.ProtocolError
    assert len(server.requests) == 1


# -- addresses


async def test_a_host_that_nobody_listens_at():
    async with RawServer(hello) as server:
        pass
    async with client(server, max_retries=0) as llm:
        with pytest.raises(sf.TransportError, match=r"check base_url.*refused"):
            await llm.collect("hi")


async def test_a_host_that_does_not_exist():
    async with sf.connect("openai", model="m", api_key="k", base_url="http://nowhere.invalid", max_retries=0) as llm:
        with pytest.raises(sf.TransportError, match="host is unknown"):
            await llm.collect("hi")


async def test_tls_to_a_plain_server_says_so():
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(whole(400))
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with sf.connect("openai", model="m", api_key="k", base_url=url) as llm:
            with pytest.raises(sf.TransportError, match="http://") as caught:
                await llm.collect("hi")
    assert caught.value.retryable is False


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_host_never_carries_the_key(status):
    async with RawServer(hello) as other:

        async def away(connection: Connection) -> None:
            await connection.send(whole(status, b"", location=f"http://localhost:{other.port}/v1/chat?key=1"))

        _, error, _ = await outcome(away, max_retries=2)
        assert other.requests == []
    assert (type(error), error.status, error.kind) == (sf.ProviderError, status, "redirect")
    assert "base_url" in error.message


async def test_a_redirect_on_the_same_host_is_followed():
    async def along(connection: Connection) -> None:
        if b"/v1/chat" in connection.head.split(b"\r\n")[0]:
            await connection.send(whole(307, b"", location="/elsewhere"))
        else:
            await hello(connection)

    events, error, server = await outcome(along)
    assert error is None
    assert text_of(events) == "Hello"
    assert server.requests[1].body == server.requests[0].body


async def test_a_redirect_without_end_is_an_error():
    async def around(connection: Connection) -> None:
        await connection.send(whole(307, b"", location="/again"))

    _, error, server = await outcome(around)
    assert (type(error), error.kind) == (sf.ProviderError, "redirect")
    assert len(server.requests) <= 4


# -- A1: retries, in real time but without waiting


async def test_a_retried_failure_is_visible_and_then_forgotten():
    async def busy(connection: Connection) -> None:
        if connection.number < 2:
            await connection.send(whole((429, 503)[connection.number], b"{}", retry_after_ms="1"))
        else:
            await hello(connection)

    events, error, server = await outcome(busy, max_retries=2)
    assert error is None
    assert len(server.requests) == 3
    assert [(event.attempt, event.max_attempts) for event in events[:2]] == [(1, 3), (2, 3)]
    assert all(isinstance(event, Retrying) and not event.discard for event in events[:2])
    assert text_of(events) == "Hello"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200", CHUNKED + chunk(b": ping\n\n")])
async def test_a_connection_that_breaks_before_the_first_event_is_retried(answer):
    async def moody(connection: Connection) -> None:
        if connection.number == 0:
            await connection.send(answer)
            connection.reset()
        else:
            await hello(connection)

    events, error, server = await outcome(moody, max_retries=1, random=lambda: 1.0)
    assert error is None
    assert isinstance(events[0], Retrying)
    assert (text_of(events), len(server.requests)) == ("Hello", 2)


async def test_an_error_event_before_everything_else_is_retried():
    async def overloaded(connection: Connection) -> None:
        if connection.number == 0:
            wrong = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            await connection.send(CHUNKED + chunk(b"event: error\ndata: " + orjson.dumps(wrong) + b"\n\n") + END)
        else:
            start = {"type": "message_start", "message": {"id": "1", "model": "m", "usage": {}}}
            wire = b"".join(b"data: " + orjson.dumps(e) + b"\n\n" for e in (start, {"type": "message_stop"}))
            await connection.send(CHUNKED + chunk(wire) + END)

    async with RawServer(overloaded) as server:
        url = server.url.removesuffix("/v1")
        async with sf.connect("anthropic", model="m", api_key="k", base_url=url, random=lambda: 1.0) as llm:
            events = [event async for event in llm.stream("hi")]
    assert isinstance(events[0], Retrying)
    assert "overloaded_error" in events[0].reason
    assert isinstance(events[-1], StreamCompleted)
