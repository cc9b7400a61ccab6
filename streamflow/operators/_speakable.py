from collections import deque
from typing import Any

from streamflow.events import BlockStart, Chunk, Retrying, StreamCompleted, StreamFailed, StreamStart, ToolCallsReady
from streamflow.stage import Operator, lift
from streamflow.text.speech import SpeechText
from streamflow.text.spoken import Spoken

_ENDS_SPEECH = (StreamStart, StreamCompleted, StreamFailed, ToolCallsReady)


class Speakable:
    """Visible text becomes spoken pieces; everything else passes.

    A speech machine counts the characters that it is fed. Where the visible text is not one stretch of the raw text
    (a hidden block was cut out), `_seams` says by how much its count and the raw offsets differ from there on.
    """

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._begin()

    def _begin(self) -> None:
        self._speech = SpeechText(**self._options)
        self._fed = 0
        self._shift = 0  # of the text fed last
        self._seams: deque[tuple[int, int]] = deque()  # (count from which it holds, shift), for text not yet spoken
        self._spoken_shift = 0

    def feed(self, item: Any) -> list[Any]:
        """Speak visible text, pass on the rest."""
        if item.__class__ is Chunk:
            if item.visible and item.part is None and item.kind != "tool_call":
                return self._speak(item.text, item.start)
            return self._flushed(item) if item.kind == "tool_call" else [item]
        if item.__class__ is str:
            return self._speak(item, -1)
        if isinstance(item, Retrying) and item.discard:
            self._begin()
        elif isinstance(item, _ENDS_SPEECH) or (isinstance(item, BlockStart) and item.kind == "tool_call"):
            out = self._flushed(item)
            if isinstance(item, StreamStart):
                self._begin()
            return out
        return [item]

    def flush(self) -> list[Any]:
        """Speak what is held."""
        return self._placed(self._speech.flush())

    def abort(self, error: BaseException) -> list[Any]:
        """Speak what is held: it was shown, so it may be heard."""
        return self.flush()

    def _flushed(self, item: Any) -> list[Any]:
        return [*self.flush(), item]

    def _speak(self, text: str, start: int) -> list[Any]:
        if start >= 0 and start - self._fed != self._shift:
            self._shift = start - self._fed
            self._seams.append((self._fed, self._shift))
        self._fed += len(text)
        return self._placed(self._speech.feed(text))

    def _placed(self, pieces: list[Spoken]) -> list[Any]:
        """The pieces with their spans in the raw text."""
        if not self._seams and not self._spoken_shift:
            return pieces
        out: list[Any] = []
        for piece in pieces:
            while self._seams and self._seams[0][0] <= piece.start:
                self._spoken_shift = self._seams.popleft()[1]
            out += self._split(piece)
        return out

    def _split(self, piece: Spoken) -> list[Spoken]:
        text, start, shift = piece.text, piece.start, self._spoken_shift
        if piece.end - start != len(text):
            end_shift = next((shift for at, shift in reversed(self._seams) if at < piece.end), shift)
            return [Spoken(text, start + shift, piece.end + end_shift)]
        out = []
        while self._seams and self._seams[0][0] < piece.end:
            at, self._spoken_shift = self._seams.popleft()
            out.append(Spoken(text[: at - start], start + shift, at + shift))
            text, start, shift = text[at - start :], at, self._spoken_shift
        out.append(Spoken(text, start + shift, piece.end + shift))
        return out


def speakable(
    *,
    code: str = "skip",
    links: str = "text",
    tables: str = "cells",
    emoji: str = "skip",
    latex: str = "skip",
) -> Operator[Any, Any]:
    """What a voice should say: visible markdown, HTML and SSML become `Spoken(text, start, end)` without markup.

    ```
    in   --"Use **bo"---"ld** text."-------|
    out  --Spoken(Use)--Spoken(bold text.)-|
    ```

    ``start`` and ``end`` span a piece in the raw text. Headings, list items and table rows end with a pause. Policies:
    ``code`` blocks are left out (``"skip"``), announced (``"say"``) or read (``"read"``); ``links`` are their
    ``"text"``, or the text and the ``"url"``; ``tables`` are read by ``"cells"`` or not (``"skip"``); ``emoji`` and
    ``latex`` are left out or passed to the voice (``"say"``; for formulas the word "formula", or ``"read"``).
    What is held is at most a few hundred characters, and only while a mark is undecided. Other events pass at once;
    a tool call and the end of the stream release what is held first.

    >>> import streamflow as sf
    >>> "".join(piece.text for piece in sf.run(["# Plan\\nUse **bo", "ld** `snake_case`."], speakable()))
    'Plan.\\nUse bold snake_case.'
    """
    options = {"code": code, "links": links, "tables": tables, "emoji": emoji, "latex": latex}
    SpeechText(**options)  # wrong options are told here, not when the first text comes
    return lift(lambda: Speakable(options), "speakable")
