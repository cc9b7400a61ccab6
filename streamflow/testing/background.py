"""An event loop in a thread of its own, for tests of programs that are not asynchronous."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines in another thread until it is closed.

    >>> async def add(a, b):
    ...     return a + b
    >>> loop = BackgroundLoop()
    >>> loop.run(add(1, 2))
    3
    >>> loop.close()
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="streamflow-fake-provider", daemon=True)
        self._thread.start()

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait for its result."""
        return asyncio.run_coroutine_threadsafe(main, self._loop).result()

    def close(self) -> None:
        """End the loop and the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
