"""What all framings share at their entrance: bytes in any form, the byte order mark, bounds, words for an error."""

from collections.abc import Iterator

from streamflow.errors import StreamflowError, UsageError, redact_secrets
from streamflow.events import Frame

Data = bytes | bytearray | memoryview | str

MAX_EVENT_BYTES = 32 * 1024 * 1024

HEAD_BYTES = 512
"""How much of the beginning of a body is kept to recognise it and to name it in an error."""

EXCERPT_LENGTH = 200

_BOM = b"\xef\xbb\xbf"


def as_bytes(data: Data) -> bytes:
    """The read as immutable bytes; text is encoded as UTF-8.

    >>> as_bytes("é"), as_bytes(bytearray(b"a"))
    (b'\\xc3\\xa9', b'a')
    """
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        # A lone surrogate has no UTF-8 form; its three bytes become U+FFFD when the frame is decoded.
        return data.encode("utf-8", "surrogatepass")
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise UsageError(
        f"a wire stage takes bytes, bytearray, memoryview or str, not {type(data).__name__}: it comes first in a chain"
    )


def bom_length(head: bytes | bytearray) -> int | None:
    """How many bytes of a byte order mark the stream begins with; None while that is open.

    >>> bom_length(b"\\xef\\xbb\\xbfdata"), bom_length(b"data"), bom_length(b"\\xef")
    (3, 0, None)
    """
    if head.startswith(_BOM):
        return len(_BOM)
    return None if _BOM.startswith(head) else 0


def check_limit(max_event_bytes: int) -> int:
    """The limit itself, if it is one.

    >>> check_limit(1024)
    1024
    """
    if not isinstance(max_event_bytes, int) or max_event_bytes < 1:
        raise UsageError(f"max_event_bytes must be a positive number of bytes, not {max_event_bytes!r}")
    return max_event_bytes


def excerpt(first: bytes | bytearray) -> str:
    """The first bytes on one line and without keys, for an error message.

    >>> excerpt(b"<html>\\n  <body>")
    "'<html> <body>'"
    """
    # Keys are taken out before the cut, because half a key is no longer recognised as one.
    line = " ".join(bytes(first[:HEAD_BYTES]).decode("utf-8", "replace").split())
    return repr(redact_secrets(line)[:EXCERPT_LENGTH])


def frames_then(frames: list[Frame], error: StreamflowError) -> Iterator[Frame]:
    """The frames that were complete before a fault, and then the fault.

    >>> list(frames_then([Frame()], UsageError("broken")))
    Traceback (most recent call last):
    streamflow.errors.UsageError: broken
    """
    yield from frames
    raise error
