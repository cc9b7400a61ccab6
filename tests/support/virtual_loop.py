"""An event loop whose clock jumps to the next timer: waiting takes no time, and order is what counts."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    def __init__(self, loop: "VirtualLoop") -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("nothing is left to wait for: the test would hang")
        if not ready and timeout:
            self._loop.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time is ``now``; it moves only when everybody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Like ``asyncio.run``, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
