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


class Origins:
    """The inputs of one stage that made each of its outputs.

    Where both sides have spans in the raw text, the spans tell. Otherwise an output is due to the input of its step
    and to those before it that had given nothing yet. The log is read once, for all questions.
    """

    def __init__(self, log: StageLog) -> None:
        self.log = log
        self.steps = len(log.steps)
        """How many there were when it was read."""
        self._steps = log.steps
        self._spans = _SpanIndex(log)
        self._given: dict[int, list[int]] = {}  # the steps that gave an item, by its identity: the log keeps it alive
        for place, step in enumerate(self._steps):
            for item in step.outputs:
                self._given.setdefault(id(item), []).append(place)

    def gave(self, item: Any) -> bool:
        """Whether this very item came out of the stage."""
        return id(item) in self._given

    def causes(self, wanted: list[Any]) -> list[Any]:
        """What made these items, in the order in which it went in."""
        identities = {id(item) for item in wanted}
        found: dict[int, Any] = {}
        for place in sorted({place for identity in identities for place in self._given.get(identity, ())}):
            for output in self._steps[place].outputs:
                if id(output) in identities:
                    for cause in self._spans.inputs_for(output) or self._by_order(place):
                        found.setdefault(id(cause), cause)
        return list(found.values())

    def _by_order(self, place: int) -> list[Any]:
        """What went in since something came out before; where nothing did, the input before that."""
        begin = place
        while begin and not self._steps[begin - 1].outputs:
            begin -= 1
        taken = [step.item for step in self._steps[begin : place + 1] if step.item is not None]
        while begin and not taken:
            begin -= 1
            taken = [item for item in (self._steps[begin].item,) if item is not None]
        return taken


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
        out = []
        for place in range(max(0, bisect_right(self._starts, span[0]) - 1), len(self._entries)):
            (start, end), cause = self._entries[place]
            if start >= max(span[1], span[0] + 1):
                break
            if end > span[0] or start == end == span[0]:
                out.append(cause)
        return out


def _short(value: Any, most: int = 70) -> str:
    text = value.text if isinstance(value, Sentence | Chunk) else value
    shown = repr(text)
    return shown if len(shown) <= most else shown[: most - 3] + "..."
