"""A handle to stop a stream from outside."""

import threading
from collections.abc import Callable

from streamflow.sources.clocks import check_duration


class StreamContext:
    """Cancels the streams that it is given to; ``is_cancelled`` is asked between events, ``timeout_s`` is a limit.

    `cancel` may be called from any thread and any number of times. A cancelled stream ends with
    ``StreamCompleted(stop_reason="cancelled")`` and what came until then.

    >>> context = StreamContext(timeout_s=30)
    >>> context.cancel()
    >>> context.cancelled
    True
    """

    def __init__(self, is_cancelled: Callable[[], bool] | None = None, timeout_s: float | None = None) -> None:
        check_duration("timeout_s", timeout_s)
        self.is_cancelled = is_cancelled
        self.timeout_s = timeout_s
        self._cancelled = False
        self._lock = threading.Lock()
        self._listeners: dict[int, Callable[[], None]] = {}
        self._count = 0

    @property
    def cancelled(self) -> bool:
        """True after `cancel`, or when ``is_cancelled`` says so."""
        return self._cancelled or (self.is_cancelled is not None and bool(self.is_cancelled()))

    def cancel(self) -> None:
        """Stop the streams of this context, and every later one before it begins."""
        with self._lock:
            self._cancelled = True
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Be told of `cancel`; the returned function ends that."""
        with self._lock:
            self._count += 1
            number = self._count
            self._listeners[number] = listener

        def leave() -> None:
            with self._lock:
                self._listeners.pop(number, None)

        return leave

    def __repr__(self) -> str:
        return f"StreamContext(cancelled={self._cancelled}, timeout_s={self.timeout_s})"
