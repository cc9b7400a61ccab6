"""The body of a segment between its optional marker lines.

A body may stand between ``__START_CONTENT__`` and ``__END_CONTENT__``: the markers, the white space around them and
one line break after the first are no content, the line break before the second is. The first counts only at the
beginning, the second only when nothing but white space follows it up to the end of the body.
"""

import re
from collections.abc import Callable

MAX_BLANKS = 256
"""White space beside a marker beyond which it is content: what is held is bounded."""


def _prefixes(marker: str) -> str:
    """A pattern for every beginning of the marker, longest first."""
    pattern = ""
    for character in reversed(marker[1:]):
        pattern = f"(?:{re.escape(character)}{pattern})?"
    return re.escape(marker[0]) + pattern


class SegmentBody:
    """Takes the body in pieces and gives its content, holding only what may still be a marker.

    >>> body = SegmentBody((("__START_CONTENT__", "__END_CONTENT__"),))
    >>> body.feed("__START_CONT"), body.feed("ENT__\\nx = 1\\n__END"), body.flush(closed=True)
    ('', 'x = 1\\n', '__END')
    """

    __slots__ = ("_end", "_held", "_markers", "_read", "_tail")

    def __init__(self, markers: tuple[tuple[str, str], ...]) -> None:
        self._markers = markers
        self._held = ""
        self._end = ""
        self._tail: re.Pattern[str] | None = None
        self._read: Callable[[str], str] = self._lead if markers else self._plain

    def feed(self, text: str) -> str:
        """What is content for certain."""
        return self._read(text)

    def flush(self, closed: bool) -> str:
        """The rest; in a body that was closed a marker at the end is no content."""
        held, self._held = self._held, ""
        if closed and self._end and held.startswith(self._end) and not held[len(self._end) :].strip():
            return ""
        return held

    def _plain(self, text: str) -> str:
        return text

    def _lead(self, text: str) -> str:
        held = self._held + text
        first = held.lstrip()
        blanks = len(held) - len(first)
        for start, end in self._markers:
            if first.startswith(start) and blanks <= MAX_BLANKS:
                self._held = ""
                self._end = end
                self._tail = re.compile(rf"(?:{re.escape(end)}\s{{0,{MAX_BLANKS}}}|{_prefixes(end)})\Z")
                self._read = self._line_break
                return self._line_break(first[len(start) :])
            if start.startswith(first) and blanks <= MAX_BLANKS:
                self._held = held
                return ""
        self._held = ""
        self._read = self._plain
        return held

    def _line_break(self, text: str) -> str:
        held = self._held + text
        self._held = ""
        if held in ("", "\r"):
            self._held = held
            return ""
        self._read = self._between
        return self._between(held.removeprefix("\r\n") if held.startswith("\r") else held.removeprefix("\n"))

    def _between(self, text: str) -> str:
        if not self._held and "_" not in text:
            return text
        assert self._tail is not None
        text = self._held + text
        # A tail is never longer than the marker with its blanks, so only the end is searched.
        match = self._tail.search(text, max(0, len(text) - MAX_BLANKS - len(self._end)))
        if match is None:
            self._held = ""
            return text
        self._held = text[match.start() :]
        return text[: match.start()]
