"""JSON objects out of one growing array, or out of a sequence of objects, each as soon as it closes.

Gemini answers ``streamGenerateContent`` without ``alt=sse`` with one pretty-printed array whose elements arrive one
by one. Only brackets and strings are followed here; what is inside an element is the dialect's to parse.
"""

import re
from collections.abc import Iterable, Iterator

from streamflow.errors import LimitExceeded, ProtocolError, StreamflowError, StreamTruncated
from streamflow.events import Frame
from streamflow.wire.intake import HEAD_BYTES, MAX_EVENT_BYTES, Data, as_bytes, bom_length, check_limit, excerpt

_WHITE = re.compile(rb"[ \t\r\n]*")
_STRUCTURE = re.compile(rb'["{}\[\]]')
_STRING_STOP = re.compile(rb'["\\]')

_QUOTE, _BACKSLASH, _OPEN_OBJECT = b'"\\{'
_CLOSER = dict(zip(b"{[", b"}]", strict=True))

_START, _FIRST, _AFTER, _NEXT, _CLOSED, _SEQUENCE = range(6)

# What may follow between elements. The state reached by an opening brace holds once that object has closed.
_GRAMMAR: dict[int, dict[int, int]] = {
    _START: {ord("["): _FIRST, ord("{"): _SEQUENCE},
    _FIRST: {ord("{"): _AFTER, ord("]"): _CLOSED},
    _AFTER: {ord(","): _NEXT, ord("]"): _CLOSED},
    _NEXT: {ord("{"): _AFTER},
    _CLOSED: {},
    _SEQUENCE: {ord("{"): _SEQUENCE},
}

_EXPECTED = {
    _START: "neither a JSON array nor a JSON object",
    _FIRST: "not an object as the first element of the array",
    _AFTER: "neither a comma nor the end of the array after an element",
    _NEXT: "not an object as the next element of the array",
    _CLOSED: "data after the end of the array",
    _SEQUENCE: "not an object after an object",
}


class JsonArrayDecoder:
    """Cut a JSON array of objects, or objects one after another, into one frame per object.

    An error that shows an excerpt waits until enough for it is there (512 bytes, or the end of the stream), so
    that it reads the same however the bytes were cut. The end of the stream between two elements is no error here:
    the dialect knows whether its last message came.

    >>> decoder = JsonArrayDecoder()
    >>> [frame.data for frame in decoder.feed(b'[{"a": "]"}\\n,\\r\\n{"b"')]
    ['{"a": "]"}']
    >>> [(frame.data, frame.start, frame.end) for frame in decoder.feed(b': 2}]')]
    [('{"b": 2}', 15, 23)]
    """

    takes, gives = "bytes", "frames"

    __slots__ = (
        "_base",
        "_buffer",
        "_closers",
        "_error",
        "_fault",
        "_in_string",
        "_max_event_bytes",
        "_scan",
        "_start",
        "_state",
    )

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = check_limit(max_event_bytes)
        self._buffer = bytearray()
        self._base = 0  # offset of the buffer in the stream
        self._scan = 0  # everything before it has been looked at; may lie one byte ahead, after a backslash
        self._start = 0  # where the open element begins in the buffer
        self._closers = bytearray()  # the brackets that must still come, innermost last; empty between elements
        self._in_string = False
        self._state = _START
        self._fault: str | None = None  # what is wrong with the bytes at the front of the buffer
        self._error: StreamflowError | None = None

    def feed(self, data: Data) -> Iterator[Frame]:
        """Take bytes in, give the elements that closed."""
        if self._error is not None:
            raise self._error
        self._buffer += as_bytes(data)
        yield from self._frames()
        self._drop_consumed()
        if self._fault is not None and len(self._buffer) >= HEAD_BYTES:
            raise self._broken(self._fault)

    def flush(self) -> Iterable[Frame]:
        """The stream ended: an error inside an element, nothing between elements."""
        if self._error is not None:
            raise self._error
        if self._fault is not None:
            raise self._broken(self._fault)
        end = self._base + len(self._buffer)
        if self._closers:
            raise self._failed(
                StreamTruncated(f"the stream ended inside the object that began at byte {self._base}", position=end)
            )
        if self._buffer:
            raise self._failed(StreamTruncated("the stream ended inside a byte order mark", position=end))
        return []

    def abort(self, error: BaseException) -> Iterable[Frame]:
        """The source failed: an open element is worth nothing."""
        self._buffer.clear()
        return []

    def _frames(self) -> Iterator[Frame]:
        while self._fault is None:
            if not self._closers and not self._enter_element():
                return
            end = self._end_of_element()
            if end < 0:
                return
            start = self._start
            self._scan = end
            text = self._buffer[start:end].decode("utf-8", "replace")
            yield Frame(data=text, start=self._base + start, end=self._base + end)

    def _enter_element(self) -> bool:
        """Go over white space, commas and the array's own brackets to the next object."""
        buffer = self._buffer
        if self._base == 0 and self._scan == 0:
            mark = bom_length(buffer)
            if mark is None:
                return False
            self._scan = mark
        while True:
            white = _WHITE.match(buffer, self._scan)
            assert white is not None  # the pattern matches the empty string
            at = self._scan = white.end()
            if at == len(buffer):
                return False
            following = _GRAMMAR[self._state].get(buffer[at])
            if following is None:
                self._fault = _EXPECTED[self._state]
                return False
            self._state = following
            self._scan = at + 1
            if buffer[at] == _OPEN_OBJECT:
                self._start = at
                self._closers.append(_CLOSER[_OPEN_OBJECT])
                return True

    def _end_of_element(self) -> int:
        """The index after the open element, or -1 while it is open; every byte is looked at once."""
        buffer, closers, at, in_string = self._buffer, self._closers, self._scan, self._in_string
        allowed = self._start + self._max_event_bytes
        # Never looking beyond the limit makes it strike at the same byte for every cutting.
        stop = min(len(buffer), allowed)
        while found := (_STRING_STOP if in_string else _STRUCTURE).search(buffer, at, stop):
            at = found.end()
            byte = buffer[at - 1]
            if byte == _QUOTE:
                in_string = not in_string
            elif byte == _BACKSLASH:
                at += 1
            elif byte in _CLOSER:
                closers.append(_CLOSER[byte])
            elif byte != closers[-1]:
                self._scan = at - 1
                self._fault = f"a bracket that closes none in the object from byte {self._base + self._start}"
                return -1
            else:
                closers.pop()
                if not closers:
                    self._in_string = False
                    return at
        self._scan = max(at, stop)
        self._in_string = in_string
        if len(buffer) > allowed:
            message = f"the object at byte {self._base + self._start} is larger than {self._max_event_bytes} bytes"
            raise self._failed(LimitExceeded(message, kind="max_event_bytes", position=self._base + self._start))
        return -1

    def _drop_consumed(self) -> None:
        inside = self._closers and self._fault is None
        keep = self._start if inside else self._scan
        if keep:
            del self._buffer[:keep]
            self._base += keep
            self._scan -= keep
            self._start = 0

    def _broken(self, fault: str) -> StreamflowError:
        message = f"{fault}, at byte {self._base}: {excerpt(self._buffer)}"
        return self._failed(ProtocolError(message, position=self._base))

    def _failed(self, error: StreamflowError) -> StreamflowError:
        self._error = error
        self._buffer.clear()
        self._closers.clear()
        return error
