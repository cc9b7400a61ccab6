"""JSON that passes by in pieces: where a value ends, and what the frame of a call says before its arguments.

Arguments may be long, so they are never read here, only followed to their end: strings and escapes honoured, each
character looked at once.
"""

import json
import re
from typing import Any

MORE = "more"
ARGUMENTS = "arguments"
END = "end"
BAD = "bad"

MAX_HEAD = 4096
"""Characters within which the frame of a call must show its name: what is held is bounded."""

BLANKS = re.compile(r"[ \t\r\n]*")
STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRUCTURE = re.compile(r'["{}\[\]<]')
_STRING_SIGN = re.compile(r'["\\]')
_SCALAR = re.compile(r"[-+.\w]*")

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
_MAX_LEVELS = 4


class PassingValue:
    """Follows one JSON value to its end.

    >>> value = PassingValue()
    >>> value.follow('{"a": "}"', 0), value.follow("} x", 0)
    ((9, 'more'), (1, 'end'))
    """

    __slots__ = ("_depth", "_escaped", "_in_string", "_scalar", "_started")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._scalar = False
        self._started = False

    def follow(self, text: str, place: int) -> tuple[int, str]:
        """The place after what belongs to the value, and whether it ended there, needs more, or is no JSON."""
        if not self._started:
            if place == len(text):
                return place, MORE
            self._started = True
            self._scalar = text[place] not in '"{['
        if self._scalar:
            place = _SCALAR.match(text, place).end()  # type: ignore[union-attr]
            return place, MORE if place == len(text) else END
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


class CallFrame:
    """Reads the object around a call: ``{"name": ..., "arguments": ...}`` in all its spellings.

    ``strict``: a member that no call has, before name and arguments are known, means that this is no call. ``is_rest``:
    only the members that follow are of interest, and only their end.

    >>> frame = CallFrame(strict=True)
    >>> frame.read('{"name": "f", "arguments": {}}', 1), frame.name
    ((27, 'arguments'), 'f')
    """

    def __init__(self, strict: bool, *, is_rest: bool = False) -> None:
        self.name = ""
        self.id: str | None = None
        self.early: str | None = None  # arguments that came before the name
        self.has_arguments = is_rest
        self._strict = strict
        self._level = 1
        self._state = self._read_comma if is_rest else self._read_first
        self._key = ""
        self._passing: PassingValue | None = None
        self._passed: list[str] | None = None

    def read(self, text: str, place: int) -> tuple[int, str]:
        """Read on. At `ARGUMENTS` the value begins at the place given; after it the frame goes on.

        At `MORE` everything from the place on must be offered again.
        """
        while True:
            if self._passing is not None:
                start = place
                place, status = self._passing.follow(text, place)
                if self._passed is not None:
                    self._passed.append(text[start:place])
                if status != END:
                    return place, status
                if self._passed is not None:
                    self.early = "".join(self._passed)
                self._passing = self._passed = None
                if self.early is not None and self.name and not self.has_arguments:
                    self.has_arguments = True
                    return place, ARGUMENTS
            place = BLANKS.match(text, place).end()  # type: ignore[union-attr]
            if place == len(text):
                return place, MORE
            place, status = self._state(text, place)
            if status:
                return place, status

    def _read_first(self, text: str, place: int) -> tuple[int, str]:
        return self._leave(place) if text[place] == "}" else self._read_key(text, place)

    def _read_key(self, text: str, place: int) -> tuple[int, str]:
        end, value = _string(text, place)
        if value is None:
            return place, MORE if end else BAD
        self._key = value
        self._state = self._read_colon
        return end, ""

    def _read_colon(self, text: str, place: int) -> tuple[int, str]:
        self._state = self._read_value
        return (place + 1, "") if text[place] == ":" else (place, BAD)

    def _read_comma(self, text: str, place: int) -> tuple[int, str]:
        if text[place] == "}":
            return self._leave(place)
        self._state = self._read_key
        return (place + 1, "") if text[place] == "," else (place, BAD)

    def _leave(self, place: int) -> tuple[int, str]:
        self._level -= 1
        self._state = self._read_comma
        return place + 1, "" if self._level else END

    def _read_value(self, text: str, place: int) -> tuple[int, str]:
        role = _MEMBERS.get(self._key)
        sign = text[place]
        if role == _ARGUMENTS and not self.has_arguments:
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
            end, value = _string(text, place)
            if value is None:
                return place, MORE if end else BAD
            self._state = self._read_comma
            return self._take(role or "", value, end)
        if self._strict and not self.has_arguments and role not in (_OTHER, _ID):
            return place, BAD
        self._state = self._read_comma
        self._passing = PassingValue()
        return place, ""

    def _take(self, role: str, value: str, end: int) -> tuple[int, str]:
        if role == _ID:
            self.id = self.id or value or None
            return end, ""
        if self.name or not value:
            return end, BAD if self._strict and not self.has_arguments else ""
        self.name = value
        if self.early is not None and not self.has_arguments:
            self.has_arguments = True
            return end, ARGUMENTS
        return end, ""


def _string(text: str, place: int) -> tuple[int, str | None]:
    """The end and the value of a string; no value when it is not whole yet (any end) or none at all (0)."""
    if text[place] != '"':
        return 0, None
    match = STRING.match(text, place, place + MAX_HEAD)
    if match is None:
        return (1 if len(text) - place < MAX_HEAD else 0), None
    try:
        value: Any = json.loads(match[0], strict=False)
    except ValueError:
        return 0, None
    return match.end(), str(value)
