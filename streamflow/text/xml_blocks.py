"""The regions of text that tags make: blocks, wrappers, calls with their arguments, results of tools."""

import re
from collections.abc import Callable
from typing import Any

from streamflow.text.argument_values import is_streamed, json_name, json_value, quoted
from streamflow.text.block_writer import BlockWriter, OpenBlock
from streamflow.text.channels import ChannelDetector
from streamflow.text.code_marks import CodeMarks
from streamflow.text.holdback import CLOSE, EMPTY, LITERAL, OPEN, Candidate, Found
from streamflow.text.regions import OVER, Detector, Prose, Region, Source, Step
from streamflow.text.tag_reader import Place, TagReader
from streamflow.text.tagged_json import TaggedJsonCall
from streamflow.text.tags import Tag

RAW_MARKERS = {"__START_CONTENT__": "__END_CONTENT__", "__START_PATCH__": "__END_PATCH__"}
"""Lines between which the close of an argument is content; the markers themselves stay in the value."""

_MAX_BLANKS = 256
_CDATA_END = "]]>"
_BLANKS = re.compile(r"[ \t\r\n]*")
_ENTITY = re.compile("&(lt|gt|amp|quot|apos);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_OPEN_ENTITY = re.compile("&(?:l|lt|g|gt|a|am|amp|ap|apo|apos|q|qu|quo|quot)?\\Z")
_LINE_BREAK = re.compile(r"(?:\r?\n|\r)\Z")
_ID_ATTRIBUTES = ("id", "tool_use_id", "call_id")


class XmlDetector:
    """Finds tags in prose and opens what they begin."""

    def __init__(
        self, writer: BlockWriter, reader: TagReader, code: CodeMarks | None, wrappers: tuple[Tag, ...] = ()
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._code = code
        self._wrappers = wrappers
        self._place = reader.prose(wrappers)
        self.first = self._place.first
        self.search = self._place.search

    def enter(self, found: Found, text: str) -> Step:
        """Begin what a tag begins; a close is that of the wrapper, or stray."""
        tag = self._place.tags.get(found.name)
        if found.form == CLOSE or tag is None:
            if self._wrappers and found.name in self._wrappers[-1].names:
                return OVER
            source = text[found.start : found.end]
            self._writer.notice("stray_close", f"{source} closes nothing and was taken out", source)
            return None
        return _ROLES[tag.role](self, tag, found, text)

    def _block(self, tag: Tag, found: Found, text: str) -> Step:
        return Body(self._writer, self._reader.content(tag, found.name), tag, found, text).begun()

    def _wrapper(self, tag: Tag, found: Found, text: str) -> Step:
        if found.form == EMPTY:
            return None
        inner = XmlDetector(self._writer, self._reader, self._code, (*self._wrappers, tag))
        return Prose(self._writer, [inner], self._code, blank_is_structure=True)

    def _call(self, tag: Tag, found: Found, text: str) -> Step:
        return Call(self._writer, self._reader, tag, found, self._wrappers).begun(text)

    def _result(self, tag: Tag, found: Found, text: str) -> Step:
        return Result(self._writer, self._reader.content(tag, found.name), tag, found).begun(text)

    def _json(self, tag: Tag, found: Found, text: str) -> Step:
        return TaggedJsonCall(self._writer, self._reader.content(tag, found.name), found).begun(text)


_ROLES: dict[str, Callable[[XmlDetector, Tag, Found, str], Step]] = {
    "block": XmlDetector._block,
    "wrapper": XmlDetector._wrapper,
    "call": XmlDetector._call,
    "result": XmlDetector._result,
    "error": XmlDetector._result,
    "json": XmlDetector._json,
}


def xml_detectors(reader: TagReader) -> Callable[[BlockWriter, CodeMarks | None], list[Detector]]:
    """What finds the tags of these tables, for one stream."""

    def make(writer: BlockWriter, code: CodeMarks | None) -> list[Detector]:
        detectors: list[Detector] = [XmlDetector(writer, reader, code)] if reader.has_tags else []
        return [*detectors, ChannelDetector(writer, reader.max_tag)] if reader.has_channels else detectors

    return make


class Body:
    """Verbatim content up to the close of its own tag."""

    is_call = False

    def __init__(self, writer: BlockWriter, place: Place, tag: Tag, found: Found, text: str) -> None:
        self._writer = writer
        self._place = place
        self._opening = text[found.start : found.end]
        self._empty = found.form == EMPTY
        self._depth = 0
        self._candidate: Candidate | None = None
        self._block = writer.open(tag.kind, found.attributes, tag.visible)

    def begun(self) -> Region | None:
        """The region, unless its tag closed itself."""
        if self._empty:
            self._writer.close(self._block, raw=self._opening)
            return None
        return self

    def read(self, text: str, place: int, final: bool) -> tuple[int, Step]:
        """Pass content on up to the close."""
        candidate, self._candidate = self._candidate, None
        said = place
        while True:
            hit = self._place.search(text, place, candidate, final)
            candidate = None
            if not isinstance(hit, Found):
                end = len(text) if hit is None else hit.start
                self._writer.add(self._block, text[said:end], said, self._depth)
                self._candidate = None if hit is None else hit.moved(end)
                return end, None
            place = hit.end
            if hit.form == EMPTY:
                continue
            if hit.form == OPEN:
                self._writer.add(self._block, text[said : hit.start], said, self._depth)
                said = hit.start
                self._depth += 1
            elif self._depth:
                self._writer.add(self._block, text[said : hit.end], said, self._depth)
                said = hit.end
                self._depth -= 1
            else:
                self._writer.add(self._block, text[said : hit.start], said)
                raw = self._opening + "".join(self._block.parts) + text[hit.start : hit.end]
                self._writer.close(self._block, raw=raw)
                return hit.end, OVER

    def keep(self, text: str, place: int) -> None:
        """The source is the content between the tags."""

    def unclosed(self) -> None:
        """The text ended inside."""
        self._writer.unclosed(self._block, raw=self._opening + "".join(self._block.parts))


class Result:
    """What a tool gave back: entities decoded, one line break next to each tag dropped."""

    is_call = False

    def __init__(self, writer: BlockWriter, place: Place, tag: Tag, found: Found) -> None:
        self._writer = writer
        self._place = place
        self._found = found
        self._source = Source(found.start)
        self._at_start = True
        self._candidate: Candidate | None = None
        id = _first_of(found.attributes, _ID_ATTRIBUTES)
        name = _first_of(found.attributes, ("name", "tool_name"))
        self._block = writer.open_result(id, name, failed=tag.role == "error")

    def begun(self, text: str) -> Region | None:
        """The region, unless its tag closed itself."""
        if self._found.form == EMPTY:
            self._writer.close(self._block, raw=self._source.upto(text, self._found.end))
            return None
        return self

    def read(self, text: str, place: int, final: bool) -> tuple[int, Step]:
        """Pass content on up to the close, without the line break that may stand before it."""
        if self._at_start:
            if place == len(text) or (text[place:] == "\r" and not final):
                return place, None
            self._at_start = False
            place += 2 if text.startswith("\r\n", place) else text[place] in "\r\n"
        candidate, self._candidate = self._candidate, None
        hit = self._place.search(text, place, candidate, final)
        end = len(text) if hit is None else hit.start
        shown = end
        if isinstance(hit, Found) or not final:
            if hit is None and (entity := _OPEN_ENTITY.search(text, max(place, end - 5), end)) is not None:
                shown = entity.start()
            elif (line_break := _LINE_BREAK.search(text, max(place, end - 2), end)) is not None:
                shown = line_break.start()
        content = _ENTITY.sub(lambda match: _ENTITIES[match[1]], text[place:shown])
        self._writer.add(self._block, content, place)
        if isinstance(hit, Found):
            self._writer.close(self._block, raw=self._source.upto(text, hit.end))
            return hit.end, OVER
        self._candidate = None if hit is None else hit.moved(shown)
        return shown, None

    def keep(self, text: str, place: int) -> None:
        """Keep the source."""
        self._source.keep(text, place)

    def unclosed(self) -> None:
        """The text ended inside."""
        self._writer.unclosed(self._block, raw=self._source.upto("", 0))


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
        self.block: OpenBlock = writer.open_call(self.name, _first_of(found.attributes, _ID_ATTRIBUTES))

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


def _first_of(attributes: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((attributes[name] for name in names if attributes.get(name)), None)
