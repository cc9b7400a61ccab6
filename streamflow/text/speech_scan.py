"""The raw side of the speech machine: the text not yet decided, and where in the document it stands."""

from typing import Literal, NamedTuple

import msgspec

from streamflow.text.speech_marks import HOLD_LIMIT, NEED_MORE, NOT_FOUND
from streamflow.text.speech_voice import Voice

Mode = Literal["line", "text", "fence", "skip", "drop", "rule", "url", "target"]

__all__ = ["NEED_MORE", "NOT_FOUND", "Mode", "Region", "Scan", "SpeechOptions"]


class SpeechOptions(msgspec.Struct, frozen=True):
    """How each kind of content is spoken."""

    code: str = "skip"
    links: str = "text"
    tables: str = "cells"
    emoji: str = "skip"
    latex: str = "skip"


class Region(NamedTuple):
    """The end of a construct whose inside is being read: raw[start:end] is removed when it is reached."""

    start: int
    end: int
    url: tuple[int, int] | None = None  # said after the text, for links="url"
    open_target: bool = False  # the link's target goes on beyond `end`


class Scan:
    """Undecided raw text and the state of the document around it.

    `text[pos:]` is undecided; `text[pos - 1]` is kept as context, so that a reader can always look one
    character back. `base + i` is the absolute offset of `text[i]`.

    >>> scan = Scan(SpeechOptions()); scan.extend("ab"); scan.pos = 2; scan.extend("c")
    >>> scan.text, scan.base + scan.pos
    ('abc', 1)
    """

    def __init__(self, options: SpeechOptions, offset: int = 0) -> None:
        self.options = options
        self.voice = Voice()
        self.text = "\n"  # a passage starts as if a line feed were before it
        self.pos = 1
        self.base = offset - 1
        self.final = False
        self.mode: Mode = "line"
        self.regions: list[Region] = []
        self.noise = ""  # a run of this mark is being dropped
        self.open_marks: dict[str, int] = {}  # emphasis that is open, in characters, by mark
        # The block that the line belongs to.
        self.heading = False
        self.row = False
        self.table: Literal["", "piped", "bare"] = ""
        self.item = False
        self.quotes = 0  # depth of ">" before this line
        self.new_line()

    def new_line(self) -> None:
        """Reset what holds for one line only."""
        self.mode = "line"
        self.indented = False
        self.marked = False  # the line has a list marker
        self.quoted_before = self.quotes > 0
        self.quotes = 0
        self.pipes_are_text = False  # true: this line was looked through and is no table row

    def new_block(self) -> None:
        """Whatever came before ends here: a pause, and no emphasis reaches further."""
        self.voice.pause()
        self.open_marks.clear()

    def extend(self, text: str) -> None:
        """Append raw text, dropping what is decided."""
        keep = self.pos - 1
        if keep:
            self.text = self.text[keep:] + text
            self.base += keep
            self.pos = 1
        else:
            self.text += text

    @property
    def held(self) -> int:
        """How many characters are undecided."""
        return len(self.text) - self.pos + self.voice.waiting

    @property
    def stop(self) -> int:
        """Where reading has to stop for now: at the end of the text or of the construct around."""
        if self.regions:
            return self.regions[-1].start - self.base
        return len(self.text)

    def reach(self, start: int, limit: int = HOLD_LIMIT) -> tuple[int, bool]:
        """How far a reader that began at `start` may look, and whether more text could move that end."""
        stop = min(start + limit, self.stop)
        fixed = self.final or bool(self.regions) or stop == start + limit
        return stop, fixed

    def drop_noise(self) -> None:
        """Drop the rest of a run of marks that is too long to mean anything."""
        rest = len(self.text)
        while self.pos < rest and self.text[self.pos] == self.noise:
            self.pos += 1
        if self.pos < rest:
            self.noise = ""

    def say(self, start: int, end: int) -> int:
        """Speak raw text as it is; answers `end`."""
        self.voice.plain(self.text[start:end], self.base + start)
        return end

    def say_raw(self, start: int, end: int) -> int:
        """Speak raw text whose white space may come in runs; answers `end`."""
        self.voice.raw(self.text[start:end], self.base + start)
        return end

    def remove(self, end: int) -> int:
        """Speak nothing for what is before `end`; answers `end`."""
        self.voice.gap()
        return end
