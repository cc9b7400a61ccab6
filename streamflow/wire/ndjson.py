"""Newline-delimited JSON: bytes to frames, one per line."""

from collections.abc import Iterable

import msgspec

from streamflow.errors import LimitExceeded, StreamflowError
from streamflow.events import Frame
from streamflow.wire.intake import MAX_EVENT_BYTES as MAX_EVENT_BYTES
from streamflow.wire.intake import Data, as_bytes, bom_length, check_limit, frames_then


class NdjsonDecoder:
    """Gives each line that is not blank; the last one needs no line end. Whether it is JSON is not looked at.

    >>> decoder = NdjsonDecoder()
    >>> [frame.data for frame in decoder.feed(b'{"a":1}\\r\\n\\n{"b":')]
    ['{"a":1}']
    >>> [frame.data for frame in decoder.feed(b"2}")], [frame.data for frame in decoder.flush()]
    ([], ['{"b":2}'])
    """

    takes, gives = "bytes", "frames"

    __slots__ = ("_fault", "_head", "_limit", "_offset", "_open")

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = check_limit(max_event_bytes)
        self._fault: StreamflowError | None = None
        self._head: bytes | None = b""  # None when the byte order mark is decided
        self._offset = 0  # in the stream, of the open line
        self._open = bytearray()

    def feed(self, data: Data) -> Iterable[Frame]:
        """Take one read, give the lines that it completes."""
        data = as_bytes(data)
        if self._fault is not None:
            raise self._fault
        if self._head is not None:
            data = self._head + data
            mark = bom_length(data)
            if mark is None:
                self._head = data
                return []
            self._head = None
            self._offset = mark
            data = data[mark:]
        out: list[Frame] = []
        *lines, rest = data.split(b"\n")
        try:
            for line in lines:
                if self._open:
                    self._check(len(line))
                    self._open += line
                    line = bytes(self._open)
                    self._open.clear()
                self._line(line, 1, out)
            self._check(len(rest))
        except LimitExceeded as fault:
            self._fault = fault
            self._open = bytearray()
            if out:
                return frames_then(out, fault)
            raise
        self._open += rest
        return out

    def flush(self) -> Iterable[Frame]:
        """The stream ended, and with it the last line."""
        if self._fault is not None:
            raise self._fault
        out: list[Frame] = []
        line = (self._head or b"") + bytes(self._open)
        self._head = None
        self._open.clear()
        self._line(line, 0, out)
        return [msgspec.structs.replace(frame, unfinished=True) for frame in out]

    def abort(self, error: BaseException) -> Iterable[Frame]:
        """The source failed: a line still open is not shown."""
        return []

    def _line(self, line: bytes, line_end: int, out: list[Frame]) -> None:
        self._check(len(line))
        start = self._offset
        self._offset = end = start + len(line) + line_end
        if line[-1:] == b"\r":
            line = line[:-1]
        if line and not line.isspace():
            out.append(Frame("message", line.decode("utf-8", "replace"), "", None, None, None, start, end))

    def _check(self, more: int) -> None:
        if len(self._open) + more > self._limit:
            raise LimitExceeded(
                f"the line that begins at byte {self._offset} is longer than {self._limit} bytes",
                kind="max_event_bytes",
                position=self._offset,
            )
