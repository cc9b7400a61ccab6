"""What a probe knows of one stage."""

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from streamflow.events import Chunk, Frame, Stamped
from streamflow.probing.traces import Step, Traces


class Gap(NamedTuple):
    """A pause between two inputs."""

    t: float
    seconds: float


class StageLog:
    """The records of one stage of a probe."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._traces = Traces(1)
        self._place = 0
        self._steps: list[Step] = []
        self._rows_read = 0
        self._ends_read = 0

    def watch(self, traces: Traces, place: int) -> None:
        """Read the steps of the stage at this place out of the traces of its chain."""
        self._traces, self._place = traces, place

    @property
    def steps(self) -> list[Step]:
        """All calls, in order."""
        # Traces are unfolded when somebody looks, never while the stream runs.
        traces = self._traces
        self._steps += traces.steps(self._place, self._rows_read)
        self._rows_read = traces.count
        ends = traces.ends[self._ends_read :]
        self._ends_read += len(ends)
        self._steps += [step for place, step in ends if place == self._place]
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
        return [Gap(before, after - before) for before, after in pairwise(times) if after - before >= at_least_s]


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
