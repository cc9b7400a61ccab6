"""Tool calls that a model wrote as JSON into a fence of its answer, because it did not use the provider's own way.

Nothing is taken out of the text: it was shown as it came. The calls are known when the text is over.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from streamflow.text.calls import parse_arguments, split_documents

MAX_FENCE = 1 << 20
"""Characters of one fence that are kept; a longer one is reported and not read."""

_HEAD = 200  # of a line outside a fence nothing but its beginning matters
_OPEN = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(\w*)[ \t]*(.*)")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_WRAPPERS = ("function", "tool", "tool_calls", "tools")
_BESIDE = frozenset(("name", "id", "type", "call_id", "index"))
_NAME_FOLLOWS = "<｜tool▁sep｜>"


class FencedCall(msgspec.Struct, frozen=True):
    """A call as it was written: ``arguments`` as JSON text, their value or what is wrong with them, and the source.

    >>> FencedCall("f", "{}", {}, None, "{}").id is None
    True
    """

    name: str
    arguments: str
    value: Any
    error: str | None
    raw: str
    id: str | None = None


class FencedCalls:
    """Reads text line by line and collects the calls of the given names; `found` has them in their order.

    >>> reader = FencedCalls(["search"])
    >>> for piece in ('Wait.\\n```json\\n{"name": "search", "argum', 'ents": {"q": "x"}}\\n```\\nDone'):
    ...     reader.feed(piece)
    >>> reader.end()
    >>> [(call.name, call.value) for call in reader.found]
    [('search', {'q': 'x'})]
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.casefold() for name in names)
        self.found: list[FencedCall] = []
        self.skipped = 0
        self._begin()

    def _begin(self) -> None:
        self._line: list[str] = []
        self._line_size = 0
        self._fence = ""
        self._content: list[str] | None = None  # what a JSON fence holds so far
        self._content_size = 0
        self._name: str | None = None  # the name that a marker announced for the next fence
        self._named_line = False

    def feed(self, text: str, marker: bool = False) -> None:
        """More text, or a marker that was taken out of it."""
        if marker:
            if text == _NAME_FOLLOWS:
                self._line, self._line_size, self._named_line = [], 0, True
            return
        start = 0
        while (end := text.find("\n", start)) >= 0:
            self._keep(text[start:end])
            self._end_line()
            start = end + 1
        if start < len(text):
            self._keep(text[start:])

    def end(self) -> None:
        """The text of the block is over: an open fence ends here."""
        if self._line:
            self._end_line()
        if self._content is not None:
            self._read()
        self._begin()

    def _keep(self, text: str) -> None:
        limit = MAX_FENCE if self._content is not None else _HEAD
        if self._line_size < limit:
            self._line.append(text[: limit - self._line_size])
        self._line_size += len(text)

    def _end_line(self) -> None:
        line = "".join(self._line)
        size, named = self._line_size, self._named_line
        self._line, self._line_size, self._named_line = [], 0, False
        if self._fence:
            self._in_fence(line, size)
        elif named:
            self._name = line.strip()
        elif match := _OPEN.match(line):
            self._fence = match[1]
            if match[2].lower() == "json":
                self._content, self._content_size = [], 0
                if match[3]:
                    self._in_fence(match[3], len(match[3]))
        elif line.strip():
            self._name = None

    def _in_fence(self, line: str, size: int) -> None:
        text = line.strip()
        mark = self._fence[0]
        closes = len(text) >= len(self._fence) and not text.strip(mark)
        if not closes and self._content is not None:
            # A fence on one line, or one whose closing mark stands right after the last bracket.
            closes = text.endswith(self._fence) and text.rstrip(mark).rstrip()[-1:] in ("}", "]")
            self._content.append(text.rstrip(mark) if closes else line + "\n")
            self._content_size += size
        if closes:
            if self._content is not None:
                self._read()
            self._fence = ""

    def _read(self) -> None:
        text = "".join(self._content or ())
        too_long = self._content_size > MAX_FENCE
        name, self._name, self._content = self._name, None, None
        if too_long:
            self.skipped += 1
            return
        if name is not None and name.casefold() in self._names:
            raw = text.strip()
            self.found.append(FencedCall(name, raw, *parse_arguments(raw), raw))
            return
        for document in split_documents(text):
            raw = document.strip()
            value, error = parse_arguments(raw)
            if error is None:
                self._collect(value, raw)

    def _collect(self, value: Any, raw: str, id: str | None = None) -> None:
        if isinstance(value, list):
            for item in value:
                self._collect(item, raw)
        elif isinstance(value, dict):
            written = value.get("id", value.get("call_id"))
            id = written if isinstance(written, str) and written else id
            name = value.get("name", value.get("tool", value.get("function")))
            if isinstance(name, str):
                if name.casefold() in self._names:
                    self._add(name, value, raw, id)
                return
            for key in _WRAPPERS:
                if isinstance(value.get(key), list | dict):
                    self._collect(value[key], raw, id)

    def _add(self, name: str, call: dict[str, Any], raw: str, id: str | None) -> None:
        key = next((key for key in _ARGUMENT_KEYS if key in call), None)
        if key is None and not call.keys() <= _BESIDE | {"tool", "function"}:
            return  # an object that happens to have a name, not a call
        arguments = call[key] if key is not None else {}
        if isinstance(arguments, str):
            value, error = parse_arguments(arguments)
            self.found.append(FencedCall(name, arguments, value, error, raw, id))
        else:
            text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
            self.found.append(FencedCall(name, text, {} if arguments is None else arguments, None, raw, id))
