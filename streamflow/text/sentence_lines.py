"""The lines of an answer: list markers, headings, table rows, fences, wrapped paragraphs."""

import re
from typing import NamedTuple

from streamflow.text.language_data import Language
from streamflow.text.scripts import has_case
from streamflow.text.sentence_reader import NEWLINES, OPENING, Reader

BULLETS = "•⁃‣◦▪●○■□➢➤✓✔·"
_SIGNS = "-*+–—"
_ENDS = ".)）、．"
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
#: Signs that may open an item in the middle of a line.
ITEM_SIGNS = BULLETS + _CIRCLED
_INLINE_MARKER = re.compile(r"(?:^|\s)(\(?[^\W_]{1,4}[.)]?)$")
#: A line at least this long that goes on in small letters shows a wrapped paragraph.
WRAPPED = 40
#: The usual widths of printed lines: such a line that does not end with a mark goes on.
PRINTED = (55, 100)
# A line never starts with these.
_CARRY_ON = (".", ",", ";", ":", "!", "?", ")")


class Marker(NamedTuple):
    """The sign that opens a list item: its closing marks, its value, where its text begins."""

    style: str
    value: str
    end: int

    def follows(self, earlier: "Marker") -> bool:
        """Tell whether this marker continues the list of an earlier one, or starts it again.

        >>> Marker(")", "2", 0).follows(Marker(")", "1", 0))
        True
        """
        if self.style != earlier.style:
            return False
        if self.value in ("1", "a"):
            return True
        if self.value.isdecimal():
            return earlier.value.isdecimal() and int(self.value) == int(earlier.value) + 1
        return len(self.value) == len(earlier.value) == 1 and ord(self.value) == ord(earlier.value) + 1


def marker_at(reader: Reader, at: int) -> Marker | None:
    """Return the list marker that starts at a place, after an optional bullet.

    >>> reader = Reader()
    >>> reader.text = "• 9. The first item"
    >>> marker_at(reader, 0)
    Marker(style='.', value='9', end=4)
    """
    sign = reader.peek(at)
    if sign and sign in BULLETS + _CIRCLED:
        inner = numbered_at(reader, reader.skip_space(at + 1))
        return inner or Marker("bullet", sign, at + 1)
    if sign and sign in _SIGNS:
        return Marker("bullet", sign, at + 1) if reader.peek(at + 1).isspace() else None
    return numbered_at(reader, at)


def numbered_at(reader: Reader, at: int) -> Marker | None:
    """Return the marker of a numbered or lettered item: ``1.``, ``2)``, ``3.)``, ``(iv)``, ``b.``."""
    begin = at + 1 if reader.peek(at) in ("(", "（") else at
    end = begin
    while (sign := reader.peek(end)) and sign.isalnum() and end - begin < 4:
        end += 1
    value = reader.text[begin:end]
    if not value or not ((value.isdecimal() and len(value) < 4) or _is_list_letter(value) or _is_roman(value)):
        return None
    close = end
    while (sign := reader.peek(close)) and sign in _ENDS and close - end < 2:
        close += 1
    style = reader.text[end:close]
    if not style or (begin > at and style[0] not in ")）"):
        return None
    after = reader.peek(close)
    if after and not after.isspace():
        wide = style[-1] in "）、．" or style == ".)"
        if not wide or after.isdigit() or (style == ".)" and after.isascii()):
            return None
    return Marker(("(" if begin > at else "") + style, value, close)


def _is_list_letter(word: str) -> bool:
    return len(word) == 1 and (has_case(word) or word in "가나다라마바사")


def _is_roman(word: str) -> bool:
    return (bool(word) and not word.strip("ivx")) or not word.strip("IVX")


def starts_block(reader: Reader, at: int) -> bool:
    """Tell whether the line that begins at a place starts a block of its own: list item, heading, row, fence, quote."""
    sign = reader.peek(at)
    if sign in ("|", ">"):
        return True
    if sign == "#":
        end = at
        while reader.peek(end) == "#" and end - at < 7:
            end += 1
        return reader.peek(end) in (" ", "\t")
    if sign in ("`", "~"):
        return reader.peek(at + 1) == sign and reader.peek(at + 2) == sign
    if sign == "$":
        return reader.peek(at + 1) == "$"
    if sign == "\\":
        return reader.peek(at + 1) == "["
    if sign == "<":
        return True
    return marker_at(reader, at) is not None


def fence_end(reader: Reader, at: int, fence: str) -> int:
    """Return the place after the closing fence in the line behind a line break, 0 when that line does not close it."""
    begin = at + 1
    while begin - at < 12 and reader.peek(begin) in (" ", "\t", ">"):
        begin += 1
    for offset, sign in enumerate(fence):
        if reader.peek(begin + offset) != sign:
            return 0
    end = begin + len(fence)
    while end - begin < 16 and reader.peek(end) == fence[0]:
        end += 1
    while end - begin < 32 and reader.peek(end) in (" ", "\t"):
        end += 1
    sign = reader.peek(end)
    return 0 if sign and sign not in NEWLINES else end


def next_item(reader: Reader, at: int, earlier: Marker, nouns: frozenset[str]) -> int:
    """Return where the next marker of a list in one line starts whose closing mark is at a place, else 0.

    ``nouns`` take a number: "Go on with step 2. Then ..." is no list.
    """
    if at < earlier.end:
        return 0
    found = _INLINE_MARKER.search(reader.text, max(reader.start, at - 6), at)
    if not found or found.start(1) < earlier.end:
        return 0
    place = found.start(1)
    marker = numbered_at(reader, place)
    if marker is None or not marker.follows(earlier):
        return 0
    if marker.value.isdecimal() or marker.value == "a":
        words = reader.words_before(place)
        before = words[-2] if len(words) > 1 else ""
        return 0 if before.lower() in nouns else place
    return place


class Line(NamedTuple):
    """A line that ends: where it begins and ends, where the text of the next one starts, whether it is a list item."""

    begin: int
    end: int
    after: int
    is_item: bool

    @property
    def width(self) -> int:
        """How long it is."""
        return self.end - self.begin


class Wrapping:
    """Whether the open paragraph is wrapped, that is, breaks its lines where the line is full.

    A paragraph shows it when a long line goes on with a small letter. From then on a full line always goes on.
    """

    __slots__ = ("width",)

    def __init__(self) -> None:
        self.width = 0

    def goes_on(self, reader: Reader, line: Line, language: Language) -> bool:
        """Tell whether a line continues in the next one."""
        text = reader.text[max(line.begin, reader.start) : line.end].rstrip("\r")
        stripped = text.rstrip()
        if stripped.endswith(language.line_joiners) and stripped == text:
            return True
        spaced = len(text) - len(stripped) == 1
        is_vertical = _is_vertical(stripped.strip())
        may_wrap = line.width >= WRAPPED or self.width or spaced or stripped.endswith(",") or is_vertical
        if not may_wrap or stripped.endswith(":"):
            return reader.peek(line.after) in _CARRY_ON
        first = line.after
        while first - line.after < 6 and (sign := reader.peek(first)) and sign in OPENING:
            first += 1
        sign = reader.peek(first)
        if not sign:
            return False
        if sign in _CARRY_ON or reader.peek(line.after) == "»":
            return True
        if self._is_full(reader, line, stripped, first, language):
            self.width = max(self.width, line.width)
            return True
        if sign.islower():
            return spaced or stripped.endswith(",")
        return is_vertical and _is_vertical(self._line_at(reader, line.after))

    def _is_full(self, reader: Reader, line: Line, text: str, first: int, language: Language) -> bool:
        """Tell whether a line was broken because it was full, from its width, its last word and what follows."""
        if self.width:
            return line.width >= 0.6 * self.width
        if line.width < WRAPPED:
            return False
        if reader.peek(first).islower():
            return True
        if line.is_item:
            return False
        # A sentence that started in mid-line is prose, no title.
        word = (text.split() or [""])[-1].rstrip(",")
        if reader.start > line.begin or word in language.common:
            return True
        if not (PRINTED[0] <= line.width <= PRINTED[1] and word.isalpha() and word.islower()):
            return False
        following = reader.word_at(first)
        return bool(following) and reader.peek(first + len(following)) != ":"

    @staticmethod
    def _line_at(reader: Reader, at: int) -> str:
        end = at
        while end - at < 3 and (sign := reader.peek(end)) and sign not in NEWLINES:
            end += 1
        return reader.text[at:end]


def _is_vertical(line: str) -> bool:
    """Letters written below each other: a line of one or two capitals."""
    return 0 < len(line) < 3 and line.isalpha() and line.isupper()
