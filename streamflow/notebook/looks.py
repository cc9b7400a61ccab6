"""What an item looks like in a figure: its colour, its short text, what hovering over it says."""

from functools import cache
from typing import Any, NamedTuple

import msgspec

from streamflow.audio import AudioSegment
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Frame,
    Notice,
    Raw,
    Retrying,
    Sentence,
    Stamped,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    ToolCallsReady,
    Usage,
)
from streamflow.text.segment_events import Invocation, SegmentContent
from streamflow.text.spoken import Spoken

# Tones in the middle, which stand out from white and from near black.
COLOURS = {
    "bytes": "#7d8794",
    "frame": "#5b9aa8",
    "string": "#3b82f6",
    "text": "#3b82f6",
    "thinking": "#a06cd5",
    "tool_call": "#e08a1e",
    "tool_result": "#12a594",
    "image": "#db5ba8",
    "sentence": "#2ea44f",
    "spoken": "#5fae57",
    "audio": "#e5536b",
    "calls": "#c2570c",
    "start": "#7d8794",
    "end": "#7d8794",
    "failed": "#e5484d",
    "note": "#98a1ab",
    "other": "#98a1ab",
    "held": "#f5b83d",
}
_CUSTOM = ("#0e9bb5", "#7aa116", "#c0499b", "#6d78e0", "#b5762a")


def colour_of(kind: str) -> str:
    """The colour of a kind; kinds that users register get one of a few by their name, always the same.

    >>> colour_of("thinking"), colour_of("write_file") == colour_of("write_file")
    ('#a06cd5', True)
    """
    return COLOURS.get(kind) or _CUSTOM[sum(map(ord, kind)) % len(_CUSTOM)]


class Look(NamedTuple):
    """How an item is drawn. ``shape`` is dot, tick (a fact), bar (a beginning or an end), cross, or none."""

    kind: str
    label: str
    shape: str = "dot"

    @property
    def colour(self) -> str:
        """The colour of its kind."""
        return colour_of(self.kind)


def look_of(item: Any) -> Look:
    """How to draw this item.

    >>> look_of(Chunk(0, "thinking", "hm")), look_of(b"data: ").kind
    (Look(kind='thinking', label='hm', shape='dot'), 'bytes')
    """
    if isinstance(item, Stamped):
        return look_of(item.event)
    make = _LOOKS.get(type(item))
    return make(item) if make is not None else Look("other", type(item).__name__)


_LOOKS: dict[type, Any] = {
    bytes: lambda item: Look("bytes", item.decode("utf-8", "replace")),
    bytearray: lambda item: Look("bytes", item.decode("utf-8", "replace")),
    str: lambda item: Look("string", item),
    Frame: lambda item: Look("frame", item.data or item.event),
    Chunk: lambda item: Look(item.kind, item.text),
    Sentence: lambda item: Look("sentence", item.text.strip()),
    Spoken: lambda item: Look("spoken", item.text),
    AudioSegment: lambda item: Look("audio", item.sentence.text.strip()),
    ToolCallsReady: lambda item: Look("calls", ", ".join(f"{call.name}()" for call in item.calls)),
    Invocation: lambda item: Look("calls", f"{item.name}()"),
    SegmentContent: lambda item: Look("text", item.delta),
    BlockStart: lambda item: Look(item.kind, "", "none"),
    BlockComplete: lambda item: Look(item.kind, "", "none"),
    StreamStart: lambda item: Look("start", "", "bar"),
    StreamCompleted: lambda item: Look("end", "", "bar"),
    StreamFailed: lambda item: Look("failed", item.error.type, "cross"),
    Notice: lambda item: Look("note", item.code, "tick"),
    **dict.fromkeys((Usage, Raw, Citation, Retrying), lambda item: Look("note", "", "tick")),
}


def told(item: Any, most: int = 300) -> str:
    """What hovering says: the class and the fields that are not as usual.

    >>> told(Chunk(2, "text", "Hi", start=4))
    "Chunk(index=2, kind='text', text='Hi', start=4)"
    """
    if isinstance(item, msgspec.Struct):
        pairs = [(field, getattr(item, field.name)) for field in _fields(type(item))]
        parts = [f"{field.name}={value!r}" for field, value in pairs if field.required or not _usual(field, value)]
        shown = f"{type(item).__name__}({', '.join(parts)})"
    else:
        shown = repr(item)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def _usual(field: Any, value: Any) -> bool:
    return value is None or value in ({}, []) or bool(value == field.default)
