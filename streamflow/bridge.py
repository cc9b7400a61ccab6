"""From Rx to ``async for``."""

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, Protocol, TypeVar

from reactivex import Observable
from reactivex.abc import DisposableBase

from streamflow.errors import LimitExceeded, StreamflowError
from streamflow.loops import run_on_loop

T = TypeVar("T")


class Backlog(Protocol):
    """The items that wait for one reader."""

    def put(self, item: Any) -> StreamflowError | None:
        """Let an item wait; an error when that is one too many."""
        ...

    def take(self) -> Any:
        """The next item; only asked when there is one."""
        ...

    def __len__(self) -> int: ...


class _Queue:
    """Items in order, up to a number."""

    def __init__(self, max_items: int) -> None:
        self._items: deque[Any] = deque()
        self._max_items = max_items

    def put(self, item: Any) -> StreamflowError | None:
        """Add one."""
        if len(self._items) >= self._max_items:
            return LimitExceeded(
                f"the consumer is {self._max_items} items behind a source that cannot wait; "
                "read faster, or raise max_items",
                kind="max_items",
            )
        self._items.append(item)
        return None

    def take(self) -> Any:
        """The oldest."""
        return self._items.popleft()

    def __len__(self) -> int:
        return len(self._items)


class ObservableIterator(AsyncIterator[T], Generic[T]):
    """One subscription, read by ``async for``; made by `aiter`.

    It subscribes when the first item is asked for. Leaving the loop, ``aclose()`` and cancelling the reading task
    unsubscribe.
    """

    def __init__(self, source: Observable[T], backlog: Backlog) -> None:
        self._source = source
        self._backlog = backlog
        self._over = False
        self._error: BaseException | None = None
        self._subscription: DisposableBase | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()

    def __aiter__(self) -> "ObservableIterator[T]":
        return self

    async def __anext__(self) -> T:
        if self._loop is None and not self._over:
            self._loop = asyncio.get_running_loop()
            self._subscription = self._subscribed()
        while not len(self._backlog):
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
        item: T = self._backlog.take()
        return item

    async def aclose(self) -> None:
        """Unsubscribe; nothing more is delivered."""
        self._leave()

    async def __aenter__(self) -> "ObservableIterator[T]":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        # `break` drops the iterator, and that is all that anybody hears of it.
        if self._subscription is not None and not self._over:
            self._leave()

    def _leave(self) -> None:
        self._over = True
        if self._subscription is not None:
            self._subscription.dispose()

    def _subscribed(self) -> DisposableBase:
        # The source must not keep an iterator alive that everybody else has dropped.
        iterator = weakref.ref(self)

        def tell(name: str) -> Callable[..., None]:
            def told(*arguments: Any) -> None:
                if (living := iterator()) is not None:
                    getattr(living, name)(*arguments)

            return told

        return self._subscribe(tell("_put"), tell("_fail"), tell("_end"))

    def _subscribe(
        self, on_next: Callable[..., None], on_error: Callable[..., None], on_completed: Callable[..., None]
    ) -> DisposableBase:
        return self._source.subscribe(on_next, on_error, on_completed)

    def _put(self, item: T) -> None:
        if self._over:
            return
        problem = self._backlog.put(item)
        if problem is None:
            self._notify()
        else:
            self._refuse(problem)

    def _refuse(self, error: StreamflowError) -> None:
        """What waits is still delivered, then the error; nothing more is taken in."""
        self._fail(error)
        if self._subscription is not None:
            self._subscription.dispose()

    def _fail(self, error: BaseException) -> None:
        if not self._over:
            self._error = error
            self._end()

    def _end(self) -> None:
        self._over = True
        self._notify()

    def _notify(self) -> None:
        if self._loop is not None:
            run_on_loop(self._loop, self._wake.set)


def aiter(observable: Observable[T], *, max_items: int = 1_000_000) -> ObservableIterator[T]:
    """Any Observable as an async iterator; at most ``max_items`` wait for the reader, more are a `LimitExceeded`.

    It subscribes when the first item is asked for, and unsubscribes at the end, on ``aclose()``, when the loop is left
    and when the reading task is cancelled.

    >>> import asyncio, reactivex as rx
    >>> async def main():
    ...     return [item async for item in aiter(rx.of(1, 2))]
    >>> asyncio.run(main())
    [1, 2]
    """
    return ObservableIterator(observable, _Queue(max_items))
