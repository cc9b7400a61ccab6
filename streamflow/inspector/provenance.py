"""Which inputs of a stage made which of its outputs, for a whole log at once and in linear time."""

from bisect import bisect_right
from typing import Any, NamedTuple

from streamflow.probing import StageLog, span_of

AT_END = -1  # in the place of an input: the stage gave it when the stream ended


class Made(NamedTuple):
    """An output of a stage: the number of the input that brought it out, and of all those that helped to make it."""

    item: Any
    born: int
    causes: list[int]


def made_by(log: StageLog) -> list[Made]:
    """The outputs of a stage in their order, with the numbers of the inputs behind them.

    An input that passes unchanged is its own cause. Where both sides have spans in the raw text, the spans tell.
    Otherwise an output is due to the input of its step and to those before it that had given nothing yet.

    >>> import streamflow as sf
    >>> from streamflow.operators import tag_holdback
    >>> from streamflow.events import Chunk
    >>> seen = sf.probe(tag_holdback(["think"]))
    >>> _ = sf.run([Chunk(0, "text", "a <th", start=0), Chunk(0, "text", "ink>", start=5)], *seen.operators)
    >>> [(made.item.text, made.born, made.causes) for made in made_by(seen.stages[0])]
    [('a ', 0, [0]), ('<think>', 1, [0, 1])]
    """
    steps = log.steps
    inputs = [step.item for step in steps if step.item is not None]
    places = {id(item): number for number, item in enumerate(inputs)}
    spans = _Spans(inputs)
    out: list[Made] = []
    silent: list[int] = []
    latest = AT_END
    number = -1
    for step in steps:
        if step.item is not None:
            number += 1
            latest = number
            silent.append(number)
        born = AT_END if step.item is None else number
        for item in step.outputs:
            same = places.get(id(item))
            causes = [same] if same is not None else spans.inputs_for(item) or silent or [latest]
            out.append(Made(item, born, [cause for cause in causes if cause >= 0]))
        if step.outputs:
            silent = []
    return out


class _Spans:
    """Inputs by their place in the raw text."""

    def __init__(self, inputs: list[Any]) -> None:
        entries = [(span, number) for number, item in enumerate(inputs) if (span := span_of(item)) is not None]
        entries.sort()
        self._starts = [span[0] for span, _ in entries]
        self._entries = entries

    def inputs_for(self, item: Any) -> list[int]:
        span = span_of(item)
        if span is None or not self._entries:
            return []
        out = []
        for (start, end), number in self._entries[max(0, bisect_right(self._starts, span[0]) - 1) :]:
            if start >= max(span[1], span[0] + 1):
                break
            if end > span[0] or start == end == span[0]:
                out.append(number)
        return out
