"""Blocks between ``[[SEG_START {...}]]`` and ``[[SEG_END]]``: the header is a JSON object with the block's type."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from streamflow.errors import UsageError
from streamflow.text.block_writer import BlockWriter
from streamflow.text.code_marks import CodeMarks
from streamflow.text.holdback import LITERAL, MAX_TAG, Candidate, Found, Markers
from streamflow.text.json_values import BAD, BLANKS, END, MORE, ObjectReader
from streamflow.text.regions import Detector, Step
from streamflow.text.tag_reader import Place
from streamflow.text.tagged_json import NamedJsonCall, TaggedJsonCall
from streamflow.text.tags import Tag
from streamflow.text.xml_blocks import Body

START = "[[SEG_START"
STOP = "[[SEG_END]]"

TYPES = {
    "text": "text",
    "tool": "tool_call",
    "tool_call": "tool_call",
    "write_file": "write_file",
    "edit_file": "edit_file",
    "run_bash": "run_bash",
    "run_terminal_cmd": "run_bash",
    "reasoning": "thinking",
    "thinking": "thinking",
}
"""The kind of block for each type that a header may name."""

_NAMES = ("tool_name", "name")
_IDS = ("id", "tool_id", "call_id")


class _Header(Candidate):
    """A header that is being read; `read` counts from its start."""

    __slots__ = ("begin", "fields", "members")

    def __init__(self, start: int) -> None:
        super().__init__(start, read=len(START))
        self.begin = -1
        self.members: ObjectReader | None = ObjectReader()
        self.fields: Any = None

    def moved(self, by: int) -> "_Header":
        self.start -= by
        return self

    def read_on(self, window: str) -> str:
        """Whether the header is whole, needs more, or is none."""
        if self.begin < 0:
            self.read = BLANKS.match(window, self.read).end()  # type: ignore[union-attr]
            if self.read == len(window):
                return MORE
            if window[self.read] != "{":
                return BAD
            self.begin = self.read
            self.read += 1
        if self.members is not None:
            self.read, status = self.members.read(window, self.read)
            if status != END:
                return status
            self.members = None
            try:
                self.fields = json.loads(window[self.begin : self.read], strict=False)
            except (ValueError, RecursionError):
                return BAD
        self.read = BLANKS.match(window, self.read).end()  # type: ignore[union-attr]
        if window.startswith("]]", self.read):
            self.read += 2
            return END
        return MORE if window[self.read :] in ("", "]") else BAD


class SentinelDetector:
    """Finds headers in prose."""

    first = START[0]

    def __init__(self, writer: BlockWriter, types: dict[str, str], max_tag: int) -> None:
        self._writer = writer
        self._types = types
        self._max_tag = max_tag
        self._start = Markers({}, [START])
        self._stop = Place(Markers({}, [STOP]), {})

    def search(self, text: str, place: int, candidate: Any, final: bool, stop: int) -> Any:
        """The first header with a known type, or a candidate."""
        header = candidate if isinstance(candidate, _Header) else None
        while True:
            if header is None:
                hit = self._start.search(text, place, None, final, stop)
                if not isinstance(hit, Found):
                    return hit
                header = _Header(hit.start)
            window = text[header.start : header.start + self._max_tag]
            status = header.read_on(window)
            if status == END and self._is_known(header.fields):
                return Found(header.start, header.start + header.read, START, LITERAL, header.fields)
            if status == MORE and len(window) < self._max_tag and not final:
                return header
            place = header.start + 1
            header = None

    def _is_known(self, fields: Any) -> bool:
        return isinstance(fields, dict) and isinstance(fields.get("type"), str) and fields["type"] in self._types

    def enter(self, found: Found, text: str) -> Step:
        """Begin the block that the header names; its other fields are attributes."""
        fields: dict[str, Any] = dict(found.attributes)
        kind = self._types[fields.pop("type")]
        if kind != "tool_call":
            tag = Tag(START, kind=kind, visible=kind == "text", close=STOP)
            return Body(self._writer, self._stop, tag, found._replace(attributes=fields), text)
        name = next((str(fields.pop(field)) for field in _NAMES if fields.get(field)), None)
        id = next((str(fields.pop(field)) for field in _IDS if fields.get(field)), None)
        if name is None:
            return TaggedJsonCall(self._writer, self._stop, found)
        return NamedJsonCall(self._writer, self._stop, found, name, id, fields)


def sentinel_detectors(
    types: Iterable[str] = (), max_tag: int = MAX_TAG
) -> Callable[[BlockWriter, CodeMarks | None], list[Detector]]:
    """What finds sentinel blocks, with further types that stand for themselves."""
    if isinstance(types, str) or not isinstance(types, Iterable):
        raise UsageError(f"types={types!r}: give a list of names; known without it are {', '.join(TYPES)}")
    known = dict(TYPES)
    for name in types:
        if not isinstance(name, str) or not name:
            raise UsageError(f"types: {name!r} is no name; known without it are {', '.join(TYPES)}")
        known.setdefault(name, name)
    if not isinstance(max_tag, int) or isinstance(max_tag, bool) or max_tag <= len(START):
        raise UsageError(f"max_tag={max_tag!r}: give a number of characters above {len(START)}")

    def make(writer: BlockWriter, code: CodeMarks | None) -> list[Detector]:
        return [SentinelDetector(writer, known, max_tag)]

    return make
