"""FakeProvider: a real HTTP server on the loopback that speaks every provider's wire format."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any, Self

import msgspec
from aiohttp import web

from streamflow.errors import UsageError
from streamflow.testing.asks import Ask, read_ask
from streamflow.testing.background import BackgroundLoop
from streamflow.testing.beside import answer_beside
from streamflow.testing.connections import Connection, Desk, Received, record_of
from streamflow.testing.routes import STREAMS_BY_DEFAULT, Endpoint, base_url, endpoint_of
from streamflow.testing.script import Answer, ErrorEvent, HttpError, Page, Pause, RawHttp, Reply, Script
from streamflow.testing.sending import Broken, Sender, Sleep, cut_up
from streamflow.testing.simulator import Simulator
from streamflow.testing.wires import WIRES, encode_error, encode_steps, encode_whole

SHUTDOWN_S = 5.0
_TURNS_TO_CONNECT = 3  # of the loop: what asyncio needs to make a connection of a socket that was accepted just now
MAX_REQUEST_BYTES = 64 * 1024 * 1024


class FakeProvider:
    """A real HTTP server on the loopback that answers from a script, or by what the last message says.

    Each request takes the next reply of the script; the last one is repeated. A reply may be a function that gets the
    `Ask` and returns the reply. Without a script the server simulates: see `Simulator`. ``sleep`` is what a `Pause`
    waits with, ``send_buffer`` the size of the socket's buffer, ``keeps`` how many requests and connections are kept
    on record (all by default). A plain ``with`` runs it in a thread, for programs that are not asynchronous.

    >>> import asyncio, aiohttp
    >>> async def main():
    ...     async with FakeProvider(Answer("Hello there.")) as fake, aiohttp.ClientSession() as session:
    ...         url = fake.base_url("anthropic") + "/v1/messages"
    ...         async with session.post(url, json={"model": "m", "messages": [], "stream": True}) as response:
    ...             body = await response.read()
    ...         return body, fake.requests[0].path
    >>> body, path = asyncio.run(main())
    >>> import streamflow as sf
    >>> sf.read("anthropic", body).text, path
    ('Hello there.', '/anthropic/v1/messages')
    """

    def __init__(
        self,
        *script: Script,
        host: str = "127.0.0.1",
        port: int = 0,
        sleep: Sleep = asyncio.sleep,
        send_buffer: int | None = None,
        keeps: int | None = None,
    ) -> None:
        for reply in script:
            if not isinstance(reply, Reply) and not callable(reply):
                raise UsageError(f"{reply!r} is no reply; give Answer, HttpError, Page, RawHttp or a function")
        self._script = script
        self._host = host
        self._port = port
        self._sleep = sleep
        self._send_buffer = send_buffer
        self._keeps = keeps
        self._open: set[Connection] = set()
        self._simulator = Simulator()
        self._answered = 0
        self._server: asyncio.Server | None = None
        self._desk: Desk | None = None
        self._background: BackgroundLoop | None = None
        self._changed = asyncio.Event()
        self.requests: list[Received] = []
        """What was received, in order."""
        self.connections: list[Connection] = []
        """Every connection, in the order in which they opened."""

    # -- life

    async def start(self) -> Self:
        """Listen. ``async with`` does this."""
        loop = asyncio.get_running_loop()
        self._desk = Desk(self._handle, self._open_record)
        self._server = await loop.create_server(self._desk, self._host, self._port)
        if self._send_buffer is not None:
            for sock in self._server.sockets:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        """Close everything, whatever is still going on."""
        server, self._server = self._server, None
        desk, self._desk = self._desk, None
        if server is None or desk is None:
            return
        server.close()
        for _ in range(_TURNS_TO_CONNECT):
            await asyncio.sleep(0)
        for connection in tuple(self._open):
            connection.abort()
        await self._until(lambda: not self._open)
        await desk.shutdown(SHUTDOWN_S)
        await server.wait_closed()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        """Run in a thread of its own, for programs that are not asynchronous; ``wait_`` methods are not for them."""
        self._background = BackgroundLoop()
        try:
            return self._background.run(self.start())
        except BaseException:
            self._background.close()
            raise

    def __exit__(self, *_: object) -> None:
        assert self._background is not None
        self._background.run(self.stop())
        self._background.close()

    @property
    def root(self) -> str:
        """The address of the server, without a path."""
        if self._server is None:
            raise UsageError("the fake provider is not running; use it in `async with FakeProvider(...) as fake:`")
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    def base_url(self, provider: str) -> str:
        """The base URL to give to a client of this provider, as its own SDK takes it."""
        return base_url(self.root, provider)

    # -- what was seen

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return len(self._open)

    async def wait_closed(self, count: int = 1, timeout_s: float = 5.0) -> float:
        """Wait until ``count`` connections have closed; the time (monotonic) at which the last of them did."""
        await self._until(lambda: len(self._closings()) >= count, timeout_s, f"{count} closed connections")
        return sorted(self._closings())[count - 1]

    async def wait_requests(self, count: int = 1, timeout_s: float = 5.0) -> Received:
        """Wait until ``count`` requests have come; the last of them."""
        await self._until(lambda: len(self.requests) >= count, timeout_s, f"{count} requests")
        return self.requests[count - 1]

    async def wait_blocked(self, timeout_s: float = 5.0) -> Connection:
        """Wait until a client reads so slowly that sending to it blocks; its connection."""
        await self._until(lambda: any(each.blocked for each in self.connections), timeout_s, "a blocked connection")
        return next(each for each in self.connections if each.blocked)

    def _closings(self) -> list[float]:
        return [each.closed_at for each in self.connections if each.closed_at is not None]

    async def _until(self, true: Callable[[], bool], timeout_s: float | None = None, what: str = "") -> None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not true():
            self._changed.clear()
            left = None if deadline is None else deadline - time.monotonic()
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except TimeoutError:
                raise TimeoutError(f"the fake provider saw no {what} within {timeout_s} s") from None

    def _open_record(self) -> Connection:
        record = Connection(self._changed.set, self._open.discard)
        self._open.add(record)
        self.connections.append(record)
        self._forget(self.connections)
        return record

    def _forget(self, records: list[Any]) -> None:
        if self._keeps is not None:
            del records[: len(records) - self._keeps]

    # -- answering

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        record = record_of(request)
        data = await request.content.read(MAX_REQUEST_BYTES)
        body = _parsed(data)
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(Received(request.method, request.path, dict(request.query), headers, body, record))
        self._forget(self.requests)
        self._changed.set()
        endpoint = endpoint_of(request.path, request.query)
        if endpoint is None or request.method != "POST":
            return await answer_beside(request, body)
        try:
            return await self._reply(request, Sender(request, record, self._sleep), endpoint, body)
        except Broken:
            return web.Response()  # nobody is there to read it

    async def _reply(
        self, request: web.BaseRequest, sender: Sender, endpoint: Endpoint, body: Any
    ) -> web.StreamResponse:
        if not isinstance(body, dict):
            error = HttpError(400, "The body of the request is not a JSON object.")
            return _json(encode_error(endpoint.provider, error, endpoint.wire), 400)
        ask = read_ask(
            body,
            provider=endpoint.provider,
            wire=endpoint.wire,
            model=endpoint.model,
            stream=endpoint.stream,
            array=endpoint.array,
            streams_by_default=endpoint.wire in STREAMS_BY_DEFAULT,
        )
        reply = self._next(ask)
        match reply:
            case Answer():
                return await self._answer(request, sender, ask, reply)
            case HttpError():
                for event in reply.before:
                    await sender.happen(event)
                return _refused(ask, reply)
            case Page():
                content = reply.body.encode() if isinstance(reply.body, str) else reply.body
                headers = {"content-type": reply.content_type, **reply.headers}
                return web.Response(body=content, status=reply.status, headers=headers)
            case RawHttp():
                await sender.send_raw(reply.data)
                await sender.happen(reply.then)
                raise Broken

    def _next(self, ask: Ask) -> Reply:
        number = self._answered
        self._answered += 1
        if not self._script:
            return self._simulator.reply(ask)
        scripted = self._script[min(number, len(self._script) - 1)]
        return scripted if isinstance(scripted, Reply) else scripted(ask)

    async def _answer(self, request: web.BaseRequest, sender: Sender, ask: Ask, answer: Answer) -> web.StreamResponse:
        for event in answer.before:
            await sender.happen(event)
        if not ask.stream:
            return await self._whole(sender, ask, answer)
        wire = WIRES[ask.wire](answer, ask)
        headers = {"content-type": wire.content_type, "cache-control": "no-cache", **answer.headers}
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        await sender.send(response, cut_up(encode_steps(wire), answer))
        await response.write_eof()
        return response

    async def _whole(self, sender: Sender, ask: Ask, answer: Answer) -> web.StreamResponse:
        for part in answer.parts:
            if isinstance(part, ErrorEvent):
                return _refused(ask, HttpError(part.status, part.message, part.kind))
            if isinstance(part, Pause):
                await sender.happen(part)
        return _json(encode_whole(ask.provider, answer, ask), answer.status, answer.headers)


def _parsed(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return data


def _refused(ask: Ask, error: HttpError) -> web.Response:
    headers = {**WIRES[ask.wire].refused_headers(error), **error.headers}
    return _json(encode_error(ask.provider, error, ask.wire), error.status, headers)


def _json(body: bytes, status: int = 200, headers: Any = None) -> web.Response:
    return web.Response(body=body, status=status, headers={"content-type": "application/json", **(headers or {})})
