"""One turn of the model inside a loop: its events with the places that they have in the whole stream."""

from typing import Any

import msgspec

from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    GeneratedImage,
    Image,
    ImagePreview,
    ImageStart,
    ToolCall,
    ToolCallsReady,
    Usage,
)
from streamflow.fold import is_client_call
from streamflow.requests.blocks import ToolResultBlock
from streamflow.requests.history import call_id
from streamflow.tools.running import DRAWN


class Places:
    """Where the next block and the next text of the whole stream begin."""

    def __init__(self) -> None:
        self.index = 0
        self.offset = 0
        self.usage: Usage | None = None
        self.text: list[str] = []


class Turn:
    """Moves a turn's events to their places, and remembers what the tools may want to know.

    Block indices and text offsets go on where the turn before ended. Token counts add up over the turns: what a loop
    costs is the sum of its requests.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._base = places.index
        self._start = places.offset
        self._spent = places.usage
        self._cut: set[str] = set()
        self._texts: list[str] = []
        self.id = ""
        self.calls: list[ToolCall] = []
        self.preamble = ""
        self._call_ids: list[str] = []
        self._called = False

    @property
    def text(self) -> str:
        """All text of the turn so far."""
        return "".join(self._texts)

    def block_start(self, event: BlockStart) -> BlockStart:
        """A block opens."""
        index = event.index + self._base
        self._places.index = max(self._places.index, index + 1)
        if event.kind == "tool_call" and "server" not in event.attributes and not self._called:
            self._called = True
            self.preamble = self.text
        return msgspec.structs.replace(event, index=index)

    def chunk(self, event: Chunk) -> Chunk:
        """A piece of content."""
        start = event.start
        if start >= 0:
            start += self._start
            self._places.offset = max(self._places.offset, start + len(event.text))
        if event.kind == "text":
            self._texts.append(event.text)
            self._places.text.append(event.text)
        if not self._base and start == event.start:
            return event  # the first turn is where it is
        return msgspec.structs.replace(event, index=event.index + self._base, start=start)

    def block_complete(self, event: BlockComplete) -> BlockComplete:
        """A block closes; a call without an id gets one, the same everywhere."""
        placed = msgspec.structs.replace(event, index=event.index + self._base)
        if not is_client_call(placed):
            return placed
        if not placed.tool_id:
            attributes = {**placed.attributes, "invented_id": True}
            placed = msgspec.structs.replace(placed, tool_id=call_id(placed, self.id), attributes=attributes)
        self._call_ids.append(placed.tool_id or "")
        if placed.incomplete:
            self._cut.add(placed.tool_id or "")
        return placed

    def citation(self, event: Citation) -> Citation:
        """A source belongs to a block."""
        return msgspec.structs.replace(event, index=event.index + self._base)

    def usage(self, event: Usage) -> Usage:
        """What the loop has cost so far."""
        before = self._spent
        if before is not None:
            sums = {field: _sum(getattr(before, field), getattr(event, field)) for field in _COUNTS}
            event = msgspec.structs.replace(event, **sums)
        self._places.usage = event
        return event

    def ready(self, event: ToolCallsReady) -> ToolCallsReady:
        """The calls of the turn, with the ids that their blocks have; those that were cut are not to be answered."""
        calls = [
            call if call.id else msgspec.structs.replace(call, id=id)
            for call, id in zip(event.calls, self._call_ids, strict=True)
        ]
        self.calls = [call for call in calls if call.id not in self._cut]
        return ToolCallsReady(calls)


def image_events(result: ToolResultBlock) -> list[ImageStart | ImagePreview | Image]:
    """What a tool drew, as the same events that a provider's own pictures have."""
    drawn = result.opaque.get(DRAWN, ()) if isinstance(result.opaque, dict) else ()
    events: list[ImageStart | ImagePreview | Image] = []
    for picture in drawn:
        image = GeneratedImage(
            picture.media_type,
            data=picture.data,
            blob_id=picture.blob_id,
            url=picture.url,
            id=result.tool_id,
            generation=picture.generation,
        )
        if not any(isinstance(event, ImageStart) for event in events):
            events.append(ImageStart(str(picture.generation.get("prompt") or ""), result.tool_id))
        events.append(ImagePreview(image) if picture.is_preview else Image(image))
    return events


_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def _sum(before: Any, now: Any) -> Any:
    if before is None or now is None:
        return before if now is None else now
    return before + now
