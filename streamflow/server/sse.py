"""Server-sent events: writing them so that no text can break out, and sending them to clients of every speed."""

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from streamflow.encoding import to_json
from streamflow.server.limits import Limits
from streamflow.server.views import Item, View

if TYPE_CHECKING:
    from streamflow.server.metrics import Metrics

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
}
HEARTBEAT = b": alive\n\n"
COME_BACK = b"retry: 200\n\n"  # soon: another server has the rest
_LINE_END = re.compile(r"\r\n|\r|\n")
_TICK_S = 1.0


def write_event(data: str | bytes, *, event: str = "", id: str = "") -> bytes:
    """One event. Line ends inside the data become further ``data:`` lines, as the format wants it.

    >>> write_event("a\\r\\nid: 9", event="Chunk", id="7-1")
    b'event: Chunk\\nid: 7-1\\ndata: a\\ndata: id: 9\\n\\n'
    """
    if _LINE_END.search(event) or _LINE_END.search(id) or "\0" in id:
        raise ValueError("a field of an event must be one line")
    head = (f"event: {event}\n" if event else "") + (f"id: {id}\n" if id else "")
    if isinstance(data, bytes):
        if b"\n" not in data and b"\r" not in data:  # JSON never has them
            return b"".join((head.encode(), b"data: ", data, b"\n\n"))
        data = data.decode()
    lines = "".join(f"data: {line}\n" for line in _LINE_END.split(data))
    return f"{head}{lines}\n".encode()


def write_item(item: Item) -> bytes:
    """An item of a flow: its type, its id, its JSON form.

    >>> from streamflow.events import Notice
    >>> write_item(Item("7-1", Notice("gap")))
    b'event: Notice\\nid: 7-1\\ndata: {"type":"Notice","code":"gap","message":"","raw":null}\\n\\n'
    """
    event = item.event
    name = event.__class__.__name__
    if isinstance(event, dict):
        name = str(event.get("type", "message"))
    return write_event(to_json(event), event=name, id=item.id)


class Gone(Exception):
    """The client left, or was cut off."""


class EventWriter:
    """The body of one response: batches, a heartbeat, a clock for clients that take nothing."""

    def __init__(self, request: web.Request, response: web.StreamResponse, limits: Limits, metrics: "Metrics") -> None:
        self._request = request
        self._response = response
        self._limits = limits
        self._metrics = metrics
        self._last = time.monotonic()

    async def send(self, pieces: Iterable[bytes]) -> None:
        """Write, a batch at a time; raises `Gone` when the client takes nothing for too long."""
        batch: list[bytes] = []
        size = 0
        for piece in pieces:
            if not piece:
                continue  # an event that this protocol has no words for
            batch.append(piece)
            size += len(piece)
            if size >= self._limits.batch_bytes:
                await self._write(b"".join(batch))
                batch, size = [], 0
        if batch:
            await self._write(b"".join(batch))

    async def alive(self) -> None:
        """A comment, where nothing was written for a while."""
        if self.is_gone():
            raise Gone
        if time.monotonic() - self._last >= self._limits.heartbeat_s:
            await self._write(HEARTBEAT)

    def is_gone(self) -> bool:
        """True when the connection is closed."""
        transport = self._request.transport
        return transport is None or transport.is_closing()

    async def _write(self, data: bytes) -> None:
        self._last = time.monotonic()
        try:
            async with asyncio.timeout(self._limits.stalled_s):
                await self._response.write(data)
        except TimeoutError:
            self._metrics.add("cut_off_total")
            if self._request.transport is not None:
                # What waits in the buffers is for nobody; the client can come back with its last id.
                self._request.transport.abort()
            raise Gone from None
        except (ConnectionError, OSError):
            raise Gone from None
        self._metrics.add("bytes_sent_total", len(data))


async def deliver(
    view: View,
    writer: EventWriter,
    write: Callable[[Item], bytes],
    is_closing: Callable[[], bool],
    count: Callable[[int], Any],
) -> bool:
    """Send a view to its end; True when the end was sent. False: the server closes, the client goes on elsewhere."""
    while not view.ended:
        items = await view.read(_TICK_S)
        if items:
            await writer.send(map(write, items))
            count(len(items))
        else:
            await writer.alive()
        if is_closing() and not view.ended:
            await writer.send([COME_BACK])
            return False
    return True
