"""Reaching an event loop from any thread."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any


def run_on_loop(loop: asyncio.AbstractEventLoop, action: Callable[..., object], *values: Any) -> None:
    """Act on the loop: at once where it is the one that runs, soon from another thread, never when it is closed.

    >>> async def main():
    ...     seen = []
    ...     run_on_loop(asyncio.get_running_loop(), seen.append, 1)
    ...     return seen
    >>> asyncio.run(main())
    [1]
    """
    try:
        is_here = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_here = False
    if is_here:
        action(*values)
        return
    with contextlib.suppress(RuntimeError):  # the loop was closed: what it ran is over
        loop.call_soon_threadsafe(action, *values)
