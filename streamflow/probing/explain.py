"""Where an output came from."""

from bisect import bisect_right
from typing import Any, NamedTuple

from streamflow.events import Chunk, Frame, Sentence
from streamflow.probing.logs import StageLog, span_of


class Explanation(NamedTuple):
    """Where an output came from: the items at each stage, from the output up to the bytes.

    ``stages`` pairs each stage's name with those of its outputs that made the item, the last stage first; ``frames``
    are the messages of the wire, ``start`` and ``end`` the bytes that they span, ``data`` those bytes.
    """

    item: Any
    stages: list[tuple[str, list[Any]]]
    frames: list[Frame]
    start: int
    end: int
    data: bytes

    def __str__(self) -> str:
        lines = [f"{_short(self.item)}"]
        lines += [f"  <- {name}: {len(items)} items, {_short(items[0])}" for name, items in self.stages if items]
        lines.append(f"  <- bytes {self.start} to {self.end}, {len(self.frames)} frames: {_short(self.data)}")
        return "\n".join(lines)


def causes_of(log: StageLog, wanted: list[Any]) -> list[Any]:
    """The inputs of a stage that made these of its outputs.

    Where both sides have spans in the raw text, the spans tell. Otherwise an output is due to the input of its step
    and to those before it that had given nothing yet.
    """
    identities = {id(item) for item in wanted}
    found: dict[int, Any] = {}
    silent: list[Any] = []
    last: list[Any] = []
    spans = _SpanIndex(log)
    for step in log.steps:
        if step.item is not None:
            silent.append(step.item)
            last = [step.item]
        for item in step.outputs:
            if id(item) in identities:
                for cause in spans.inputs_for(item) or silent or last:
                    found.setdefault(id(cause), cause)
        if step.outputs:
            silent = []
    return list(found.values())


class _SpanIndex:
    """Inputs of a stage by their place in the raw text."""

    def __init__(self, log: StageLog) -> None:
        entries = [(span, item) for _, item in log.inputs() if (span := span_of(item)) is not None]
        entries.sort(key=lambda entry: entry[0][0])
        self._starts = [span[0] for span, _ in entries]
        self._entries = entries

    def inputs_for(self, item: Any) -> list[Any]:
        span = span_of(item)
        if span is None or not self._entries:
            return []
        place = max(0, bisect_right(self._starts, span[0]) - 1)
        out = []
        for (start, end), cause in self._entries[place:]:
            if start >= max(span[1], span[0] + 1):
                break
            if end > span[0] or start == end == span[0]:
                out.append(cause)
        return out


def _short(value: Any, most: int = 70) -> str:
    text = value.text if isinstance(value, Sentence | Chunk) else value
    shown = repr(text)
    return shown if len(shown) <= most else shown[: most - 3] + "..."
