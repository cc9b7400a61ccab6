"""Bytes of one answer to events, one frame at a time, with the fold that every end carries.

Everything here is synchronous. Events come out of generators that may be left at any point: what was not taken out was
not folded either, so that the response always equals what the consumer was given.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from streamflow.errors import LimitExceeded, StreamflowError, TransportError
from streamflow.events import BlockComplete, Chunk, Notice, Raw, Response, StreamCompleted, Usage
from streamflow.fold import Fold, with_response
from streamflow.operators import wire_decode
from streamflow.providers.normalizer import Normalizer
from streamflow.providers.table import provider_row
from streamflow.stage import Chain, Operator

_QUIET = frozenset((Notice, Raw, Usage))  # these are no progress of the answer


class Answer:
    """One answer in the making. After the last event of a generator, `ended` or `error` says how it stands."""

    def __init__(
        self,
        provider: str,
        operators: Sequence[Operator[Any, Any]] = (),
        *,
        content_type: str | None = None,
        max_event_bytes: int,
        max_events: int | None = None,
        on_progress: Callable[[], None] = lambda: None,
        scrub: Callable[[str], str] = str,
        whole: bool = False,
        **options: Any,
    ) -> None:
        self._provider = provider
        self._wire: Any = wire_decode(provider, content_type, max_event_bytes=max_event_bytes).make_stage()
        row = provider_row(provider)
        if whole:
            # An answer that is not streamed has no end marker: HTTP says where it ends, and a finish reason is enough.
            row = msgspec.structs.replace(row, end="either")
        self._normalizer = Normalizer(row, **options)
        self._operators = operators
        self._tail = Chain([operator.make_stage() for operator in operators]) if operators else None
        self._fold = Fold()
        self._ready: deque[Any] = deque()
        self._closed: set[int] = set()
        self._max_events = float("inf") if max_events is None else max_events
        self._on_progress = on_progress
        self._scrub = scrub
        self.frames = 0
        self.events = 0
        self.ended = False
        """True when the provider's end marker was read."""
        self.emitted = False
        """True once an event was taken out."""
        self.error: BaseException | None = None

    @property
    def delivered(self) -> bool:
        """True when the end of the stream was taken out, too."""
        return self.ended and not self._ready

    def announce(self, event: Any) -> list[Any]:
        """An event that is not the provider's, through the operators."""
        return [event] if self._tail is None else self._tail.feed(event)

    def feed(self, data: bytes | None) -> Iterator[Any]:
        """What a read gives; None for the end of the bytes."""
        normalize, fold = self._normalizer.feed, self._fold
        direct = self._tail is None
        told = False
        try:
            for frame in self._wire.flush() if data is None else self._wire.feed(data):
                self.frames += 1
                events = normalize(frame)
                if not events:
                    continue
                event = events[0]
                if not told and (event.__class__ is Chunk or not _QUIET.issuperset(map(type, events))):
                    told = True
                    self._on_progress()
                if direct and len(events) == 1 and event.__class__ is Chunk and self.events < self._max_events:
                    # Nearly every event of a long answer comes this way, so it is worth a short cut.
                    fold.add(event)
                    self.events += 1
                    yield event
                    continue
                yield from self._delivered(events)
                if self.ended or self.error is not None:
                    return
        except Exception as error:
            yield from self.fail(error)

    def finish(self) -> Iterator[Any]:
        """The bytes are over: the rest, or the error that says that the end was missing."""
        yield from self.feed(None)
        if self.ended or self.error is not None:
            return
        try:
            events = self._normalizer.flush()
        except Exception as error:
            yield from self.fail(error)
            return
        yield from self._delivered(events)

    def fail(self, error: BaseException) -> Iterator[Any]:
        """The stream broke: release what may be shown, close what is open, give the error its partial response."""
        self.error = error
        closing = self._normalizer.abort(error)
        if self.emitted:
            self._pass_on(closing)
            if self._tail is not None and self._tail.error is None:
                self._ready.extend(self._tail.abort(error))
            yield from self._taken()
        if isinstance(error, StreamflowError):
            error.provider = error.provider or self._provider
            if isinstance(error, LimitExceeded):
                error.kind = error.kind or "max_event_bytes"  # the limit that the framings keep
            error.emitted = self.emitted
            error.partial = self.response(error)

    def cancel(self) -> Iterator[Any]:
        """Somebody stopped it: what came, open blocks closed as incomplete, and the end that says so."""
        if self.ended:
            # The whole answer had arrived, but not all of it was taken out: what was not, never happened.
            self._ready.clear()
            self._ready.extend(
                block for block in self._fold.response().blocks if block.incomplete and block.index not in self._closed
            )
        else:
            stopped = _cancellation()
            self._pass_on(self._normalizer.abort(stopped))
            if self._tail is not None and self._tail.error is None:
                self._ready.extend(self._tail.abort(stopped))
        self.ended = True
        yield from self._taken()
        end = StreamCompleted("cancelled")
        # Stages that were aborted take nothing in any more; fresh ones know whether such an event passes at all.
        passed = Chain([operator.make_stage() for operator in self._operators]).feed(end)
        self._ready.extend(event for event in passed if event.__class__ is StreamCompleted)
        yield from self._taken()

    def drop(self) -> None:
        """Nobody listens any more; only `response` will be asked for."""
        self._ready.clear()
        if not self.ended and self.error is None:
            self._normalizer.abort(_cancellation())

    def response(self, error: BaseException | None = None) -> Response:
        """What was given out so far, or what came so far when the operators give out no events."""
        if self._tail is None or self._fold.emitted or not self.emitted:
            return self._fold.response(error)
        return self._normalizer.partial(error)

    def _delivered(self, events: list[Any]) -> Iterator[Any]:
        self._pass_on(events)
        yield from self._taken()
        if self._tail is not None and self._tail.error is not None and self.error is None:
            yield from self.fail(self._tail.error)

    def _pass_on(self, events: list[Any]) -> None:
        """Through the operators, up to the end of the stream: what follows it is no part of the answer."""
        ready, tail = self._ready, self._tail
        for event in events:
            if event.__class__ is Notice:
                # It quotes what a service sent, and services send keys back.
                event = msgspec.structs.replace(event, message=self._scrub(event.message))
            if tail is None:
                ready.append(event)
            else:
                ready.extend(tail.feed(event))
                if tail.error is not None:
                    return
            if event.__class__ is StreamCompleted:
                self.ended = True
                if tail is not None:
                    ready.extend(tail.finish())
                return

    def _taken(self) -> Iterator[Any]:
        """One after the other, folded at the moment in which it is taken out."""
        ready, fold = self._ready, self._fold
        while ready:
            event = ready.popleft()
            kind = event.__class__
            self.events += 1
            self.emitted = True
            if kind is StreamCompleted:
                event = with_response(event, fold)
            else:
                fold.add(event)
                if kind is BlockComplete:
                    self._closed.add(event.index)
            yield event
        if self.events > self._max_events and not self.ended and self.error is None:
            yield from self.fail(
                LimitExceeded(f"the stream has more than max_events={self._max_events:.0f} events", kind="max_events")
            )


def _cancellation() -> TransportError:
    return TransportError("the stream was cancelled", kind="cancelled")
