"""Which text waited inside a stage, and for how long: what a probe's records say about it."""

from typing import Any, NamedTuple

from streamflow.events import BlockComplete, BlockStart, Chunk, Stamped, ToolCallsReady
from streamflow.probing import StageLog, Step, span_of

_STRUCTURE = (BlockStart, BlockComplete, ToolCallsReady)


class Held(NamedTuple):
    """Text that waited from one moment to another."""

    start: float
    end: float
    characters: int
    text: str


class _Moment(NamedTuple):
    """After a step: up to where text had come and had been decided, where the text begins that came out later."""

    t: float
    taken: int
    decided: int
    later: int | None
    becomes_structure: bool


def held_text(log: StageLog) -> list[Held]:
    """The stretches in which a stage held text: until it came out, or until it turned out to be a tag.

    >>> import streamflow as sf
    >>> from streamflow.operators import xml_block_split
    >>> watched = sf.probe(xml_block_split())
    >>> _ = sf.run(["a <thin", "king>", "b"], *watched.operators)
    >>> [held.text for held in held_text(watched.stages[0])]
    ['<thin']
    """
    raw, moments = _moments(log)
    out = []
    for place, moment in enumerate(moments):
        count = 0
        if moment.later is not None and moment.later < moment.taken:
            count = moment.taken - moment.later
        elif moment.becomes_structure:
            count = moment.taken - moment.decided
        if count > 0:
            end = moments[place + 1].t if place + 1 < len(moments) else moment.t
            out.append(Held(moment.t, end, count, raw[moment.taken - count : moment.taken]))
    return out


def _moments(log: StageLog) -> tuple[str, list[_Moment]]:
    steps = log.steps
    raw: list[str] = []
    taken = decided = 0
    forward: list[tuple[int, int]] = []
    for step in steps:
        text, start = _text_of(step.item, taken)
        if text:
            gap = start - taken  # between two blocks there may be text that never came this way
            raw.append(" " * gap + text if gap > 0 else text[-gap:])
            taken = max(taken, start + len(text))
        for item in step.outputs:
            span = span_of(item)
            if span is not None:
                decided = max(decided, span[1])
            elif isinstance(item, str):
                decided += len(item)
        if _makes_structure(step):
            decided = max(decided, taken if _ends_in_structure(step) else decided)
        forward.append((taken, decided))
    moments: list[_Moment] = []
    later: int | None = None
    structure = False
    for step, (came, known) in zip(reversed(steps), reversed(forward), strict=True):
        moments.append(_Moment(step.t, came, known, later, structure))
        starts = [span[0] for item in step.outputs if (span := span_of(item)) is not None]
        later = min([*starts, later]) if later is not None else min(starts, default=None)
        if step.outputs:
            structure = _makes_structure(step)
    return "".join(raw), moments[::-1]


def _text_of(item: Any, taken: int) -> tuple[str, int]:
    if isinstance(item, Stamped):
        item = item.event
    if isinstance(item, str):
        return item, taken
    if isinstance(item, Chunk) and item.start >= 0:
        return item.text, item.start
    text, span = getattr(item, "text", ""), span_of(item)
    return (text, span[0]) if span is not None and isinstance(text, str) else ("", taken)


def _makes_structure(step: Step) -> bool:
    """The stage itself opened or closed a block here, rather than passing one on."""
    return any(isinstance(item, _STRUCTURE) and item is not step.item for item in step.outputs)


def _ends_in_structure(step: Step) -> bool:
    return isinstance(step.outputs[-1], _STRUCTURE)
