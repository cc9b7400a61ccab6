"""Which framing a body has: asked for, claimed by the content type, or seen in the first bytes.

The bytes win over the claim, because gateways send JSON errors and web pages under any content type. Every decision
is made on the first `HEAD_BYTES` bytes and never on how they were cut into reads.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from streamflow.errors import ProtocolError, StreamflowError, StreamTruncated, UsageError
from streamflow.events import Frame
from streamflow.wire.eventstream import EventStreamDecoder
from streamflow.wire.intake import HEAD_BYTES, Data, as_bytes, bom_length, check_limit, excerpt
from streamflow.wire.intake import MAX_EVENT_BYTES as MAX_EVENT_BYTES
from streamflow.wire.json_array import JsonArrayDecoder
from streamflow.wire.ndjson import NdjsonDecoder
from streamflow.wire.sse import SseDecoder

FRAMINGS: Final = ("sse", "ndjson", "json_array", "eventstream")

_BY_CONTENT_TYPE: Final = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/stream+json": "ndjson",
    "application/jsonl": "ndjson",
    "application/x-jsonlines": "ndjson",
    "application/vnd.amazon.eventstream": "eventstream",
}

_BLANK: Final = b" \t\r\n"
_SSE_FIELDS: Final = (b"data", b"event", b"id", b"retry")
_PRELUDE: Final = struct.Struct(">III")  # total length, length of the headers, checksum of these two

_Decoder = SseDecoder | NdjsonDecoder | JsonArrayDecoder | EventStreamDecoder


class WireDecoder:
    """Recognises the framing and decodes it; a body without any frame is an error.

    >>> [frame.data for frame in WireDecoder().feed(b'data: {"a": 1}\\n\\n')]
    ['{"a": 1}']
    >>> [frame.data for frame in WireDecoder(content_type="text/event-stream").feed(b'{"error": "no"}')]
    ['{"error": "no"}']
    """

    takes, gives = "bytes", "frames"

    __slots__ = ("_decoder", "_default", "_expected", "_fault", "_head", "_held", "_limit", "_said", "framing")

    def __init__(
        self,
        framing: str = "auto",
        *,
        default: str = "sse",
        content_type: str | None = None,
        max_event_bytes: int = MAX_EVENT_BYTES,
    ) -> None:
        if framing != "auto" and framing not in FRAMINGS:
            raise UsageError(f"framing must be one of auto, {', '.join(FRAMINGS)}, not {framing!r}")
        if default not in FRAMINGS:
            raise UsageError(f"default must be one of {', '.join(FRAMINGS)}, not {default!r}")
        self._limit = check_limit(max_event_bytes)
        claim = _BY_CONTENT_TYPE.get((content_type or "").partition(";")[0].strip().lower())
        self._default = default
        self._expected = claim or default
        self._fault: StreamflowError | None = None
        self._head = bytearray()  # the first bytes, until a frame was given
        self._held = bytearray()  # what waits for the decision: less than the head and one read
        self._said = False
        self._decoder: _Decoder | None = None
        self.framing: str | None = None
        """The framing, as soon as it is known."""
        if framing != "auto":
            self._choose(framing)

    def feed(self, data: Data) -> Iterable[Frame]:
        """Take one read, give the frames that it completes."""
        if self._said and self._decoder is not None:
            return self._decoder.feed(data)
        return self._first(as_bytes(data))

    def flush(self) -> Iterator[Frame]:
        """The body ended: the rest, or why there was nothing at all."""
        if self._fault is not None:
            raise self._fault
        if self._decoder is None:
            yield from self._watched(self._decide(final=True).feed(self._release()))
        if self._decoder is not None:
            yield from self._watched(self._decoder.flush())
        if not self._said:
            raise self._nothing()

    def abort(self, error: BaseException) -> Iterable[Frame]:
        """The source failed: what is held is worth nothing."""
        self._held.clear()
        return [] if self._decoder is None else self._decoder.abort(error)

    def _first(self, data: bytes) -> Iterator[Frame]:
        """Until the first frame: remember the head, decide, watch."""
        if self._fault is not None:
            raise self._fault
        self._head += data[: HEAD_BYTES - len(self._head)]
        decoder = self._decoder
        if decoder is None:
            self._held += data
            if not self._decidable():
                return
            decoder = self._decide(final=len(self._head) >= HEAD_BYTES)
            data = self._release()
        yield from self._watched(decoder.feed(data))

    def _watched(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        for frame in frames:
            self._said = True
            yield frame

    def _release(self) -> bytes:
        held = bytes(self._held)
        self._held.clear()
        return held

    def _decidable(self) -> bool:
        return self._recognise(final=len(self._head) >= HEAD_BYTES) is not None

    def _decide(self, *, final: bool) -> _Decoder:
        framing = self._recognise(final=final) or self._expected
        if framing == "page":
            self._held.clear()
            self._fault = ProtocolError(
                f"a web page came instead of a stream; it begins with {excerpt(self._head)}", position=0
            )
            raise self._fault
        return self._choose(framing)

    def _choose(self, framing: str) -> _Decoder:
        limit = self._limit
        decoder: _Decoder
        if framing == "sse":
            decoder = SseDecoder(tail="deliver", max_event_bytes=limit)
        elif framing == "ndjson":
            decoder = NdjsonDecoder(max_event_bytes=limit)
        elif framing == "json_array":
            decoder = JsonArrayDecoder(max_event_bytes=limit)
        else:
            decoder = EventStreamDecoder(max_event_bytes=limit)
        self.framing = framing
        self._decoder = decoder
        return decoder

    def _recognise(self, *, final: bool) -> str | None:
        """The framing that the head shows, ``page`` for a web page, None while that is open."""
        head = bytes(self._head)
        if head[:1] == b"\0":
            if "eventstream" in (self._default, self._expected):
                return "eventstream"
            if len(head) < _PRELUDE.size and not final:
                return None
            return "eventstream" if _is_prelude(head) else self._expected
        mark = bom_length(head)
        if mark is None:
            return self._expected if final else None
        text = head[mark:].lstrip(_BLANK)
        if not text:
            return self._expected if final else None
        first = text[:1]
        if first == b"<":
            # Only a full head gives the same words for every cut.
            return "page" if final else None
        if first == b"{" and "ndjson" in (self._default, self._expected):
            return _lines_or_whole(text, final=final)
        if first in b"[{":
            return "json_array"
        if self._expected == "sse":
            return "sse"
        looks = _looks_like_sse(text)
        if looks is None and not final:
            return None
        return "sse" if looks else self._expected

    def _nothing(self) -> StreamflowError:
        head = bytes(self._head)
        text = head[bom_length(head) or 0 :].strip(_BLANK)
        if not text:
            what = "blank" if head else "empty"
            return StreamTruncated(f"the body is {what}: it ended before the first message", position=0)
        if text == b"[" or (self.framing == "sse" and _looks_like_sse(text) is not False):
            return StreamTruncated("the body ended before the first message", position=0)
        return ProtocolError(
            f"the body holds no message ({self.framing} expected); it begins with {excerpt(head)}", position=0
        )


def _is_prelude(head: bytes) -> bool:
    if len(head) < _PRELUDE.size:
        return False
    return bool(_PRELUDE.unpack_from(head)[2] == zlib.crc32(head[:8]))


def _lines_or_whole(text: bytes, *, final: bool) -> str | None:
    """A first line that is no JSON by itself begins an object that is written over many lines."""
    line, line_end, _ = text.partition(b"\n")
    if not line_end:
        if not final:
            return None
        if len(text) >= HEAD_BYTES // 2:
            return "ndjson"  # nobody breaks a line this late in an object written for the eye
    return "ndjson" if _is_json(line) else "json_array"


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return False
    return True


def _looks_like_sse(text: bytes) -> bool | None:
    """Whether the first line is a field or a comment; None while it may become one."""
    if text[:1] == b":":
        return True
    for name in _SSE_FIELDS:
        if text.startswith(name) and text[len(name) : len(name) + 1] in (b":", b"\r", b"\n"):
            return True
        if name.startswith(text):
            return None
    return False
