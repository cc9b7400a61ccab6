from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import msgspec

from streamflow.events import TERMINAL, BlockComplete, BlockStart, Chunk, Retrying, StreamStart
from streamflow.stage import Operator, lift
from streamflow.text.holdback import MAX_TAG, Holdback, Markers, tag_markers

_ENDING = (BlockStart, StreamStart, *TERMINAL)


class TagHoldback:
    """Re-cuts strings and visible text so that a marker is never torn; everything else passes."""

    def __init__(self, markers: Markers) -> None:
        self._machine = Holdback(markers)
        self._last: Chunk | None = None  # the chunk that what is held came from
        self._starts = [(0, -1)]  # from which place of the held text on it has which offset

    @property
    def held(self) -> str:
        """What is held back at this moment."""
        return self._machine.held

    def feed(self, item: Any) -> list[Any]:
        """Take a string or an event."""
        kind = item.__class__
        if kind is Chunk:
            if item.kind != "text" or item.part is not None:
                return [item]
            return self._chunk(item)
        if kind is str:
            return [*self._release(), *self._machine.feed(item)] if self._last is not None else self._machine.feed(item)
        if kind is Retrying and item.discard:
            self._machine.flush()
            self._last = None
        elif not self._ends_text(item):
            return [item]
        return [*self._release(), item]

    def flush(self) -> list[Any]:
        """The rest is text."""
        return self._release()

    def abort(self, error: BaseException) -> list[Any]:
        """The rest is text."""
        return self._release()

    def _ends_text(self, item: Any) -> bool:
        if isinstance(item, BlockComplete):
            return self._last is None or item.index == self._last.index
        return isinstance(item, _ENDING)

    def _chunk(self, chunk: Chunk) -> list[Any]:
        out: list[Any] = []
        if self._machine.held and (self._last is None or self._last.index != chunk.index):
            out = self._release()
        held = len(self._machine.held)
        pieces = self._machine.feed(chunk.text)
        self._last = chunk
        if not held and len(pieces) == 1 and not self._machine.held:
            return [*out, chunk]
        self._note(held, chunk.start)
        return out + self._cut(chunk, pieces)

    def _note(self, place: int, start: int) -> None:
        """Text from this place on, counted from where the held text begins, has that offset."""
        if not place:
            self._starts = [(0, start)]
        elif self._offset(place) != start:
            self._starts.append((place, start))

    def _offset(self, place: int) -> int:
        at, start = next(entry for entry in reversed(self._starts) if entry[0] <= place)
        return start + place - at if start >= 0 else -1

    def _cut(self, chunk: Chunk, pieces: list[str]) -> list[Chunk]:
        """Each piece as a chunk; where text was left out before, one on each side of the gap, unless it is a marker."""
        out: list[Chunk] = []
        place = 0
        for piece in pieces:
            end = place + len(piece)
            inner = [at for at, _ in self._starts if place < at < end]
            edges = [place, *([] if inner and self._is_marker(piece) else inner), end]
            for start, stop in pairwise(edges):
                text = piece[start - place : stop - place]
                out.append(msgspec.structs.replace(chunk, text=text, start=self._offset(start)))
            place = end
        rest = [(at - place, start) for at, start in self._starts if at > place]
        self._starts = [(0, self._offset(place)), *rest]
        return out

    def _is_marker(self, piece: str) -> bool:
        found = self._machine.markers.search(piece, 0, final=True)
        return found is not None and found.start == 0

    def _release(self) -> list[Any]:
        pieces = self._machine.flush()
        last, self._last = self._last, None
        return list(pieces) if last is None else list(self._cut(last, pieces))


def tag_holdback(markers: Iterable[str], *, case_sensitive: bool = True, max_tag: int = MAX_TAG) -> Operator[Any, Any]:
    """Cut text anew so that a marker is never torn over two pieces, and each whole marker is a piece of its own.

    A marker that starts with a letter is the name of a tag (open, with attributes, or close), any other is literal.
    Text is held only while it may still become a marker; a tag longer than ``max_tag`` is text.

    ```
    text  --a <th--ink>b <c----|
    out   --a -----<think>b <c-|
    ```

    >>> import streamflow as sf
    >>> sf.run(["a <th", "ink>b ", "<|e", "ot|>"], tag_holdback(["think", "<|eot|>"]))
    ['a ', '<think>', 'b ', '<|eot|>']
    """
    compiled = tag_markers(markers, case_sensitive=case_sensitive, max_tag=max_tag)
    return lift(lambda: TagHoldback(compiled), "tag_holdback")
