"""Reading a branch with ``async for``, at the reader's own speed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reactivex.abc import DisposableBase

from streamflow.bridge import ObservableIterator
from streamflow.errors import StreamStalled
from streamflow.flow.policies import Policy, backlog_for

if TYPE_CHECKING:
    from streamflow.flow.branch import Branch


class BranchReader(ObservableIterator[Any]):
    """One subscription to a branch with a backlog of its own, which keeps to the branch's policy."""

    def __init__(self, branch: "Branch", policy: Policy, after: int, max_items: int, max_bytes: int) -> None:
        super().__init__(branch, backlog_for(policy, max_items, max_bytes))
        self._branch = branch
        self._after = after
        self.policy = policy
        self._full_at = policy.max_items if policy.name == "block" else None

    async def __anext__(self) -> Any:
        item = await super().__anext__()
        if self._full_at is not None and 2 * len(self._backlog) <= self._full_at:
            self._branch.flow.has_room(self)
        return item

    def cut_off(self) -> None:
        """The source waited long enough."""
        self._refuse(
            StreamStalled(
                f"the branch {self._branch.name!r} made the source wait for {self.policy.max_wait_s} s and was cut "
                "off; read faster, or choose another policy: sf.conflate(), sf.drop_oldest(n), sf.block(...)",
                kind="slow_reader",
            )
        )

    def _subscribe(
        self, on_next: Callable[..., None], on_error: Callable[..., None], on_completed: Callable[..., None]
    ) -> DisposableBase:
        return self._branch.subscribe(on_next, on_error, on_completed, after=self._after)

    def _put(self, item: Any) -> None:
        super()._put(item)
        if self._full_at is not None and not self._over and len(self._backlog) >= self._full_at:
            self._branch.flow.is_full(self)

    def _leave(self) -> None:
        super()._leave()
        self._branch.flow.has_room(self)
