"""Server-sent events: bytes to frames, by the rules of the WHATWG HTML standard (9.2.6).

Three things are ours. Frames carry byte offsets: ``start`` is the first byte after the blank line before the event,
``end`` lies behind the byte that dispatched it (the first byte of the blank line's end, so that CRLF cut in two gives
the same offsets). An event left open at the end can be delivered. And everything held is bounded.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from streamflow.errors import LimitExceeded, StreamflowError, UsageError
from streamflow.events import Frame
from streamflow.wire.intake import MAX_EVENT_BYTES as MAX_EVENT_BYTES
from streamflow.wire.intake import Data, as_bytes, bom_length, check_limit, frames_then

TAILS: Final = ("drop", "deliver")

# A longer number of milliseconds is no reconnection time, and int() refuses numbers of thousands of digits.
_RETRY_DIGITS: Final = 18

# How many event names are remembered, and up to which length.
_KNOWN_NAMES: Final = 64


class SseDecoder:
    """Decodes ``text/event-stream``.

    >>> decoder = SseDecoder()
    >>> [frame.data for frame in decoder.feed(b"data: a\\n\\ndata: b\\ndata: c\\n\\ndata: d")]
    ['a', 'b\\nc']
    >>> list(decoder.flush())
    []
    """

    takes, gives = "bytes", "frames"

    __slots__ = (
        "_boundary",
        "_data",
        "_data_size",
        "_event",
        "_fault",
        "_head",
        "_last_id",
        "_limit",
        "_names",
        "_offset",
        "_open",
        "_prefix",
        "_prefix_name",
        "_prefix_size",
        "_retry",
        "_skip_lf",
        "_start",
        "_tail",
        "retry",
    )

    def __init__(self, *, tail: str = "drop", max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        if tail not in TAILS:
            raise UsageError(f"tail must be one of {', '.join(TAILS)}, not {tail!r}")
        self._limit = check_limit(max_event_bytes)
        self._tail = tail
        self._fault: StreamflowError | None = None
        self._head: bytes | None = b""  # None when the byte order mark is decided
        self._offset = 0  # in the stream, of the next byte
        self._boundary = False  # nothing is open: the fast path may begin here
        self._skip_lf = False
        self._open = bytearray()  # a line without its end
        self._start = -1  # of the open event
        self._data: list[bytes] = []
        self._data_size = 0
        self._event = b""
        self._names: dict[bytes, str] = {}
        self._prefix = b"data: "
        self._prefix_name = "message"
        self._prefix_size = 6
        self._last_id = ""
        self._retry: int | None = None
        self.retry: int | None = None
        """The last reconnection time that the stream gave, in milliseconds."""

    def feed(self, data: Data) -> Iterable[Frame]:
        """Take one read, give the events that it completes."""
        if data.__class__ is not bytes:
            data = as_bytes(data)
        if self._boundary and data.startswith(self._prefix):
            # Most servers flush after each event, so that a read is often exactly one, and begins as the last one did.
            size = len(data)
            prefix = self._prefix_size
            if (
                data.find(b"\n", prefix) == size - 2
                and data[-1] == 10
                and size <= self._limit
                and data.find(b"\r") < 0
            ):
                start = self._offset
                self._offset = end = start + size
                text = data[prefix:-2].decode("utf-8", "replace")
                return [Frame(self._prefix_name, text, self._last_id, None, None, None, start, end)]
        if self._fault is not None:
            raise self._fault
        out: list[Frame] = []
        try:
            if self._boundary:
                self._blocks(data, out)
            else:
                self._resume(data, out)
        except LimitExceeded as fault:
            self._fault = fault
            self._boundary = False
            self._open = bytearray()
            self._data = []
            if out:
                return frames_then(out, fault)
            raise
        return out

    def flush(self) -> Iterable[Frame]:
        """The stream ended: an event still open is dropped or delivered."""
        if self._fault is not None:
            raise self._fault
        out: list[Frame] = []
        if self._head:
            self._open += self._head
            self._offset += len(self._head)
        self._head = None
        if self._tail == "deliver":
            # Without its colon the name itself may be cut, and an event without any text says nothing.
            if b":" in self._open:
                self._field(bytes(self._open), self._offset - len(self._open))
            if any(self._data):
                self._dispatch(self._offset, out)
                out = [msgspec.structs.replace(frame, unfinished=True) for frame in out]
        self._open.clear()
        self._reset()
        return out

    def abort(self, error: BaseException) -> Iterable[Frame]:
        """The source failed: an event still open is not shown."""
        return []

    def _resume(self, data: bytes, out: list[Frame]) -> None:
        """Finish what the reads before left open, then go on event by event."""
        if self._head is not None:
            data = self._head + data
            mark = bom_length(data)
            if mark is None:
                self._head = data
                return
            self._head = None
            self._boundary = True
            self._offset = mark
            self._blocks(data[mark:], out)
            return
        at = self._walk(data, out, stop=True)
        if at < len(data):
            self._blocks(data[at:], out)

    def _blocks(self, data: bytes, out: list[Frame]) -> None:
        """Many events in one read, from a place on where nothing is open."""
        prefix = self._prefix
        if len(data) > self._limit:
            self._walk(data, out)
        elif data.startswith(prefix) and b"\r" not in data:
            self._repeated(data[len(prefix) :].split(b"\n\n" + prefix), prefix, out)
        else:
            self._mixed(data, out)

    def _repeated(self, pieces: list[bytes], prefix: bytes, out: list[Frame]) -> None:
        """Events that all begin alike, cut where the next one begins: most pieces are what one event says."""
        last = pieces.pop()
        name, last_id, outside = self._prefix_name, self._last_id, len(prefix) + 2
        at = self._offset
        for piece in pieces:
            if b"\n" in piece:
                # Other events lie in between.
                self._offset = at
                self._mixed(prefix + piece + b"\n\n", out)
                last_id = self._last_id
                at = self._offset
                continue
            end = at + outside + len(piece)
            out.append(Frame(name, piece.decode("utf-8", "replace"), last_id, None, None, None, at, end))
            at = end
        self._offset = at
        self._mixed(prefix + last, out)

    def _mixed(self, data: bytes, out: list[Frame]) -> None:
        """Whole events of one data line, perhaps after one event line. The rest goes line by line."""
        if b"\r" in data:
            end, blank = b"\r\n", b"\r\n\r\n"
        else:
            end, blank = b"\n", b"\n\n"
        width = len(blank)
        dispatched = len(end) + 1
        *blocks, rest = data.split(blank)
        at = self._offset
        prefix, prefix_size, plain = self._prefix, self._prefix_size, width == 2
        for block in blocks:
            size = len(block)
            if plain and block.startswith(prefix) and block.find(b"\n", prefix_size) < 0:
                text = block[prefix_size:].decode("utf-8", "replace")
                out.append(Frame(self._prefix_name, text, self._last_id, None, None, None, at, at + size + 2))
                at += size + 2
                continue
            name: str | None = "message"
            value = block
            if block[:5] != b"data:":
                line, _, value = block.partition(end)
                name = self._names.get(line) or self._learn(line)
            if name is None or value[:5] != b"data:" or b"\n" in value or (width == 4 and b"\r" in value):
                self._offset = at
                self._walk(block + blank, out)
            else:
                skipped = 6 if value[5:6] == b" " else 5
                text = value[skipped:].decode("utf-8", "replace")
                # Only with its space: without it, that of the next event would be taken for text.
                if name is not self._prefix_name and skipped == 6:
                    self._remember(name, block[: size - len(value) + skipped])
                    prefix, prefix_size = self._prefix, self._prefix_size
                out.append(Frame(name, text, self._last_id, None, None, None, at, at + size + dispatched))
            at += size + width
        self._offset = at
        if rest:
            self._walk(rest, out)

    def _learn(self, line: bytes) -> str | None:
        """The event name of a whole event line, remembered because a stream repeats a few names; None for others."""
        if line[:7] != b"event: " or len(line) == 7 or b"\r" in line or b"\n" in line:
            return None
        name = line[7:].decode("utf-8", "replace")
        if len(self._names) < _KNOWN_NAMES and len(line) < _KNOWN_NAMES:
            self._names[line] = name
        return name

    def _remember(self, name: str, prefix: bytes) -> None:
        """How the last event began, up to its data: the next one most likely begins the same way."""
        if b"\r" not in prefix:
            self._prefix_name = name
            self._prefix = prefix
            self._prefix_size = len(prefix)

    def _walk(self, data: bytes, out: list[Frame], *, stop: bool = False) -> int:
        """Any stream, line by line; with ``stop`` only to the first place where nothing is open. Returns how far."""
        size = len(data)
        at = 0
        if self._skip_lf and size:
            self._skip_lf = False
            at = 1 if data[0] == 10 else 0
        lf = cr = -1
        while at < size:
            # Each is sought again only when it was passed, so the whole read is looked at once.
            if lf < at:
                lf = data.find(b"\n", at)
                lf = size if lf < 0 else lf
            if cr < at:
                cr = data.find(b"\r", at)
                cr = size if cr < 0 else cr
            cut = min(lf, cr)
            held = len(self._open)
            if held + cut - at > self._limit:
                raise self._too_large(self._offset + at - held)
            line = data[at:cut]
            line_start = self._offset + at - held
            if cut == size:
                self._open += line
                at = size
                break
            if held:
                self._open += line
                line = bytes(self._open)
                self._open.clear()
            at = cut + 1
            if cut == cr:
                if at == size:
                    self._skip_lf = True
                elif lf == at:
                    at += 1
            if line:
                self._field(line, line_start)
                continue
            self._dispatch(self._offset + cut + 1, out)
            if stop and not self._skip_lf:
                break
        self._offset += at
        self._boundary = not (self._skip_lf or self._open or self._start >= 0)
        return at

    def _field(self, line: bytes, line_start: int) -> None:
        if self._start < 0:
            self._start = line_start
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._data_size += len(line) + 1
            if self._data_size > self._limit + 1:
                raise self._too_large(line_start)
            self._data.append(value)
        elif name == b"event":
            self._event = value
        elif name == b"id":
            if b"\0" not in value:
                self._last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _RETRY_DIGITS:
            self.retry = self._retry = int(value)

    def _dispatch(self, end: int, out: list[Frame]) -> None:
        if self._data:
            name = self._event.decode("utf-8", "replace") or "message"
            text = b"\n".join(self._data).decode("utf-8", "replace")
            out.append(Frame(name, text, self._last_id, self._retry, None, None, self._start, end))
        self._reset()

    def _reset(self) -> None:
        self._start = -1
        self._data = []
        self._data_size = 0
        self._event = b""
        self._retry = None

    def _too_large(self, line_start: int) -> LimitExceeded:
        start = line_start if self._start < 0 else self._start
        return LimitExceeded(
            f"the event that begins at byte {start} is larger than {self._limit} bytes",
            kind="max_event_bytes",
            position=start,
        )
