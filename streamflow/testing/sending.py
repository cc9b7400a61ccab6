"""How a reply goes out: cut into writes, delayed, stopped, broken."""

import asyncio
import random
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable, Iterator

from aiohttp import web

from streamflow.testing.connections import Connection
from streamflow.testing.script import Answer, Cut, Drop, Event, Pause, Reset, Stall

Sleep = Callable[[float], Awaitable[object]]

_NO_LINGER = struct.pack("ii", 1, 0)  # closing sends RST instead of FIN


class Broken(Exception):
    """The reply ended in a way that leaves nothing to be said on this connection."""


def cut_up(steps: Iterable[bytes | Event], answer: Answer) -> Iterator[bytes | Event]:
    """The same steps with the writes that the answer asks for, and its break at the byte that it names.

    >>> list(cut_up([b"Hello", Pause(1), b"big", b"world"], Answer(cut=4)))
    [b'Hell', b'o', Pause(seconds=1), b'bigw', b'orld']
    >>> list(cut_up([b"Hello"], Answer(break_at=2)))
    [b'He', Drop()]
    """
    steps = _broken(steps, answer)
    return _cut(steps, answer) if answer.cut else iter(steps)


def _broken(steps: Iterable[bytes | Event], answer: Answer) -> Iterator[bytes | Event]:
    left = answer.break_at
    for step in steps:
        if left is not None and isinstance(step, bytes):
            if len(step) >= left:
                if left:
                    yield step[:left]
                yield answer.break_with
                if not isinstance(answer.break_with, Pause):
                    return
                step, left = step[left:], None
                if not step:
                    continue
            else:
                left -= len(step)
        yield step


def _cut(steps: Iterable[bytes | Event], answer: Answer) -> Iterator[bytes | Event]:
    rng = None if answer.seed is None else random.Random(answer.seed)
    size = answer.cut if rng is None else rng.randint(1, answer.cut)
    held = bytearray()
    for step in steps:
        if not isinstance(step, bytes):
            if held:
                yield bytes(held)
                held.clear()
            yield step
            continue
        held += step
        at = 0
        while len(held) - at >= size:
            yield bytes(held[at : at + size])
            at += size
            if rng is not None:
                size = rng.randint(1, answer.cut)
        del held[:at]
    if held:
        yield bytes(held)


class Sender:
    """Writes the steps of a reply to one request."""

    def __init__(self, request: web.BaseRequest, record: Connection, sleep: Sleep) -> None:
        self._request = request
        self._record = record
        self._sleep = sleep

    async def happen(self, event: Event) -> None:
        """Let an event happen; all but a pause end the reply with `Broken`, or never return."""
        match event:
            case Pause():
                await self._sleep(event.seconds)
            case Stall():
                await asyncio.get_running_loop().create_future()  # until the client leaves, which cancels this
            case Reset():
                self._reset()
                raise Broken
            case Drop():
                self._close()
                raise Broken

    async def send(self, response: web.StreamResponse, steps: Iterable[bytes | Event]) -> None:
        """Send a body; `Cut` ends it in good order."""
        for step in steps:
            if isinstance(step, bytes):
                if step:
                    self._record.wrote(len(step))
                    await response.write(step)
            elif isinstance(step, Cut):
                return
            else:
                await self.happen(step)

    async def send_raw(self, data: bytes) -> None:
        """Bytes beside the HTTP server."""
        if (transport := self._request.transport) is not None:
            self._record.wrote(len(data))
            transport.write(data)

    def _reset(self) -> None:
        transport = self._request.transport
        if transport is not None:
            sock: socket.socket = transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            transport.abort()

    def _close(self) -> None:
        if (transport := self._request.transport) is not None:
            transport.close()
