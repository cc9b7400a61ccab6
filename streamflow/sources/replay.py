"""Replay: a recording as a source, with the same pieces, the same times and the same end."""

import asyncio
import math
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable

from streamflow.errors import StreamTruncated, UsageError
from streamflow.operators.timed import clock_of, scheduler_for
from streamflow.recordings import Recording, load_recording
from streamflow.stage import refuse_plain_loop


class Replay(Observable[Any]):
    """What `replay` gives: an Observable, and an async iterable that waits for its reader.

    A recording that was cancelled, or whose file just stops, ends in `StreamTruncated`: nobody knows what was to come.
    """

    __iter__ = refuse_plain_loop

    def __init__(self, recording: Recording, speed: float) -> None:
        super().__init__()
        self.recording = recording
        self.speed = speed

    def _subscribe_core(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        if math.isinf(self.speed):
            return self._at_once(observer)
        return self._timed(observer, scheduler_for(scheduler))

    def _at_once(self, observer: abc.ObserverBase[Any]) -> abc.DisposableBase:
        left = False

        def leave() -> None:
            nonlocal left
            left = True

        disposable = Disposable(leave)
        for piece in self.recording.pieces:
            if left:
                return disposable
            observer.on_next(piece.item)
        self._finish(observer)
        return disposable

    def _timed(self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase) -> abc.DisposableBase:
        # One timer at a time, each set from the beginning: no drift, and nothing left to cancel one by one.
        pieces = self.recording.pieces
        clock = clock_of(scheduler)
        begin = clock()
        pending = CompositeDisposable()

        def wait(t: float, action: Callable[[], None]) -> None:
            elapsed = clock() - begin

            def run(*_: Any) -> None:
                pending.clear()
                action()

            pending.add(scheduler.schedule_relative(max(0.0, t / self.speed - elapsed), run))

        def give(place: int) -> None:
            if place == len(pieces):
                self._finish(observer)
                return
            observer.on_next(pieces[place].item)
            following = place + 1
            t = pieces[following].t if following < len(pieces) else max(pieces[-1].t, self.recording.end_t)
            if not pending.is_disposed:
                wait(t, lambda: give(following))

        wait(pieces[0].t if pieces else self.recording.end_t, lambda: give(0))
        return pending

    def _finish(self, observer: abc.ObserverBase[Any]) -> None:
        error = _end_error(self.recording)
        if error is not None:
            observer.on_error(error)
        else:
            observer.on_completed()

    async def __aiter__(self) -> AsyncIterator[Any]:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for piece in self.recording.pieces:
            if not math.isinf(self.speed):
                await asyncio.sleep(max(0.0, begin + piece.t / self.speed - loop.time()))
            yield piece.item
        if not math.isinf(self.speed):
            await asyncio.sleep(max(0.0, begin + self.recording.end_t / self.speed - loop.time()))
        if (error := _end_error(self.recording)) is not None:
            raise error

    def __repr__(self) -> str:
        return f"Replay({self.recording.provider or 'recording'}, {len(self.recording.pieces)} pieces, x{self.speed})"


def _end_error(recording: Recording) -> Exception | None:
    if recording.end == "completed":
        return None
    if recording.error is not None:
        return recording.error
    return StreamTruncated(f"the recording ends here: it was {recording.end}", provider=recording.provider or None)


def replay(source: str | os.PathLike[str] | Recording, speed: float = 1.0, *, provider: str = "") -> Replay:
    """A recording as a source: in its own time, ``speed`` times faster, or at once (``speed=math.inf``).

    >>> from streamflow.recordings import Piece
    >>> seen = []
    >>> replay(Recording("openai", (Piece(0.0, b"a"), Piece(9.0, b"b"))), math.inf).subscribe(seen.append) and None
    >>> seen
    [b'a', b'b']
    """
    if isinstance(speed, bool) or not isinstance(speed, int | float) or not speed > 0:
        raise UsageError(f"replay(speed={speed!r}): 1 is its own time, n is n times faster, math.inf is at once")
    recording = source if isinstance(source, Recording) else load_recording(source, provider=provider)
    return Replay(recording, float(speed))
