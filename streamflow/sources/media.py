"""Loads media by address, for providers that cannot. Nothing calls this by itself: fetching is the caller's decision.

An address from a message may come from anybody, so it must not lead to a network of ours: https only, every name is
resolved once, every address that it resolves to must be public, the connection goes to exactly those addresses, and
each redirect is checked like the first address.
"""

import base64
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from streamflow.errors import LimitExceeded, ProtocolError, TransportError, UsageError
from streamflow.requests.blocks import (
    AudioBlock,
    Base64Source,
    DocumentBlock,
    ImageBlock,
    ToolResultBlock,
    UrlSource,
)
from streamflow.requests.messages import Message, as_messages
from streamflow.sources.addresses import check_url, is_public_address

MAX_BYTES = 20 * 1024 * 1024
MAX_REDIRECTS = 3
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
# Media are compressed in their own way; what is packed once more could be a bomb.
_HEADERS = {"accept": "*/*", "accept-encoding": "identity"}
_MEDIA = ("image/", "audio/", "video/", "text/plain", "application/pdf")


class GuardedResolver(AbstractResolver):
    """Resolves a name and refuses it unless every address is allowed; the connector uses exactly these addresses."""

    def __init__(self, inner: AbstractResolver | None, is_allowed: Callable[[str], bool]) -> None:
        self._inner = inner
        self._is_allowed = is_allowed

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name, all of them allowed."""
        inner = self._inner or aiohttp.ThreadedResolver()
        found = await inner.resolve(host, port, family)
        for entry in found:
            if not self._is_allowed(entry["host"]):
                raise UsageError(f"media URL refused: {host} leads to an address that is not public")
        return found

    async def close(self) -> None:
        """Nothing is kept open."""


async def fetch_media(
    messages: Any,
    *,
    max_bytes: int = MAX_BYTES,
    timeout_s: float = 30.0,
    resolver: AbstractResolver | None = None,
    is_allowed: Callable[[str], bool] = is_public_address,
    schemes: tuple[str, ...] = ("https",),
) -> list[Message]:
    """The messages with media that were given by address loaded into them.

    ``resolver``, ``is_allowed`` and ``schemes`` are there for tests and for networks that know what they do.

    >>> import asyncio
    >>> asyncio.run(fetch_media(["no media here"]))[0].text
    'no media here'
    """
    guard = GuardedResolver(resolver, is_allowed)
    connector = aiohttp.TCPConnector(resolver=guard, use_dns_cache=False)
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    ) as session:
        fetcher = _Fetcher(session, max_bytes, is_allowed, schemes)
        return [await fetcher.message(message) for message in as_messages(messages)]


class _Fetcher:
    def __init__(
        self,
        session: aiohttp.ClientSession,
        max_bytes: int,
        is_allowed: Callable[[str], bool],
        schemes: tuple[str, ...],
    ) -> None:
        self._session = session
        self._max_bytes = max_bytes
        self._is_allowed = is_allowed
        self._schemes = schemes

    async def message(self, message: Message) -> Message:
        content = [await self._block(block) for block in message.content]
        return message.model_copy(update={"content": content})

    async def _block(self, block: Any) -> Any:
        if isinstance(block, ToolResultBlock) and not isinstance(block.content, str):
            return block.model_copy(update={"content": [await self._block(part) for part in block.content]})
        if isinstance(block, ImageBlock | AudioBlock | DocumentBlock) and isinstance(block.source, UrlSource):
            return block.model_copy(update={"source": await self._load(block.source)})
        return block

    async def _load(self, source: UrlSource) -> Base64Source:
        url = source.url
        try:
            for _ in range(MAX_REDIRECTS + 1):
                self._check(url)
                async with self._session.get(url, allow_redirects=False, headers=_HEADERS) as reply:
                    if reply.status in _REDIRECTS and reply.headers.get("location"):
                        url = urljoin(url, reply.headers["location"])
                        continue
                    return await self._read(reply, source.media_type)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise TransportError(f"media could not be loaded: {type(error).__name__}") from error
        raise ProtocolError(f"media could not be loaded: more than {MAX_REDIRECTS} redirects")

    def _check(self, url: str) -> None:
        check_url(url, self._schemes)
        host = urlsplit(url).hostname or ""
        # A literal address never reaches the resolver.
        if _is_literal(host) and not self._is_allowed(host):
            raise UsageError(f"media URL refused: {host} is not a public address")

    async def _read(self, reply: aiohttp.ClientResponse, given: str | None) -> Base64Source:
        if reply.status != 200:
            raise TransportError(f"media could not be loaded: HTTP {reply.status}", status=reply.status)
        if reply.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
            raise ProtocolError("media could not be loaded: they are packed, although that was not asked for")
        media_type = reply.content_type or given or ""
        if not media_type.startswith(_MEDIA):
            raise ProtocolError(f"media could not be loaded: {media_type!r} is no picture, sound or document")
        data = bytearray()
        async for piece in reply.content.iter_chunked(64 * 1024):
            data += piece
            if len(data) > self._max_bytes:
                raise LimitExceeded(f"media of more than max_bytes={self._max_bytes}", kind="max_bytes")
        return Base64Source(media_type=media_type, data=base64.b64encode(data).decode())


def _is_literal(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except OSError:
            continue
        return True
    return False
