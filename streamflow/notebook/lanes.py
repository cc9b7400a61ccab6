"""What a probe saw, laid out for drawing: a lane for the source and one for what each stage gave."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from streamflow.events import BlockComplete, BlockStart, Stamped
from streamflow.notebook.figure import duration
from streamflow.notebook.held import Held, held_text
from streamflow.notebook.looks import Look, look_of
from streamflow.probing import Probe

# A run that is over so soon was not timed by anybody: its order says more than its microseconds.
_TIMED_FROM_S = 0.05


class Mark(NamedTuple):
    """An item at its time."""

    t: float
    look: Look
    item: Any


class Span(NamedTuple):
    """A block from its start to its end; ``end`` is None while it is open."""

    start: float
    end: float | None
    kind: str
    block: int
    incomplete: bool


class Lane(NamedTuple):
    """One line of a figure: what passed at one place of the chain."""

    name: str
    marks: list[Mark]
    spans: list[Span]
    held: list[Held]

    @property
    def most_held(self) -> int:
        """The most characters that waited at once."""
        return max((held.characters for held in self.held), default=0)


def lanes_of(probe: Probe) -> list[Lane]:
    """The lanes of a probe, the source first.

    >>> import streamflow as sf
    >>> from streamflow.events import Chunk
    >>> from streamflow.operators import visible_filter
    >>> watched = sf.probe(visible_filter())
    >>> _ = sf.run([Chunk(0, "text", "a"), Chunk(1, "thinking", "b", visible=False)], *watched.operators)
    >>> [(lane.name, len(lane.marks)) for lane in lanes_of(watched)]
    [('source', 2), ('visible_filter', 1)]
    """
    source = _lane("source", probe.stages[0].inputs(), [])
    return [source, *(_lane(log.name, log.outputs(), held_text(log)) for log in probe.stages)]


def _lane(name: str, items: Iterable[tuple[float, Any]], held: list[Held]) -> Lane:
    marks: list[Mark] = []
    spans: list[Span] = []
    opened: dict[int, tuple[float, str]] = {}
    for t, item in items:
        event = item.event if isinstance(item, Stamped) else item
        if isinstance(event, BlockStart):
            opened[event.index] = (t, event.kind)
        elif isinstance(event, BlockComplete) and event.index in opened:
            start, kind = opened.pop(event.index)
            spans.append(Span(start, t, kind, event.index, event.incomplete))
        marks.append(Mark(t, look_of(item), item))
    spans += [Span(start, None, kind, index, True) for index, (start, kind) in opened.items()]
    return Lane(name, marks, spans, held)


class Axis(NamedTuple):
    """Where times stand: ``place`` gives 0 to 1 for a time, ``ticks`` are places with their labels."""

    place: Callable[[float], float]
    ticks: list[tuple[float, str]]
    name: str


def axis_of(probe: Probe, kind: str = "auto") -> Axis:
    """The axis of a probe's run: by ``time``, by ``order`` of what came in, or whichever tells more."""
    times = [step.t for step in probe.stages[0].steps]
    ends = [step.t for log in probe.stages for step in log.steps[-1:]]
    begin, end = (times[0], max(ends)) if times else (0.0, 0.0)
    if kind == "auto":
        kind = "time" if end - begin >= _TIMED_FROM_S else "order"
    if kind == "time":
        length = (end - begin) or 1.0
        step = nice_step(length, 8)
        ticks = [(number * step / length, duration(number * step)) for number in range(int(length / step) + 1)]
        return Axis(lambda t: (t - begin) / length, ticks, "time since the first input")
    return _order(times)


def _order(times: list[float]) -> Axis:
    count = max(1, len(times))

    def place(t: float) -> float:
        return max(0, bisect_right(times, t) - 1) / count

    step = max(1, int(nice_step(count, 10)))
    ticks = [(number / count, str(number)) for number in range(0, count, step)]
    return Axis(place, ticks, "inputs, in order")


def nice_step(length: float, parts: int) -> float:
    """A round distance of ticks.

    >>> nice_step(9.3, 8), nice_step(0.42, 8)
    (2.0, 0.1)
    """
    wanted = length / parts
    power = 10.0 ** (len(f"{int(wanted)}") - 1)
    while power > wanted:
        power /= 10
    return round(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= wanted), 12)
