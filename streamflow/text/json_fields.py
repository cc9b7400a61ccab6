"""Text values out of a JSON object while it is still arriving: each character is read once, nothing is parsed again.

Only members of the outermost object count, and only those whose value is a string; a nested object with a member of
the same name is skipped whole. Text that is no JSON object ends the reading: what follows gives nothing.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

_RUN = re.compile(r'[^"\\]+')
_BLANKS = re.compile(r"[ \t\r\n]*")
_NESTED = re.compile(r'["{}\[\]]')
_SCALAR_END = re.compile(r"[,}\s]")
_SHORT_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"[0-9a-fA-F]{0,4}\Z")
LONE = "\ufffd"
"""What half a surrogate pair becomes."""


class JsonString:
    r"""Decodes the inside of one JSON string, cut anywhere; half an escape or half a surrogate pair waits.

    >>> string = JsonString()
    >>> string.feed(r"caf\u00", 0), string.feed(r'e9 \ud83d\ude00"', 0), string.closed
    (('caf', 7), ('é 😀', 16), True)
    """

    __slots__ = ("_escape", "_high", "broken", "closed")

    def __init__(self) -> None:
        self._escape = ""
        self._high = ""
        self.closed = False
        self.broken = False

    def feed(self, text: str, position: int) -> tuple[str, int]:
        """The decoded text from this position on, and the position after what was read."""
        out: list[str] = []
        size = len(text)
        while position < size and not self.closed and not self.broken:
            if self._escape:
                self._escape += text[position]
                position += 1
                self._unescape(out)
                continue
            match = _RUN.match(text, position)
            if match is not None:
                self._settle(out)
                out.append(match[0])
                position = match.end()
            elif text[position] == "\\":
                self._escape = "\\"
                position += 1
            else:
                self._settle(out)
                self.closed = True
                position += 1
        return "".join(out), position

    def _settle(self, out: list[str]) -> None:
        if self._high:
            self._high = ""
            out.append(LONE)

    def _unescape(self, out: list[str]) -> None:
        escape = self._escape
        if escape[1] != "u":
            self._settle(out)
            self._escape = ""
            character = _SHORT_ESCAPES.get(escape[1])
            if character is None:
                self.broken = True
            else:
                out.append(character)
        elif _HEX.match(escape, 2) is None:
            self.broken = True
        elif len(escape) == 6:
            self._escape = ""
            self._unit(escape, out)

    def _unit(self, escape: str, out: list[str]) -> None:
        unit = chr(int(escape[2:], 16))
        if "\udc00" <= unit <= "\udfff" and self._high:
            pair = self._high + unit
            self._high = ""
            out.append(pair.encode("utf-16-le", "surrogatepass").decode("utf-16-le"))
            return
        self._settle(out)
        if "\ud800" <= unit <= "\udbff":
            self._high = unit
        else:
            out.append(LONE if "\udc00" <= unit <= "\udfff" else unit)


class FieldPiece(NamedTuple):
    """Some text of a member's value; ``final`` on the piece that closes the value."""

    name: str
    text: str
    final: bool


class JsonFields:
    r"""Streams the values of the named members; without names, of every member that is a string.

    >>> fields = JsonFields(["path", "content"])
    >>> fields.feed('{"opts": {"path": "/evil"}, "path": "/a", "content": "x =')
    [FieldPiece(name='path', text='/a', final=True), FieldPiece(name='content', text='x =', final=False)]
    >>> fields.feed(r' 1\n"}'), fields.closed
    ([FieldPiece(name='content', text=' 1\n', final=True)], True)
    """

    def __init__(self, names: Iterable[str] | None = None) -> None:
        self._names = None if names is None else frozenset(names)
        self._string: JsonString | None = None
        self._key: list[str] = []
        self._name = ""
        self._depth = 0
        self._out: list[FieldPiece] = []
        self._step: Callable[[str, int], int] = self._before
        self.closed = False
        self.broken = False

    def feed(self, text: str) -> list[FieldPiece]:
        """What is decided by this piece."""
        position, size = 0, len(text)
        while position < size and not self.closed and not self.broken:
            position = self._step(text, position)
        out, self._out = self._out, []
        return out

    def _expect(self, text: str, position: int, steps: dict[str, Callable[[str, int], int]]) -> int:
        match = _BLANKS.match(text, position)
        assert match is not None
        position = match.end()
        if position < len(text):
            step = steps.get(text[position])
            if step is None:
                self.broken = True
            else:
                self._step = step
                self.closed = text[position] == "}"
                position += 1
        return position

    def _before(self, text: str, position: int) -> int:
        return self._expect(text, position, {"{": self._first_key})

    def _first_key(self, text: str, position: int) -> int:
        return self._expect(text, position, {'"': self._in_key, "}": self._end})

    def _next_key(self, text: str, position: int) -> int:
        return self._expect(text, position, {'"': self._in_key})

    def _in_key(self, text: str, position: int) -> int:
        piece, position = self._read_string(text, position)
        self._key.append(piece)
        if self._string is None:
            self._name = "".join(self._key)
            self._key.clear()
            self._step = self._colon
        return position

    def _colon(self, text: str, position: int) -> int:
        return self._expect(text, position, {":": self._value})

    def _value(self, text: str, position: int) -> int:
        match = _BLANKS.match(text, position)
        assert match is not None
        position = match.end()
        if position < len(text):
            mark = text[position]
            if mark == '"':
                wanted = self._names is None or self._name in self._names
                self._step = self._in_wanted if wanted else self._in_other
                position += 1
            elif mark in "{[":
                self._step = self._in_nested
            else:
                self._step = self._in_scalar
        return position

    def _in_wanted(self, text: str, position: int) -> int:
        piece, position = self._read_string(text, position)
        final = self._string is None
        if piece or final:
            self._out.append(FieldPiece(self._name, piece, final))
        if final:
            self._step = self._after
        return position

    def _in_other(self, text: str, position: int) -> int:
        _, position = self._read_string(text, position)
        if self._string is None:
            self._step = self._after if self._depth == 0 else self._in_nested
        return position

    def _in_nested(self, text: str, position: int) -> int:
        match = _NESTED.search(text, position)
        if match is None:
            return len(text)
        if match[0] == '"':
            self._step = self._in_other
        else:
            self._depth += 1 if match[0] in "{[" else -1
            if self._depth == 0:
                self._step = self._after
        return match.end()

    def _in_scalar(self, text: str, position: int) -> int:
        match = _SCALAR_END.search(text, position)
        if match is None:
            return len(text)
        self._step = self._after
        return match.start()

    def _after(self, text: str, position: int) -> int:
        return self._expect(text, position, {",": self._next_key, "}": self._end})

    def _end(self, text: str, position: int) -> int:
        return len(text)  # what follows the object is no part of it

    def _read_string(self, text: str, position: int) -> tuple[str, int]:
        """Some of the string at hand; `_string` is None once it closed."""
        if self._string is None:
            self._string = JsonString()
        piece, position = self._string.feed(text, position)
        if self._string.broken:
            self.broken = True
        elif self._string.closed:
            self._string = None
        return piece, position
