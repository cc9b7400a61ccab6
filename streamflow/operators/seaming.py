"""The core of `seam`: two streams of events as one."""

from collections.abc import Callable
from typing import Any

import msgspec

from streamflow.errors import StreamflowError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Notice,
    Response,
    Retrying,
    StreamCompleted,
    StreamStart,
)
from streamflow.fold import Fold, with_response
from streamflow.text.overlap import Overlap
from streamflow.text.sentences import SentenceCutter


class FirstPart:
    """What the first stream says, up to its end or its fault. Sentences leave whole when ``by_sentence``."""

    def __init__(self, by_sentence: bool) -> None:
        self._by_sentence = by_sentence
        self._fold = Fold()
        self._cutters: dict[int, SentenceCutter] = {}
        self._said: dict[int, list[str]] = {}
        self._places: dict[int, int] = {}
        self._held: list[Any] = []
        self.next_index = 0
        self.text_length = 0
        self.called = False
        """True once a call of a client's tool began: from then on nothing can be joined."""
        self.begun = False

    @property
    def fold(self) -> Fold:
        """What was given out."""
        return self._fold

    def feed(self, event: Any) -> list[Any]:
        """Take an event of the first stream."""
        out = self._released()
        if isinstance(event, BlockStart):
            self.next_index = max(self.next_index, event.index + 1)
            self.called = self.called or (event.kind == "tool_call" and "server" not in event.attributes)
        if not self._by_sentence:
            return self._given([*out, event])
        if isinstance(event, Chunk) and event.kind == "text" and event.visible:
            return self._given(out + self._cut(event))
        if isinstance(event, BlockComplete) and event.index in self._cutters:
            if event.incomplete:
                self._held.append(event)  # the next event tells whether its last words are to be said
                return self._given(out)
            return self._given(out + self._closed(event))
        return self._given([*out, event])

    def cut_off(self) -> list[Any]:
        """The first stream broke and another one goes on: half a sentence is not said."""
        held, self._held = self._held, []
        out = []
        for event in held:
            said = "".join(self._said.pop(event.index, []))
            self._cutters.pop(event.index, None)
            out.append(msgspec.structs.replace(event, content=said))
        return self._given(out)

    def end(self) -> list[Any]:
        """The first stream ended by itself."""
        return self._given(self._released())

    def partial(self, error: BaseException) -> Response:
        """What was given out."""
        return self._fold.response(error if isinstance(error, StreamflowError) else None)

    def _given(self, events: list[Any]) -> list[Any]:
        for event in events:
            self.begun = self.begun or not isinstance(event, Retrying)
            if isinstance(event, Chunk) and event.kind == "text":
                self.text_length += len(event.text)
            self._fold.add(event)
        return events

    def _released(self) -> list[Any]:
        held, self._held = self._held, []
        return [event for block in held for event in self._closed(block)]

    def _cut(self, chunk: Chunk) -> list[Any]:
        cutter = self._cutters.setdefault(chunk.index, SentenceCutter())
        said = self._said.setdefault(chunk.index, [])
        self._places.setdefault(chunk.index, chunk.start)
        out = []
        for sentence in cutter.feed(chunk.text):
            said.append(sentence)
            out.append(msgspec.structs.replace(chunk, text=sentence, start=self._place(chunk.index, sentence)))
        return out

    def _place(self, index: int, text: str) -> int:
        start = self._places[index]
        if start >= 0:
            self._places[index] = start + len(text)
        return start

    def _closed(self, block: BlockComplete) -> list[Any]:
        cutter = self._cutters.pop(block.index)
        self._said.pop(block.index, None)
        rest = "".join(cutter.flush())
        if not rest:
            return [block]
        return [Chunk(block.index, "text", rest, start=self._place(block.index, rest)), block]


class SecondPart:
    """What the second stream says, moved to its place behind the first."""

    def __init__(self, first: FirstPart, before: str) -> None:
        self._fold = first.fold
        self._base = first.next_index
        self._offset = first.text_length
        self._overlap = Overlap(before)
        self._text_index: int | None = None
        self._last: Chunk | None = None
        self._parts: list[str] = []

    def feed(self, event: Any) -> list[Any]:
        """Take an event of the second stream."""
        handler = _HANDLERS.get(event.__class__)
        out = [event] if handler is None else handler(self, event)
        given = []
        for made in out:
            if made.__class__ is StreamCompleted:
                made = with_response(made, self._fold) if made.response is not None else made
            else:
                self._fold.add(made)
            given.append(made)
        return given

    def partial(self, error: BaseException) -> Response:
        """What was given out, of both parts."""
        return self._fold.response(error if isinstance(error, StreamflowError) else None)

    def _on_start(self, event: StreamStart) -> list[Any]:
        return []  # the stream has begun long ago

    def _on_block_start(self, event: BlockStart) -> list[Any]:
        return [msgspec.structs.replace(event, index=event.index + self._base)]

    def _on_chunk(self, event: Chunk) -> list[Any]:
        placed = msgspec.structs.replace(event, index=event.index + self._base)
        if event.kind != "text" or not event.visible:
            return [placed]
        if self._text_index is None:
            self._text_index = event.index
        if event.index != self._text_index:
            return [self._placed(placed, event.text)]
        self._last = placed
        text = self._overlap.feed(event.text)
        self._parts.append(text)
        return [self._placed(placed, text)] if text else []

    def _placed(self, chunk: Chunk, text: str) -> Chunk:
        start = self._offset if chunk.start >= 0 else -1
        self._offset += len(text)
        return msgspec.structs.replace(chunk, text=text, start=start)

    def _on_block_complete(self, event: BlockComplete) -> list[Any]:
        placed = msgspec.structs.replace(event, index=event.index + self._base)
        chunk, self._last = self._last, None if event.index == self._text_index else self._last
        if event.index != self._text_index or chunk is None:
            return [placed]
        rest = self._overlap.flush()
        self._parts.append(rest)
        closed = msgspec.structs.replace(placed, content="".join(self._parts))
        return [self._placed(chunk, rest), closed] if rest else [closed]

    def _on_citation(self, event: Citation) -> list[Any]:
        moved = self._overlap.trimmed if event.index == self._text_index else 0
        start, end = (max(0, place - moved) if place >= 0 else place for place in (event.start, event.end))
        return [msgspec.structs.replace(event, index=event.index + self._base, start=start, end=end)]


_HANDLERS: dict[type, Callable[[SecondPart, Any], list[Any]]] = {
    StreamStart: SecondPart._on_start,
    BlockStart: SecondPart._on_block_start,
    Chunk: SecondPart._on_chunk,
    BlockComplete: SecondPart._on_block_complete,
    Citation: SecondPart._on_citation,
}


def seam_events(mode: str, offset: int, error: BaseException) -> list[Any]:
    """What marks the place."""
    reason = str(error)
    facts = {"mode": mode, "offset": offset, "error": type(error).__name__}
    mark = Notice("seam", f"another source goes on from here: {reason}", facts)
    return [Retrying(1, 2, reason, True), mark] if mode == "restart" else [mark]
