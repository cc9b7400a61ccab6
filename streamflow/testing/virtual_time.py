"""An event loop whose clock jumps to the next timer: hours pass in milliseconds, and always the same way."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_SOCKET_GRACE_S = 0.002  # what a byte on the loopback may need to arrive


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting for timers, moves the time; sockets get a moment before it does."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        # One file is the loop's own pipe; any other is a socket on which something may be under way.
        has_sockets = len(self.get_map()) > 1
        if timeout is None:
            if not has_sockets:
                raise RuntimeError("nothing is left to happen: a task waits for something that no one will do")
            return super().select(None)
        ready = super().select(min(timeout, _SOCKET_GRACE_S) if has_sockets and timeout > 0 else 0)
        if not ready and timeout > 0:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time begins at 0 and passes only while nothing else can be done.

    >>> loop = VirtualLoop()
    >>> loop.run_until_complete(asyncio.sleep(3600)), loop.time()
    (None, 3600.0)
    >>> loop.close()
    """

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)
        self._clock_resolution = 1e-9  # timers that are due at the same moment run in the same turn

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.now


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Like ``asyncio.run``, in virtual time; a task that is left over is a fault. A `FakeProvider` may run in it.

    >>> async def main():
    ...     await asyncio.sleep(86400)
    ...     return asyncio.get_running_loop().time()
    >>> run_virtually(main())
    86400.0
    """

    async def checked() -> T:
        result = await main
        await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            raise AssertionError(f"tasks are left over: {left}")
        return result

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(checked())
