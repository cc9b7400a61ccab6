"""Any server that speaks OpenAI's `/v1/audio/speech` as a synthesizer."""

import os
from types import TracebackType
from typing import Any, Self

import aiohttp

from streamflow.errors import LimitExceeded, ProviderError, TransportError, UsageError

_BASE_URL = "https://api.openai.com/v1"
_MAX_BYTES = 64 * 1024 * 1024
_RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504, 529})


class OpenAISpeech:
    """Speaks over HTTP; ``base_url`` ends in ``/v1``, as in OpenAI's own client.

    As a context manager it keeps one connection pool; without, each sentence opens a connection of its own.

    >>> OpenAISpeech("tts-1", "alloy", api_key="k", base_url="http://127.0.0.1:8000/v1/").url
    'http://127.0.0.1:8000/v1/audio/speech'
    """

    def __init__(
        self,
        model: str = "gpt-4o-mini-tts",
        voice: str = "alloy",
        *,
        api_key: str | None = None,
        base_url: str = _BASE_URL,
        speed: float | None = None,
        instructions: str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        key = api_key
        if key is None and base_url == _BASE_URL:  # the key of the environment is for no other server
            key = os.environ.get("OPENAI_API_KEY")
            if not key:
                raise UsageError("OpenAISpeech() needs a key: set OPENAI_API_KEY or give api_key=")
        self.url = base_url.rstrip("/") + "/audio/speech"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._body: dict[str, Any] = {"model": model, "voice": voice, "response_format": "wav"}
        for name, value in (("speed", speed), ("instructions", instructions)):
            if value is not None:
                self._body[name] = value
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=self._timeout)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def synthesize(self, text: str) -> bytes:
        """The text as a wave file."""
        if self._session is not None:
            return await self._ask(self._session, text)
        async with aiohttp.ClientSession(timeout=self._timeout) as session:
            return await self._ask(session, text)

    async def _ask(self, session: aiohttp.ClientSession, text: str) -> bytes:
        body = {**self._body, "input": text}
        try:
            # A redirect would carry the key elsewhere.
            async with session.post(self.url, json=body, headers=self._headers, allow_redirects=False) as answer:
                if answer.status != 200:
                    message = (await answer.content.read(2000)).decode(errors="replace").strip()
                    raise ProviderError(
                        f"speech was refused with {answer.status}: {message or answer.reason}",
                        status=answer.status,
                        retryable=answer.status in _RETRYABLE,
                    )
                return await _read_all(answer)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise TransportError(f"speech failed: {error or type(error).__name__}") from error


async def _read_all(answer: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in answer.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _MAX_BYTES:
            raise LimitExceeded(f"a sentence of more than {_MAX_BYTES} bytes of sound", kind="max_bytes")
    return b"".join(parts)
