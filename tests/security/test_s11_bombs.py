"""S11: what inflates is measured while it inflates. More in tests/sources/test_faults.py."""

import gzip
import tracemalloc
import zlib

import aiohttp
import pytest
from aiohttp import web

import streamflow as sf
from streamflow.sources.http import MAX_RATIO, RATIO_FREE_BYTES
from streamflow.sources.media import fetch_media
from streamflow.testing import FakeProvider, gzip_bomb
from tests.server.serving import QUICK, serving
from tests.sources.test_client import client
from tests.sources.test_media import Names, loopback_only, picture
from tests.support.raw_server import CHUNKED, Connection, RawServer, chunk

MB = 1_000_000
PROVIDERS = ["openai", "anthropic", "gemini", "ollama", "cohere"]


def packed(size: int, window: int, text: bytes = b"\0") -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    block = text * (MB // len(text))
    return b"".join(packer.compress(block) for _ in range(size // MB)) + packer.flush()


class Peak:
    """The most memory that was allocated inside."""

    def __enter__(self) -> "Peak":
        tracemalloc.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_s11_a_bomb_of_any_provider_is_a_limit_with_little_memory(provider):
    async with FakeProvider(gzip_bomb(100 * MB)) as fake:
        llm = sf.connect(provider, model="m", api_key="k", base_url=fake.base_url(provider), max_retries=0)
        async with llm:
            with Peak() as peak, pytest.raises(sf.LimitExceeded) as caught:
                await llm.collect("hi")
    assert caught.value.kind in ("max_ratio", "max_event_bytes")
    assert peak.bytes < 16 * MB


@pytest.mark.parametrize(("encoding", "window"), [("gzip", 31), ("deflate", 15)])
@pytest.mark.parametrize("text", [b"\0", b"data: x"], ids=str)
async def test_s11_every_encoding_is_measured(encoding, window, text):
    body = packed(4 * MB, window, text)

    async def explode(connection: Connection) -> None:
        head = CHUNKED.replace(b"\r\n\r\n", f"\r\nContent-Encoding: {encoding}\r\n\r\n".encode())
        await connection.send(head + chunk(body) + b"0\r\n\r\n")

    async with RawServer(explode) as server, client(server, max_retries=0) as llm:
        with Peak() as peak, pytest.raises(sf.ProtocolError):
            await llm.collect("hi")
    assert peak.bytes < 16 * MB


async def test_s11_the_ratio_is_a_limit_of_its_own():
    body = packed(8 * MB, 31, b": ping\n\n")
    assert len(body) * MAX_RATIO < 8 * MB
    assert RATIO_FREE_BYTES < 8 * MB

    async def explode(connection: Connection) -> None:
        head = CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
        await connection.send(head + chunk(body) + b"0\r\n\r\n")

    async with RawServer(explode) as server, client(server, max_retries=0) as llm:
        with pytest.raises(sf.LimitExceeded) as caught:
            await llm.collect("hi")
    assert caught.value.kind == "max_ratio"


async def test_s11_a_bomb_inside_a_bomb_is_not_opened():
    body = gzip.compress(packed(20 * MB, 31))

    async def explode(connection: Connection) -> None:
        head = CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip, gzip\r\n\r\n")
        await connection.send(head + chunk(body) + b"0\r\n\r\n")

    async with RawServer(explode) as server, client(server, max_retries=0) as llm:
        with pytest.raises(sf.ProtocolError, match="encoding"):
            await llm.collect("hi")


async def test_s11_the_explanation_of_a_refusal_is_measured():
    body = packed(20 * MB, 31)

    async def refuse(connection: Connection) -> None:
        head = b"HTTP/1.1 400 X\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
        await connection.send(head + body)

    async with RawServer(refuse) as server, client(server, max_retries=0) as llm:
        with Peak() as peak, pytest.raises(sf.ProviderError) as caught:
            await llm.collect("hi")
    assert len(str(caught.value)) < 2000
    assert peak.bytes < 8 * MB


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_s11_media_are_measured(encoding):
    body = packed(100 * MB, 31 if encoding == "gzip" else 15)

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body, headers={"content-type": "image/png", "content-encoding": encoding})

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        url = f"http://good.example:{runner.addresses[0][1]}/picture"
        with Peak() as peak, pytest.raises(sf.ProtocolError):
            await fetch_media(
                picture(url),
                resolver=Names(good=["127.0.0.1"]),
                is_allowed=loopback_only,
                schemes=("http",),
                max_bytes=2 * MB,
            )
    finally:
        await runner.cleanup()
    assert peak.bytes < 16 * MB


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_s11_requests_to_a_server_are_measured(encoding):
    body = packed(20 * MB, 31 if encoding == "gzip" else 15)
    async with serving(limits=QUICK) as served:
        with Peak() as peak:
            headers = {"content-encoding": encoding}
            async with served.session.post(f"{served.root}/flows", data=body, headers=headers) as response:
                assert response.status in (400, 413)
        assert peak.bytes < 32 * MB
        assert not served.fake.requests


async def test_s11_a_websocket_message_is_measured():
    async with serving(limits=QUICK) as served:
        flow_id = await served.begin("sim:long 2000 5")
        url = f"{served.root}/flows/{flow_id}/ws"
        with Peak() as peak:
            async with served.session.ws_connect(url, compress=15) as socket:
                await socket.send_str('{"type": "' + "x" * (20 * MB) + '"}')
                async for message in socket:
                    if message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR):
                        break
            assert socket.close_code in (1009, 1006, 1007, 1002)
        assert peak.bytes < 128 * MB  # the sender's own copies are most of it
