"""Reading a branch with ``async for``, at the reader's own speed."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from streamflow.errors import StreamflowError, StreamStalled
from streamflow.flow.policies import Policy, backlog_for

if TYPE_CHECKING:
    from streamflow.flow.branch import Branch


class BranchReader(AsyncIterator[Any]):
    """One subscription to a branch with a backlog of its own.

    Leaving the loop, ``aclose()`` and cancelling the reading task unsubscribe.
    """

    def __init__(self, branch: "Branch", policy: Policy, after: int, max_items: int, max_bytes: int) -> None:
        self._branch = branch
        self._after = after
        self.policy = policy
        self._backlog = backlog_for(policy, max_items, max_bytes)
        self._error: BaseException | None = None
        self._over = False
        self._subscription: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()

    def __aiter__(self) -> "BranchReader":
        return self

    async def __anext__(self) -> Any:
        if self._subscription is None and not self._over:
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
        item = self._backlog.take()
        if self.policy.name == "block" and 2 * len(self._backlog) <= self.policy.max_items:
            self._branch.flow.has_room(self)
        return item

    def _subscribed(self) -> Any:
        # The flow must not keep a reader alive that everybody else has dropped.
        reader = weakref.ref(self)

        def tell(method: Callable[..., None]) -> Callable[..., None]:
            def told(*arguments: Any) -> None:
                if (living := reader()) is not None:
                    method(living, *arguments)

            return told

        return self._branch.subscribe(
            tell(BranchReader._put), tell(BranchReader._fail), tell(BranchReader._end), after=self._after
        )

    async def aclose(self) -> None:
        """Unsubscribe."""
        self._over = True
        self._branch.flow.has_room(self)
        if self._subscription is not None:
            self._subscription.dispose()

    def __del__(self) -> None:
        # `break` drops the reader, and that is all that anybody hears of it.
        if self._subscription is not None and not self._over:
            self._over = True
            self._branch.flow.has_room(self)
            self._subscription.dispose()

    def cut_off(self) -> None:
        """The source waited long enough."""
        waited = self.policy.max_wait_s
        self._fail(
            StreamStalled(
                f"the branch {self._branch.name!r} made the source wait for {waited} s and was cut off; read faster, "
                "or give it another policy: sf.conflate(), sf.drop_oldest(n), sf.block(max_wait_s=...)",
                kind="slow_reader",
            )
        )
        if self._subscription is not None:
            self._subscription.dispose()

    def _put(self, item: Any) -> None:
        if self._over:
            return
        problem: StreamflowError | None = self._backlog.put(item)
        if problem is not None:
            self._fail(problem)
            if self._subscription is not None:
                self._subscription.dispose()
            return
        if self.policy.name == "block" and len(self._backlog) >= self.policy.max_items:
            self._branch.flow.is_full(self)
        self._notify()

    def _fail(self, error: BaseException) -> None:
        if not self._over:
            self._error = error
            self._end()

    def _end(self) -> None:
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
