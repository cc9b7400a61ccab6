"""Several sources, one after the other: the next is asked only while nothing was said."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from streamflow.errors import StreamflowError, UsageError
from streamflow.events import Notice, Raw, Response, Retrying, StreamStart, Usage
from streamflow.loops import run_on_loop
from streamflow.sources.context import StreamContext
from streamflow.sources.live import LiveStream
from streamflow.sources.run import Run, Stats
from streamflow.stage import Chain, Operator

# These are no part of an answer: while only they have come, another source can still take over.
_BEFORE_ANSWER = (StreamStart, Usage, Notice, Raw)

Candidate = LiveStream | Callable[[], LiveStream]


def fallback(sources: Sequence[Candidate], *, context: StreamContext | None = None) -> LiveStream:
    """The first of these streams that begins to answer.

    Each is what `Client.stream` returns, or a function that makes it. One that fails before it says anything is passed
    over, with a `Retrying` event that says why; once anything was said the failure is the stream's own, because a
    second answer would repeat the first. To go on after that use the operator `seam`.

    >>> fallback([])
    Traceback (most recent call last):
    streamflow.errors.UsageError: fallback needs at least one source, for example fallback([a.stream(m), b.stream(m)])
    """
    if not sources:
        raise UsageError("fallback needs at least one source, for example fallback([a.stream(m), b.stream(m)])")
    for source in sources:
        if not isinstance(source, LiveStream) and not callable(source):
            raise UsageError(f"fallback: {source!r} is neither a stream of a client nor a function that makes one")

    def start(operators: Sequence[Operator[Any, Any]], context: StreamContext) -> Run:
        return cast("Run", FallbackRun(list(sources), operators, context))  # it can do what a stream asks of a run

    return LiveStream(start, context)


class FallbackRun:
    """A run of the first source that answers: `read` gives the next events until it gives None."""

    def __init__(
        self, sources: list[Candidate], operators: Sequence[Operator[Any, Any]], context: StreamContext
    ) -> None:
        self._sources = sources
        self._operators = operators
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._place = 0
        self._stream: LiveStream | None = None
        self._events: Any = None
        self._begun = False
        self._held: list[Any] = []
        self._leave = context.listen(self.cancel)
        self.stopping = False
        self.over = False
        self.error: BaseException | None = None
        self.asks_context = context.is_cancelled is not None
        self.pumped_by: asyncio.Task[None] | None = None

    @property
    def stats(self) -> Stats:
        """Numbers of the source that is being read."""
        found = None if self._stream is None else self._stream.stats
        return found or Stats()

    async def read(self) -> Iterator[Any] | None:
        """The next events, None when there are no more. A cancelled reader disposes of the run."""
        try:
            while not self.over:
                if self._events is None:
                    self._next_source()
                try:
                    event = await anext(self._events)
                except StopAsyncIteration:
                    if self._held:
                        return self._released()
                    self._finish(None)
                except StreamflowError as error:
                    announced = self._passed_over(error)
                    if announced:
                        return iter(announced)
                else:
                    if not self._begun and isinstance(event, _BEFORE_ANSWER):
                        self._held.append(event)
                    elif isinstance(event, Retrying):
                        return iter((event,))
                    else:
                        self._begun = True
                        self._held.append(event)
                        return self._released()
        except asyncio.CancelledError:
            self.dispose()
            raise
        return None

    def _released(self) -> Iterator[Any]:
        held, self._held = self._held, []
        return iter(held)

    def _next_source(self) -> None:
        source = self._sources[self._place]
        stream = source if isinstance(source, LiveStream) else source()
        self._stream = stream if not self._operators else stream.pipe(*self._operators)
        if self._context.cancelled:
            self._stream.cancel()
        self._events = aiter(self._stream)

    def _passed_over(self, error: StreamflowError) -> list[Any]:
        """What says that the next source is asked; nothing when there is none, or when it is too late."""
        self._place += 1
        if self._begun or self._place >= len(self._sources) or isinstance(error, UsageError):
            self._finish(error)
            return []
        self._events = None
        self._held = []
        error.__traceback__ = None  # it is kept by its stream, and would keep whoever iterates over this one
        announcement = Retrying(self._place, len(self._sources), f"{error.provider or 'source'}: {error.message}")
        return Chain([operator.make_stage() for operator in self._operators]).feed(announcement)

    def check_context(self) -> None:
        """Ask ``is_cancelled``, between events."""
        if self._context.cancelled:
            self.cancel()

    def cancel(self) -> None:
        """End with ``cancelled`` and what came; safe from any thread."""
        if self._stream is not None:
            self._stream.cancel()

    def dispose(self) -> None:
        """Close the connection and say nothing more; safe from any thread."""
        run_on_loop(self._loop, self._finish, None)

    def response(self) -> Response:
        """What was given out so far."""
        found = None if self._stream is None else self._stream.response
        return found or Response()

    def _finish(self, error: BaseException | None) -> None:
        if self.over:
            return
        self.over = True
        self.error = error
        self._leave()
        events, self._events = self._events, None
        if events is not None:
            events.dispose()  # others may still hold the iterator
