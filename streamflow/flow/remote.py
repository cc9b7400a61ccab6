"""The reader's side of a journal: a stream that is produced somewhere, as an Observable and an async iterable."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from streamflow.errors import StreamflowError, UsageError, error_from_info
from streamflow.events import Stamped, StreamFailed
from streamflow.flow.ports import Journal, checked_stream_id
from streamflow.stage import refuse_plain_loop

_WAIT_S = 5.0


class RemoteFlow(Observable[Stamped]):
    """A stream of a journal; made by `remote_flow`. Each subscription reads from its own place.

    It gives `Stamped` items, the terminal one too; a stream that failed then raises its error.
    """

    __iter__ = refuse_plain_loop

    def __init__(self, journal: Journal, stream_id: str, after: int) -> None:
        super().__init__()
        self._journal = journal
        self.stream_id = checked_stream_id(stream_id)
        self._after = after

    async def __aiter__(self) -> AsyncIterator[Stamped]:
        tail = await self._journal.tail(self.stream_id, self._after)
        try:
            while not tail.ended:
                for stamped in await tail.read(_WAIT_S):
                    yield stamped
                    if stamped.event.__class__ is StreamFailed:
                        raise _failure(stamped.event)
        finally:
            tail.close()

    @property
    def events(self) -> "RemoteEvents":
        """The plain events, as the source of a flow of this process: ``Flow(remote.events, ...)``."""
        return RemoteEvents(self)

    async def stop(self) -> None:
        """Ask the producer, wherever it is, to end the stream."""
        await self._journal.stop(self.stream_id)

    def _subscribe_core(
        self, observer: abc.ObserverBase[Stamped], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError("a remote flow needs a running event loop: subscribe inside an async function") from None
        task = loop.create_task(self._pump(observer), name="streamflow remote flow")

        def dispose() -> None:
            if not task.done() and not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

        return Disposable(dispose)

    async def _pump(self, observer: abc.ObserverBase[Stamped]) -> None:
        try:
            async for stamped in self:
                observer.on_next(stamped)
        except StreamflowError as error:
            observer.on_error(error)
        else:
            observer.on_completed()

    def __repr__(self) -> str:
        return f"RemoteFlow({self.stream_id!r})"


class RemoteEvents:
    """The events of a remote flow without their numbers; made by `RemoteFlow.events`."""

    def __init__(self, remote: RemoteFlow) -> None:
        self._remote = remote

    async def __aiter__(self) -> AsyncIterator[Any]:
        stamps = aiter(self._remote)
        try:
            async for stamped in stamps:
                if stamped.event.__class__ is not StreamFailed:  # a flow says that itself, from the error that follows
                    yield stamped.event
        finally:
            await stamps.aclose()  # type: ignore[attr-defined]


def _failure(event: StreamFailed) -> StreamflowError:
    return error_from_info(event.error, event.partial)


def remote_flow(journal: Journal, stream_id: str, after: int = -1) -> RemoteFlow:
    """A stream of a journal, behind a place, past and future alike, wherever it is produced.

    >>> from streamflow.events import StreamStart, StreamCompleted
    >>> from streamflow.flow import Flow
    >>> from streamflow.flow.embedded import EmbeddedJournal
    >>> from streamflow.flow.publish import publish
    >>> async def main():
    ...     journal = EmbeddedJournal()
    ...     await publish(Flow([StreamStart(), StreamCompleted()]), journal, "answer-1")
    ...     return [type(stamped.event).__name__ async for stamped in remote_flow(journal, "answer-1")]
    >>> asyncio.run(main())
    ['StreamStart', 'StreamCompleted']
    """
    return RemoteFlow(journal, stream_id, after)
