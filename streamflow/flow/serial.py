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

    __slots__ = ("_turn", "_waiting")

    def __init__(self) -> None:
        self._turn = threading.Lock()  # held by whoever runs actions
        self._waiting: deque[tuple[Callable[[Any], None], Any]] = deque()

    def run(self, action: Callable[[Any], None], argument: Any) -> None:
        """Run the action now, or after those that are already running."""
        self.bound(action)(argument)

    def bound(self, action: Callable[[Any], None]) -> Callable[[Any], None]:
        """The same for one action that runs for each of many items."""
        acquire, release, waiting = self._turn.acquire, self._turn.release, self._waiting

        def run(argument: Any) -> None:
            if not acquire(False):
                waiting.append((action, argument))
                self._drain()
                return
            try:
                action(argument)
            finally:
                release()
            if waiting:
                self._drain()

        return run

    def _drain(self) -> None:
        # Whoever releases the turn looks at the queue once more: nothing that was left behind meanwhile is forgotten.
        while self._waiting and self._turn.acquire(False):
            try:
                while self._waiting:
                    action, argument = self._waiting.popleft()
                    action(argument)
            finally:
                self._turn.release()
