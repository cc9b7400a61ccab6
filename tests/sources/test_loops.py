"""The same client on uvloop."""

import asyncio
import sys
import time

import pytest

import streamflow as sf
from streamflow.sources.loops import run_async
from tests.sources.test_cancel import Watching, arrived, before_headers, mid_text
from tests.sources.test_client import client, hello
from tests.support.raw_server import CHUNKED, Connection, RawServer, chat, chunk


def test_without_uvloop_it_is_asyncio(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvloop", None)

    async def loop_name() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert run_async(loop_name()).startswith("asyncio")


@pytest.mark.parametrize("garbled", [False, True], ids=["cut", "garbled"])
def test_answers_and_faults_on_uvloop(garbled):
    uvloop = pytest.importorskip("uvloop")

    async def script(connection: Connection) -> None:
        if connection.number == 0:
            await hello(connection)
            return
        await connection.send(CHUNKED + chunk(chat("Hel", finish=None, done=False)))
        if garbled:
            await asyncio.sleep(0.01)
            await connection.send(b"zz\r\n")
            await connection.closed()
        else:
            connection.writer.close()

    async def main() -> tuple[str, sf.StreamflowError]:
        assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
        async with asyncio.timeout(10), RawServer(script) as server, client(server) as llm:
            text = (await llm.collect("hi")).text
            with pytest.raises(sf.StreamflowError) as caught:
                await llm.collect("hi")
            return text, caught.value

    text, error = run_async(main())
    assert (text, error.partial.text) == ("Hello", "Hel")
    assert type(error) is (sf.ProtocolError if garbled else sf.StreamTruncated)


@pytest.mark.parametrize("beginning", [before_headers, mid_text], ids=lambda way: way.__name__)
def test_leaving_closes_the_socket_at_once_on_uvloop(beginning):
    pytest.importorskip("uvloop")

    async def main() -> float:
        async with asyncio.timeout(10), Watching(beginning) as server, client(server) as llm:
            stream = llm.stream("hi")
            subscription = stream.subscribe(lambda event: None)
            await server.played.wait()
            await arrived(stream, "Hello" if beginning is mid_text else "")
            left = time.monotonic()
            subscription.dispose()
            return await server.seen_close() - left

    assert run_async(main()) < 0.1
