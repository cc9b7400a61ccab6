"""A run over other streams: their events are changed or joined on the way."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec

from streamflow.events import Response, StreamCompleted
from streamflow.fold import Fold, with_response
from streamflow.loops import run_on_loop
from streamflow.sources.context import StreamContext
from streamflow.sources.run import Stats
from streamflow.stage import Chain, Operator


class Feed(Protocol):
    """Where a derived run has its events from."""

    async def next_events(self) -> list[Any]:
        """The next events; ``StopAsyncIteration`` when there are no more."""

    def dispose(self) -> None:
        """Close the connection."""

    @property
    def stats(self) -> Stats:
        """Numbers of the stream that is being read."""


class DerivedRun:
    """What a live stream asks of a run, over the events of a feed: `read` gives the next events, then None."""

    def __init__(self, feed: Feed, operators: Sequence[Operator[Any, Any]], context: StreamContext) -> None:
        self._feed = feed
        self._context = context
        self._chain = Chain([operator.make_stage() for operator in operators]) if operators else None
        self._fold = Fold()
        self._loop = asyncio.get_running_loop()
        self._ending = False
        self.stopping = False
        self.over = False
        self.error: BaseException | None = None
        self.asks_context = context.is_cancelled is not None
        self.pumped_by: asyncio.Task[None] | None = None

    @property
    def stats(self) -> Stats:
        """Numbers of the stream that is being read."""
        return self._feed.stats

    async def read(self) -> Iterator[Any] | None:
        """The next events, None when there are no more. A cancelled reader disposes of the run."""
        try:
            while not self.over and not self._ending:
                try:
                    events = await self._feed.next_events()
                except StopAsyncIteration:
                    return self._ended(None)
                out = events
                if self._chain is not None:
                    out = [made for event in events for made in self._chain.feed(event)]
                    if self._chain.error is not None:
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
                # The stream below filled in its own fold, which knows nothing of what was changed here.
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
            self._ending = True
            self.error = error
            return self._given(rest)
        self._finish(error)
        return None

    def check_context(self) -> None:
        """Ask ``is_cancelled``, between events."""
        if self._context.cancelled:
            self._context.cancel()

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
            self._feed.dispose()
