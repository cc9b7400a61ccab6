"""What a probe knows of one stage."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from streamflow.events import Chunk, Frame, Stamped


class Step(NamedTuple):
    """One call of a stage: when it was, how long it took where that was measured, what went in and came out.

    ``item`` is None for the call at the end of the stream.
    """

    t: float
    seconds: float | None
    item: Any
    outputs: list[Any]


class Gap(NamedTuple):
    """A pause between two inputs."""

    t: float
    seconds: float


class StageLog:
    """The records of one stage of a probe."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._traces: list[tuple[Any, ...]] = []
        self._place = 0
        self._steps: list[Step] = []
        self._read = 0

    def watch(self, traces: list[tuple[Any, ...]], place: int) -> None:
        """Read the steps of the stage at this place out of the traces of its chain."""
        self._traces, self._place = traces, place

    @property
    def steps(self) -> list[Step]:
        """All calls, in order."""
        # Traces are unfolded when somebody looks, never while the stream runs.
        while self._read < len(self._traces):
            self._steps += _steps_of(self._traces[self._read], self._place)
            self._read += 1
        return self._steps

    @property
    def items_in(self) -> int:
        """How many items it took."""
        return sum(step.item is not None for step in self.steps)

    @property
    def items_out(self) -> int:
        """How many items it gave."""
        return sum(len(step.outputs) for step in self.steps)

    @property
    def seconds(self) -> float:
        """Time spent inside it, estimated from the steps that were timed."""
        steps = self.steps
        timed = [step.seconds for step in steps if step.seconds is not None]
        return sum(timed) * len(steps) / len(timed) if timed else 0.0

    def inputs(self) -> Iterator[tuple[float, Any]]:
        """What went in, and when."""
        return ((step.t, step.item) for step in self.steps if step.item is not None)

    def outputs(self) -> Iterator[tuple[float, Any]]:
        """What came out, and when."""
        return ((step.t, item) for step in self.steps for item in step.outputs)

    def held(self) -> list[tuple[float, int]]:
        """After each step, how many characters of the raw text had gone in that came out later only."""
        steps = self.steps
        ends = accumulate((span[1] if (span := span_of(step.item)) else 0 for step in steps), max)
        following: int | None = None  # where the text begins that comes out after this step
        out = []
        for step, taken in reversed(list(zip(steps, ends, strict=True))):
            out.append((step.t, 0 if following is None else max(0, taken - following)))
            starts = [span[0] for item in step.outputs if (span := span_of(item)) is not None]
            following = min([*starts, following]) if following is not None else min(starts, default=None)
        return out[::-1]

    @property
    def most_held(self) -> int:
        """The most characters that were held at once."""
        return max((count for _, count in self.held()), default=0)

    def gaps(self, at_least_s: float) -> list[Gap]:
        """Pauses between inputs of at least so many seconds."""
        times = [t for t, _ in self.inputs()]
        return [
            Gap(before, after - before)
            for before, after in pairwise(times)
            if after - before >= at_least_s
        ]


def span_of(item: Any) -> tuple[int, int] | None:
    """The span of an item in the raw text of the model, where it has one.

    >>> span_of(Chunk(0, "text", "abc", start=4)), span_of("plain")
    ((4, 7), None)
    """
    if isinstance(item, Stamped):
        item = item.event
    if item.__class__ is Chunk:
        return (item.start, item.start + len(item.text)) if item.start >= 0 else None
    sentence = getattr(item, "sentence", item)
    start, end = getattr(sentence, "start", None), getattr(sentence, "end", None)
    if isinstance(item, Frame) or not isinstance(start, int) or not isinstance(end, int) or start < 0:
        return None
    return start, end


def _steps_of(trace: tuple[Any, ...], place: int) -> Iterator[Step]:
    if trace[0].__class__ is tuple:
        timed_place, step = trace[0]
        if timed_place == place:
            yield step
        return
    if len(trace) <= place + 2:
        return
    inputs = [trace[1]] if place == 0 else [item for made in _each(trace[place + 1]) for item in made]
    for item, made in zip(inputs, _each(trace[place + 2]), strict=False):
        yield Step(trace[0], None, item, list(made))


def _each(outputs: Any) -> Sequence[Sequence[Any]]:
    """What a stage made of each of its inputs."""
    if outputs.__class__ is list:
        return outputs
    return [outputs] if outputs.__class__ is tuple else [(outputs,)]
