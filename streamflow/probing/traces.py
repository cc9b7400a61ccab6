"""What passed between the stages of one chain, written down so cheaply that it can be left on.

One flat list holds a row for each input: when it came, the input, what each stage made of it. Mostly a stage makes one
item, and then that item is the entry: nothing is built, and the collector of garbage has nothing more to look at.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec


class Step(NamedTuple):
    """One call of a stage: when it was, how long it took where that was measured, what went in and came out.

    ``item`` is None for the call at the end of the stream.
    """

    t: float
    seconds: float | None
    item: Any
    outputs: list[Any]


class Made(msgspec.Struct, frozen=True, gc=False):
    """What a stage made of each of its inputs, where it was not one item of one."""

    each: tuple[tuple[Any, ...], ...]


NOTHING = Made(((),))
NOT_REACHED = Made(())


class Traces:
    """The rows of a chain with so many stages.

    >>> traces = Traces(2)
    >>> traces.rows += [0.5, "input", "made of it", NOTHING]
    >>> [step.outputs for place in (0, 1) for step in traces.steps(place, 0)]
    [['made of it'], []]
    """

    __slots__ = ("ends", "rows", "times", "width")

    def __init__(self, stages: int) -> None:
        self.width = 2 + stages
        self.rows: list[Any] = []
        self.times: dict[int, list[float]] = {}
        """Of rows that were timed stage by stage: when the first began and when each was over."""
        self.ends: list[tuple[int, Step]] = []
        """Calls at the end of the stream, with the place of their stage; no row comes after them."""

    @property
    def count(self) -> int:
        """How many rows are complete."""
        return len(self.rows) // self.width

    def steps(self, place: int, first: int) -> Iterator[Step]:
        """The calls of the stage at this place, from a row on; without those at the end."""
        rows, width = self.rows, self.width
        for number in range(first, self.count):
            at = number * width
            made = rows[at + 2 + place]
            if made is NOT_REACHED:
                continue
            inputs = (rows[at + 1],) if place == 0 else _items(rows[at + 1 + place])
            outputs = made.each if made.__class__ is Made else ((made,),)
            t, seconds = rows[at], None
            times = self.times.get(number, ())
            if len(times) > place + 1:
                t, seconds = times[place], (times[place + 1] - times[place]) / len(outputs)
            for item, given in zip(inputs, outputs, strict=False):
                yield Step(t, seconds, item, list(given))


def _items(made: Any) -> tuple[Any, ...]:
    return tuple(item for given in made.each for item in given) if made.__class__ is Made else (made,)
