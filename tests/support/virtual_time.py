"""An asyncio loop whose time jumps to the next timer, so that hours pass in milliseconds and always the same way."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class _Jump(selectors.DefaultSelector):
    """Instead of waiting for a file, lets the time pass."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if timeout is None and not ready:
            raise RuntimeError("nothing is left to happen: a task waits for something that no one will do")
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time begins at 0 and passes only while nothing can be done."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._jump.now


def run_virtually(main: Coroutine[Any, Any, Any]) -> Any:
    """Run to the end on virtual time; a task that is left over is a fault."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:

        async def checked() -> Any:
            result = await main
            await asyncio.sleep(0)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"tasks are left over: {left}"
            return result

        return runner.run(checked())
