"""Generated pictures leave the stream for a blob store as they come."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from streamflow.blobs import BlobStore
from streamflow.errors import UsageError
from streamflow.events import Image, ImagePreview, Response, StreamCompleted
from streamflow.fold import Fold, with_response
from streamflow.loops import run_on_loop
from streamflow.requests.media import externalize_images
from streamflow.sources.context import StreamContext
from streamflow.sources.live import LiveIterator, LiveStream
from streamflow.sources.run import Run, Stats
from streamflow.stage import Chain, Operator


def externalized(stream: LiveStream, store: BlobStore) -> LiveStream:
    """The same stream, with blob ids in place of the data of generated pictures; the response has none either.

    >>> from streamflow.blobs import MemoryBlobStore
    >>> externalized(LiveStream(lambda operators, context: None), MemoryBlobStore())
    LiveStream()
    """

    def start(operators: Sequence[Operator[Any, Any]], context: StreamContext) -> Run:
        return cast("Run", ExternalizingRun(stream, store, operators))  # it can do what a stream asks of a run

    return LiveStream(start, stream.context)


def check_store(store: BlobStore | None, provider: str) -> None:
    """Raise when there is nowhere to put pictures."""
    if store is None:
        raise UsageError("externalize_images needs a store: pass blob_store to sf.connect", provider=provider)


class ExternalizingRun:
    """A run of another stream whose pictures are stored on the way: `read` gives the next events, then None."""

    def __init__(self, stream: LiveStream, store: BlobStore, operators: Sequence[Operator[Any, Any]]) -> None:
        self._stream = stream
        self._store = store
        self._chain = Chain([operator.make_stage() for operator in operators]) if operators else None
        self._fold = Fold()
        self._loop = asyncio.get_running_loop()
        self._events: LiveIterator | None = aiter(stream)
        self.stopping = False
        self.over = False
        self.error: BaseException | None = None
        self.asks_context = stream.context.is_cancelled is not None
        self.pumped_by: asyncio.Task[None] | None = None

    @property
    def stats(self) -> Stats:
        """Numbers of the stream that is being read."""
        return self._stream.stats or Stats()

    async def read(self) -> Iterator[Any] | None:
        """The next events, None when there are no more. A cancelled reader disposes of the run."""
        try:
            while not self.over and self._events is not None:
                try:
                    event = await anext(self._events)
                except StopAsyncIteration:
                    return self._ended(None)
                if isinstance(event, Image | ImagePreview):
                    event = await externalize_images(event, self._store)
                out = [event] if self._chain is None else self._chain.feed(event)
                if self._chain is not None and self._chain.error is not None:
                    self._ended(self._chain.error)
                if out:
                    return self._given(out)
        except asyncio.CancelledError:
            self.dispose()
            raise
        except Exception as error:
            return self._ended(error)
        return None

    def _given(self, events: list[Any]) -> Iterator[Any]:
        for event in events:
            if isinstance(event, StreamCompleted):
                # The client filled in its own fold, in which the pictures still are.
                yield with_response(msgspec.structs.replace(event, response=None), self._fold)
                continue
            self._fold.add(event)
            yield event

    def _ended(self, error: BaseException | None) -> Iterator[Any] | None:
        chain, self._chain = self._chain, None
        rest: list[Any] = []
        if chain is not None and chain.error is None:
            rest = chain.finish() if error is None else chain.abort(error)
        partial = getattr(error, "partial", None)
        if isinstance(partial, Response):
            error.partial = self._fold.response(error)  # type: ignore[union-attr]
        if rest:
            self._events = None
            self.error = error
            return self._given(rest)
        self._finish(error)
        return None

    def check_context(self) -> None:
        """Ask ``is_cancelled``, between events."""
        if self._stream.context.cancelled:
            self._stream.cancel()

    def dispose(self) -> None:
        """Close the connection and say nothing more; safe from any thread."""
        run_on_loop(self._loop, self._finish, None)

    def response(self) -> Response:
        """What was given out so far."""
        return self._fold.response(self.error)

    def _finish(self, error: BaseException | None) -> None:
        if not self.over:
            self.over = True
            self.error = self.error or error
            events, self._events = self._events, None
            if events is not None:
                events.dispose()  # others may still hold the iterator
