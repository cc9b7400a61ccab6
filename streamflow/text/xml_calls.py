"""Calls in tags: each argument becomes a member of one JSON object, as it comes."""

import re
from typing import Any

from streamflow.text.argument_values import is_streamed, json_name, json_value, quoted
from streamflow.text.block_writer import BlockWriter, OpenBlock
from streamflow.text.holdback import CLOSE, EMPTY, LITERAL, OPEN, Candidate, Found
from streamflow.text.regions import OVER, Region, Source, Step
from streamflow.text.tag_reader import TagReader
from streamflow.text.tags import Tag

RAW_MARKERS = {"__START_CONTENT__": "__END_CONTENT__", "__START_PATCH__": "__END_PATCH__"}
"""Lines between which the close of an argument is content; the markers themselves stay in the value."""

ID_ATTRIBUTES = ("id", "tool_use_id", "call_id")

_MAX_BLANKS = 256
_CDATA_END = "]]>"
_BLANKS = re.compile(r"[ \t\r\n]*")


class Call:
    """A call: its arguments become the members of one JSON object, as they come."""

    is_call = True

    def __init__(
        self, writer: BlockWriter, reader: TagReader, tag: Tag, found: Found, wrappers: tuple[Tag, ...]
    ) -> None:
        self.writer = writer
        self.reader = reader
        self.name = found.attributes["name"]
        self._tag = tag
        self._found = found
        self._place = reader.call(tag, wrappers)
        self._source = Source(found.start)
        self._candidate: Candidate | None = None
        self._arguments: set[str] = set()
        self._stray: list[str] = []
        self._error: str | None = None
        self.block: OpenBlock = writer.open_call(self.name, first_of(found.attributes, ID_ATTRIBUTES))

    def begun(self, text: str) -> Region | None:
        """The region, unless its tag closed itself."""
        if self._found.form == EMPTY:
            self._close(text, self._found.end)
            return None
        return self

    def read(self, text: str, place: int, final: bool) -> tuple[int, Step]:
        """Skip white space up to the next tag."""
        candidate, self._candidate = self._candidate, None
        while True:
            hit = self._place.search(text, place, candidate, final)
            candidate = None
            end = len(text) if hit is None else hit.start
            if _BLANKS.match(text, place, end).end() < end or self._stray:  # type: ignore[union-attr]
                self._stray.append(text[place:end])
            if not isinstance(hit, Found):
                self._candidate = None if hit is None else hit.moved(end)
                return end, None
            tag = self._place.tags.get(hit.name)
            if hit.form == CLOSE and hit.name == self._found.name:
                self._close(text, hit.end)
                return hit.end, OVER
            if tag is self._tag or tag is None:
                # Another call, or the end of the wrapper: the close of this one was forgotten.
                self._source.keep(text, hit.start)
                self.unclosed()
                return hit.start, OVER
            place = hit.end
            if tag.role == "argument" and hit.form != CLOSE:
                argument = Argument(self, tag, hit)
                if hit.form != EMPTY:
                    return place, argument
                argument.finish()

    def begin_argument(self, name: str) -> None:
        """The name of the next member."""
        if name in self._arguments:
            self.fail(f"the argument {name!r} is given twice")
        lead = "," if self._arguments else "{"
        self._arguments.add(name)
        self.writer.add(self.block, f"{lead}{json_name(name)}:", -1)

    def fail(self, error: str) -> None:
        """The call cannot be run; the first reason is told."""
        self._error = self._error or error

    def _close(self, text: str, end: int) -> None:
        stray = "".join(self._stray).strip()
        if stray and not self._arguments and stray[0] == "{":
            self.writer.add(self.block, stray, -1)
        else:
            if stray:
                self.fail(f"text outside of the arguments: {stray[:80]!r}")
            self.writer.add(self.block, "}" if self._arguments else "{}", -1)
        self.writer.close(self.block, raw=self._source.upto(text, end), error=self._error)

    def keep(self, text: str, place: int) -> None:
        """Keep the source."""
        self._source.keep(text, place)

    def unclosed(self) -> None:
        """The text ended inside."""
        self.writer.unclosed(self.block, raw=self._source.upto("", 0))


class Argument:
    """One argument: everything is its value, up to its own close."""

    is_call = True

    def __init__(self, call: Call, tag: Tag, found: Found) -> None:
        self._call = call
        self._name = found.attributes["name"]
        self._place = call.reader.content(tag, found.name, cdata=True)
        self._types = call.reader.types.of(call.name, self._name)
        if found.attributes.get("string") == "false" and not self._types:
            self._types = ("object", "array", "number", "boolean", "null")  # DeepSeek marks what is JSON
        elif found.attributes.get("string") == "true" and not self._types:
            self._types = ("string",)
        self._candidate: Candidate | None = None
        self._depth = 0
        self._in_cdata = False
        self._raw_end = ""
        self._lead: str | None = ""
        self._tail = ""
        self._parts: list[str] | None = None  # a value that comes when it is closed
        self._streams = False
        call.begin_argument(self._name)

    def read(self, text: str, place: int, final: bool) -> tuple[int, Step]:
        """Take in the value up to the close."""
        candidate, self._candidate = self._candidate, None
        said = place
        while True:
            if self._in_cdata:
                end = text.find(_CDATA_END, place)
                if end < 0:
                    end = len(text) if final else len(text) - _overlap(text, place, _CDATA_END)
                    self._add(text[said:end])
                    return end, None
                place = end + len(_CDATA_END)
                self._add(text[said : place if self._depth else end])
                said = place
                self._in_cdata = False
            hit = self._place.search(text, place, candidate, final)
            candidate = None
            if not isinstance(hit, Found):
                end = len(text) if hit is None else hit.start
                self._add(text[said:end])
                self._candidate = None if hit is None else hit.moved(end)
                return end, None
            self._add(text[said : hit.start])
            said = hit.start
            place = hit.end
            if hit.form == OPEN:
                self._depth += not self._raw_end
            elif hit.form == LITERAL:
                if not self._raw_end:
                    said = hit.start if self._depth else hit.end
                    self._in_cdata = True
            elif hit.form == CLOSE:
                if self._depth:
                    self._depth -= 1
                elif not self._raw_end or self._tail.rstrip().endswith(self._raw_end):
                    self.finish()
                    return hit.end, OVER

    def _add(self, text: str) -> None:
        if not text:
            return
        self._look_for_raw_marker(text)
        if self._parts is None and not self._streams:
            self._streams = is_streamed(self._types, text[0])
            if self._streams:
                self._call.writer.add(self._call.block, '"', -1)
            else:
                self._parts = []
        if self._streams:
            self._call.writer.add(self._call.block, quoted(text), -1)
        elif self._parts is not None:
            self._parts.append(text)

    def _look_for_raw_marker(self, text: str) -> None:
        if self._lead is not None:
            self._lead += text
            lead = self._lead.lstrip()
            if len(self._lead) - len(lead) > _MAX_BLANKS or not any(
                marker.startswith(lead) or lead.startswith(marker) for marker in RAW_MARKERS
            ):
                self._lead = None
                return
            self._raw_end = next((end for start, end in RAW_MARKERS.items() if lead.startswith(start)), "")
            if not self._raw_end:
                return
            self._lead, text = None, lead
        if self._raw_end:
            self._tail = (self._tail + text)[-(len(self._raw_end) + _MAX_BLANKS) :]

    def finish(self) -> None:
        """The close was seen: a value that waited is typed now."""
        call = self._call
        if self._streams:
            call.writer.add(call.block, '"', -1)
            return
        value, error = json_value(self._types, "".join(self._parts or ()))
        if error is not None:
            call.fail(f"the argument {self._name!r}: {error}")
        call.writer.add(call.block, value, -1)

    def keep(self, text: str, place: int) -> None:
        """The call keeps the source."""

    def unclosed(self) -> None:
        """The call says so."""


def _overlap(text: str, place: int, marker: str) -> int:
    """How many of the last characters may be the beginning of the marker."""
    for size in range(min(len(marker) - 1, len(text) - place), 0, -1):
        if text.endswith(marker[:size]):
            return size
    return 0


def first_of(attributes: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of these attributes that says something.

    >>> first_of({"id": "", "call_id": "c1"}, ID_ATTRIBUTES)
    'c1'
    """
    return next((attributes[name] for name in names if attributes.get(name)), None)
