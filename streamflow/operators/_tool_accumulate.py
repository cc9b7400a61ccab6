from collections.abc import Sequence
from typing import Any

from streamflow.events import (
    BlockComplete,
    Chunk,
    Retrying,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    ToolCall,
    ToolCallsReady,
)
from streamflow.fold import call_of, is_client_call
from streamflow.stage import Operator, lift

# Calls that were said to be ready already, that failed with their turn, or that a new attempt throws away.
_FORGETTING = (ToolCallsReady, StreamFailed, Retrying)


class ToolAccumulate:
    """Gathers the calls of a turn; they become ready just before the turn's proper end."""

    takes, gives = "events", "events"

    def __init__(self) -> None:
        self._calls: list[ToolCall] = []
        self._has_start = False

    def feed(self, item: Any) -> list[Any]:
        """Pass everything on; before the end say which calls there are."""
        kind = item.__class__
        if kind is Chunk:
            return [item]
        if kind is BlockComplete:
            if is_client_call(item):
                self._calls.append(call_of(item))
        elif kind is StreamCompleted:
            calls, self._calls = self._calls, []
            return [ToolCallsReady(calls), item] if calls and item.stop_reason != "cancelled" else [item]
        elif kind is StreamStart:
            self._has_start = True
        elif kind in _FORGETTING and getattr(item, "discard", True):
            self._calls = []
        return [item]

    def feed_all(self, items: Sequence[Any], out: list[Any]) -> None:
        """The same for items that came together; chunks only pass."""
        for item in items:
            if item.__class__ is Chunk:
                out.append(item)
            else:
                out += self.feed(item)

    def flush(self) -> list[Any]:
        """Calls of a turn without its end are never ready. Plain text has no other end than that of its source."""
        calls, self._calls = self._calls, []
        return [ToolCallsReady(calls)] if calls and not self._has_start else []

    def abort(self, error: BaseException) -> list[Any]:
        """Calls of a failed turn are never ready."""
        return []


def tool_accumulate() -> Operator[Any, Any]:
    """Add `ToolCallsReady` with all calls of a turn, before its proper end and never before a cut; once, if used twice.

    ```
    events  --BlockComplete(tool_call)------------------StreamCompleted--|
    out     --BlockComplete(tool_call)--ToolCallsReady--StreamCompleted--|
    ```

    >>> import streamflow as sf
    >>> call = BlockComplete(0, "tool_call", tool_id="c1", tool_name="f", input={})
    >>> [type(e).__name__ for e in sf.run([call, StreamCompleted("tool_use")], tool_accumulate())]
    ['BlockComplete', 'ToolCallsReady', 'StreamCompleted']
    """
    return lift(ToolAccumulate, "tool_accumulate")
