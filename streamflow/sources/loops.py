"""Running a program: on uvloop where it is installed."""

import asyncio
import importlib
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_async(main: Coroutine[Any, Any, T]) -> T:
    """Like ``asyncio.run``, on uvloop if the extra ``streamflow-rx[fast]`` is installed.

    >>> async def main():
    ...     return "done"
    >>> run_async(main())
    'done'
    """
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
