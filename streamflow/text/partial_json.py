"""A JSON document as it arrives: what became known with each piece; every character is read once.

Nothing that was said is taken back. A string is known from its opening quote on and grows; numbers, truth values and
null are known when they are over (``1`` may become ``12``); of a key that comes twice the first value stays. Text that
is no JSON ends the reading: `broken` is true and what follows gives nothing.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from streamflow.text.json_fields import JsonString

MAX_DEPTH = 500
"""Nesting beyond this is not followed."""

_MAX_SCALAR = 4_000
_BLANKS = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[-+.0-9A-Za-z]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?\Z")
_WORDS = {"true": True, "false": False, "null": None}

BEGIN = "begin"
TEXT = "text"
VALUE = "value"
END = "end"


class Known(NamedTuple):
    """Something that became known at a place: a container begins, text is added, a value is there, a value is over."""

    what: str
    path: tuple[str | int, ...]
    value: Any


class _Open:
    """An object or a list that is not closed yet."""

    __slots__ = ("is_list", "keys", "path", "step")

    def __init__(self, path: tuple[str | int, ...], is_list: bool) -> None:
        self.path = path
        self.is_list = is_list
        self.step: str | int = 0
        self.keys: set[str] = set()


class PartialJson:
    r"""Reads one document.

    >>> reader = PartialJson()
    >>> [(known.path, known.value) for known in reader.feed('{"city": "Ro')]
    [((), {}), (('city',), ''), (('city',), 'Ro')]
    >>> [(known.what, known.path, known.value) for known in reader.feed('me", "days": 1')]
    [('text', ('city',), 'me'), ('end', ('city',), None)]
    >>> [known.value for known in reader.feed("2}") if known.what == "value"], reader.closed
    ([12], True)
    """

    def __init__(self) -> None:
        self._step: Callable[[str, int], int] = self._value
        self._stack: list[_Open] = []
        self._path: tuple[str | int, ...] = ()
        self._string: JsonString | None = None
        self._parts: list[str] = []  # of a key or a scalar
        self._size = 0
        self._out: list[Known] = []
        self._muted = 0  # the depth of a value that nobody sees, because its key came before
        self.closed = False
        self.broken = False

    def feed(self, text: str) -> list[Known]:
        """What this piece makes known."""
        position, size = 0, len(text)
        while position < size and not self.broken:
            position = self._step(text, position)
        out, self._out = self._out, []
        return out

    def flush(self) -> list[Known]:
        """The text is over: a number at the very end is one now."""
        if self._step == self._in_scalar and not self.broken:
            self._end_scalar()
        out, self._out = self._out, []
        return out

    def _say(self, what: str, value: Any = None) -> None:
        if not self._muted:
            self._out.append(Known(what, self._path, value))

    # -- values

    def _value(self, text: str, position: int) -> int:
        position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
        if position == len(text):
            return position
        sign = text[position]
        if sign == '"':
            self._say(TEXT, "")
            self._string = JsonString()
            self._step = self._in_string
            return position + 1
        if sign in "{[":
            self._begin(sign == "[")
            return position + 1
        self._parts, self._size = [], 0
        self._step = self._in_scalar
        return position

    def _begin(self, is_list: bool) -> None:
        if len(self._stack) >= MAX_DEPTH:
            self.broken = True
            return
        self._say(BEGIN, [] if is_list else {})
        self._stack.append(_Open(self._path, is_list))
        self._step = self._first_item if is_list else self._first_key

    def _in_string(self, text: str, position: int) -> int:
        piece, position = self._read_string(text, position)
        if piece:
            self._say(TEXT, piece)
        if self._string is None and not self.broken:
            self._end_value()
        return position

    def _in_scalar(self, text: str, position: int) -> int:
        match = _SCALAR.match(text, position)
        assert match is not None
        self._parts.append(match[0])
        self._size += len(match[0])
        if self._size > _MAX_SCALAR:
            self.broken = True
        elif match.end() < len(text):
            self._end_scalar()
        return match.end()

    def _end_scalar(self) -> None:
        written = "".join(self._parts)
        if written in _WORDS:
            self._say(VALUE, _WORDS[written])
        elif _NUMBER.match(written):
            self._say(VALUE, json.loads(written))
        else:
            self.broken = True
            return
        self._end_value()

    def _end_value(self) -> None:
        self._say(END)
        if not self._stack:
            self.closed = True
            self._step = self._rest
            return
        if self._muted == len(self._stack):
            self._muted = 0
        self._step = self._after_item if self._stack[-1].is_list else self._after_member

    def _close(self, position: int) -> int:
        self._path = self._stack.pop().path
        self._end_value()
        return position

    def _rest(self, text: str, position: int) -> int:
        position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
        self.broken = position < len(text)
        return position

    # -- objects and lists

    def _sign(self, text: str, position: int) -> tuple[str, int]:
        """The next sign that is not white space, and the position after it; "" when there is none yet."""
        position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
        return (text[position], position + 1) if position < len(text) else ("", position)

    def _first_key(self, text: str, position: int) -> int:
        sign, position = self._sign(text, position)
        if sign == "}":
            return self._close(position)
        return self._begin_key(sign, position)

    def _next_key(self, text: str, position: int) -> int:
        return self._begin_key(*self._sign(text, position))

    def _begin_key(self, sign: str, position: int) -> int:
        if sign == '"':
            self._parts = []
            self._string = JsonString()
            self._step = self._in_key
        elif sign:
            self.broken = True
        return position

    def _in_key(self, text: str, position: int) -> int:
        piece, position = self._read_string(text, position)
        self._parts.append(piece)
        if self._string is None:
            key = "".join(self._parts)
            container = self._stack[-1]
            if key in container.keys and not self._muted:
                self._muted = len(self._stack)
            container.keys.add(key)
            self._path = (*container.path, key)
            self._step = self._colon
        return position

    def _colon(self, text: str, position: int) -> int:
        sign, position = self._sign(text, position)
        if sign == ":":
            self._step = self._value
        elif sign:
            self.broken = True
        return position

    def _after_member(self, text: str, position: int) -> int:
        sign, position = self._sign(text, position)
        if sign == "}":
            return self._close(position)
        if sign == ",":
            self._step = self._next_key
        elif sign:
            self.broken = True
        return position

    def _first_item(self, text: str, position: int) -> int:
        sign, after = self._sign(text, position)
        if sign == "]":
            return self._close(after)
        if not sign:
            return after
        self._path = (*self._stack[-1].path, 0)
        self._step = self._value
        return after - 1

    def _after_item(self, text: str, position: int) -> int:
        sign, position = self._sign(text, position)
        if sign == "]":
            return self._close(position)
        if sign == ",":
            container = self._stack[-1]
            container.step = int(container.step) + 1
            self._path = (*container.path, container.step)
            self._step = self._value
        elif sign:
            self.broken = True
        return position

    def _read_string(self, text: str, position: int) -> tuple[str, int]:
        """Some of the string at hand; `_string` is None once it closed."""
        assert self._string is not None
        piece, position = self._string.feed(text, position)
        if self._string.broken:
            self.broken = True
        elif self._string.closed:
            self._string = None
        return piece, position
