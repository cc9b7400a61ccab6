"""One keep-alive HTTP session, and replies that are read piece by piece with bounded memory."""

import asyncio
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp
from yarl import URL

from streamflow.errors import LimitExceeded, ProtocolError, StreamflowError
from streamflow.requests.request import Request
from streamflow.sources import faults
from streamflow.wire.intake import excerpt

READ_BYTES = 64 * 1024
ERROR_BODY_BYTES = 64 * 1024
ERROR_BODY_WAIT_S = 5.0
LINGER_S = 1.0
MAX_REDIRECTS = 3
RATIO_FREE_BYTES = 1024 * 1024
MAX_RATIO = 200  # text of a model deflates to a third or a tenth, repetitive JSON around it to a fiftieth
_METHOD_KEPT = frozenset((307, 308))
_WINDOW = {"gzip": 31, "x-gzip": 31, "deflate": 47}  # 47: zlib or gzip, as its header says


class Refused(Exception):
    """An answer that is no success: the error for the user, and the headers that say when to try again."""

    def __init__(self, error: StreamflowError, headers: Mapping[str, str]) -> None:
        super().__init__(error.message)
        self.error = error
        self.headers = headers


class Http:
    """The session of one client: made at its first request, closed with it."""

    def __init__(self, provider: str, *, connect_timeout_s: float | None, max_stream_bytes: int) -> None:
        self._provider = provider
        self._connect_timeout_s = connect_timeout_s
        self._max_stream_bytes = max_stream_bytes
        self._session: aiohttp.ClientSession | None = None
        self._lingering: dict[aiohttp.ClientResponse, asyncio.TimerHandle] = {}

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            # No limit: a stream holds its connection for minutes, and the hundred-and-first must not wait for it.
            # trust_env would also read ~/.netrc and put its password in the place of the key; see `_proxy_for`.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                read_bufsize=READ_BYTES,
                trust_env=False,
            )
        return self._session

    async def send(self, request: Request) -> "Reply":
        """Send a request; anything but a 2xx answer is raised."""
        url = request.url
        for _ in range(MAX_REDIRECTS):
            response = await self._post(url, request)
            if not 300 <= response.status < 400:
                break
            target = _target_of(response)
            if response.status not in _METHOD_KEPT or target is None or target.origin() != response.url.origin():
                shown = "" if target is None else str(target.with_query(None).with_fragment(None).with_user(None))
                response.close()
                raise faults.redirected(self._provider, response.status, _place(url), shown)
            response.close()
            url = str(target)
        else:
            raise faults.redirected(self._provider, response.status, _place(request.url), "itself, again and again")
        if not response.ok:
            raise await self._refusal(response)
        _check_content_type(response, self._provider)
        return Reply(response, self, self._provider, self._max_stream_bytes)

    async def _post(self, url: str, request: Request) -> aiohttp.ClientResponse:
        try:
            return await self._opened().request(
                request.method,
                URL(url, encoded=True),
                data=request.body,
                headers={"accept-encoding": "identity", **request.headers},
                allow_redirects=False,
                proxy=_proxy_for(url),
            )
        except (*faults.NETWORK_FAULTS, ValueError) as cause:
            error = faults.failed_to_open(cause, self._provider, _place(url))
        # Raised out here because the cause holds the whole request, key included, and must not become the context.
        raise error

    async def _refusal(self, response: aiohttp.ClientResponse) -> "Refused":
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(ERROR_BODY_WAIT_S):
                while size < ERROR_BODY_BYTES and (data := await response.content.readany()):
                    pieces.append(data)
                    size += len(data)
        except faults.BODY_FAULTS as fault:
            faults.let_go(fault)  # the status says what happened; the body would only have explained it
        finally:
            response.close() if not response.content.at_eof() else response.release()
        body = b"".join(pieces)[:ERROR_BODY_BYTES]
        if encoding := response.headers.get("content-encoding"):
            body = _inflated_head(body, encoding)
        return Refused(faults.refused(self._provider, response.status, response.headers, body), response.headers)

    def linger(self, response: aiohttp.ClientResponse) -> None:
        """The answer is complete but the body is not over: give it a moment, so that the connection can be kept."""
        if response.content.is_eof() or self._session is None:
            response.release()
            return
        loop = asyncio.get_running_loop()
        self._lingering[response] = loop.call_later(LINGER_S, self._part, response)
        response.content.on_eof(lambda: self._part(response))

    def _part(self, response: aiohttp.ClientResponse) -> None:
        timer = self._lingering.pop(response, None)
        if timer is not None:
            timer.cancel()
            if not response.content.is_eof():
                response.close()

    async def close(self) -> None:
        """Close every connection."""
        for response in list(self._lingering):
            self._lingering.pop(response).cancel()
            response.close()
        if self._session is not None:
            await self._session.close()


class Reply:
    """The body of one answer, as it comes. The reader awaits `readany` itself: there is a read for every token."""

    def __init__(self, response: aiohttp.ClientResponse, http: Http, provider: str, max_bytes: int) -> None:
        self._response = response
        self._http = http
        self._provider = provider
        self._inflater = _inflater_for(response, provider)
        self._consumed = 0
        self._inflated = 0
        self.max_bytes = max_bytes
        self.is_plain = self._inflater is None
        self.readany = response.content.readany
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        connection = response.connection
        self._lost = None if connection is None else getattr(connection.protocol, "closed", None)
        if self._lost is not None:
            self._lost.add_done_callback(self._on_lost)

    def _on_lost(self, lost: "asyncio.Future[None]") -> None:
        """The connection is gone. After a garbled chunk aiohttp closes it and tells everybody but the reader."""
        if not lost.cancelled():
            lost.exception()  # somebody has to ask, or asyncio complains
        content = self._response.content
        if not content.is_eof() and content.exception() is None:
            content.set_exception(faults.GarbledBody())

    def _stop_watching(self) -> None:
        # The connection may serve many more answers, and must not remember them all.
        if self._lost is not None:
            self._lost.remove_done_callback(self._on_lost)

    @property
    def content_type(self) -> str | None:
        """What the body claims to be."""
        return self.headers.get("content-type")

    def broke(self, cause: BaseException, received: int) -> tuple[bytes, StreamflowError]:
        """Reading failed: what had arrived all the same, and what to say about it."""
        data = _rescued(self._response.content)
        faults.let_go(cause)
        return data, faults.failed_to_read(cause, self._provider, received + len(data))

    def inflate(self, data: bytes) -> Iterator[bytes]:
        """The read without its compression, in pieces of bounded size and within the limits."""
        inflater = self._inflater
        broken: StreamflowError | None = None
        while data and not inflater.eof:
            try:
                piece = inflater.decompress(data, READ_BYTES)
            except zlib.error as cause:
                broken = faults.failed_to_inflate(cause, self._provider, self._consumed)
                break
            self._consumed += len(data) - len(inflater.unconsumed_tail)
            data = inflater.unconsumed_tail
            self._inflated += len(piece)
            if self._inflated > RATIO_FREE_BYTES and self._inflated > MAX_RATIO * self._consumed:
                broken = self._limit("max_ratio", f"inflates to more than {MAX_RATIO} times its size")
                break
            if self._inflated > self.max_bytes:
                broken = self.too_long()
                break
            if piece:
                yield piece
        if broken is not None:
            raise broken

    def too_long(self) -> LimitExceeded:
        """The error for more than the limit of a stream."""
        return self._limit("max_stream_bytes", f"is longer than max_stream_bytes={self.max_bytes}")

    def _limit(self, kind: str, what: str) -> LimitExceeded:
        return LimitExceeded(f"{self._provider}: the body {what}", provider=self._provider, kind=kind)

    def close(self) -> None:
        """Close the connection now. Whoever waits in `readany` is woken by an error."""
        self._stop_watching()
        self._response.close()

    def finish(self) -> None:
        """The answer is complete: keep the connection for the next one if the body ends soon."""
        self._stop_watching()
        self._http.linger(self._response)


def _rescued(content: aiohttp.StreamReader) -> bytes:
    """What had arrived before the fault: once it knows of a fault, aiohttp gives out only that."""
    buffer: Any = getattr(content, "_buffer", ())
    offset = getattr(content, "_buffer_offset", 0)
    held = b"".join(buffer)[offset:]
    if held:
        buffer.clear()
    return held


def _inflater_for(response: aiohttp.ClientResponse, provider: str) -> Any:
    # Ours and not aiohttp's, because its older versions inflate a whole read at once.
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        return None
    if encoding not in _WINDOW:
        response.close()
        raise faults.failed_to_inflate(f"unknown encoding {encoding[:40]!r}, although none was asked for", provider, 0)
    return zlib.decompressobj(_WINDOW[encoding])


def _inflated_head(body: bytes, encoding: str) -> bytes:
    window = _WINDOW.get(encoding.strip().lower())
    if window is None:
        return b""
    try:
        return zlib.decompressobj(window).decompress(body, ERROR_BODY_BYTES)
    except zlib.error:
        return b""


def _check_content_type(response: aiohttp.ClientResponse, provider: str) -> None:
    claims = {claim.partition(";")[0].strip().lower() for claim in response.headers.getall("content-type", ())}
    if len(claims) > 1:
        held = excerpt(_rescued(response.content))
        response.close()
        raise ProtocolError(
            f"{provider}: the answer has several content types ({', '.join(sorted(claims))}); it begins with {held}",
            provider=provider,
            position=0,
        )


def _target_of(response: aiohttp.ClientResponse) -> URL | None:
    location = response.headers.get("location")
    if not location:
        return None
    try:
        target = response.url.join(URL(location))
    except ValueError:
        return None
    return target if target.scheme in ("http", "https") and target.host else None


def _place(url: str) -> str:
    """Where a request goes, without query and path: enough to find a wrong base_url, and no secret in it."""
    try:
        return str(URL(url).origin())
    except ValueError:
        return "an invalid address"


def _proxy_for(url: str) -> str | None:
    parts = URL(url)
    proxies = urllib.request.getproxies()
    if not proxies or not parts.host or urllib.request.proxy_bypass(parts.host):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")
