"""The binary event stream of AWS: length-prefixed messages with typed headers and two checksums.

A message is a prelude (total length, headers length, CRC-32 of these eight bytes), the headers, the payload, and the
CRC-32 of everything before it; all numbers are big-endian. Bedrock answers ``ConverseStream`` and
``InvokeModelWithResponseStream`` in it.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID
from zlib import crc32

import msgspec

from streamflow.errors import LimitExceeded, ProtocolError, StreamflowError, StreamTruncated, UsageError
from streamflow.events import Frame
from streamflow.wire.intake import MAX_EVENT_BYTES, Data, as_bytes, check_limit, excerpt

MAX_HEADERS_BYTES = 128 * 1024
MAX_MESSAGE_BYTES = 24 * 1024 * 1024

_PRELUDE = struct.Struct(">III")
_LENGTHS = struct.Struct(">II")
_CRC = struct.Struct(">I")
_SIZE = struct.Struct(">H")
_OVERHEAD = _PRELUDE.size + _CRC.size

_TRUE, _FALSE, _BYTES, _STRING, _UUID = 0, 1, 6, 7, 9
_NUMBERS = {2: struct.Struct(">b"), 3: struct.Struct(">h"), 4: struct.Struct(">i"), 5: struct.Struct(">q")}
_NUMBERS[8] = struct.Struct(">q")  # a timestamp, in milliseconds since 1970

# The header that names the message: an event, a modelled exception, or an error outside the model.
_NAMING = (":event-type", ":exception-type", ":error-code")


class _Invocation(msgspec.Struct):
    inner: bytes = msgspec.field(name="bytes")


def decode_headers(section: bytes, position: int = 0) -> list[tuple[str, int, Any]]:
    """The headers as (name, type number, value), in their order.

    Types 0 and 1 are true and false, 2 to 5 are integers, 6 is bytes, 7 is text, 8 is a timestamp in milliseconds
    (an integer), 9 is a `uuid.UUID`. ``position`` is where the section lies in the stream, for the errors.

    >>> decode_headers(b"\\x01a\\x07\\x00\\x02hi\\x01b\\x00")
    [('a', 7, 'hi'), ('b', 0, True)]
    """
    headers: list[tuple[str, int, Any]] = []
    seen: set[str] = set()
    at = 0
    while at < len(section):
        start = at
        try:
            name_end = at + 1 + section[at]
            name = section[at + 1 : name_end].decode()
            kind = section[name_end]
            value, at = _header_value(section, kind, name_end + 1)
        except (IndexError, struct.error):
            raise ProtocolError("a header runs over the end of the headers", position=position + start) from None
        except UnicodeDecodeError:
            raise ProtocolError("the text of a header is not UTF-8", position=position + start) from None
        except KeyError:
            raise ProtocolError(f"header of unknown type {kind}", position=position + start) from None
        if not name:
            raise ProtocolError("a header without a name", position=position + start)
        if name in seen:
            raise ProtocolError(f"header {name!r} comes twice", position=position + start)
        seen.add(name)
        headers.append((name, kind, value))
    return headers


def _header_value(section: bytes, kind: int, at: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind in (_BYTES, _STRING):
        (size,) = _SIZE.unpack_from(section, at)
        at += _SIZE.size
        raw = _exactly(section, at, size)
        return (raw if kind == _BYTES else raw.decode()), at + size
    if kind == _UUID:
        return UUID(bytes=_exactly(section, at, 16)), at + 16
    number = _NUMBERS[kind]
    return number.unpack_from(section, at)[0], at + number.size


def _exactly(section: bytes, at: int, size: int) -> bytes:
    if at + size > len(section):
        raise IndexError
    return section[at : at + size]


class EventStreamDecoder:
    """Cut an AWS event stream into frames with ``headers``, ``payload``, and ``data`` (the payload as text).

    A message is delivered only after both checksums and all its headers were found right.

    >>> decoder = EventStreamDecoder()
    >>> wire = encode_message({":event-type": "messageStop"}, b'{"stopReason":"end_turn"}')
    >>> [frame.event for frame in decoder.feed(wire[:20])]
    []
    >>> [(frame.event, frame.data) for frame in decoder.feed(wire[20:])]
    [('messageStop', '{"stopReason":"end_turn"}')]
    """

    takes, gives = "bytes", "frames"

    __slots__ = ("_base", "_buffer", "_error", "_headers_length", "_max_event_bytes", "_total")

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = check_limit(max_event_bytes)
        self._buffer = bytearray()
        self._base = 0  # offset of the buffer, and so of the open message, in the stream
        self._total = 0  # length of the open message; 0 until its prelude is there
        self._headers_length = 0
        self._error: StreamflowError | None = None

    def feed(self, data: Data) -> Iterator[Frame]:
        """Take bytes in, give the messages that are complete."""
        if self._error is not None:
            raise self._error
        self._buffer += as_bytes(data)
        try:
            yield from self._frames()
        except ProtocolError as error:
            self._error = error
            self._buffer.clear()
            raise

    def flush(self) -> Iterable[Frame]:
        """The stream ended: an error inside a message."""
        if self._error is not None:
            raise self._error
        if self._buffer:
            end = self._base + len(self._buffer)
            raise StreamTruncated(f"the stream ended inside the message that began at byte {self._base}", position=end)
        return []

    def abort(self, error: BaseException) -> Iterable[Frame]:
        """The source failed: an open message is worth nothing."""
        self._buffer.clear()
        return []

    def _frames(self) -> Iterator[Frame]:
        buffer = self._buffer
        while True:
            if not self._total:
                if len(buffer) < _PRELUDE.size:
                    return
                self._read_prelude()
            if len(buffer) < self._total:
                return
            frame = self._decode(bytes(buffer[: self._total]))
            del buffer[: self._total]
            self._base += self._total
            self._total = 0
            yield frame

    def _read_prelude(self) -> None:
        total, headers_length, checksum = _PRELUDE.unpack_from(self._buffer)
        # The checksum comes first: of a damaged length nothing can be said.
        if crc32(self._buffer[: _LENGTHS.size]) != checksum:
            # Only the prelude is shown: how much more is there depends on the cut of the reads.
            first = excerpt(self._buffer[: _PRELUDE.size])
            message = f"wrong checksum of a message's prelude; it begins with {first}. Is this an AWS event stream?"
            raise ProtocolError(message, position=self._base)
        limits = (
            (headers_length, MAX_HEADERS_BYTES, "max_headers_bytes"),
            (total, MAX_MESSAGE_BYTES, "max_message_bytes"),
            (total, self._max_event_bytes, "max_event_bytes"),
        )
        for length, limit, kind in limits:
            if length > limit:
                raise LimitExceeded(f"{length} bytes are over {kind} ({limit})", kind=kind, position=self._base)
        if headers_length + _OVERHEAD > total:
            message = f"a message of {total} bytes cannot hold {headers_length} bytes of headers"
            raise ProtocolError(message, position=self._base)
        self._total, self._headers_length = total, headers_length

    def _decode(self, message: bytes) -> Frame:
        payload_end = len(message) - _CRC.size
        if crc32(memoryview(message)[:payload_end]) != _CRC.unpack_from(message, payload_end)[0]:
            raise ProtocolError("wrong checksum of a message", position=self._base)
        headers_end = _PRELUDE.size + self._headers_length
        triples = decode_headers(message[_PRELUDE.size : headers_end], self._base + _PRELUDE.size)
        headers = {name: value for name, _, value in triples}
        payload = message[headers_end:payload_end]
        return Frame(
            event=self._event(headers),
            data=payload.decode("utf-8", "replace"),
            headers=headers,
            payload=payload,
            start=self._base,
            end=self._base + len(message),
        )

    def _event(self, headers: dict[str, Any]) -> str:
        for name in _NAMING:
            if name in headers:
                value = headers[name]
                if not isinstance(value, str):
                    raise ProtocolError(f"header {name!r} is not text", position=self._base)
                return value
        return "message"


def unwrap_invoke(frame: Frame) -> Frame:
    """The model's own JSON out of a ``chunk`` of ``InvokeModelWithResponseStream``; other frames as they are.

    >>> frame = Frame("chunk", payload=b'{"bytes":"eyJhIjoxfQ==","p":"abc"}')
    >>> unwrap_invoke(frame).data
    '{"a":1}'
    """
    if frame.event != "chunk":
        return frame
    try:
        payload = frame.data if frame.payload is None else frame.payload
        text = msgspec.json.decode(payload, type=_Invocation).inner.decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        message = f"a chunk does not carry JSON text in base64 under 'bytes': {error}"
        raise ProtocolError(message, position=frame.start) from None
    return Frame(event=frame.event, data=text, headers=frame.headers, start=frame.start, end=frame.end)


def encode_message(headers: dict[str, str], payload: bytes) -> bytes:
    """One message with text headers, as a server sends it.

    >>> encode_message({}, b"").hex()
    '000000100000000005c248eb7d98c8ff'
    """
    section = b"".join(_encode_header(name.encode(), value.encode()) for name, value in headers.items())
    total = len(section) + len(payload) + _OVERHEAD
    if len(section) > MAX_HEADERS_BYTES or total > MAX_MESSAGE_BYTES:
        raise UsageError(f"{len(section)} bytes of headers and {len(payload)} of payload are too much for one message")
    lengths = _LENGTHS.pack(total, len(section))
    body = lengths + _CRC.pack(crc32(lengths)) + section + payload
    return body + _CRC.pack(crc32(body))


def _encode_header(name: bytes, value: bytes) -> bytes:
    if not 1 <= len(name) <= 255 or len(value) > 0xFFFF:
        raise UsageError("a header's name takes 1 to 255 bytes, its text at most 65535")
    return bytes((len(name),)) + name + bytes((_STRING,)) + _SIZE.pack(len(value)) + value
