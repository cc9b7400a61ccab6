"""What a fake provider saw: requests, and connections with the times at which they opened and closed."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, cast

import msgspec
from aiohttp import web


class Received(msgspec.Struct, frozen=True):
    """A request as it came. ``body`` is the parsed JSON, or the bytes where it is none."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    connection: "Connection"


class Connection:
    """A client's connection: when it opened and closed, and how many bytes the client's socket has taken."""

    def __init__(self, changed: Callable[[], None], closed: Callable[["Connection"], None]) -> None:
        self._changed = changed
        self._closed = closed
        self._transport: asyncio.Transport | None = None
        self._at_close = 0
        self.written = 0
        """Bytes of bodies handed to the socket, those that still wait for it included."""
        self.opened_at = time.monotonic()
        self.closed_at: float | None = None
        self.blocked = False
        """True while the client reads too slowly for more to be sent."""

    @property
    def is_open(self) -> bool:
        """True until either side has closed it."""
        return self.closed_at is None

    @property
    def sent(self) -> int:
        """Bytes of bodies that the operating system has taken for the client so far."""
        if self._transport is None:
            return self._at_close
        return max(0, self.written - self._transport.get_write_buffer_size())

    def wrote(self, size: int) -> None:
        """Bytes were handed over."""
        self.written += size

    def made(self, transport: asyncio.Transport) -> None:
        """It opened."""
        self._transport = transport
        self._changed()

    def abort(self) -> None:
        """Close it at once; whatever is being sent is dropped."""
        if self._transport is not None:
            self._transport.abort()

    def set_blocked(self, blocked: bool) -> None:
        """The socket takes no more, or takes more again."""
        self.blocked = blocked
        self._changed()

    def lost(self) -> None:
        """It closed."""
        self._at_close = self.sent
        self._transport = None
        self.closed_at = time.monotonic()
        self._closed(self)
        self._changed()


class Line(web.RequestHandler):
    """The protocol of one connection, which tells its record what happens to it."""

    __slots__ = ("record",)

    def __init__(self, manager: web.Server, record: Connection, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(manager, loop=loop, access_log=None)  # type: ignore[arg-type]
        self.record = record

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Aiohttp's work, then the record's."""
        super().connection_made(transport)
        # uvloop's transports are no subclasses of asyncio's, but do the same.
        self.record.made(cast("asyncio.Transport", transport))

    def connection_lost(self, exc: BaseException | None) -> None:
        """The same at the end."""
        super().connection_lost(exc)
        self.record.lost()

    def pause_writing(self) -> None:
        """The socket is full."""
        super().pause_writing()
        self.record.set_blocked(True)

    def resume_writing(self) -> None:
        """The socket has room again."""
        super().resume_writing()
        self.record.set_blocked(False)


class Desk(web.Server):
    """Aiohttp's low-level server with a record for each connection."""

    def __init__(self, handler: Any, open_record: Callable[[], Connection]) -> None:
        super().__init__(handler, handler_cancellation=True)
        self._open_record = open_record

    def __call__(self) -> web.RequestHandler:
        return Line(self, self._open_record(), asyncio.get_running_loop())


def record_of(request: web.BaseRequest) -> Connection:
    """The record of the connection that a request came on."""
    line = request.protocol
    assert isinstance(line, Line)
    return line.record
