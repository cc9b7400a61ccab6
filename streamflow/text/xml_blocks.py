"""The regions of text that tags make: blocks, wrappers, results of tools, and where calls begin."""

import re
from collections.abc import Callable

from streamflow.text.block_writer import BlockWriter
from streamflow.text.channels import ChannelDetector
from streamflow.text.code_marks import CodeMarks
from streamflow.text.holdback import CLOSE, EMPTY, OPEN, Candidate, Found
from streamflow.text.regions import OVER, Detector, Prose, Region, Source, Step
from streamflow.text.tag_reader import Place, TagReader
from streamflow.text.tagged_json import TaggedJsonCall
from streamflow.text.tags import Tag
from streamflow.text.xml_calls import ID_ATTRIBUTES, Call, first_of

_ENTITY = re.compile("&(lt|gt|amp|quot|apos);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_OPEN_ENTITY = re.compile("&(?:l|lt|g|gt|a|am|amp|ap|apo|apos|q|qu|quo|quot)?\\Z")
_LINE_BREAK = re.compile(r"(?:\r?\n|\r)\Z")


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
        id = first_of(found.attributes, ID_ATTRIBUTES)
        name = first_of(found.attributes, ("name", "tool_name"))
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
