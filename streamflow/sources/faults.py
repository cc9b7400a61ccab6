"""What can go wrong on the way, as typed errors that say what to do."""

import asyncio
import os
import ssl
import zlib
from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson

from streamflow.errors import (
    ProtocolError,
    ProviderError,
    StreamflowError,
    StreamTruncated,
    TransportError,
    UsageError,
)
from streamflow.providers.refusals import provider_error
from streamflow.wire.intake import excerpt

NETWORK_FAULTS = (aiohttp.ClientError, aiohttp.http_exceptions.HttpProcessingError, OSError, asyncio.TimeoutError)
BODY_FAULTS = (*NETWORK_FAULTS, RuntimeError)  # aiohttp says RuntimeError when it reads a closed connection

_BEFORE_ANSWER: tuple[tuple[type[BaseException], type[StreamflowError], str], ...] = (
    (aiohttp.InvalidURL, UsageError, "the address cannot be used; check base_url"),
    (aiohttp.NonHttpUrlClientError, UsageError, "the address must begin with http:// or https://; check base_url"),
    (aiohttp.ClientProxyConnectionError, TransportError, "the proxy cannot be reached; check HTTPS_PROXY and NO_PROXY"),
    (aiohttp.ClientHttpProxyError, TransportError, "the proxy refused; check HTTPS_PROXY and NO_PROXY"),
    (
        aiohttp.ClientConnectorCertificateError,
        TransportError,
        "the server's certificate is not trusted; check base_url, the system's clock and certificates (SSL_CERT_FILE)",
    ),
    (
        aiohttp.ClientConnectorSSLError,
        TransportError,
        "no TLS connection; is the server plain http? then base_url must begin with http://",
    ),
    (aiohttp.ClientConnectorDNSError, TransportError, "the host is unknown; check base_url and the network"),
    (
        aiohttp.ClientConnectorError,
        TransportError,
        "no connection; check base_url, and that the server is running and not blocked",
    ),
    (aiohttp.ConnectionTimeoutError, TransportError, "no connection in time; check base_url, network and firewall"),
    (aiohttp.ServerDisconnectedError, TransportError, "the server closed the connection without an answer"),
    (aiohttp.ClientResponseError, ProtocolError, "the answer is not HTTP; check base_url"),
    (aiohttp.http_exceptions.HttpProcessingError, ProtocolError, "the answer is not HTTP; check base_url"),
)
_FOR_GOOD = (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError, aiohttp.ClientHttpProxyError)

_HINTS = {
    401: "check the API key",
    403: "check what the API key may do",
    404: "check the model's name and base_url",
    413: "the request is too large",
}
_KINDS = {
    400: "invalid_request",
    401: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    413: "request_too_large",
    429: "rate_limit",
    529: "overloaded",
}
_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "x-goog-request-id", "apim-request-id", "cf-ray")


def let_go(fault: BaseException) -> None:
    """Forget where a fault was raised: aiohttp has one object for all closed connections, which would keep them all."""
    fault.__traceback__ = fault.__context__ = None


def failed_to_open(cause: BaseException, provider: str, place: str) -> StreamflowError:
    """No answer came: the typed error for what the network said.

    >>> failed_to_open(aiohttp.ServerDisconnectedError(), "openai", "http://localhost:1").message
    'openai at http://localhost:1: the server closed the connection without an answer'
    """
    # Only words that we know: the texts of these exceptions may hold whole requests, keys included.
    for known, error, advice in _BEFORE_ANSWER:
        if isinstance(cause, known):
            detail = _detail(cause)
            return error(
                f"{provider} at {place}: {advice}{detail}",
                provider=provider,
                retryable=issubclass(error, TransportError) and not isinstance(cause, _FOR_GOOD),
            )
    return TransportError(f"{provider} at {place}: the connection failed{_detail(cause)}", provider=provider)


def _detail(cause: BaseException) -> str:
    system = getattr(cause, "certificate_error", getattr(cause, "os_error", cause))
    if isinstance(system, ssl.SSLError):
        said = getattr(system, "verify_message", "") or system.reason
        return f" ({said})" if said else ""
    if isinstance(system, OSError) and system.strerror:
        # asyncio puts the address into strerror; the errors of name resolution have numbers of their own, below 0
        return f" ({os.strerror(system.errno) if system.errno and system.errno > 0 else system.strerror})"
    said = getattr(cause, "message", None)
    if isinstance(cause, aiohttp.http_exceptions.HttpProcessingError | aiohttp.ClientResponseError) and said:
        return f" ({' '.join(str(said).split())[:200]})"
    return ""


class GarbledBody(aiohttp.ClientPayloadError):
    """The chunks of a body are not what HTTP says."""


def failed_to_read(cause: BaseException, provider: str, received: int) -> StreamflowError:
    """The body broke off.

    >>> failed_to_read(ConnectionResetError(104, "Connection reset by peer"), "openai", 9).message
    'openai: the connection broke after 9 bytes of the answer (Connection reset by peer)'
    """
    if isinstance(cause, GarbledBody | aiohttp.http_exceptions.HttpProcessingError):
        return ProtocolError(
            f"{provider}: the chunks of the body are broken after {received} bytes",
            provider=provider,
            position=received,
        )
    if isinstance(cause, aiohttp.ClientPayloadError):
        why = "the body was cut before its announced end"
    else:
        why = "the connection broke"
    return StreamTruncated(
        f"{provider}: {why} after {received} bytes of the answer{_detail(cause)}", provider=provider, position=received
    )


def failed_to_inflate(cause: zlib.error | str, provider: str, received: int) -> StreamflowError:
    """The compression of the body is broken.

    >>> failed_to_inflate("unknown encoding 'x'", "openai", 0).message
    "openai: the compressed body cannot be read after 0 bytes (unknown encoding 'x')"
    """
    return ProtocolError(
        f"{provider}: the compressed body cannot be read after {received} bytes ({cause})",
        provider=provider,
        position=received,
    )


def refused(provider: str, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """The typed error for an HTTP status and what the body says about it.

    >>> error = refused("openai", 429, {"x-request-id": "req_1"}, b'{"error": {"message": "slow down"}}')
    >>> error.message, error.kind, error.retryable
    ('openai: slow down (HTTP 429, request id req_1)', 'rate_limit', True)
    """
    said = _error_in(provider, body)
    details = [f"HTTP {status}"]
    if request_id := next((headers[name] for name in _REQUEST_IDS if name in headers), None):
        details.append(f"request id {_plain(request_id)}")
    if hint := _HINTS.get(status):
        details.append(hint)
    return ProviderError(
        f"{said.message} ({', '.join(details)})",
        provider=provider,
        status=status,
        kind=said.kind or _KINDS.get(status, "server" if status >= 500 else "refused"),
        retryable=status in (408, 409, 429) or status >= 500,
    )


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isprintable())[:100]


def _error_in(provider: str, body: bytes) -> ProviderError:
    try:
        payload: Any = orjson.loads(body)
    except ValueError:
        return ProviderError(f"{provider}: {excerpt(body)}" if body.strip() else f"{provider}: no explanation")
    if isinstance(payload, list) and payload:
        payload = payload[0]
    return provider_error(provider, payload)


def redirected(provider: str, status: int, place: str, target: str) -> ProviderError:
    """The service wants the request somewhere else, where the key must not go.

    >>> redirected("openai", 302, "http://a", "https://b/login").kind
    'redirect'
    """
    return ProviderError(
        f"{provider} at {place}: the server redirects (HTTP {status}) to {target or 'nowhere'}. The key was not sent "
        "there; if the address is right, pass it as base_url",
        provider=provider,
        status=status,
        kind="redirect",
    )
