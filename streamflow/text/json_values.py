"""JSON that passes by in pieces: where a value ends, and what the frame of a call says before its arguments.

Arguments may be long, so they are never read here, only followed to their end: strings and escapes honoured, each
character looked at once.
"""

import json
import re
from collections.abc import Collection
from typing import Any

MORE = "more"
ARGUMENTS = "arguments"
END = "end"
BAD = "bad"

MAX_HEAD = 4096
"""Characters within which the frame of a call must show its name: what is held is bounded."""

BLANKS = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRUCTURE = re.compile(r'["{}\[\]<]')
_STRING_SIGN = re.compile(r'["\\]')
_SCALAR = re.compile(r"[-+.\w]*")
_SCALAR_WHOLE = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_SCALAR_BEGUN = re.compile(
    r"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?|-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][-+]?[0-9]*)?)?"
)

_NAME, _PART, _ARGUMENTS, _ID, _OTHER = "name", "part", "arguments", "id", "other"
_MEMBERS = {
    "name": _NAME,
    "tool_name": _NAME,
    "function": _PART,
    "tool": _PART,
    "arguments": _ARGUMENTS,
    "parameters": _ARGUMENTS,
    "args": _ARGUMENTS,
    "input": _ARGUMENTS,
    "id": _ID,
    "call_id": _ID,
    "tool_call_id": _ID,
    "type": _OTHER,
    "index": _OTHER,
}
_QUOTED_MEMBERS = tuple(f'"{member}"' for member in _MEMBERS)
MAX_KEY = 16
"""Characters of a key that are enough to tell it from those of a call."""

_MAX_LEVELS = 4


class PassingValue:
    """Follows one JSON value to its end.

    >>> value = PassingValue()
    >>> value.follow('{"a": "}"', 0), value.follow("} x", 0)
    ((9, 'more'), (1, 'end'))
    """

    __slots__ = ("_depth", "_escaped", "_in_string", "_started")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._started = False

    def follow(self, text: str, place: int) -> tuple[int, str]:
        """The place after what belongs to the value, and whether it ended there, needs more, or is no JSON.

        What is not passed must be offered again: a number or a word is taken as a whole or not at all.
        """
        if not self._started:
            if place == len(text):
                return place, MORE
            if text[place] not in '"{[':
                return _follow_scalar(text, place)
            self._started = True
        if self._escaped and place < len(text):
            place += 1
            self._escaped = False
        while True:
            sign = (_STRING_SIGN if self._in_string else _STRUCTURE).search(text, place)
            if sign is None:
                return len(text), MORE
            place = sign.end()
            mark = sign[0]
            if mark == "\\":
                if place == len(text):
                    self._escaped = True
                    return place, MORE
                place += 1
            elif mark == '"':
                self._in_string = not self._in_string
                if not self._in_string and not self._depth:
                    return place, END
            elif mark in "{[":
                self._depth += 1
            elif mark == "<":
                return sign.start(), BAD
            else:
                self._depth -= 1
                if self._depth <= 0:
                    return place, END


def _follow_scalar(text: str, place: int) -> tuple[int, str]:
    end = _SCALAR.match(text, place).end()  # type: ignore[union-attr]
    scalar = text[place:end]
    if end == len(text):
        may_be = len(scalar) < MAX_HEAD and _SCALAR_BEGUN.fullmatch(scalar)
        return place, MORE if may_be else BAD
    return (end, END) if len(scalar) < MAX_HEAD and _SCALAR_WHOLE.fullmatch(scalar) else (place, BAD)


class ObjectReader:
    """Reads the members of a JSON object, from the sign after its first bracket to its last.

    >>> reader = ObjectReader()
    >>> reader.read('"a": 1, "b": [2]', 0), reader.read("}", 0)
    ((16, 'more'), (1, 'end'))
    """

    def __init__(self) -> None:
        self._level = 1
        self._state = self._read_first
        self._key = ""
        self._passing: PassingValue | None = None

    def read(self, text: str, place: int) -> tuple[int, str]:
        """Read on; at `MORE` everything from the place on must be offered again."""
        while True:
            if self._passing is not None:
                place, status = self._pass(text, place, self._passing)
                if status:
                    return place, status
            place = BLANKS.match(text, place).end()  # type: ignore[union-attr]
            if place == len(text):
                return place, MORE
            place, status = self._state(text, place)
            if status:
                return place, status

    def _pass(self, text: str, place: int, value: PassingValue) -> tuple[int, str]:
        place, status = value.follow(text, place)
        if status == END:
            self._passing = None
        return place, "" if status == END else status

    def _read_first(self, text: str, place: int) -> tuple[int, str]:
        return self._leave(place) if text[place] == "}" else self._read_key(text, place)

    def _read_key(self, text: str, place: int) -> tuple[int, str]:
        end, value = read_string(text, place)
        if value is None:
            return place, MORE if end and self._may_be_key(text[place : place + MAX_KEY]) else BAD
        if not self._may_be_key(text[place:end][:MAX_KEY]):
            return place, BAD
        self._key = value
        self._state = self._read_colon
        return end, ""

    def _may_be_key(self, begun: str) -> bool:
        """Whether a member of interest may begin like this."""
        return True

    def _read_colon(self, text: str, place: int) -> tuple[int, str]:
        self._state = self._read_value
        return (place + 1, "") if text[place] == ":" else (place, BAD)

    def _read_value(self, text: str, place: int) -> tuple[int, str]:
        self._state = self._read_comma
        self._passing = PassingValue()
        return place, ""

    def _read_comma(self, text: str, place: int) -> tuple[int, str]:
        if text[place] == "}":
            return self._leave(place)
        self._state = self._read_key
        return (place + 1, "") if text[place] == "," else (place, BAD)

    def _leave(self, place: int) -> tuple[int, str]:
        self._level -= 1
        self._state = self._read_comma
        return place + 1, "" if self._level else END


class RestReader(ObjectReader):
    """Reads the members that are left of an object, after one of its values.

    >>> RestReader().read(', "b": 2} x', 0)
    (9, 'end')
    """

    def __init__(self) -> None:
        super().__init__()
        self._state = self._read_comma


class CallFrame(ObjectReader):
    """Reads the object around a call: ``{"name": ..., "arguments": ...}`` in all its spellings.

    ``strict``: what no call has, before name and arguments are known, means that this is no call; so does a name that
    is not one of ``names``, if any are given. At `ARGUMENTS` the value begins at the place given; after it the frame
    goes on.

    >>> frame = CallFrame(strict=True)
    >>> frame.read('{"name": "f", "arguments": {}}', 1), frame.name
    ((27, 'arguments'), 'f')
    """

    def __init__(self, strict: bool, names: Collection[str] | None = None) -> None:
        super().__init__()
        self.name = ""
        self.id: str | None = None
        self.early: str | None = None  # arguments that came before the name
        self.has_arguments = False
        self._strict = strict
        self._names = names
        self._passed: list[str] | None = None

    def _pass(self, text: str, place: int, value: PassingValue) -> tuple[int, str]:
        end, status = super()._pass(text, place, value)
        if self._passed is not None:
            self._passed.append(text[place:end])
            if not status:
                self.early, self._passed = "".join(self._passed), None
        return end, status

    def _may_be_key(self, begun: str) -> bool:
        return not self._is_open or any(member.startswith(begun) for member in _QUOTED_MEMBERS)

    @property
    def _is_open(self) -> bool:
        """True while it is not certain that this is a call, and may never be."""
        return self._strict and not self.has_arguments

    def _read_value(self, text: str, place: int) -> tuple[int, str]:
        role = _MEMBERS.get(self._key)
        sign = text[place]
        if role == _ARGUMENTS and not self.has_arguments:
            if self._strict and sign not in '{["n':
                return place, BAD
            self._state = self._read_comma
            if self.name:
                self.has_arguments = True
                return place, ARGUMENTS
            self._passing, self._passed = PassingValue(), []
            return place, ""
        if role == _PART and sign == "{" and self._level < _MAX_LEVELS:
            self._level += 1
            self._state = self._read_first
            return place + 1, ""
        if role in (_NAME, _PART, _ID) and sign == '"':
            end, value = read_string(text, place)
            if value is None:
                return place, MORE if end and (role == _ID or self._may_be_name(text[place + 1 :])) else BAD
            self._state = self._read_comma
            return self._take(role or "", value, end)
        if self._is_open and role not in (_OTHER, _ID):
            return place, BAD
        return super()._read_value(text, place)

    def _may_be_name(self, begun: str) -> bool:
        if not self._is_open or self._names is None or "\\" in begun:
            return True
        return any(name.startswith(begun.lower()) for name in self._names)

    def _take(self, role: str, value: str, end: int) -> tuple[int, str]:
        if role == _ID:
            self.id = self.id or value or None
            return end, ""
        if self.name or not value or (self._names is not None and value.lower() not in self._names):
            return end, BAD if self._is_open else ""
        self.name = value
        if self.early is not None and not self.has_arguments:
            self.has_arguments = True
            return end, ARGUMENTS
        return end, ""


def read_string(text: str, place: int) -> tuple[int, str | None]:
    """The end and the value of a string; no value when it is not whole yet (any end) or none at all (0).

    >>> read_string('"a" b', 0), read_string('"a', 0), read_string("a", 0)
    ((3, 'a'), (1, None), (0, None))
    """
    if text[place] != '"':
        return 0, None
    match = _STRING.match(text, place, place + MAX_HEAD)
    if match is None:
        return (1 if len(text) - place < MAX_HEAD else 0), None
    try:
        value: Any = json.loads(match[0], strict=False)
    except ValueError:
        return 0, None
    return match.end(), str(value)
