"""Text as nested regions: visible prose at the bottom, on it whatever structure is open, read piece by piece.

A region reads from a place in the text and says how far it got and what comes next: more text is needed (`None`), the
region is over (`OVER`), or another region begins. What a region leaves unread is held by the `TextReader` and offered
again with the next piece, so "held" is one string, and each region only remembers how far it had looked.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, Protocol

from streamflow.text.block_writer import BlockWriter
from streamflow.text.code_marks import LEAD_LENGTH, SIGNS, CodeMarks
from streamflow.text.holdback import Candidate


class _Over:
    """The answer of a region that is over."""


OVER: Final = _Over()

CODE_POLICIES = ("literal", "ignore")


class Region(Protocol):
    """A part of the text with rules of its own."""

    def read(self, text: str, place: int, final: bool) -> "tuple[int, Step]":
        """Read from ``place``; in ``final`` text everything is decided. The new place, and what comes next."""
        ...

    def keep(self, text: str, place: int) -> None:
        """The text up to ``place`` goes away; keep what is needed of it."""
        ...

    def unclosed(self) -> None:
        """The text is over and this region is not."""
        ...

    @property
    def is_call(self) -> bool:
        """True when a foreign block in the middle must end it: a call that is not certainly whole must not run."""
        ...


Step = Region | _Over | None


class Detector(Protocol):
    """Finds the markers of one way of writing structure into prose."""

    first: str

    def search(self, text: str, place: int, candidate: Any, final: bool, stop: int) -> Any:
        """The first marker that starts from ``place`` on and before ``stop``, a candidate, or None."""
        ...

    def enter(self, found: Any, text: str) -> Step:
        """What a marker that was found begins or ends; None when prose goes on after it."""
        ...


class Prose:
    """Visible text, with the markers of one or more detectors in it. The earliest marker wins, then the order.

    ``blank_is_structure`` is for the inside of wrappers, where white space between the tags says nothing.
    """

    is_call = False

    def __init__(
        self,
        writer: BlockWriter,
        detectors: Sequence[Detector],
        code: CodeMarks | None,
        blank_is_structure: bool = False,
    ) -> None:
        self.code = code
        self._writer = writer
        self._detectors = detectors
        self._blank_is_structure = blank_is_structure
        self._blank = blank_is_structure
        # What each detector found up to `_stop` in the text that is being read; markers behind a sign of code are not
        # looked for before it is known where the code ends.
        self._stop = -1
        self._searches = [_Search(detector) for detector in detectors]
        signs = "".join(detector.first for detector in detectors) + (SIGNS if code is not None else "")
        self.attention = re.compile(f"[{re.escape(signs)}]" if signs else r"(?!)")

    @property
    def is_plain(self) -> bool:
        """True when text without a sign in `attention` passes through unchanged."""
        return not self._blank_is_structure and (self.code is None or not self.code.inside)

    def read(self, text: str, place: int, final: bool) -> tuple[int, Step]:
        """Pass visible text on up to the first marker."""
        code = self.code
        size = len(text)
        start = place
        while True:
            if code is not None and code.inside:
                place = code.read(text, place)
                if code.inside or place == size:
                    self._say(text, start, size)
                    return size, None
            if self._stop < place:
                sign = _CODE.search(text, place) if code is not None else None
                self._stop = size if sign is None else sign.start()
                for search in self._searches:
                    search.is_done = False
            first = self._first(text, place, final)
            if first is None and self._stop < size and code is not None:
                place = self._stop
                code.enter(text, place, text[max(start, place - LEAD_LENGTH) : place])
                continue
            end = size if first is None else first.hit.start
            self._say(text, start, end)
            if first is None:
                return size, None
            if isinstance(first.hit, Candidate):
                for search in self._searches:
                    search.carry(end, self._stop)
                return end, None
            self._blank = self._blank_is_structure
            place = start = first.hit.end
            step = first.detector.enter(first.hit, text)
            if step is not None:
                return place, step

    def _first(self, text: str, place: int, final: bool) -> "_Search | None":
        first: _Search | None = None
        for search in self._searches:
            hit = search.hit
            if not search.is_done or (hit is not None and hit.start < place):
                hit = search.find(text, place, final, self._stop)
            if hit is not None and (first is None or hit.start < first.hit.start):
                first = search
        return first

    def keep(self, text: str, place: int) -> None:
        """Nothing is kept of prose; what was found in the text goes away with it."""
        self._stop = -1

    def _say(self, text: str, start: int, end: int) -> None:
        if self.code is not None and start < end:
            self.code.seen(text[max(start, end - LEAD_LENGTH) : end])
        if self._blank:
            start = _NOT_BLANK.match(text, start, end).end()  # type: ignore[union-attr]
            if start == end:
                return
            self._blank = False
        if start < end:
            self._writer.text(text[start:end], start)

    def unclosed(self) -> None:
        """Prose ends anywhere."""


class _Search:
    """What one detector found, and where it goes on: no text is searched twice."""

    __slots__ = ("_candidate", "_resume", "detector", "hit", "is_done")

    def __init__(self, detector: Detector) -> None:
        self.detector = detector
        self.hit: Any = None
        self.is_done = False
        self._candidate: Any = None
        self._resume = 0

    def find(self, text: str, place: int, final: bool, stop: int) -> Any:
        candidate, self._candidate = self._candidate, None
        place, self._resume = max(place, self._resume), 0
        self.is_done = True
        self.hit = self.detector.search(text, place, candidate, final, stop)
        return self.hit

    def carry(self, cut: int, stop: int) -> None:
        """The text up to ``cut`` goes away and more will follow."""
        hit, self.hit = self.hit, None
        self.is_done = False
        if isinstance(hit, Candidate):
            self._candidate = hit.moved(cut)
        else:
            self._resume = (stop if hit is None else hit.start) - cut


_CODE = re.compile(f"[{SIGNS}]")
_NOT_BLANK = re.compile(r"[ \t\r\n]*")


class Source:
    """The verbatim source of a region, gathered while it is read."""

    __slots__ = ("_parts", "_place")

    def __init__(self, place: int) -> None:
        self._parts: list[str] = []
        self._place = place

    def keep(self, text: str, place: int) -> None:
        """The text up to ``place`` goes away."""
        self._parts.append(text[self._place : place])
        self._place = 0

    def upto(self, text: str, place: int) -> str:
        """All of it, up to ``place``."""
        return "".join(self._parts) + text[self._place : place]


class TextReader:
    """Drives the regions over text that comes in pieces.

    >>> writer = BlockWriter()
    >>> reader = TextReader(Prose(writer, [], None), writer)
    >>> reader.feed("Hi"); [event.text for event in writer.take()[1:]]
    ['Hi']
    """

    def __init__(self, prose: Prose, writer: BlockWriter) -> None:
        self.prose = prose
        self.held = ""
        self._writer = writer
        self._stack: list[Region] = [prose]

    @property
    def is_plain(self) -> bool:
        """True when nothing is open and nothing held: text without a sign of attention passes as it is."""
        return not self.held and len(self._stack) == 1 and self.prose.is_plain

    def feed(self, text: str) -> None:
        """Take a piece of text."""
        self._read(self.held + text if self.held else text, final=False)

    def release(self) -> None:
        """Text cannot go on as it is: what is held is decided now. Open regions stay open."""
        if self.held:
            self._read(self.held, final=True)

    def interrupt(self) -> None:
        """Something else came in the middle of the text: what is held is decided, an open call cannot be whole."""
        self.release()
        while any(region.is_call for region in self._stack):
            self._stack.pop().unclosed()

    def end(self) -> None:
        """The text is over: what is held is decided, what is open is closed as incomplete."""
        self.release()
        while len(self._stack) > 1:
            self._stack.pop().unclosed()

    def _read(self, text: str, final: bool) -> None:
        stack = self._stack
        place = 0
        while True:
            place, step = stack[-1].read(text, place, final)
            if step is None:
                break
            if isinstance(step, _Over):
                stack.pop()
            else:
                stack.append(step)
        for region in stack:
            region.keep(text, place)
        self.held = text[place:]
        self._writer.base += place
