"""Code in Markdown text, as far as it protects what looks like a tag.

A run of backticks protects to the same run or to the end of its line. A fence (at most three spaces, then three or more
backticks or tildes) protects to its closing fence or to the end. Nothing is ever held: a mark is text in any case, only
the state must survive a cut.
"""

import re

SIGNS = "`~"

_PLAIN = ""
_LINE_LEAD = re.compile(r"[\n\r] {0,3}\Z")
_SPAN_SIGN = re.compile(r"[`\n\r]")
_LINE_END = re.compile(r"[\n\r]")
_BLANKS = re.compile(r"[ \t]*")
_RUN = {"`": re.compile("`*"), "~": re.compile("~*")}
_FENCE_LENGTH = 3
LEAD_LENGTH = 4
"""How much of the visible text before a mark tells whether it stands where a fence may."""


class CodeMarks:
    """Where in visible text code begins and ends.

    >>> marks = CodeMarks()
    >>> text = "a `<b>` c"
    >>> marks.enter(text, 2, "a ")
    >>> marks.read(text, 2), marks.inside
    (7, False)
    """

    __slots__ = ("_count", "_fence", "_length", "_sign", "_state", "tail")

    def __init__(self) -> None:
        self.tail = "\n"  # the last visible characters before what is read now; text begins at the start of a line
        self._state = _PLAIN
        self._sign = "`"
        self._length = 0  # of the run that opened
        self._count = 0  # of the run that is being read
        self._fence = False  # whether the run that is being read stands where a fence may

    @property
    def inside(self) -> bool:
        """True while text is protected, or a run of signs is not over yet."""
        return self._state != _PLAIN

    def seen(self, text: str) -> None:
        """Remember the end of visible text that was passed on."""
        self.tail = text[-LEAD_LENGTH:] if len(text) >= LEAD_LENGTH else (self.tail + text)[-LEAD_LENGTH:]

    def enter(self, text: str, place: int, before: str) -> None:
        """A backtick or tilde at ``place``; ``before`` is visible text in front of it in this piece."""
        lead = before[-LEAD_LENGTH:] if len(before) >= LEAD_LENGTH else (self.tail + before)[-LEAD_LENGTH:]
        self._sign = text[place]
        self._fence = _LINE_LEAD.search(lead) is not None
        self._count = 0
        self._state = "run"

    def read(self, text: str, place: int) -> int:
        """Where protection ends; the end of the text while it does not."""
        size = len(text)
        while self._state != _PLAIN and place < size:
            place = _READERS[self._state](self, text, place)
        return place

    def _read_run(self, text: str, place: int) -> int:
        end = _RUN[self._sign].match(text, place).end()  # type: ignore[union-attr]
        self._count += end - place
        if end < len(text):
            self._length = self._count
            if self._fence and self._count >= _FENCE_LENGTH:
                self._state = "info"
            else:
                self._state = "span" if self._sign == "`" else _PLAIN
        return end

    def _read_span(self, text: str, place: int) -> int:
        sign = _SPAN_SIGN.search(text, place)
        if sign is None:
            return len(text)
        if sign[0] != "`":
            self._state = _PLAIN
            return sign.start()
        self._count = 0
        self._state = "span run"
        return sign.start()

    def _read_span_run(self, text: str, place: int) -> int:
        end = _RUN["`"].match(text, place).end()  # type: ignore[union-attr]
        self._count += end - place
        if end < len(text):
            self._state = _PLAIN if self._count == self._length else "span"
        return end

    def _read_info(self, text: str, place: int) -> int:
        """The rest of a fence's first line. With a backtick in it, it was no fence but a span of the same length."""
        end = (_SPAN_SIGN if self._sign == "`" else _LINE_END).search(text, place)
        if end is None:
            return len(text)
        self._state = "span" if end[0] == "`" else "line"
        return end.start() + (end[0] != "`")

    def _read_line(self, text: str, place: int) -> int:
        """The start of a line inside a fence: perhaps the closing fence, after at most three spaces."""
        self._count = 0
        self._state = "lead"
        return place

    def _read_lead(self, text: str, place: int) -> int:
        character = text[place]
        if character == " " and self._count < _FENCE_LENGTH:
            self._count += 1
            return place + 1
        self._count = 0
        self._state = "fence run" if character == self._sign else "content"
        return place

    def _read_fence_run(self, text: str, place: int) -> int:
        end = _RUN[self._sign].match(text, place).end()  # type: ignore[union-attr]
        self._count += end - place
        if end < len(text):
            self._state = "closing" if self._count >= self._length else "content"
        return end

    def _read_closing(self, text: str, place: int) -> int:
        end = _BLANKS.match(text, place).end()  # type: ignore[union-attr]
        if end < len(text):
            self._state = _PLAIN if text[end] in "\n\r" else "content"
        return end

    def _read_content(self, text: str, place: int) -> int:
        end = _LINE_END.search(text, place)
        if end is None:
            return len(text)
        self._state = "line"
        return end.end()


_READERS = {
    "run": CodeMarks._read_run,
    "span": CodeMarks._read_span,
    "span run": CodeMarks._read_span_run,
    "info": CodeMarks._read_info,
    "line": CodeMarks._read_line,
    "lead": CodeMarks._read_lead,
    "fence run": CodeMarks._read_fence_run,
    "closing": CodeMarks._read_closing,
    "content": CodeMarks._read_content,
}
