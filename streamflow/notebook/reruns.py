"""Running what a probe saw again, at another speed and cut otherwise, while somebody looks."""

import asyncio
import hashlib
import math
import weakref
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from streamflow.events import Chunk, Sentence, Stamped
from streamflow.probing import Probe, probe
from streamflow.recordings import Piece, Recording
from streamflow.sources.replay import replay

_REDRAWN_EVERY_S = 0.1


class Reruns:
    """The stream of a probe: first as it comes from its source, then again and again from what came.

    ``changed`` is called at most ten times a second while items come, and once at each end. Only one run is under way
    at a time: starting another one, or a second `Reruns` of the same probe, ends it.

    >>> import streamflow as sf
    >>> from streamflow.operators import visible_filter
    >>> watched = sf.probe(visible_filter())
    >>> _ = sf.run([Chunk(0, "text", "Hi")], *watched.operators)
    >>> reruns = Reruns(watched, lambda: None)
    >>> reruns.start(speed=0)
    >>> reruns.state, reruns.text
    ('done', 'Hi')
    """

    def __init__(self, watched: Probe, changed: Callable[[], None]) -> None:
        self.probe = watched
        self.state = "waiting"
        self.outputs: list[Any] = []
        self.error: BaseException | None = None
        self._changed = changed
        self._original = watched
        self._subscription: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._over: asyncio.Event | None = None
        self._run = 0
        before = _RUNNING.get(watched)
        if before is not None:
            before.stop()
        _RUNNING[watched] = self

    @property
    def recording(self) -> Recording:
        """What came in, with its times."""
        inputs = list(self._original.stages[0].inputs())
        begin = inputs[0][0] if inputs else 0.0
        pieces = tuple(Piece(t - begin, item) for t, item in inputs)
        return Recording("", pieces, end_t=pieces[-1].t if pieces else 0.0)

    @property
    def text(self) -> str:
        """The text of what came out."""
        return "".join(item.text for item in map(_event, self.outputs) if isinstance(item, Chunk | Sentence))

    @property
    def fingerprint(self) -> str:
        """Of what came out, the same however it was cut."""
        return fingerprint(self.outputs)

    def start(self, speed: float = 1.0, piece_size: int = 0) -> None:
        """Run: the source itself the first time, then what came from it. Speed 0 is at once, size 0 leaves the cuts."""
        self.stop()
        self._run += 1
        run = self._run
        self.outputs, self.error, self.state = [], None, "running"
        self._over = asyncio.Event()

        def take(item: Any) -> None:
            if run == self._run:
                self.outputs.append(item)
                self._redraw_soon()

        def fail(error: BaseException) -> None:
            if run == self._run:
                self.error = error
                self._end(f"failed: {type(error).__name__}: {error}")

        def complete() -> None:
            if run == self._run:
                self._end("done")

        subscribe = self._first() or self._again(speed, piece_size)
        subscription = subscribe(take, fail, complete)
        if self.state == "running" and run == self._run:
            self._subscription = subscription

    def _first(self) -> Callable[..., Any] | None:
        """The source itself, unless it has run."""
        if self._original.stages[0].steps:
            return None
        self.probe = self._original
        return self._original.subscribe

    def _again(self, speed: float, piece_size: int) -> Callable[..., Any]:
        # A probe of its own: the clock of the first may be one that stands still.
        self.probe = probe(*self._original.parts)
        recording = recut(self.recording, piece_size) if piece_size else self.recording
        return replay(recording, speed or math.inf).pipe(*self.probe.operators).subscribe

    def _redraw_soon(self) -> None:
        loop = _running_loop()
        if loop is not None and self._timer is None:
            self._timer = loop.call_later(_REDRAWN_EVERY_S, self._redraw)

    def _redraw(self) -> None:
        self._timer = None
        if self.state == "running":
            self._changed()

    def _end(self, state: str) -> None:
        self.state = state
        self._subscription = None
        if self._over is not None:
            self._over.set()
        self._changed()

    def stop(self) -> None:
        """Leave the stream; nothing more comes."""
        self._run += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._subscription is not None:
            self._subscription.dispose()
            self._subscription = None
        if self.state == "running":
            self._end("stopped")

    async def finished(self) -> str:
        """Wait for the end of the run under way; a cell that is interrupted meanwhile stops the stream."""
        if self._over is not None:
            try:
                await self._over.wait()
            except asyncio.CancelledError:
                self.stop()
                raise
        return self.state


_RUNNING: "weakref.WeakKeyDictionary[Probe, Reruns]" = weakref.WeakKeyDictionary()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def recut(recording: Recording, size: int) -> Recording:
    """The same bytes or text in pieces of this size; items of other kinds cannot be cut and stay as they are.

    >>> [piece.item for piece in recut(Recording("", (Piece(0.0, "abc"), Piece(1.0, "de"))), 2).pieces]
    ['ab', 'cd', 'e']
    """
    kinds = {type(piece.item) for piece in recording.pieces}
    if kinds == {bytes}:
        return recording.recut(size=size)
    if kinds != {str}:
        return recording
    text = "".join(piece.item for piece in recording.pieces)
    times = [piece.t for piece in recording.pieces for _ in piece.item]
    cuts = [(at, min(at + size, len(text))) for at in range(0, len(text), size)]
    return replace(recording, pieces=tuple(Piece(times[end - 1], text[at:end]) for at, end in cuts))


def fingerprint(items: list[Any]) -> str:
    """A short sum over items in which adjacent chunks are joined and ids that chance made do not count.

    >>> one, two = [Chunk(0, "text", "ab")], [Chunk(0, "text", "a"), Chunk(0, "text", "b")]
    >>> fingerprint(one) == fingerprint(two) != fingerprint([])
    True
    """
    entries: list[Any] = []
    last: tuple[Any, ...] = ()
    for item in map(_event, items):
        key = (item.index, item.kind, item.part, item.visible) if isinstance(item, Chunk) else ()
        if key and key == last:
            entries[-1].append(item.text)
        elif key:
            entries.append([key, item.text])
        else:
            entries.append(replace(item, id="") if isinstance(item, Sentence) else item)
        last = key
    joined = [(entry[0], "".join(entry[1:])) if isinstance(entry, list) else entry for entry in entries]
    return hashlib.sha256(repr(joined).encode()).hexdigest()[:12]


def _event(item: Any) -> Any:
    return item.event if isinstance(item, Stamped) else item
