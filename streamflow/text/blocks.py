"""The stage that all block operators share: events or strings in, the blocks that are written in their text out.

It owns what has nothing to do with a way of writing: the numbers of blocks over the whole flow, which text is looked at
(visible text only), what passes at once and what releases held text first, and the ends.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from streamflow.errors import StreamflowError, UsageError
from streamflow.events import (
    METADATA,
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Response,
    Retrying,
    StreamCompleted,
    StreamFailed,
    StreamStart,
)
from streamflow.text.block_writer import UNCLOSED_POLICIES, BlockWriter, default_id
from streamflow.text.code_marks import CodeMarks
from streamflow.text.regions import CODE_POLICIES, Detector, Prose, TextReader

MakeDetectors = Callable[[BlockWriter, CodeMarks | None], list[Detector]]


class BlockSplit:
    """Takes events or plain strings; text becomes blocks, everything else keeps its place."""

    takes, gives = "events", "events"

    def __init__(
        self,
        make_detectors: MakeDetectors,
        *,
        code: str = "literal",
        on_unclosed: str = "keep",
        ids: Callable[[int], str] | None = None,
        opening: str = "",
        prefix: str = "",
    ) -> None:
        _check_choice("code", code, CODE_POLICIES)
        _check_choice("on_unclosed", on_unclosed, UNCLOSED_POLICIES)
        if ids is not None and not callable(ids):
            raise UsageError(f"ids={ids!r}: give a function that takes the index of a block and returns an id")
        if not isinstance(prefix, str):
            raise UsageError(f"prefix={prefix!r}: give the text before the stream")
        self._make_detectors = make_detectors
        self._protects_code = code == "literal"
        self._opening = opening
        self._prefix = prefix
        self._writer = BlockWriter(on_unclosed=on_unclosed, make_id=ids or default_id)
        self._indices: dict[int, int] = {}  # of this turn's blocks, as they come and as they go
        self._source: int | None = None  # the text block that is being read, by its number as it came
        self._source_start = 0  # where it begins in the text of the turn
        self._begin_turn()

    @property
    def held(self) -> str:
        """What is held back at this moment."""
        return self._reader.held

    # -- the stage

    def feed(self, item: Any) -> list[Any]:
        """Take an event or a string."""
        kind = item.__class__
        if kind is Chunk:
            if item.kind == "text" and item.part is None:
                return self._text_chunk(item)
            return [self._renumbered(item)]
        if kind is str:
            self._take(item)
        elif (handler := _HANDLERS.get(kind)) is not None:
            handler(self, item)
        elif isinstance(item, METADATA):
            self._writer.emit(item)
        else:
            return [item]
        return self._writer.take()

    def flush(self) -> list[Any]:
        """The source is over."""
        self._end()
        return self._writer.take()

    def abort(self, error: BaseException) -> list[Any]:
        """The source failed: text is released, what is open is incomplete."""
        self._writer.fail()
        self._end(incomplete=True)
        return self._writer.take()

    def partial(self, error: BaseException | None = None) -> Response:
        """What came so far, with the blocks that were found."""
        return self._writer.fold.response(error if isinstance(error, StreamflowError) else None)

    @property
    def emitted(self) -> bool:
        """True once anything left."""
        return self._writer.fold.emitted or self._writer.next_index > 0

    # -- text

    def _begin_turn(self) -> None:
        code = CodeMarks() if self._protects_code else None
        self._writer.begin_turn()
        self._reader = TextReader(Prose(self._writer, self._make_detectors(self._writer, code), code), self._writer)
        self._attention = self._reader.prose.attention.search
        self._code = code
        self._begun = False  # whether any text came
        self._plain = False  # whether text without a sign of attention may pass as it is
        self._expected = 0  # the offset that the next text should have
        self._indices.clear()
        self._source = None

    def _begin_text(self) -> None:
        """The first text of a turn: a tag that the template or the text before opened is open from the start."""
        self._begun = True
        before = self._prefix + self._opening
        self._prefix = ""
        if before:
            self._writer.mute()
            self._reader.feed(before)
            self._reader.release()
            self._writer.unmute()

    def _text_chunk(self, chunk: Chunk) -> list[Any]:
        text = chunk.text
        writer = self._writer
        if chunk.index == self._source and self._plain and chunk.start == self._expected:
            # The common case: text without a sign of structure, in an open block.
            block = writer.current
            if block is not None and text and self._attention(text) is None:
                size = len(text)
                if chunk.start >= 0:
                    self._expected += size
                writer.base += size
                if self._code is not None:
                    self._code.seen(text)
                block.parts.append(text)
                if block.index == chunk.index and chunk.visible:
                    return [chunk]
                return [Chunk(block.index, "text", text, True, 0, None, None, None, chunk.start)]
        elif chunk.index != self._source:
            self._begin_source(chunk.index, {})
        if text and not self._begun:
            self._begin_text()  # before the offset is noted: what was open already has none
        if chunk.start != self._expected:
            writer.locate(self._position, chunk.start)
            self._expected = chunk.start
        self._take(text)
        return writer.take()

    @property
    def _position(self) -> int:
        return self._writer.base + len(self._reader.held)

    def _take(self, text: str) -> None:
        if not text:
            return
        if not self._begun:
            self._begin_text()
        writer = self._writer
        if self._plain and writer.current is not None and self._attention(text) is None:
            if self._code is not None:
                self._code.seen(text)
            writer.text(text, 0)
            writer.base += len(text)
        else:
            self._plain = False
            self._reader.feed(text)
            self._plain = self._reader.is_plain
        if self._expected >= 0:
            self._expected += len(text)

    def _begin_source(self, index: int, attributes: dict[str, Any]) -> None:
        self._end_source()
        self._source = index
        self._source_start = self._position
        self._writer.text_attributes = attributes
        self._writer.text_starts.clear()

    def _end_source(self, incomplete: bool = False, opaque: Any = None, content: str | None = None) -> None:
        """The text's block is over. What is open in it may go on in the next one: citations cut text anywhere."""
        self._release()
        self._writer.end_text(incomplete, opaque, content)
        if self._source is not None:
            self._indices[self._source] = self._text_index()
            self._source = None

    def _text_index(self) -> int:
        writer = self._writer
        if writer.current is not None:
            return writer.current.index
        return writer.text_starts[-1][1] if writer.text_starts else writer.next_index

    def _release(self) -> None:
        self._reader.release()
        self._plain = self._reader.is_plain

    def _end(self, incomplete: bool = False) -> None:
        self._end_source(incomplete)
        self._plain = False
        self._reader.end()

    # -- events

    def _on_start(self, event: StreamStart) -> None:
        self._end(incomplete=True)
        self._begin_turn()
        self._writer.emit(event)

    def _on_block_start(self, event: BlockStart) -> None:
        if event.kind == "text":
            self._begin_source(event.index, event.attributes)
            return
        self._release()
        self._reader.interrupt()
        self._plain = self._reader.is_plain
        self._writer.emit(self._renumbered(event, new=True))

    def _on_block_complete(self, event: BlockComplete) -> None:
        if event.kind != "text":
            self._writer.emit(self._renumbered(event))
        elif event.index == self._source:
            self._end_source(event.incomplete, event.opaque, event.content)
        elif event.index not in self._indices:
            # A block that came at once, without its start and chunks.
            self._begin_source(event.index, event.attributes)
            self._take(event.content)
            self._end_source(event.incomplete, event.opaque)

    def _on_citation(self, event: Citation) -> None:
        if event.index != self._source:
            self._writer.emit(self._renumbered(event, known=True))
            return
        index, start, end = self._text_index(), event.start, event.end
        if start >= 0:
            for position, block, length in self._writer.text_starts:
                if position <= self._source_start + event.start:
                    index = block
                    start = length + self._source_start + event.start - position
                    end = start + event.end - event.start if event.end >= 0 else -1
        self._writer.emit(msgspec.structs.replace(event, index=index, start=start, end=end))

    def _on_retrying(self, event: Retrying) -> None:
        if event.discard:
            # What was held belongs to what is thrown away.
            self._reader.held = ""
            self._writer.fail()
            self._end(incomplete=True)
            self._begin_turn()
        self._writer.emit(event)

    def _on_completed(self, event: StreamCompleted) -> None:
        self._end()
        if self._writer.calls and event.stop_reason == "end_turn":
            # Calls written in text end a turn as native calls do; the provider's own word is kept beside it.
            event = msgspec.structs.replace(event, stop_reason="tool_use")
        self._writer.emit(event)
        self._begin_turn()

    def _on_failed(self, event: StreamFailed) -> None:
        self._writer.fail()
        self._end(incomplete=True)
        self._writer.emit(event)

    def _renumbered(self, event: Any, new: bool = False, known: bool = False) -> Any:
        index = None if new else self._indices.get(event.index)
        if index is None:
            if known:
                return event
            index = self._indices[event.index] = self._writer.next_index
            self._writer.next_index += 1
        return event if index == event.index else msgspec.structs.replace(event, index=index)


_HANDLERS: dict[type, Callable[[BlockSplit, Any], None]] = {
    StreamStart: BlockSplit._on_start,
    BlockStart: BlockSplit._on_block_start,
    BlockComplete: BlockSplit._on_block_complete,
    Citation: BlockSplit._on_citation,
    Retrying: BlockSplit._on_retrying,
    StreamCompleted: BlockSplit._on_completed,
    StreamFailed: BlockSplit._on_failed,
}


def _check_choice(option: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{option}={value!r}: choose one of {', '.join(choices)}")
