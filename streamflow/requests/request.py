"""A finished request, as plain data: whoever has a network connection can send it."""

from typing import Any

import msgspec
import orjson

SECRET_HEADERS = frozenset(("authorization", "x-api-key", "api-key", "x-goog-api-key"))


class Request(msgspec.Struct, frozen=True):
    """What goes to the provider. Its text form never shows a key.

    >>> Request("POST", "https://example.org/v1", {"x-api-key": "secret"}, b'{"a":1}')
    Request(POST https://example.org/v1, headers={'x-api-key': '[redacted]'}, body=7 bytes)
    """

    method: str
    url: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as Python values."""
        return orjson.loads(self.body)

    def __repr__(self) -> str:
        shown = {
            name: "[redacted]" if name.lower() in SECRET_HEADERS else value for name, value in self.headers.items()
        }
        return f"Request({self.method} {self.url}, headers={shown}, body={len(self.body)} bytes)"
