"""A call as a JSON object between markers: the whole call, as Hermes and Qwen models write it, or its arguments."""

from collections.abc import Callable
from typing import Any

from streamflow.text.block_writer import BlockWriter
from streamflow.text.holdback import EMPTY, Candidate, Found
from streamflow.text.json_calls import BROKEN, ArgumentsValue, decoded
from streamflow.text.json_values import ARGUMENTS, BAD, BLANKS, END, MORE, CallFrame
from streamflow.text.regions import OVER, Region, Source, Step
from streamflow.text.tag_reader import Place

_Read = Callable[[str, int, bool], tuple[int, Step | str]]


class TaggedJsonCall:
    """Reads the object, then looks for the close: inside a JSON string it is no close."""

    is_call = True

    def __init__(self, writer: BlockWriter, place: Place, found: Found) -> None:
        self._writer = writer
        self._place = place
        self._found = found
        self._source = Source(found.start)
        self._frame = CallFrame(strict=False)
        self._error: str | None = None
        self._candidate: Candidate | None = None
        self._read: _Read = self._read_start
        self._block = writer.open("tool_call")
        self._value = ArgumentsValue(writer, self._block)

    def begun(self, text: str) -> Region | None:
        """The region, unless its tag closed itself."""
        if self._found.form != EMPTY:
            return self
        self._writer.close(self._block, raw=self._source.upto(text, self._found.end), error=BROKEN)
        return None

    def read(self, text: str, place: int, final: bool) -> tuple[int, Step]:
        """Go on until more is needed or the close is seen."""
        while True:
            place, step = self._read(text, place, final)
            if step is None and final:
                return len(text), None
            if not isinstance(step, str):
                return place, step

    def _read_start(self, text: str, place: int, final: bool) -> tuple[int, Step | str]:
        place = BLANKS.match(text, place).end()  # type: ignore[union-attr]
        if place == len(text):
            return place, None
        if text[place] != "{":
            return self._break(place)
        self._read = self._read_frame
        return place + 1, "next"

    def _read_frame(self, text: str, place: int, final: bool) -> tuple[int, Step | str]:
        place, status = self._frame.read(text, place)
        if status == MORE:
            return place, None
        if status == BAD:
            return self._break(place)
        if not self._block.tool_id:
            self._writer.name_call(self._block, self._frame.name, self._frame.id)
            if status == END and not self._frame.name:
                self._error = "the call has no name"
        if status == END:
            if not self._frame.has_arguments:
                self._writer.add(self._block, "{}", -1)
            self._read = self._read_close
        elif self._frame.early is not None:
            self._writer.add(self._block, decoded(self._frame.early), -1)
        elif status == ARGUMENTS:
            self._read = self._read_value
        return place, "next"

    def _read_value(self, text: str, place: int, final: bool) -> tuple[int, Step | str]:
        place, status = self._value.read(text, place)
        if status == MORE:
            return place, None
        if status == BAD:
            return self._break(place)
        self._read = self._read_frame
        return place, "next"

    def _break(self, place: int) -> tuple[int, str]:
        self._error = BROKEN
        self._read = self._read_close
        return place, "next"

    def _read_close(self, text: str, place: int, final: bool) -> tuple[int, Step | str]:
        candidate, self._candidate = self._candidate, None
        hit = self._place.search(text, place, candidate, final)
        end = len(text) if hit is None else hit.start
        if BLANKS.match(text, place, end).end() < end:  # type: ignore[union-attr]
            self._error = self._error or "text after the call's last bracket"
        if not isinstance(hit, Found):
            self._candidate = None if hit is None else hit.moved(end)
            return end, None
        self._writer.close(self._block, raw=self._source.upto(text, hit.end), error=self._error)
        return hit.end, OVER

    def keep(self, text: str, place: int) -> None:
        """Keep the source."""
        self._source.keep(text, place)

    def unclosed(self) -> None:
        """The text ended inside."""
        self._writer.unclosed(self._block, raw=self._source.upto("", 0))


class NamedJsonCall:
    """A call whose name stood before it: everything up to the close is the JSON of its arguments."""

    is_call = True

    def __init__(
        self, writer: BlockWriter, place: Place, found: Found, name: str, id: str | None, attributes: dict[str, Any]
    ) -> None:
        self._writer = writer
        self._place = place
        self._source = Source(found.start)
        self._candidate: Candidate | None = None
        self._block = writer.open_call(name, id, attributes)

    def read(self, text: str, place: int, final: bool) -> tuple[int, Step]:
        """Pass the arguments on up to the close."""
        candidate, self._candidate = self._candidate, None
        hit = self._place.search(text, place, candidate, final)
        end = len(text) if hit is None else hit.start
        self._writer.add(self._block, text[place:end], place)
        if not isinstance(hit, Found):
            self._candidate = None if hit is None else hit.moved(end)
            return end, None
        self._writer.close(self._block, raw=self._source.upto(text, hit.end))
        return hit.end, OVER

    def keep(self, text: str, place: int) -> None:
        """Keep the source."""
        self._source.keep(text, place)

    def unclosed(self) -> None:
        """The text ended inside."""
        self._writer.unclosed(self._block, raw=self._source.upto("", 0))
