"""Reading what clients send: bounded, JSON only, every mistake named."""

from typing import Any, TypeVar

import msgspec
from aiohttp import web

from streamflow.server.refusals import Refused

T = TypeVar("T")

# The options of a request that have the same meaning at every provider.
COMMON_OPTIONS = ("max_tokens", "temperature", "top_p", "top_k", "stop", "seed", "tool_choice", "system")


async def read_body(request: web.Request, limit: int) -> bytes:
    """The body of a request, up to a number of bytes, counted after decompression."""
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > limit:
            raise Refused(413, "request_too_large", f"a request has at most {limit} bytes", {"connection": "close"})
        parts.append(part)
    return b"".join(parts)


def decoded(data: bytes, kind: type[T]) -> T:
    """The body as what it should be.

    >>> decoded(b"{", dict)
    Traceback (most recent call last):
    streamflow.server.refusals.Refused: the body is not what this address takes: Input data was truncated
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused(400, "bad_request", f"the body is not what this address takes: {reason}") from None


def options_of(body: Any) -> dict[str, Any]:
    """The common options that were given."""
    return {name: value for name in COMMON_OPTIONS if (value := getattr(body, name, None)) is not None}
