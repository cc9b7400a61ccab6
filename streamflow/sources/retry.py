"""What is tried again and how long to wait: pure rules, no clock and no randomness of their own.

The rules are those of the vendors' own SDKs: 408, 409, 429, every 5xx and connection errors; half a second that doubles
up to eight, shortened by up to a quarter; what the server asks for in its headers goes first.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from streamflow.errors import ProviderError, StreamflowError, StreamStalled, TransportError, UsageError

RETRIED_STATUS = frozenset((408, 409, 429))
NO_HEADERS: Mapping[str, str] = {}


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often, and how long between attempts.

    >>> [RetryPolicy().backoff_s(retry, draw=0.0) for retry in (1, 2, 3, 4, 5, 6)]
    [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    """

    max_retries: int = 2
    first_delay_s: float = 0.5
    max_delay_s: float = 8.0
    jitter: float = 0.25
    max_asked_s: float = 120.0

    def backoff_s(self, retry: int, draw: float) -> float:
        """The wait before the given retry (from 1); `draw` is a random number in [0, 1) and shortens it.

        >>> RetryPolicy().backoff_s(1, draw=1.0)
        0.375
        """
        delay: float = min(self.first_delay_s * 2 ** min(retry - 1, 32), self.max_delay_s)
        return delay * (1 - self.jitter * draw)

    def delay_s(
        self,
        error: StreamflowError,
        retry: int,
        *,
        draw: float,
        headers: Mapping[str, str] = NO_HEADERS,
        wall_time_s: float = 0.0,
    ) -> float | None:
        """Seconds until the given retry (from 1), or None when the error stands.

        >>> RetryPolicy().delay_s(TransportError("connection reset"), 1, draw=0.0)
        0.5
        >>> RetryPolicy().delay_s(TransportError("connection reset"), 3, draw=0.0) is None
        True
        """
        if retry > self.max_retries or not is_worth_retrying(error, headers):
            return None
        asked = asked_delay_s(headers, wall_time_s)
        if asked is None:
            return self.backoff_s(retry, draw)
        return asked if asked <= self.max_asked_s else None


def check_max_retries(max_retries: int) -> int:
    """The number itself, if it is one.

    >>> check_max_retries(0)
    0
    """
    if not isinstance(max_retries, int) or isinstance(max_retries, bool) or max_retries < 0:
        raise UsageError(f"max_retries must be 0 or a positive whole number, not {max_retries!r}")
    return max_retries


def is_worth_retrying(error: StreamflowError, headers: Mapping[str, str] = NO_HEADERS) -> bool:
    """Whether a new attempt may help; the server's ``x-should-retry`` has the last word.

    A silence that used up its time is not tried again: the caller has waited long enough.

    >>> is_worth_retrying(ProviderError("busy", status=529))
    True
    >>> is_worth_retrying(ProviderError("busy", status=529), {"x-should-retry": "false"})
    False
    """
    said = headers.get("x-should-retry", "").strip().lower()
    if said in ("true", "false"):
        return said == "true"
    if isinstance(error, StreamStalled):
        return False
    if isinstance(error, ProviderError):
        status = error.status
        if status is None:
            return error.retryable
        return status in RETRIED_STATUS or status >= 500
    return isinstance(error, TransportError) and error.retryable


def asked_delay_s(headers: Mapping[str, str], wall_time_s: float) -> float | None:
    """What the server asks to wait: ``retry-after-ms``, then ``Retry-After`` as seconds or as a date.

    >>> asked_delay_s({"retry-after-ms": "250", "retry-after": "9"}, 0.0)
    0.25
    >>> asked_delay_s({"retry-after": "Thu, 01 Jan 1970 00:00:30 GMT"}, 10.0)
    20.0
    >>> asked_delay_s({"retry-after": "soon"}, 0.0) is None
    True
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    seconds = _number(said)
    if seconds is not None or said is None:
        return seconds
    try:
        moment = parsedate_to_datetime(said).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment - wall_time_s)


def _number(text: str | None) -> float | None:
    """A finite number that is not negative; anything else is as good as nothing."""
    try:
        value = float(text) if text is not None and "_" not in text else -1.0
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
