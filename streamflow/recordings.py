"""Recordings: what came, piece by piece and with its times, in one file of JSON lines.

The first line says what it is: ``{"streamflow": 1, "provider": ..., "headers": {...}}``. Then comes one line for each
piece, ``{"t": seconds, "text": ...}`` or ``{"t": seconds, "base64": ...}``, or for each item of a later stage,
``{"t": seconds, "event": {...}}``; the last line says how it ended: ``{"t": ..., "end": "completed"}``,
``"cancelled"``, or ``{"t": ..., "error": {...}}``. A file without that line was cut.
"""

import base64
import errno
import json
import logging
import os
import random
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import orjson

from streamflow.encoding import from_json, to_json
from streamflow.errors import (
    LimitExceeded,
    ProtocolError,
    StreamflowError,
    UsageError,
    error_from_info,
    redact_secrets,
    secret_spans,
)
from streamflow.events import ErrorInfo

logger = logging.getLogger("streamflow")

VERSION = 1

# Only these headers are kept: none of them ever holds a key, a cookie or the name of an account.
KEPT_HEADERS = frozenset(
    ("content-type", "content-encoding", "date", "retry-after", "retry-after-ms", "x-should-retry", "transfer-encoding")
)
MAX_UNPACKED_BYTES = 64_000_000
"""A packed body of a cassette that is larger is refused."""
# What some line of a captured body looks like: a field of an event, a JSON value, the length before an AWS message.
_STREAM = re.compile(rb"\A\s*(?:\xef\xbb\xbf)?\s*[{[]|^(?:data|event|id|retry|):|\A\0\0", re.MULTILINE)
_LOOK = 64 * 1024
ENDS = ("completed", "cancelled", "error", "cut")


class Piece(msgspec.Struct, frozen=True):
    """One item of a recording and when it came."""

    t: float
    item: Any


class Recording(msgspec.Struct, frozen=True):
    """A recorded stream. ``end`` is ``completed``, ``cancelled``, ``error``, or ``cut`` where the file just stops.

    >>> recording = Recording("openai", (Piece(0.0, b"data: a\\n\\n"), Piece(0.5, b"data: b\\n\\n")))
    >>> [len(piece.item) for piece in recording.recut(size=4).pieces], recording.recut(size=4).pieces[-1].t
    ([4, 4, 4, 4, 2], 0.5)
    """

    provider: str = ""
    pieces: tuple[Piece, ...] = ()
    end: str = "completed"
    end_t: float = 0.0
    error: StreamflowError | None = None
    headers: dict[str, str] = {}

    @property
    def data(self) -> bytes:
        """All bytes, joined."""
        self._check_bytes()
        return b"".join(piece.item for piece in self.pieces)

    def recut(self, size: int | None = None, seed: int | None = None) -> "Recording":
        """The same bytes in other pieces: of ``size`` bytes, or of random sizes by ``seed``.

        A new piece comes when its last byte came.
        """
        if (size is None) == (seed is None):
            raise UsageError("recut takes one of size= (bytes in a piece) and seed= (random sizes)")
        if size is not None and size < 1:
            raise UsageError(f"recut(size={size}): a piece has at least one byte")
        data = self.data
        rng = random.Random(seed)
        ends: list[int] = []
        at = 0
        while at < len(data):
            at = min(len(data), at + (size or rng.randint(1, 64)))
            ends.append(at)
        times = _times_of_ends(self.pieces, ends)
        starts = [0, *ends[:-1]]
        pieces = (Piece(t, data[start:end]) for start, end, t in zip(starts, ends, times, strict=True))
        return msgspec.structs.replace(self, pieces=tuple(pieces))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file."""
        writer = RecordingWriter(path, provider=self.provider, headers=self.headers)
        for piece in self.pieces:
            writer.write(piece.t, piece.item)
        writer.end(self.end, self.end_t, self.error)

    def _check_bytes(self) -> None:
        if not all(isinstance(piece.item, bytes) for piece in self.pieces):
            raise UsageError("this recording holds events, not bytes: only bytes can be joined and cut anew")


def _times_of_ends(pieces: Iterable[Piece], ends: Iterable[int]) -> Iterator[float]:
    came = 0
    rest = iter(pieces)
    t = 0.0
    for end in ends:
        while came < end:
            piece = next(rest)
            came += len(piece.item)
            t = piece.t
        yield t


class RecordingWriter:
    """Writes a recording as it happens; each line is one write, so that a killed process leaves whole lines.

    ``secrets`` are taken out of the bytes wherever they occur; what looks like a key is, too. Their length stays.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "answer.jsonl"
    >>> writer = RecordingWriter(path, provider="openai")
    >>> writer.write(0.0, b"data: [DONE]\\n\\n"); writer.end("completed", 0.1)
    >>> load_recording(path).end
    'completed'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        provider: str = "",
        headers: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self._secrets = [secret.encode() for secret in secrets if secret]
        self._waiting: list[tuple[float, bytes]] = []  # pieces that may end inside a secret
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        except OSError as error:
            raise UsageError(f"cannot write the recording {path}: {error.strerror}") from error
        self._path = path
        self._line({"streamflow": VERSION, "provider": provider, "headers": kept_headers(headers or {})})

    def write(self, t: float, item: Any) -> None:
        """One piece or event."""
        if isinstance(item, bytes | bytearray | memoryview):
            self._waiting.append((t, bytes(item)))
            self._release()
            return
        self._release(last=True)
        if isinstance(item, str):
            self._line({"t": t, "string": item})
        else:
            self._line({"t": t, "event": orjson.Fragment(to_json(item))})

    def end(self, how: str, t: float, error: BaseException | None = None) -> None:
        """How it ended; nothing is written after this."""
        if self._file < 0:
            return
        self._release(last=True)
        if how == "error":
            info = error.info() if isinstance(error, StreamflowError) else _foreign_error(error)
            self._line({"t": t, "error": orjson.Fragment(to_json(info))})
        elif how != "cut":
            self._line({"t": t, "end": how})
        self._close()

    def _close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _release(self, last: bool = False) -> None:
        """Write the pieces that are waiting, but for those in which a secret may have begun."""
        data = self._masked(b"".join(piece for _, piece in self._waiting))
        decided = len(data) if last else len(data) - max((_begun(data, secret) for secret in self._secrets), default=0)
        waiting, self._waiting = self._waiting, []
        at = 0
        for t, piece in waiting:
            masked = data[at : at + len(piece)]
            at += len(piece)
            if at <= decided:
                self._line({"t": t, **_piece_fields(masked)})
            else:
                self._waiting.append((t, masked))

    def _masked(self, data: bytes) -> bytes:
        for secret in self._secrets:
            data = data.replace(secret, b"*" * len(secret))
        text = data.decode("latin-1")
        for start, end in secret_spans(text):
            text = text[:start] + "*" * (end - start) + text[end:]
        return text.encode("latin-1")

    def _line(self, fields: dict[str, Any]) -> None:
        if self._file < 0:
            return
        line = orjson.dumps(fields) + b"\n"
        try:
            written = os.write(self._file, line)
            if written != len(line):
                # A full disk may take half a line: what stays in the file must be whole.
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as fault:
            # The answer is worth more than its recording: that ends here, without an end, as one that was cut.
            self._close()
            logger.warning("the recording %s stops here: %s", self._path, fault.strerror)


def _begun(data: bytes, secret: bytes) -> int:
    """How many bytes at the end of the data are a beginning of the secret."""
    most = min(len(secret) - 1, len(data))
    return next((size for size in range(most, 0, -1) if data.endswith(secret[:size])), 0)


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that may be kept, their values without what looks like a key.

    >>> kept_headers({"Content-Type": "text/event-stream", "Set-Cookie": "a=b", "Authorization": "Bearer x"})
    {'content-type': 'text/event-stream'}
    """
    lower = {name.lower(): value for name, value in headers.items()}
    return {name: redact_secrets(value) for name, value in lower.items() if name in KEPT_HEADERS}


def _piece_fields(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _foreign_error(error: BaseException | None) -> ErrorInfo:
    return ErrorInfo("StreamflowError", redact_secrets(f"{type(error).__name__}: {error}"))


def load_recording(path: str | os.PathLike[str], *, provider: str = "") -> Recording:
    """A recording from its file; also a VCR cassette, or a plain capture such as ``curl -N ... > file``.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "capture"
    >>> _ = path.write_bytes(b"data: a\\n\\ndata: b\\n\\n")
    >>> [piece.item for piece in load_recording(path, provider="openai").pieces]
    [b'data: a\\n\\n', b'data: b\\n\\n']
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the recording {path}: {error.strerror}") from error
    head = _object(data.partition(b"\n")[0])
    if head is not None and "streamflow" in head:
        return _own(data, head, path, provider)
    if (cassette := _cassette(data)) is not None:
        return _from_cassette(cassette, provider)
    if not _STREAM.search(data[:_LOOK]):
        what = f"it begins with {_beginning(data)}" if data else "it is empty"
        raise UsageError(
            f"{path} is no recording, no cassette and no captured stream: {what}. "
            "Make one with `streamflow record FILE` or `curl -N ... > FILE`"
        )
    return from_capture(data, provider=provider)


def _beginning(data: bytes) -> str:
    return redact_secrets(repr(data[:60].decode(errors="replace")))


def _own(data: bytes, head: dict[str, Any], path: Any, provider: str) -> Recording:
    if head["streamflow"] != VERSION or head["streamflow"] is True:
        raise UsageError(f"{path} is a recording of version {head['streamflow']!r}; this release reads {VERSION}")
    pieces: list[Piece] = []
    end, end_t, error = "cut", 0.0, None
    offset = data.find(b"\n") + 1
    for line in data[offset:].split(b"\n"):
        if not line:
            continue
        fields = _object(line)
        if fields is None or not _is_time(fields.get("t")):
            if offset + len(line) == len(data):
                break  # the last line was torn: the writer was killed
            raise ProtocolError(f"{path}: the line at byte {offset} is no line of a recording", position=offset)
        end_t = fields["t"]
        try:
            if "end" in fields:
                end = _choice(fields["end"], ENDS)
            elif "error" in fields:
                end, error = "error", error_from_info(msgspec.convert(fields["error"], ErrorInfo))
            else:
                pieces.append(Piece(end_t, _item(fields)))
        except (KeyError, TypeError, ValueError, msgspec.MsgspecError) as fault:
            message = f"{path}: the line at byte {offset} cannot be read ({fault})"
            raise ProtocolError(message, position=offset) from fault
        offset += len(line) + 1
    name, headers = provider or head.get("provider") or "", head.get("headers") or {}
    if not isinstance(name, str) or not _is_texts(headers):
        raise ProtocolError(f"{path}: the first line is none of a recording", position=0)
    return Recording(name, tuple(pieces), end, end_t, error, headers)


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _choice(value: Any, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return str(value)


def _item(fields: dict[str, Any]) -> Any:
    for name, read in _READERS.items():
        if name in fields:
            if not isinstance(fields[name], str):
                raise TypeError(f"{name} must be a text")
            return read(fields[name])
    return from_json(orjson.dumps(fields["event"]))


_READERS: dict[str, Callable[[str], Any]] = {
    "text": str.encode,
    "base64": lambda text: base64.b64decode(text, validate=True),
    "string": str,
}


def from_capture(data: bytes, *, provider: str = "") -> Recording:
    """A body without times: one piece for each event where events are recognised, else one piece.

    >>> from_capture(b"data: a\\r\\n\\r\\n").pieces[0].item
    b'data: a\\r\\n\\r\\n'
    """
    blank = b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
    items = [event + blank for event in data.split(blank)]
    items[-1] = items[-1].removesuffix(blank)
    return Recording(provider, tuple(Piece(0.0, item) for item in items if item))


def _cassette(data: bytes) -> dict[str, Any] | None:
    if b"interactions" not in data[:200_000]:
        return None
    loaded = _object(data)
    if loaded is None and data.lstrip()[:1] not in (b"{", b"["):
        try:
            import yaml  # type: ignore[import-untyped]
        except ImportError:
            raise UsageError("a VCR cassette in YAML needs the extra: pip install 'streamflow-rx[vcr]'") from None
        try:
            loaded = yaml.safe_load(data)
        except (yaml.YAMLError, RecursionError):
            return None
    return loaded if isinstance(loaded, dict) and isinstance(loaded.get("interactions"), list) else None


def _from_cassette(cassette: dict[str, Any], provider: str) -> Recording:
    for interaction in cassette["interactions"]:
        try:
            data, headers = _answer(interaction)
        except (AttributeError, TypeError, ValueError) as fault:
            raise ProtocolError(f"the cassette cannot be read ({fault})") from fault
        if data:
            kept = kept_headers(headers)
            if kept.get("content-encoding", "identity") != "identity":
                data = _unpacked(data, kept.pop("content-encoding"))
            return msgspec.structs.replace(from_capture(data, provider=provider), headers=kept)
    raise UsageError("the cassette has no response with a body")


def _answer(interaction: Any) -> tuple[bytes, dict[str, str]]:
    response = interaction.get("response") or {}
    body = response.get("body") or {}
    raw = body.get("string", body.get("base64_string", "")) if isinstance(body, dict) else body
    data = raw if isinstance(raw, bytes) else str(raw).encode("utf-8", "surrogateescape")
    if isinstance(body, dict) and "base64_string" in body:
        data = base64.b64decode(data)
    headers = (response.get("headers") or {}).items()
    return data, {str(name): str(value[0] if isinstance(value, list) and value else value) for name, value in headers}


def _unpacked(data: bytes, encoding: str) -> bytes:
    """The body that was packed. Recorders that unpack it by themselves leave the header as it came."""
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise UsageError(f"the body in the cassette is packed as {encoding!r}; this release unpacks gzip and deflate")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # finds out which of the two it is
    try:
        body = unpacker.decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error:
        return data
    if unpacker.unconsumed_tail:
        message = f"the body in the cassette is larger than {MAX_UNPACKED_BYTES} bytes when unpacked"
        raise LimitExceeded(message, kind="max_unpacked_bytes", position=0)
    return body


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
