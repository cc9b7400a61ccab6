import time
from collections.abc import Callable
from typing import Any

from streamflow.events import Notice, Stamped
from streamflow.stage import Operator, lift


class Sequence:
    """Numbers plain events; checks the numbers of those that have one."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next = 0
        self._begun: float | None = None

    def feed(self, item: Any) -> list[Any]:
        """Stamp, or check the stamp."""
        if isinstance(item, Stamped):
            return self._check(item)
        now = self._clock()
        if self._begun is None:
            self._begun = now
        stamped = Stamped(self._next, now - self._begun, item)
        self._next += 1
        return [stamped]

    def _check(self, item: Stamped) -> list[Any]:
        expected = self._next
        self._next = max(expected, item.seq + 1)
        if item.seq == expected:
            return [item]
        if item.seq > expected:
            return [Notice("gap", f"{item.seq - expected} missing before {item.seq}", [expected, item.seq]), item]
        if item.seq == expected - 1:
            return [Notice("repeat", f"{item.seq} came again", [item.seq]), item]
        return [Notice("disorder", f"{item.seq} came after {expected - 1}", [expected - 1, item.seq]), item]

    def flush(self) -> list[Any]:
        """Nothing is held."""
        return []

    def abort(self, error: BaseException) -> list[Any]:
        """Nothing is held."""
        return []


def sequence(*, clock: Callable[[], float] = time.monotonic) -> Operator[Any, Stamped]:
    """Stamp each item with its number and its time; report gaps, repeats and disorder of what is stamped already.

    ```
    in   --a------------b------------|
    out  --Stamped(0,a)-Stamped(1,b)-|
    ```

    >>> import streamflow as sf
    >>> [(item.seq, item.event) for item in sf.run(["a", "b"], sequence())]
    [(0, 'a'), (1, 'b')]
    """
    return lift(lambda: Sequence(clock), "sequence")
