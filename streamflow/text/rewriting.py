"""Text of blocks on its way through a pattern matcher: what is decided leaves as chunks that know their place."""

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Response,
    Retrying,
    StreamCompleted,
    StreamFailed,
)
from streamflow.text.output_record import OutputRecord
from streamflow.text.pattern_matcher import MatchTable, PatternMatcher, Span

_UNKNOWN = -1


class TextTrack:
    """One block's text in a matcher. Offsets of the model's raw text are kept, however the text is cut.

    >>> from streamflow.text.patterns import compile_patterns
    >>> track = TextTrack(MatchTable(compile_patterns(["ab"])))
    >>> [span.text for span in track.feed(Chunk(0, "text", "xa", start=7))]
    ['x']
    >>> [chunk.start for span in track.flush() for chunk in track.chunks(span)]
    [8]
    """

    __slots__ = ("_chunk", "_fed", "_origins", "matcher")

    def __init__(self, table: MatchTable) -> None:
        self.matcher = PatternMatcher(table)
        self._chunk: Chunk | None = None
        self._fed = 0
        # Where the fed text comes from: pairs of an offset in the fed text and the raw offset that it had.
        self._origins: deque[tuple[int, int]] = deque()

    @property
    def visible(self) -> bool:
        """Whether the block is one that a person should see."""
        return self._chunk is not None and self._chunk.visible

    def feed(self, chunk: Chunk) -> list[Span]:
        """What of the text is decided now."""
        self.note(chunk)
        return self.matcher.feed(chunk.text)

    def passes(self, chunk: Chunk) -> bool:
        """Take a chunk of which every character is decided at once, and say so; otherwise do nothing."""
        if not self.matcher.passes(chunk.text):
            return False
        self.note(chunk)
        return True

    def flush(self) -> list[Span]:
        """What was held."""
        return self.matcher.flush()

    def note(self, chunk: Chunk) -> None:
        """Remember where a chunk's text belongs."""
        self._chunk = chunk
        if not self.matcher.held:
            self._origins.clear()
        if not self._origins or self._raw(self._origins[-1], self._fed) != chunk.start:
            self._origins.append((self._fed, chunk.start))
        self._fed += len(chunk.text)

    def chunks(self, span: Span, text: str | None = None) -> list[Chunk]:
        """A span as chunks; ``text`` is said in its place when given."""
        while len(self._origins) > 1 and self._origins[1][0] <= span.start:
            self._origins.popleft()
        if text is not None:
            return [self._made(text, self._raw(self._origins[0], span.start))] if text else []
        out: list[Chunk] = []
        position, end = span.start, span.start + len(span.text)
        for number, origin in enumerate(self._origins):
            following = self._origins[number + 1][0] if number + 1 < len(self._origins) else end
            cut = min(following, end)
            if cut > position:
                piece = span.text[position - span.start : cut - span.start]
                out.append(self._made(piece, self._raw(origin, position)))
                position = cut
        return out

    def _raw(self, origin: tuple[int, int], offset: int) -> int:
        return origin[1] if origin[1] == _UNKNOWN else origin[1] + offset - origin[0]

    def _made(self, text: str, start: int) -> Chunk:
        like = self._chunk
        assert like is not None
        return Chunk(
            like.index, like.kind, text, like.visible, like.depth, like.part, like.tool_id, like.tool_name, start
        )


class TextRewrite:
    """Replaces matches in the text of blocks and in plain strings. Tool calls are left alone: they are data.

    A match is replaced as soon as it is certain, even if its end is not. ``watch`` is told of all visible text and
    matches, in their order, with True for a match.

    >>> from streamflow.text.patterns import compile_patterns
    >>> stage = TextRewrite(MatchTable(compile_patterns(["cats?"])), "*")
    >>> stage.feed("a ca"), stage.feed("t"), stage.feed("."), stage.flush()
    (['a '], ['*'], ['.'], [])
    """

    def __init__(
        self, table: MatchTable, replacement: str, watch: Callable[[str, bool], None] | None = None
    ) -> None:
        self._table = table
        self._replacement = replacement
        self._watch = watch
        self._tracks: dict[int, TextTrack] = {}
        self._strings = PatternMatcher(table)
        self._record = OutputRecord()
        self._handlers: dict[type, Callable[[Any], list[Any]]] = {
            Chunk: self._on_chunk,
            str: self._on_string,
            BlockStart: self._on_block_start,
            BlockComplete: self._on_block_complete,
            Citation: self._on_citation,
            Retrying: self._on_retrying,
            StreamCompleted: self._on_end,
            StreamFailed: self._on_end,
        }

    def feed(self, item: Any) -> list[Any]:
        """Take one event or string."""
        handler = self._handlers.get(item.__class__)
        if handler is None:
            self._record.add(item)
            return [item]
        return handler(item)

    def flush(self) -> list[Any]:
        """Release what is held; a block that nothing closed is incomplete."""
        out = self._release()
        self._tracks.clear()
        return [*out, *self._record.cut()]

    def abort(self, error: BaseException) -> list[Any]:
        """The same: a text that is cut has no match at its end."""
        return self.flush()

    def partial(self, error: BaseException) -> Response:
        """What left this stage so far."""
        return self._record.partial(error)

    @property
    def emitted(self) -> bool:
        """True once the stream has begun."""
        return self._record.emitted

    def _on_chunk(self, chunk: Chunk) -> list[Any]:
        if chunk.part is not None or chunk.kind == "tool_call":
            self._record.add(chunk)
            return [chunk]
        track = self._tracks.get(chunk.index)
        if track is None:
            track = self._tracks[chunk.index] = TextTrack(self._table)
        if track.passes(chunk):
            if not chunk.text:
                return []
            if self._watch is not None and chunk.visible:
                self._watch(chunk.text, False)
            self._record.add(chunk)
            return [chunk]
        return self._said(track, track.feed(chunk))

    def _said(self, track: TextTrack, spans: list[Span]) -> list[Any]:
        out: list[Any] = []
        if track.visible:
            self._tell(spans)
        for span in spans:
            out += track.chunks(span, self._instead(span))
        for chunk in out:
            self._record.add(chunk)
        return out

    def _on_string(self, text: str) -> list[Any]:
        return self._said_as_string(self._strings.feed(text))

    def _said_as_string(self, spans: list[Span]) -> list[Any]:
        self._tell(spans)
        return self._string_of(spans)

    def _tell(self, spans: list[Span]) -> None:
        if self._watch is not None:
            for span in spans:
                if span.text:
                    self._watch(span.text, span.matched)

    def _instead(self, span: Span) -> str | None:
        """What is said in place of a span; None when the span is said itself."""
        if not span.matched:
            return None
        return "" if span.announced else self._replacement

    def _string_of(self, spans: list[Span]) -> list[Any]:
        text = "".join(span.text if (said := self._instead(span)) is None else said for span in spans)
        return [text] if text else []

    def _on_block_start(self, event: BlockStart) -> list[Any]:
        out = self._release()
        self._record.add(event)
        return [*out, event]

    def _on_block_complete(self, event: BlockComplete) -> list[Any]:
        out: list[Any] = []
        track = self._tracks.pop(event.index, None)
        if track is not None:
            out = self._said(track, track.flush())
            event = msgspec.structs.replace(
                event, content=self._record.content(event.index), raw=self._whole(event.raw)
            )
        elif event.kind != "tool_call":
            event = msgspec.structs.replace(event, content=self._whole(event.content), raw=self._whole(event.raw))
        self._record.add(event)
        return [*out, event]

    def _whole(self, text: Any) -> Any:
        if not text:
            return text
        matcher = PatternMatcher(self._table)
        return "".join(self._string_of(matcher.feed(text) + matcher.flush()))

    def _on_citation(self, event: Citation) -> list[Any]:
        if event.text or event.title:
            event = msgspec.structs.replace(event, text=self._whole(event.text), title=self._whole(event.title))
        self._record.add(event)
        return [event]

    def _on_retrying(self, event: Retrying) -> list[Any]:
        if event.discard:
            self._tracks.clear()
            self._strings = PatternMatcher(self._table)
            self._record.forget()
        return [event]

    def _on_end(self, event: StreamCompleted | StreamFailed) -> list[Any]:
        return [*self.flush(), self._record.end(event)]

    def _release(self) -> list[Any]:
        out = self._said_as_string(self._strings.flush())
        for track in self._tracks.values():
            out += self._said(track, track.flush())
        return out
