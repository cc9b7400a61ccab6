from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from streamflow.errors import UsageError
from streamflow.events import BlockComplete, BlockStart, Chunk, Citation, Notice, Response, Retrying, StreamCompleted
from streamflow.stage import Operator, lift
from streamflow.text.fenced_calls import MAX_FENCE, FencedCall, FencedCalls
from streamflow.text.pattern_matcher import MatchTable
from streamflow.text.patterns import compile_patterns
from streamflow.text.rewriting import TextRewrite

# The special tokens of DeepSeek's tokenizer are at most 30 characters long.
_MARKERS = MatchTable(compile_patterns(["<｜[^｜]{1,100}｜>"]))

_NUMBERED = (BlockStart, Chunk, BlockComplete, Citation)
_HIDDEN = frozenset(("thinking", "tool_call", "tool_result"))


class MarkerFilter:
    """Takes markers out of text; at the end of a turn the calls that were written in fences become blocks."""

    def __init__(self, names: Sequence[str], ids: Callable[[int], str]) -> None:
        self._names = names
        self._ids = ids
        self._calls = FencedCalls(names)
        self._text = TextRewrite(_MARKERS, "", self._watch if names else None)
        self._next_index = 0
        self._plain = False
        self._made = 0  # blocks added in earlier turns

    def _watch(self, text: str, marker: bool) -> None:
        self._calls.feed(text, marker)

    def feed(self, item: Any) -> list[Any]:
        """Take one event or string."""
        kind = item.__class__
        if self._made and kind in _NUMBERED:
            # Blocks that were added to earlier turns move the numbers of later ones.
            item = msgspec.structs.replace(item, index=item.index + self._made)
        if kind is StreamCompleted:
            return self._end(item)
        out = self._text.feed(item)
        if kind is BlockStart:
            self._next_index = max(self._next_index, item.index + 1)
        elif kind is BlockComplete:
            if item.kind not in _HIDDEN:
                self._calls.end()
        elif kind is str:
            self._plain = True
        elif kind is Retrying and item.discard:
            self._calls = FencedCalls(self._names)
        return out

    def flush(self) -> list[Any]:
        """Release what is held. Plain text ends here; calls of a turn without an end are never found."""
        out = self._text.flush()
        return [*out, *self._calls_found()] if self._plain else out

    def abort(self, error: BaseException) -> list[Any]:
        """Release what is held."""
        return self._text.abort(error)

    def partial(self, error: BaseException) -> Response:
        """What left this stage so far."""
        return self._text.partial(error)

    @property
    def emitted(self) -> bool:
        """True once the stream has begun."""
        return self._text.emitted

    def _end(self, end: StreamCompleted) -> list[Any]:
        out = self._text.flush()
        if end.stop_reason == "cancelled":
            self._calls = FencedCalls(self._names)
        else:
            made = self._calls_found()
            if end.stop_reason == "end_turn" and any(event.__class__ is BlockComplete for event in made):
                end = msgspec.structs.replace(end, stop_reason="tool_use")
            out += [event for item in made for event in self._text.feed(item)]
            self._made += sum(event.__class__ is BlockStart for event in made)
        return [*out, *self._text.feed(end)]

    def _calls_found(self) -> list[Any]:
        self._calls.end()
        reader, self._calls = self._calls, FencedCalls(self._names)
        made: list[Any] = [event for call in reader.found for event in self._block(call)]
        if reader.skipped:
            made.append(Notice("skipped_call", f"{reader.skipped} fenced calls are longer than {MAX_FENCE} characters"))
        return made

    def _block(self, call: FencedCall) -> list[Any]:
        index = self._next_index
        self._next_index += 1
        id = call.id or self._ids(index)
        parts = (("name", call.name, None), ("id", id, id), ("input", call.arguments, id))
        return [
            BlockStart(index, "tool_call"),
            *(Chunk(index, "tool_call", text, False, 0, part, known, call.name) for part, text, known in parts if text),
            BlockComplete(
                index,
                "tool_call",
                call.arguments,
                tool_id=id,
                tool_name=call.name,
                input=call.value,
                error=call.error,
                raw=call.raw,
            ),
        ]


def marker_filter(names: Sequence[str] = (), *, ids: Callable[[int], str] | None = None) -> Operator[Any, Any]:
    """Take DeepSeek's markers ``<｜...｜>`` out of text, also when they are torn; all other text goes on at once.

    ```
    strings  --"Hi<｜to"--"ol▁sep｜> the"--"re"--|
    out      --"Hi"-------" the"----------"re"--|
    ```

    With ``names`` the calls of these tools that the model wrote into a ```` ```json ```` fence are found when the turn
    ends: each becomes a ``tool_call`` block as a native call would, after the text, and ``stop_reason`` becomes
    ``tool_use``. Ids that the model did not write are made by ``ids(block index)``, by default ``call_`` and the index.

    >>> import streamflow as sf
    >>> sf.run(["Hi<｜to", "ol▁sep｜> the", "re"], marker_filter())
    ['Hi', ' the', 're']
    """
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise UsageError(f"names must be a list of tool names, not {names!r}")
    for name in names:
        if not isinstance(name, str) or not name:
            raise UsageError(f"names must hold tool names, not {name!r}")
    if ids is not None and not callable(ids):
        raise UsageError(f"ids must be a function of the block index, not {ids!r}")
    make_id = ids or (lambda index: f"call_{index}")
    return lift(lambda: MarkerFilter(tuple(names), make_id), "marker_filter")
