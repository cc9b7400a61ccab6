"""Markers in text that arrives in pieces: found as soon as they are whole, held back only while they may become whole.

`Markers` is a compiled set of literals and tag names; it looks for the first of them from a given place and answers
with a whole marker, with a candidate (all text from its start must be held), or with nothing. A candidate remembers
how far it was read, so a long tag that arrives character by character is read once. `Holdback` is the machine on top
for those who only want text cut so that no marker is torn.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from streamflow.errors import UsageError

MAX_TAG = 4096
"""Characters after which an unfinished tag is text: what is held is bounded."""

OPEN = "open"
CLOSE = "close"
EMPTY = "empty"
LITERAL = "literal"

_BLANKS = re.compile(r"[ \t\r\n]*")
_AFTER_NAME = re.compile(r"[ \t\r\n\"'<>/=]")
_ATTRIBUTE = re.compile(r"""([^ \t\r\n"'<>/=]+)(?:[ \t\r\n]*=[ \t\r\n]*(?:"([^"]*)"|'([^']*)'))?""")
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_DEAD = "dead"

# What the next sign means in each state of a tag that is being read; "" is the entry for all other signs. A quotation
# mark as a state means: inside a value, up to the same mark.
_NEXT: dict[str, dict[str, str]] = {
    "gap": {">": OPEN, "/": "slash", "<": _DEAD, '"': _DEAD, "'": _DEAD, "=": _DEAD, "": "name"},
    "after name": {">": OPEN, "/": "slash", "=": "value", "<": _DEAD, '"': _DEAD, "'": _DEAD, "": "name"},
    "value": {'"': '"', "'": "'", "": _DEAD},
    "slash": {">": EMPTY, "": _DEAD},
    "close": {">": CLOSE, "": _DEAD},
}


class Found(NamedTuple):
    """A whole marker: where it stands, what it is, and whether it opens, closes, does both, or is literal."""

    start: int
    end: int
    name: str
    form: str
    attributes: dict[str, str]


class Candidate:
    """The beginning of what may become a marker: everything from `start` on is undecided."""

    __slots__ = ("name", "read", "start", "state")

    def __init__(self, start: int, name: str = "", state: str = "", read: int = 0) -> None:
        self.start = start
        self.name = name
        self.state = state
        self.read = read

    def moved(self, by: int) -> "Candidate":
        """The same after that many characters were cut off in front."""
        self.start -= by
        self.read -= by
        return self


class Markers:
    """A set of markers. ``heads`` are beginnings of tags with what they stand for, ``literals`` are taken as they are.

    A tag without one of the attributes that are ``required`` of its name is text.

    >>> markers = Markers({"<think": ("open", "think"), "</think": ("close", "think")}, ["<|eot|>"])
    >>> markers.search("a < b <think a='>'> c", 0)
    Found(start=6, end=19, name='think', form='open', attributes={'a': '>'})
    >>> markers.search("a <thi", 0).start, markers.search("a <thing>", 0)
    (2, None)
    """

    def __init__(
        self,
        heads: Mapping[str, tuple[str, str]],
        literals: Iterable[str] = (),
        *,
        case_sensitive: bool = True,
        max_tag: int = MAX_TAG,
        required: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._required = {name: attributes for name, attributes in (required or {}).items() if attributes}
        self._case_sensitive = case_sensitive
        self._max_tag = max_tag
        self._forms = {self._folded(head): form for head, form in heads.items()}
        self._literals = {self._folded(literal): literal for literal in literals}
        if not self._forms and not self._literals:
            raise UsageError("markers: give at least one")
        prefixes = {head[:end] for head in self._forms for end in range(1, len(head) + 1)}
        prefixes |= {literal[:end] for literal in self._literals for end in range(1, len(literal))}
        self._prefixes = frozenset(prefixes)
        self._longest = max(map(len, prefixes), default=0)
        self.first = "".join(sorted({text[0] for text in (*self._forms, *self._literals)}))
        flags = 0 if case_sensitive else re.IGNORECASE | re.ASCII
        # Shorter spellings come first: what is whole first wins, however the text is cut.
        spellings = [(head, r"(?=[ \t\r\n/>])") for head in self._forms] + [(text, "") for text in self._literals]
        spellings.sort(key=lambda spelling: len(spelling[0]))
        self._head = re.compile("|".join(re.escape(text) + edge for text, edge in spellings), flags)
        self._start = re.compile(f"[{re.escape(self.first)}]", flags)

    def _folded(self, text: str) -> str:
        # Only A to Z: lower() may change the length of other text.
        return text if self._case_sensitive else text.translate(_LOWER)

    def search(
        self,
        text: str,
        position: int,
        candidate: Candidate | None = None,
        final: bool = False,
        stop: int = sys.maxsize,
    ) -> Found | Candidate | None:
        """The first marker or candidate from ``position`` on; nothing is a candidate in ``final`` text.

        ``candidate`` is the one that an earlier search ended with; reading goes on where it stopped. Markers that start
        at ``stop`` or later are not looked for.
        """
        if candidate is not None and candidate.state:
            result = self._read_tag(text, candidate, final)
            if not isinstance(result, int):
                return result
            position = result
        find = self._start.search
        match_head = self._head.match
        while (at := find(text, position, stop)) is not None:
            start = at.start()
            head = match_head(text, start)
            if head is None:
                if len(text) - start <= self._longest and not final and self._folded(text[start:]) in self._prefixes:
                    return Candidate(start)
                position = start + 1
                continue
            spelling = self._folded(head[0])
            if spelling in self._literals:
                return Found(start, head.end(), self._literals[spelling], LITERAL, {})
            form, name = self._forms[spelling]
            state = "gap" if form == OPEN else "close"
            result = self._read_tag(text, Candidate(start, name, state, head.end()), final)
            if not isinstance(result, int):
                return result
            position = result
        return None

    def _read_tag(self, text: str, tag: Candidate, final: bool) -> Found | Candidate | int:
        """The whole tag, the candidate as far as it goes, or where to search again when it is no tag."""
        start, state, place = tag.start, tag.state, tag.read
        limit = start + self._max_tag
        end = min(len(text), limit)
        while place < end:
            if state in "\"'":
                place = text.find(state, place, end) + 1
                if not place:
                    place = end
                    break
                state = "gap"
                continue
            if state == "name":
                after = _AFTER_NAME.search(text, place, end)
                if after is None:
                    place = end
                    break
                place = after.start()
                state = "after name"
            if state != "slash":
                place = _BLANKS.match(text, place, end).end()  # type: ignore[union-attr]
                if place == end:
                    break
            sign = text[place]
            state = _NEXT[state].get(sign) or _NEXT[state][""]
            if state is _DEAD:
                # A second "<" may begin a tag of its own; whatever else broke this one, its inside is looked at again.
                return place if sign == "<" else start + 1
            if state != "name":
                place += 1
            if state in (OPEN, "slash") and tag.name in self._required and not self._has_required(text, tag, place):
                return start + 1
            if state in (OPEN, EMPTY, CLOSE):
                return Found(start, place, tag.name, state, self._attributes(text, start, place))
        if final or end == limit:
            return start + 1
        tag.state = state
        tag.read = place
        return tag

    def _has_required(self, text: str, tag: Candidate, end: int) -> bool:
        attributes = self._attributes(text, tag.start, end)
        return all(attributes.get(name) for name in self._required[tag.name])

    def _attributes(self, text: str, start: int, end: int) -> dict[str, str]:
        head = self._head.match(text, start)
        assert head is not None
        inner = text[head.end() : end - 1]
        if not inner or inner.isspace():
            return {}
        found: dict[str, str] = {}
        for name, double, single in _ATTRIBUTE.findall(inner):
            found.setdefault(name, double or single)
        return found


def tag_markers(markers: Iterable[str], *, case_sensitive: bool = True, max_tag: int = MAX_TAG) -> Markers:
    """Markers as people write them: what starts with a letter is a tag name, anything else is literal.

    >>> tag_markers(["think", "<|eot|>"]).search("x</think >", 0).end
    10
    """
    if isinstance(markers, str) or not isinstance(markers, Iterable):
        raise UsageError(f"markers={markers!r}: give a list of tag names and literals, as in ['think', '<|eot|>']")
    heads: dict[str, tuple[str, str]] = {}
    literals: list[str] = []
    for marker in markers:
        if not isinstance(marker, str) or not marker:
            raise UsageError(f"markers: {marker!r} is neither a tag name nor a literal")
        if marker[0].isalpha():
            if _AFTER_NAME.search(marker):
                raise UsageError(f"markers: {marker!r} is no tag name; a literal must not start with a letter")
            heads["<" + marker] = (OPEN, marker)
            heads["</" + marker] = (CLOSE, marker)
        else:
            literals.append(marker)
    if not isinstance(max_tag, int) or max_tag < 2:
        raise UsageError(f"max_tag={max_tag!r}: give a number of characters above 1")
    return Markers(heads, literals, case_sensitive=case_sensitive, max_tag=max_tag)


class Holdback:
    """Text in, text out, cut so that a marker is never torn and always stands alone.

    >>> machine = Holdback(tag_markers(["think"]))
    >>> machine.feed("a <th"), machine.held, machine.feed("ink>b"), machine.flush()
    (['a '], '<th', ['<think>', 'b'], [])
    """

    __slots__ = ("_candidate", "held", "markers")

    def __init__(self, markers: Markers) -> None:
        self.markers = markers
        self.held = ""
        self._candidate: Candidate | None = None

    def feed(self, text: str) -> list[str]:
        """Take a piece; what is decided."""
        return self._read(self.held + text, final=False)

    def flush(self) -> list[str]:
        """The text is over: the rest."""
        return self._read(self.held, final=True)

    def _read(self, text: str, final: bool) -> list[str]:
        out: list[str] = []
        position = 0
        candidate, self._candidate = self._candidate, None
        while True:
            result: Any = self.markers.search(text, position, candidate, final)
            candidate = None
            end = len(text) if result is None else result.start
            if end > position:
                out.append(text[position:end])
            if not isinstance(result, Found):
                break
            out.append(text[result.start : result.end])
            position = result.end
        self.held = text[end:]
        if result is not None:
            self._candidate = result.moved(end)
        return out
