"""From Rx to ``async for``."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from reactivex import Observable
from reactivex.abc import DisposableBase

from streamflow.errors import LimitExceeded

T = TypeVar("T")


class ObservableIterator(AsyncIterator[T], Generic[T]):
    """One subscription, read by ``async for``; made by `aiter`."""

    def __init__(self, source: Observable[T], max_items: int) -> None:
        self._source = source
        self._max_items = max_items
        self._ready: deque[T] = deque()
        self._over = False
        self._error: BaseException | None = None
        self._subscription: DisposableBase | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()

    def __aiter__(self) -> "ObservableIterator[T]":
        return self

    async def __anext__(self) -> T:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._subscription = self._source.subscribe(self._on_next, self._on_error, self._on_completed)
        while not self._ready:
            if self._over:
                await self.aclose()
                if self._error is not None:
                    error, self._error = self._error, None
                    raise error
                raise StopAsyncIteration
            self._wake.clear()
            try:
                await self._wake.wait()
            except asyncio.CancelledError:
                await self.aclose()
                raise
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Unsubscribe; nothing more is delivered."""
        self._over = True
        if self._subscription is not None:
            self._subscription.dispose()

    async def __aenter__(self) -> "ObservableIterator[T]":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def _on_next(self, item: T) -> None:
        if self._over:
            return
        if len(self._ready) >= self._max_items:
            self._on_error(
                LimitExceeded(
                    f"the consumer is {self._max_items} items behind a source that cannot wait; "
                    "read faster, or raise max_items",
                    kind="max_items",
                )
            )
            if self._subscription is not None:
                self._subscription.dispose()
            return
        self._ready.append(item)
        self._notify()

    def _on_error(self, error: BaseException) -> None:
        if not self._over:
            self._error = error
            self._on_completed()

    def _on_completed(self) -> None:
        self._over = True
        self._notify()

    def _notify(self) -> None:
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        try:
            here = asyncio.get_running_loop() is loop
        except RuntimeError:
            here = False
        if here:
            self._wake.set()
        else:
            loop.call_soon_threadsafe(self._wake.set)


def aiter(observable: Observable[T], *, max_items: int = 1_000_000) -> ObservableIterator[T]:
    """Any Observable as an async iterator; at most ``max_items`` wait for the reader, more are a `LimitExceeded`.

    It subscribes when the first item is asked for, and unsubscribes at the end, on ``aclose()`` and when the
    reading task is cancelled.

    >>> import asyncio, reactivex as rx
    >>> async def main():
    ...     return [item async for item in aiter(rx.of(1, 2))]
    >>> asyncio.run(main())
    [1, 2]
    """
    return ObservableIterator(observable, max_items)


