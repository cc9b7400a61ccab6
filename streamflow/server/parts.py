"""Events as the parts of an answer: what the protocols of others have in common."""

from typing import Any

import msgspec

from streamflow.events import BlockComplete, BlockStart, Chunk, Retrying
from streamflow.requests.history import call_id


class PartStart(msgspec.Struct, frozen=True):
    """A part begins. ``kind`` is text, thinking or tool_call; a call has its id and its name from the beginning.

    >>> PartStart(0, "text").name
    ''
    """

    index: int
    kind: str
    id: str = ""
    name: str = ""
    server: bool = False


class PartDelta(msgspec.Struct, frozen=True, gc=False):
    """More of a part: words, thoughts, or the JSON text of a call's input.

    >>> PartDelta(0, "text", "Hi").text
    'Hi'
    """

    index: int
    kind: str
    text: str
    id: str = ""


class PartEnd(msgspec.Struct, frozen=True):
    """A part ended; ``block`` is the whole of it.

    >>> PartEnd(0, "text", BlockComplete(0, "text", "Hi")).block.content
    'Hi'
    """

    index: int
    kind: str
    block: BlockComplete
    id: str = ""
    name: str = ""
    server: bool = False


class ToolResult(msgspec.Struct, frozen=True):
    """What a tool answered, where the server ran it.

    >>> ToolResult("c1", "sunny").error is None
    True
    """

    id: str
    content: str
    error: str | None = None
    server: bool = False


class Discarded(msgspec.Struct, frozen=True):
    """What was said is taken back: the answer begins anew."""


class _Open:
    """A part on its way."""

    __slots__ = ("id", "kind", "name", "server", "told")

    def __init__(self, kind: str, server: bool) -> None:
        self.kind = kind
        self.server = server
        self.id = ""
        self.name = ""
        self.told = False


# Blocks of other kinds are shown where their chunks are visible, as text.
_KINDS = {"text": "text", "refusal": "text", "thinking": "thinking", "tool_call": "tool_call"}


class Parts:
    """Reads events, tells parts. Everything that is no part passes unchanged.

    >>> parts = Parts()
    >>> [type(part).__name__ for event in (BlockStart(0, "text"), Chunk(0, "text", "Hi")) for part in parts.feed(event)]
    ['PartStart', 'PartDelta']
    """

    def __init__(self, response_id: str = "") -> None:
        self._response_id = response_id
        self._open: dict[int, _Open] = {}
        self._told = False

    def feed(self, event: Any) -> list[Any]:
        """What one event means."""
        handler = _HANDLERS.get(event.__class__)
        return [event] if handler is None else handler(self, event)

    def _on_start(self, event: BlockStart) -> list[Any]:
        self._open[event.index] = _Open(_KINDS.get(event.kind, event.kind), "server" in event.attributes)
        return []

    def _on_chunk(self, event: Chunk) -> list[Any]:
        part = self._open.get(event.index)
        if part is None:
            part = self._open[event.index] = _Open(_KINDS.get(event.kind, event.kind), False)
        if part.kind not in _PARTS:
            if not event.visible:
                return []
            part.kind = "text"
        if part.kind == "tool_call":
            part.id, part.name = event.tool_id or part.id, event.tool_name or part.name
            if event.part != "input":
                return []
        # A part begins with its first content, so that an empty one is never begun, and a call has its id by then.
        return [*self._begin(event.index, part), PartDelta(event.index, part.kind, event.text, part.id)]

    def _begin(self, index: int, part: _Open) -> list[Any]:
        if part.told:
            return []
        part.told = self._told = True
        if part.kind == "tool_call":
            part.id = part.id or call_id(BlockComplete(index, "tool_call"), self._response_id)
        return [PartStart(index, part.kind, part.id, part.name, part.server)]

    def _on_complete(self, event: BlockComplete) -> list[Any]:
        part = self._open.pop(event.index, None) or _Open(_KINDS.get(event.kind, event.kind), False)
        if event.kind == "tool_result":
            return [ToolResult(event.tool_id or "", event.content, event.error, "server" in event.attributes)]
        if part.kind not in _PARTS:
            return []
        if part.kind == "tool_call":
            part.id, part.name = part.id or event.tool_id or "", event.tool_name or part.name
        has_material = part.kind == "thinking" and event.opaque is not None
        if not part.told and part.kind != "tool_call" and not has_material:
            return []
        begun = self._begin(event.index, part)
        return [*begun, PartEnd(event.index, part.kind, event, part.id, part.name, part.server)]

    def _on_retry(self, event: Retrying) -> list[Any]:
        return [Discarded()] if event.discard and self._told else []


_PARTS = ("text", "thinking", "tool_call")
_HANDLERS: dict[type, Any] = {
    BlockStart: Parts._on_start,
    Chunk: Parts._on_chunk,
    BlockComplete: Parts._on_complete,
    Retrying: Parts._on_retry,
}
