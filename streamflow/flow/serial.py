"""One thing after another: actions from any thread, and from inside each other, run one at a time and in order."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any


class Serial:
    """Runs actions one at a time. Whoever finds it busy leaves the action behind and goes on.

    >>> serial, seen = Serial(), []
    >>> def first(name):
    ...     serial.run(seen.append, "inner")   # asked for inside: runs after this action
    ...     seen.append(name)
    >>> serial.run(first, "outer")
    >>> seen
    ['outer', 'inner']
    """

    __slots__ = ("_busy", "_lock", "_waiting")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._busy = False

    def run(self, action: Callable[[Any], None], argument: Any) -> None:
        """Run the action now, or after those that are already running."""
        with self._lock:
            if self._busy:
                self._waiting.append((action, argument))
                return
            self._busy = True
        while True:
            try:
                action(argument)
            except BaseException:
                # What waits must not wait forever for one action that failed: the next caller goes on with it.
                with self._lock:
                    self._busy = False
                raise
            with self._lock:
                if not self._waiting:
                    self._busy = False
                    return
                action, argument = self._waiting.popleft()
