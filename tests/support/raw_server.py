"""A server that sends any bytes: what a test says, and nothing that a web framework would correct."""

import asyncio
import contextlib
import re
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
UNTIL_CLOSE = OK + b"Connection: close\r\n\r\n"


def chat(*texts: str, finish: str | None = "stop", done: bool = True) -> bytes:
    """Chat chunks as the wire has them."""
    events = [{"id": "1", "model": "m", "choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    if finish is not None:
        events.append({"id": "1", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    wire = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)
    return wire + (b"data: [DONE]\n\n" if done else b"")


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def whole(status: int, body: bytes = b"", **headers: str) -> bytes:
    """A complete answer with its length."""
    lines = [f"HTTP/1.1 {status} X".encode(), b"Content-Length: %d" % len(body)]
    lines += [f"{name.replace('_', '-')}: {value}".encode() for name, value in headers.items()]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


class Connection:
    """One request on its socket."""

    def __init__(self, number: int, head: bytes, body: bytes, reader: Any, writer: Any) -> None:
        self.number = number
        self.head = head
        self.body = body
        self._reader = reader
        self.writer = writer
        self.closed_at: float | None = None

    def header(self, name: str) -> str | None:
        """A header of the request."""
        found = re.search(rb"(?im)^" + name.encode() + rb":\s*(.*?)\r?$", self.head)
        return found[1].decode() if found else None

    async def send(self, data: bytes) -> None:
        """Bytes, as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def closed(self) -> float:
        """Wait until the client closes; the moment."""
        with contextlib.suppress(ConnectionError):
            while await self._reader.read(4096):
                pass
        self.closed_at = time.monotonic()
        return self.closed_at

    def reset(self) -> None:
        """Send RST."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Connection], Awaitable[None]]


class RawServer:
    """Calls the script for each request; a connection is kept until the script closes it."""

    def __init__(self, script: Script, **options: Any) -> None:
        self._script = script
        self._options = options
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Connection] = []
        self.sockets = 0

    async def __aenter__(self) -> "RawServer":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, **self._options)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        """The base URL as OpenAI's SDK takes it."""
        return f"http://127.0.0.1:{self.port}/v1"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.sockets += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length:\s*(\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                connection = Connection(len(self.requests), head, body, reader, writer)
                self.requests.append(connection)
                await self._script(connection)
                if connection.closed_at is not None:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
