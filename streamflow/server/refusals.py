"""How the server says no: a status, a type, a message; never a traceback, never a key."""

from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from streamflow.errors import ProviderError, StreamflowError, StreamStalled, UsageError, redact_secrets
from streamflow.events import ErrorInfo


class Refused(Exception):
    """A request that is not served, and why."""

    def __init__(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = redact_secrets(message)
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        """The refusal as JSON."""
        return {"error": {"type": self.kind, "message": self.message}}


# What the provider answered to us, as what we answer to our client: a key of ours that is wrong is our fault.
_PASSED_ON = frozenset((400, 404, 408, 409, 413, 422, 429, 529))


def status_of(error: StreamflowError | ErrorInfo) -> int:
    """The HTTP status that tells a client about a failure of the provider.

    >>> status_of(ProviderError("slow down", status=429)), status_of(ProviderError("bad key", status=401))
    (429, 502)
    """
    kind = error.type
    if kind == UsageError.__name__:
        return 400
    if kind == ProviderError.__name__ and error.status in _PASSED_ON:
        return error.status
    if kind == ProviderError.__name__ and error.status == 503:
        return 503
    return 504 if kind == StreamStalled.__name__ else 502


def refused(error: StreamflowError) -> Refused:
    """The refusal for an error of ours that came before anything was begun.

    >>> refused(UsageError("which model?")).status
    400
    """
    return Refused(status_of(error), error.type, error.message)


def answer(refusal: Refused) -> web.Response:
    """The refusal as a response."""
    body = msgspec.json.encode(refusal.body())
    return web.Response(
        body=body, status=refusal.status, headers=refusal.headers, content_type="application/json", charset="utf-8"
    )


