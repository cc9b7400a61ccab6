"""Messages in channels, as gpt-oss models write them: ``<|channel|>analysis<|message|>...<|end|>``.

``analysis`` is thought, ``final`` is the answer, a message to a recipient is a call, and ``commentary`` without one is
told to the user before the calls.
"""

import re
from typing import Any

from streamflow.text.block_writer import BlockWriter
from streamflow.text.holdback import LITERAL, Candidate, Found, Markers
from streamflow.text.json_values import BLANKS, END, MORE, PassingValue
from streamflow.text.regions import OVER, Source, Step

BEGINS = ("<|start|>", "<|channel|>")
ENDS = ("<|end|>", "<|return|>", "<|call|>")
_MARK = re.compile(r"<\|(\w+)\|>")
_INNER = frozenset(("channel", "constrain", "message"))
_CHANNEL = re.compile(r"<\|channel\|>\s*([\w-]+)")
_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([\w.-]+)")
_KINDS = {"analysis": ("thinking", False), "commentary": ("commentary", True)}


class ChannelDetector:
    """Finds the headers of messages in prose, and the marks that end a message."""

    first = "<"

    def __init__(self, writer: BlockWriter, max_tag: int) -> None:
        self._writer = writer
        self._max_tag = max_tag
        self._markers = Markers({}, [*BEGINS, *ENDS])

    def search(self, text: str, place: int, candidate: Any, final: bool, stop: int) -> Any:
        """The first whole header or end mark, or a candidate."""
        while True:
            hit = self._markers.search(text, place, None, final, stop)
            if not isinstance(hit, Found) or hit.name in ENDS:
                return hit
            window = text[hit.start : hit.start + self._max_tag]
            end = _header_end(window)
            if end > 0:
                return Found(hit.start, hit.start + end, window[:end], LITERAL, {})
            if end == 0 and len(window) < self._max_tag and not final:
                return Candidate(hit.start)
            place = hit.start + 1

    def enter(self, found: Found, text: str) -> Step:
        """Begin the message: an answer is prose, anything else a block of its own."""
        if found.name in ENDS:
            return None
        channel = _CHANNEL.search(found.name)
        name = channel[1] if channel else "final"
        recipient = _RECIPIENT.search(found.name)
        if recipient is not None:
            return Message(self._writer, self._markers, found, recipient[1], is_call=True)
        if name == "final":
            return None
        return Message(self._writer, self._markers, found, name, is_call=False)


def _header_end(window: str) -> int:
    """Where the message begins; 0 when the header is not whole yet, -1 when it is none."""
    place = len(BEGINS[0]) if window.startswith(BEGINS[0]) else 0
    seen: set[str] = set()
    while True:
        sign = window.find("<", place)
        if sign < 0:
            return 0
        mark = _MARK.match(window, sign)
        if mark is None:
            return 0 if any(f"<|{name}|>".startswith(window[sign:]) for name in _INNER) else -1
        if mark[1] not in _INNER or mark[1] in seen:
            return -1
        seen.add(mark[1])
        if mark[1] == "message":
            return mark.end()
        place = mark.end()


class Message:
    """One message that is no answer, up to the mark that ends it or the next header."""

    def __init__(self, writer: BlockWriter, markers: Markers, found: Found, name: str, is_call: bool) -> None:
        self.is_call = is_call
        self._writer = writer
        self._markers = markers
        self._candidate: Candidate | None = None
        self._source = Source(found.start)
        self._json: PassingValue | None = PassingValue() if is_call else None
        self._is_whole = False  # the JSON of a call came to its last bracket
        self._has_begun = False
        kind, visible = _KINDS.get(name, (name, False))
        self._block = writer.open_call(name, None) if is_call else writer.open(kind, None, visible)

    def read(self, text: str, place: int, final: bool) -> tuple[int, Step]:
        """Pass content on up to the end of the message."""
        candidate, self._candidate = self._candidate, None
        hit = self._markers.search(text, place, candidate, final)
        end = len(text) if hit is None else hit.start
        self._follow(text, place, end)
        self._writer.add(self._block, text[place:end], place)
        if not isinstance(hit, Found):
            self._candidate = None if hit is None else hit.moved(end)
            return end, None
        if hit.name in ENDS:
            self._writer.close(self._block, raw=self._source.upto(text, hit.end))
            return hit.end, OVER
        self._source.keep(text, hit.start)
        self.unclosed()
        return hit.start, OVER

    def _follow(self, text: str, place: int, end: int) -> None:
        """A call is whole with its last bracket: servers keep the mark that ends it for themselves."""
        if self._json is None:
            return
        if not self._has_begun:
            place = BLANKS.match(text, place, end).end()  # type: ignore[union-attr]
            if place == end:
                return
            self._has_begun = True
            if text[place] not in "{[":
                self._json = None
                return
        status = self._json.follow(text[place:end], 0)[1]
        self._is_whole = status == END
        if status != MORE:
            self._json = None

    def keep(self, text: str, place: int) -> None:
        """Keep the source."""
        self._source.keep(text, place)

    def unclosed(self) -> None:
        """No mark ended it: a call whose JSON is whole is whole, anything else was cut."""
        raw = self._source.upto("", 0)
        if self.is_call and self._is_whole:
            self._writer.close(self._block, raw=raw)
        else:
            self._writer.unclosed(self._block, raw=raw)
