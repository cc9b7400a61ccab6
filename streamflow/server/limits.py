"""How much of everything one server allows, and how long it waits."""

from typing import Any

import msgspec

from streamflow.errors import UsageError


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a server; each can be set. Durations are in seconds.

    >>> Limits(request_bytes=1000).flows_per_owner
    1000
    """

    request_bytes: int = 1 << 20  # the body of a request
    message_bytes: int = 64 << 10  # a message from a WebSocket client
    header_bytes: int = 8190  # one header field, or the line of the address (`streamflow serve` only)
    flows_per_owner: int = 1000  # that run at the same time
    kept_per_owner: int = 1000  # that have ended and can still be read
    subscribers_per_flow: int = 1000
    journal_events: int = 200_000
    journal_bytes: int = 32 << 20  # of one flow
    batch_bytes: int = 64 << 10  # written at once to one connection
    linger_s: float = 30.0  # a flow without readers goes on for that long
    keep_s: float = 300.0  # a flow that has ended can be read for that long
    heartbeat_s: float = 15.0
    stalled_s: float = 20.0  # a client that takes nothing for that long is cut off
    drain_s: float = 30.0  # live flows may finish for that long after SIGTERM
    retry_ms: int = 1000  # when a browser comes back after a cut

    def checked(self) -> "Limits":
        """The same limits; a value that makes no sense raises."""
        for name in self.__struct_fields__:
            value: Any = getattr(self, name)
            least = 0 if name in ("linger_s", "keep_s", "drain_s", "retry_ms", "kept_per_owner") else 1e-3
            if not isinstance(value, int | float) or isinstance(value, bool) or value < least:
                raise UsageError(f"Limits({name}={value!r}): {name} must be a number above 0")
        return self
