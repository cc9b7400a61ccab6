"""Generated pictures leave the stream for a blob store as they come."""

from collections.abc import Sequence
from typing import Any, cast

from streamflow.blobs import BlobStore
from streamflow.errors import UsageError
from streamflow.events import Image, ImagePreview
from streamflow.requests.media import externalize_images
from streamflow.sources.context import StreamContext
from streamflow.sources.derived import DerivedRun
from streamflow.sources.live import LiveStream
from streamflow.sources.run import Run, Stats
from streamflow.stage import Operator


def externalized(stream: LiveStream, store: BlobStore) -> LiveStream:
    """The same stream, with blob ids in place of the data of generated pictures; the response has none either.

    >>> from streamflow.blobs import MemoryBlobStore
    >>> externalized(LiveStream(lambda operators, context: None), MemoryBlobStore())
    LiveStream()
    """

    def start(operators: Sequence[Operator[Any, Any]], context: StreamContext) -> Run:
        return cast("Run", DerivedRun(_Stored(stream, store), operators, context))

    return LiveStream(start, stream.context)


def check_store(store: BlobStore | None, provider: str) -> None:
    """Raise when there is nowhere to put pictures."""
    if store is None:
        raise UsageError("externalize_images needs a store: pass blob_store to sf.connect", provider=provider)


class _Stored:
    """The events of a stream; its pictures are stored on the way."""

    def __init__(self, stream: LiveStream, store: BlobStore) -> None:
        self._stream = stream
        self._store = store
        self._events = aiter(stream)

    async def next_events(self) -> list[Any]:
        event = await anext(self._events)
        if isinstance(event, Image | ImagePreview):
            event = await externalize_images(event, self._store)
        return [event]

    def dispose(self) -> None:
        self._events.dispose()

    @property
    def stats(self) -> Stats:
        return self._stream.stats or Stats()
