"""What the laws look at in what came out: blocks, text, calls."""

from typing import Any

from streamflow.events import TERMINAL, BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart, ToolCallsReady
from streamflow.testing.laws.outcome import brief
from streamflow.text.segment_events import Invocation, SegmentContent, SegmentStart


def check_blocks(items: list[Any]) -> None:
    """Blocks open and close once, a chunk belongs to an open block, the joined chunks of a block are its content."""
    opened: dict[int, tuple[str, list[str]]] = {}
    last = -1
    ended = False
    for item in items:
        if isinstance(item, BlockStart):
            _require(not ended, "after the end", item)
            _require(item.index > last, f"opens a block after block {last}", item)
            last = item.index
            opened[item.index] = (item.kind, [])
        elif isinstance(item, Chunk):
            _require(item.index in opened, "belongs to no open block", item)
            _require(item.kind == opened[item.index][0], f"is in a block of kind {opened[item.index][0]}", item)
            _require(bool(item.text), "is an empty chunk", item)
            if item.part in (None, "input"):
                opened[item.index][1].append(item.text)
        elif isinstance(item, BlockComplete):
            _require(item.index in opened, "ends a block that is not open", item)
            kind, parts = opened.pop(item.index)
            _require(item.kind == kind, f"ends a block of kind {kind}", item)
            _require("".join(parts) == item.content, f"the chunks said {''.join(parts)!r}", item)
        elif isinstance(item, StreamStart):
            ended = False  # the next turn of the same flow
        elif isinstance(item, TERMINAL):
            _require(not ended, "is a second end", item)
            _require(not opened, f"blocks {sorted(opened)} are open at the end", item)
            ended = True
    _require(not opened, f"blocks {sorted(opened)} were never ended")


def _require(true: bool, message: str, item: Any = None) -> None:
    if not true:
        raise AssertionError(message if item is None else f"{brief(item)}: {message}")


def shown(items: list[Any]) -> str:
    """The text that left, in whatever form."""
    kinds = {item.segment_id: item.segment_type for item in items if isinstance(item, SegmentStart)}
    out = []
    for item in items:
        if isinstance(item, str):
            out.append(item)
        elif isinstance(item, Chunk) and item.kind == "text":
            out.append(item.text)
        elif isinstance(item, SegmentContent) and kinds.get(item.segment_id) == "text":
            out.append(item.delta)
    return "".join(out)


def runnable(items: list[Any]) -> list[Any]:
    """What a tool loop would run."""
    calls: list[Any] = [item for item in items if isinstance(item, Invocation) and item.runnable]
    for item in items:
        if isinstance(item, ToolCallsReady):
            calls += [call for call in item.calls if call.runnable]
        elif isinstance(item, StreamCompleted) and item.response is not None:
            calls += [call for call in item.response.tool_calls if call.runnable]
    return calls
