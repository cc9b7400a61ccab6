"""The error tree. It answers one question: whose fault is it?

``TransportError`` the network's, ``ProviderError`` the provider's decision, ``ProtocolError`` a broken format,
``UsageError`` the caller's.
"""

import re
from typing import Any

from streamflow.events import ErrorInfo

_SECRET = re.compile(
    r"""(?ix)
    (\b(?:authorization|x-api-key|api[-_]?key|x-goog-api-key)["']?\s*[:=]\s*["']?(?:bearer\s+)?)[^\s"',;&]+
    | \b(bearer\s+)[\w.~+/=-]{8,}
    | ([?&]key=)[^\s"',;&]+
    | \b(?:sk|pk|rk|gsk|xai|hf|r8)[-_][\w-]{12,}
    | \b(?-i:AIza[\w-]{20,} | (?:AKIA|ASIA)[0-9A-Z]{16}\b)
    """
)


def redact_secrets(text: str) -> str:
    """Replace what looks like a key or an authorization header.

    >>> redact_secrets("Authorization: Bearer abcdefghijk")
    'Authorization: Bearer [redacted]'
    """
    return _SECRET.sub(lambda match: (match[1] or match[2] or match[3] or "") + "[redacted]", text)


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where in a text there is what looks like a key, without the words that announce it.

    >>> secret_spans("Authorization: Bearer abcdefghijk")
    [(22, 33)]
    """
    # The group that announces the key, if there is one, ends where the key begins.
    return [
        (max(match.end(1), match.end(2), match.end(3), match.start()), match.end()) for match in _SECRET.finditer(text)
    ]


class StreamflowError(Exception):
    """Root of all errors of this library; each can say what came before it.

    >>> StreamflowError("broken").type
    'StreamflowError'
    """

    default_retryable = False

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        retryable: bool | None = None,
        emitted: bool = False,
        partial: Any = None,
        status: int | None = None,
        kind: str | None = None,
        position: int | None = None,
    ) -> None:
        self.message = redact_secrets(message)
        super().__init__(self.message)
        self.provider = provider
        self.retryable = self.default_retryable if retryable is None else retryable
        self.emitted = emitted
        self.partial = partial
        self.status = status
        self.kind = kind
        self.position = position

    @property
    def type(self) -> str:
        """The name of the class, as in the JSON form."""
        return type(self).__name__

    def info(self) -> ErrorInfo:
        """The error as data.

        >>> StreamTruncated("cut", provider="openai").info().provider
        'openai'
        """
        return ErrorInfo(
            self.type,
            self.message,
            self.provider,
            self.retryable,
            self.emitted,
            self.status,
            self.kind,
            self.position,
        )

    def __eq__(self, other: object) -> bool:
        # Responses hold their error, and equal answers must compare equal however the bytes were cut.
        if not isinstance(other, StreamflowError):
            return NotImplemented
        return self.info() == other.info()

    def __hash__(self) -> int:
        return hash((self.type, self.message))

    def __reduce__(self) -> tuple[Any, ...]:
        return (error_from_info, (self.info(),))


class TransportError(StreamflowError):
    """The network failed.

    >>> TransportError("connection refused").retryable
    True
    """

    default_retryable = True


class StreamTruncated(TransportError):
    """The bytes stopped before the provider's own end marker.

    >>> StreamTruncated("no [DONE]").type
    'StreamTruncated'
    """


class StreamStalled(TransportError):
    """Nothing came for too long.

    >>> StreamStalled("no bytes for 30 s").retryable
    True
    """


class ProviderError(StreamflowError):
    """The provider refused, or failed in mid-stream, and said so.

    >>> ProviderError("overloaded", status=529, kind="overloaded_error", retryable=True).status
    529
    """


class ProtocolError(StreamflowError):
    """The bytes are not what the dialect promises.

    >>> ProtocolError("not JSON", position=12).position
    12
    """


class LimitExceeded(ProtocolError):
    """A bound of ours was reached: an event, a stream or a buffer is too large.

    >>> LimitExceeded("event over 32 MiB", kind="max_event_bytes").kind
    'max_event_bytes'
    """


class UsageError(StreamflowError):
    """The library was called wrongly; the message says how to do it right.

    >>> UsageError("unknown provider").retryable
    False
    """


_BY_NAME: dict[str, type[StreamflowError]] = {
    cls.__name__: cls
    for cls in (
        StreamflowError,
        TransportError,
        StreamTruncated,
        StreamStalled,
        ProviderError,
        ProtocolError,
        LimitExceeded,
        UsageError,
    )
}


def error_from_info(info: ErrorInfo, partial: Any = None) -> StreamflowError:
    """The exception that this data came from.

    >>> error_from_info(ErrorInfo("StreamTruncated", "cut")).retryable
    False
    >>> type(error_from_info(ErrorInfo("StreamTruncated", "cut"))).__name__
    'StreamTruncated'
    """
    cls = _BY_NAME.get(info.type, StreamflowError)
    return cls(
        info.message,
        provider=info.provider,
        retryable=info.retryable,
        emitted=info.emitted,
        partial=partial,
        status=info.status,
        kind=info.kind,
        position=info.position,
    )
