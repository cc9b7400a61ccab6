from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from streamflow.errors import UsageError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Image,
    ImagePreview,
    ImageStart,
    Notice,
    Response,
    Retrying,
    StreamCompleted,
    StreamFailed,
    ToolCallsReady,
)
from streamflow.stage import Operator, lift
from streamflow.text.output_record import OutputRecord
from streamflow.text.pattern_matcher import MatchTable, PatternMatcher, Span
from streamflow.text.patterns import Automaton, literal_pattern
from streamflow.text.rewriting import TextTrack


class StopSequences:
    """Ends a turn's visible text at the first stop sequence; what the model says after it is not part of the answer."""

    def __init__(self, table: MatchTable) -> None:
        self._table = table
        self._record = OutputRecord()
        self._begin_turn()
        self._handlers: dict[type, Callable[[Any], list[Any]]] = {
            str: self._on_string,
            Chunk: self._on_chunk,
            BlockStart: self._on_block_start,
            BlockComplete: self._on_block_complete,
            ToolCallsReady: self._on_calls,
            Citation: self._on_citation,
            ImageStart: self._on_image,
            ImagePreview: self._on_image,
            Image: self._on_image,
            Retrying: self._on_retrying,
            StreamCompleted: self._on_completed,
            StreamFailed: self._on_failed,
        }

    def _begin_turn(self) -> None:
        self._tracks: dict[int, TextTrack] = {}
        self._strings = PatternMatcher(self._table)
        self._stop: str | None = None
        self._closed: set[int] = set()  # blocks that the stop closed
        self._silenced: set[int] = set()  # visible blocks that were open and empty when it came
        self._late: dict[int, str | None] = {}  # blocks that began after it, with the ids of their calls

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
        """The same: half a stop sequence is text."""
        return self.flush()

    def partial(self, error: BaseException) -> Response:
        """What left this stage so far."""
        return self._record.partial(error)

    @property
    def emitted(self) -> bool:
        """True once the stream has begun."""
        return self._record.emitted

    def _on_string(self, text: str) -> list[Any]:
        return [] if self._stop is not None else self._string_of(self._strings.feed(text))

    def _string_of(self, spans: list[Span]) -> list[Any]:
        text = ""
        for span in spans:
            if span.matched:
                self._stop = span.text
                self._strings = PatternMatcher(self._table)
                break
            text += span.text
        return [text] if text else []

    def _on_chunk(self, chunk: Chunk) -> list[Any]:
        index = chunk.index
        if index in self._late:
            self._late[index] = chunk.tool_id or self._late[index]
            return []
        if index in self._closed:
            return []
        if not chunk.visible or chunk.part is not None:
            self._record.add(chunk)
            return [chunk]
        if self._stop is not None:
            self._silenced.add(index)
            return []
        track = self._tracks.get(index)
        if track is None:
            track = self._tracks[index] = TextTrack(self._table)
        if track.passes(chunk):
            if not chunk.text:
                return []
            self._record.add(chunk)
            return [chunk]
        return self._said(track, track.feed(chunk))

    def _said(self, track: TextTrack, spans: list[Span]) -> list[Any]:
        out: list[Any] = []
        for span in spans:
            if span.matched:
                return [*out, *self._stopped(track, span.text)]
            for chunk in track.chunks(span):
                self._record.add(chunk)
                out.append(chunk)
        return out

    def _stopped(self, stopping: TextTrack, sequence: str) -> list[Any]:
        """The stop was seen: visible blocks end here, properly; what began before and is hidden runs to its own end."""
        self._stop = sequence
        out: list[Any] = []
        tracks, self._tracks = self._tracks, {}
        for index, track in sorted(tracks.items()):
            if track is not stopping:
                out += self._said(track, track.flush())
            self._closed.add(index)
            out += self._record.close(index)
        notice = Notice("stop", sequence, sequence)
        self._record.add(notice)
        return [*out, notice]

    def _on_block_start(self, event: BlockStart) -> list[Any]:
        if self._stop is not None:
            self._late[event.index] = None
            return []
        out = self._release()
        self._record.add(event)
        return [*out, event]

    def _on_block_complete(self, event: BlockComplete) -> list[Any]:
        index = event.index
        if index in self._late:
            self._late[index] = event.tool_id or self._late[index]
            return []
        if index in self._closed:
            return []
        if index in self._silenced:
            return list(self._record.close(index))
        track = self._tracks.pop(index, None)
        out = self._said(track, track.flush()) if track is not None else []
        self._record.add(event)
        return [*out, event]

    def _on_calls(self, event: ToolCallsReady) -> list[Any]:
        late = set(self._late.values())
        calls = [call for call in event.calls if call.id not in late]
        return [ToolCallsReady(calls)] if calls else []

    def _on_citation(self, event: Citation) -> list[Any]:
        return [] if event.index in self._late else self._passed(event)

    def _on_image(self, event: Any) -> list[Any]:
        return self._passed(event) if self._stop is None else []

    def _passed(self, event: Any) -> list[Any]:
        self._record.add(event)
        return [event]

    def _on_retrying(self, event: Retrying) -> list[Any]:
        if event.discard:
            self._begin_turn()
            self._record.forget()
        return [event]

    def _on_completed(self, event: StreamCompleted) -> list[Any]:
        out = self.flush()
        if self._stop is not None and event.stop_reason != "cancelled":
            event = msgspec.structs.replace(event, stop_reason="stop_sequence")
        self._begin_turn()
        return [*out, self._record.end(event)]

    def _on_failed(self, event: StreamFailed) -> list[Any]:
        out = self.flush()
        self._begin_turn()
        return [*out, self._record.end(event)]

    def _release(self) -> list[Any]:
        out = self._string_of(self._strings.flush())
        for track in self._tracks.values():
            out += self._said(track, track.flush())
        return out


def stop_sequences(sequences: Sequence[str]) -> Operator[Any, Any]:
    r"""End the visible text at a stop sequence that the provider let through: it is held back, taken out and reported.

    ```
    strings  --"Hello.\nUs"--"er: And"--" you?"--|
    out      --"Hello."--------------------------|     (stop_sequences(["\nUser:"]))
    ```

    The sequence that is whole first counts, of those that end together the longest. The text's block ends there,
    followed by ``Notice("stop", sequence)``; blocks that begin later are dropped, usage and the end pass, and the end's
    ``stop_reason`` is ``stop_sequence`` (a cancelled turn stays cancelled). Thought and tool calls are not searched:
    let `xml_block_split` and its like take them out of the text first.

    >>> import streamflow as sf
    >>> sf.run(["Hello.\nUs", "er: And", " you?"], stop_sequences(["\nUser:", "<|eot|>"]))
    ['Hello.']
    """
    if isinstance(sequences, str) or not isinstance(sequences, Sequence) or not sequences:
        raise UsageError(f"sequences must be a list of at least one text, not {sequences!r}")
    for sequence in sequences:
        if not isinstance(sequence, str) or not sequence:
            raise UsageError(f"sequences must hold texts of at least one character, not {sequence!r}")
    table = MatchTable(Automaton([literal_pattern(sequence) for sequence in sequences]), first_end=True)
    return lift(lambda: StopSequences(table), "stop_sequences")
