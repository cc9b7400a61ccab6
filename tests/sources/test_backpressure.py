"""A consumer that stops reading stops the provider, and nothing is lost when it goes on."""

import asyncio
import socket
import tracemalloc

from streamflow.events import Chunk
from streamflow.operators import visible_filter
from tests.sources.test_client import client
from tests.support.raw_server import CHUNKED, Connection, RawServer, chat, chunk

PIECES = 3000
WORDS = [f"{number:06d}" + "x" * 2000 for number in range(PIECES)]


class Flood(RawServer):
    """Sends far more than any buffer on the way holds, and notes how far it got."""

    def __init__(self) -> None:
        super().__init__(self._flood)
        self.sent = 0
        self.blocked = asyncio.Event()

    async def _flood(self, connection: Connection) -> None:
        connection.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
        connection.writer.transport.set_write_buffer_limits(high=16384)
        await connection.send(CHUNKED)
        for word in WORDS:
            sending = asyncio.ensure_future(connection.send(chunk(chat(word, finish=None, done=False))))
            done, _ = await asyncio.wait([sending], timeout=0.2)
            if not done:
                self.blocked.set()
            await sending
            self.sent += 1
        await connection.send(chunk(chat()) + b"0\r\n\r\n")


async def test_a_pause_blocks_the_server_and_loses_nothing():
    async with Flood() as server, client(server) as llm:
        stream = llm.stream("hi").pipe(visible_filter())
        words: list[str] = []
        tracemalloc.start()
        try:
            async for item in stream:
                if not words:
                    before = tracemalloc.get_traced_memory()[0]
                    await asyncio.wait_for(server.blocked.wait(), 10)
                    sent_when_blocked = server.sent
                    grown = tracemalloc.get_traced_memory()[0] - before
                    await asyncio.sleep(0.05)
                    assert server.sent == sent_when_blocked
                words.append(item.text)
        finally:
            tracemalloc.stop()
    assert sent_when_blocked < PIECES * 0.9
    assert grown < 2_000_000
    assert words == WORDS


async def test_a_slow_reader_gets_everything():
    async with Flood() as server, client(server) as llm:
        words = []
        async for event in llm.stream("hi"):
            if isinstance(event, Chunk):
                words.append(event.text)
                if len(words) % 500 == 0:
                    await asyncio.sleep(0.01)
    assert words == WORDS
