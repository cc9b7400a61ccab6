"""Tool calls out of fragments: which delta belongs to which call, and parsing the arguments once.

Providers disagree on how a fragment names its call: by index, by id, by both, by neither, with the index of
another call, with the id on every fragment. The rules are in `CallBook.route`; dialects and block operators share
them.
"""

import json
import re
from typing import Any

import orjson

_LONG_NUMBER = re.compile(r"\d{19}")
_STRUCTURE = re.compile(r'["{}\[\]]')
_STRING_END = re.compile(r'["\\]')


def parse_arguments(raw: str) -> tuple[Any, str | None]:
    """The value of a call's arguments, or what is wrong with them. Nothing at all means no arguments.

    >>> parse_arguments('{"city": "Rome"}'), parse_arguments(" "), parse_arguments("null")
    (({'city': 'Rome'}, None), ({}, None), ({}, None))
    >>> parse_arguments('{"city": "Ro')[0] is None
    True
    """
    text = raw.strip()
    if text in ("", "null"):
        return {}, None
    try:
        # orjson turns integers beyond 64 bits into floats; arguments must keep every digit.
        value = json.loads(text) if _LONG_NUMBER.search(text) else orjson.loads(text)
    except (ValueError, RecursionError) as error:
        return None, f"the arguments are not valid JSON: {error}"
    return value, None


class DocumentScanner:
    """Finds where a JSON object or array ends, in text that arrives in pieces; each character is read once.

    >>> scanner = DocumentScanner()
    >>> scanner.feed('{"a": "}"'), scanner.feed('} {')
    (-1, 1)
    """

    __slots__ = ("_depth", "_in_string", "_skip", "whole")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._skip = 0
        self.whole = False

    def feed(self, text: str, start: int = 0) -> int:
        """The position just after the document's last bracket in this piece, or -1 while it is open."""
        position = start + self._skip
        self._skip = 0
        while not self.whole:
            match = (_STRING_END if self._in_string else _STRUCTURE).search(text, position)
            if match is None:
                self._skip = max(0, position - len(text))
                return -1
            position = match.end()
            mark = match[0]
            if mark == "\\":
                position += 1
            elif mark == '"':
                self._in_string = not self._in_string
            elif mark in "{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth <= 0:
                    self.whole = True
                    return position
        return 0


class OpenCall:
    """A call that is being received."""

    __slots__ = ("_scanned", "_scanner", "id", "index", "kind", "name", "parts")

    def __init__(self, index: int | None, id: str | None, kind: str = "function") -> None:
        self.index = index
        self.id = id
        self.kind = kind
        self.name = ""
        self.parts: list[str] = []
        self._scanner = DocumentScanner()
        self._scanned = 0

    def add_name(self, name: str) -> str:
        """Take a name delta; what is new of it. The whole name again is a repeat."""
        if name == self.name:
            return ""
        self.name += name
        return name

    def is_renamed(self, name: str | None) -> bool:
        """True for a name that this call does not have, though it has one."""
        return bool(name and self.name and name != self.name)

    @property
    def arguments(self) -> str:
        """All argument text so far."""
        return "".join(self.parts)

    def is_whole(self) -> bool:
        """True when the arguments so far are one closed JSON document. Only asked for calls without a proper key."""
        while self._scanned < len(self.parts) and not self._scanner.whole:
            self._scanner.feed(self.parts[self._scanned])
            self._scanned += 1
        return self._scanner.whole


class CallBook:
    """The calls of one turn, in the order in which they began.

    >>> book = CallBook()
    >>> first, new = book.route(0, "call_1", "f", "")
    >>> new, book.route(0, None, None, '{"city"')[0] is first, book.route(0, "call_2", "f", "")[0] is first
    (True, True, False)
    """

    def __init__(self) -> None:
        self.calls: list[OpenCall] = []
        self._by_index: dict[int, OpenCall] = {}
        self._by_id: dict[str, OpenCall] = {}

    def route(
        self, index: int | None, id: str | None, name: str | None, arguments: str | None, kind: str = "function"
    ) -> tuple[OpenCall, bool]:
        """The call that a fragment belongs to, and whether the fragment began it. Does not add the text.

        A known id decides. A new id begins a call, except that it names the call of its index if that had none. Then
        the index decides; without one the last call goes on, until its arguments are a whole document: what
        follows such a document can only be another call.
        """
        id = id or None
        if id is not None and (known := self._by_id.get(id)) is not None:
            if index is not None:
                self._by_index.setdefault(index, known)
            return known, False
        call = self._addressed(index, id, name)
        if call is not None and id is not None:
            if call.id is None and not call.is_whole() and not (index is None and call.is_renamed(name)):
                call.id = id
                self._by_id[id] = call
                return call, False
            call = None
        if call is not None and self._begins_another(call, index, name, arguments):
            call = None
        if call is not None:
            return call, False
        return self._begin(index, id, kind), True

    def _addressed(self, index: int | None, id: str | None, name: str | None) -> OpenCall | None:
        last = self.calls[-1] if self.calls else None
        if index is None:
            return last
        call = self._by_index.get(index)
        if call is None and last is not None and last.index is None and not id and not name and not last.is_whole():
            # A call that began without an index goes on with one: nothing but arguments begins no call.
            last.index = index
            self._by_index[index] = call = last
        return call

    def _begins_another(self, call: OpenCall, index: int | None, name: str | None, arguments: str | None) -> bool:
        more = bool(arguments and not arguments.isspace())
        # With an index the same name again may be a repeat, another name may not: the call has all its arguments.
        more = more or (bool(name) if index is None else call.is_renamed(name))
        return more and call.is_whole()

    def _begin(self, index: int | None, id: str | None, kind: str) -> OpenCall:
        call = OpenCall(index, id, kind)
        self.calls.append(call)
        if index is not None:
            self._by_index[index] = call
        if id is not None:
            self._by_id[id] = call
        return call


def split_documents(text: str) -> list[str]:
    """Cut text after each closed JSON document; the rest is the last piece.

    >>> split_documents('{"a":1}{"b":2} {"c"')
    ['{"a":1}', '{"b":2}', ' {"c"']
    """
    pieces: list[str] = []
    start = 0
    while True:
        end = DocumentScanner().feed(text, start)
        if end < 0 or end >= len(text):
            if start < len(text):
                pieces.append(text[start:])
            return pieces
        pieces.append(text[start:end])
        start = end
