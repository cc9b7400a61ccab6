"""Look inside a chain without changing it: what each stage took, gave, held, and how long it was at it.

A probe keeps one record for each step of each stage. From these it answers which frames and which bytes made an
output, and what came of a range of bytes. Without a probe nothing of this costs anything.
"""

import time
from collections.abc import Sequence
from typing import Any

from reactivex import Observable

from streamflow.errors import UsageError
from streamflow.events import Frame
from streamflow.probing.chain import Clock, ProbedChain
from streamflow.probing.explain import Explanation, Origins
from streamflow.probing.logs import Gap, StageLog, span_of
from streamflow.probing.traces import Step, Traces
from streamflow.stage import Lifted, Operator, Stage

__all__ = ["Explanation", "Gap", "Probe", "StageLog", "Step", "probe", "span_of"]


class Probe:
    """A chain with a log for each stage; made by `probe`. Itself an operator, and an Observable where it got one.

    Each subscription begins new logs, so that they always tell of the latest one.
    """

    def __init__(self, operators: Sequence[Operator[Any, Any]], source: Observable[Any] | None, clock: Clock) -> None:
        self.parts = tuple(operators)
        """The operators of the chain, one by one."""
        self._clock = clock
        self.stages = [StageLog(operator.name) for operator in operators]
        name = " | ".join(operator.name for operator in operators)
        self.operators: tuple[Operator[Any, Any], ...] = (Operator(self._make, name),)
        self._origins: dict[int, Origins] = {}
        self._observable = None if source is None else source.pipe(*self.operators)

    def _make(self) -> Stage[Any, Any]:
        stages = [operator.make_stage() for operator in self.parts]
        traces = Traces(len(stages))
        self.stages = [StageLog(operator.name) for operator in self.parts]
        for place, log in enumerate(self.stages):
            log.watch(traces, place)
        return ProbedChain(stages, traces, self._clock)

    def __call__(self, source: Observable[Any]) -> Observable[Any]:
        return source.pipe(*self.operators)

    @property
    def observable(self) -> Observable[Any]:
        """The probed Observable."""
        if self._observable is None:
            raise UsageError("this probe has no source: use source.pipe(probe), or sf.run(items, *probe.operators)")
        return self._observable

    def subscribe(self, *arguments: Any, **options: Any) -> Any:
        """Subscribe to the probed Observable."""
        return self.observable.subscribe(*arguments, **options)

    def __getitem__(self, name: str) -> StageLog:
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise UsageError(f"the chain has no stage {name!r}; its stages: {', '.join(log.name for log in self.stages)}")

    # -- where things came from

    def explain(self, item: Any) -> Explanation:
        """Which items of each stage, which frames and which bytes made this output."""
        stages, frames, wanted = self._way_of(item, self._place_of(item))
        start, end = self._span(frames, wanted)
        return Explanation(item, stages, frames, start, end, b"".join(self._pieces())[start:end])

    def made_from(self, start: int, end: int) -> list[Any]:
        """The outputs of the last stage that bytes from ``start`` to ``end`` helped to make."""
        found = []
        for _, item in self.stages[-1].outputs():
            _, frames, wanted = self._way_of(item, len(self.stages) - 1)
            first, last = self._span(frames, wanted)
            if first < end and start < last:
                found.append(item)
        return found

    def _way_of(self, item: Any, place: int) -> tuple[list[tuple[str, list[Any]]], list[Frame], list[Any]]:
        """What made an output of a stage: at each stage, the frames among it, and what went in first of all."""
        wanted = [item]
        stages: list[tuple[str, list[Any]]] = []
        frames: list[Frame] = []
        for at in reversed(range(place + 1)):
            causes = self._origins_at(at).causes(wanted)
            if causes and isinstance(causes[0], Frame):
                frames = [cause for cause in causes if isinstance(cause, Frame)]
            stages.append((self.stages[at].name, wanted))
            wanted = causes
        return stages, frames, wanted

    def _place_of(self, item: Any) -> int:
        places = reversed(range(len(self.stages)))
        found = next((place for place in places if self._origins_at(place).gave(item)), None)
        if found is not None:
            return found
        for place in reversed(range(len(self.stages))):
            if any(other == item for _, other in self.stages[place].outputs()):
                return place
        raise UsageError("no stage of this probe gave this item; explain() takes an output of the probed chain")

    def _origins_at(self, place: int) -> Origins:
        log = self.stages[place]
        known = self._origins.get(place)
        if known is None or known.log is not log or known.steps != len(log.steps):
            known = self._origins[place] = Origins(log)
        return known

    def _pieces(self) -> list[bytes | bytearray]:
        return [item for _, item in self.stages[0].inputs() if isinstance(item, bytes | bytearray)]

    def _span(self, frames: list[Frame], wanted: list[Any]) -> tuple[int, int]:
        if frames:
            return min(frame.start for frame in frames), max(frame.end for frame in frames)
        offsets = {}
        at = 0
        for piece in self._pieces():
            offsets[id(piece)] = (at, at + len(piece))
            at += len(piece)
        spans = [offsets[id(item)] for item in wanted if id(item) in offsets]
        return (min(span[0] for span in spans), max(span[1] for span in spans)) if spans else (0, 0)

    # -- to read

    def table(self) -> list[dict[str, Any]]:
        """One row of figures for each stage."""
        return [
            {
                "stage": log.name,
                "in": log.items_in,
                "out": log.items_out,
                "seconds": log.seconds,
                "us_per_item": 1e6 * log.seconds / max(1, log.items_in),
                "most_held": log.most_held,
            }
            for log in self.stages
        ]

    def __str__(self) -> str:
        lines = [f"{'stage':<22}{'in':>8}{'out':>8}{'us/item':>10}{'held':>7}"]
        lines += [
            f"{row['stage']:<22}{row['in']:>8}{row['out']:>8}{row['us_per_item']:>10.2f}{row['most_held']:>7}"
            for row in self.table()
        ]
        return "\n".join(lines)


def probe(*pipeline: Any, clock: Clock = time.perf_counter) -> Probe:
    """Watch a chain: operators, or an Observable that was piped through some.

    >>> import streamflow as sf
    >>> from streamflow.operators import sse_decode, normalize_provider
    >>> wire = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\\n\\ndata: [DONE]\\n\\n'
    >>> seen = probe(sse_decode(), normalize_provider("openai"))
    >>> events = sf.run([wire[:20], wire[20:]], *seen.operators)
    >>> [(row["stage"], row["in"], row["out"]) for row in seen.table()]
    [('sse_decode', 2, 2), ('normalize_provider', 2, 5)]
    >>> chunk = next(event for event in events if isinstance(event, sf.events.Chunk))
    >>> seen.explain(chunk).data[:6]
    b'data: '
    """
    source: Observable[Any] | None = None
    operators: Sequence[Any] = pipeline
    if len(pipeline) == 1 and isinstance(pipeline[0], Lifted):
        source, operators = pipeline[0].source, pipeline[0].operators
    elif len(pipeline) == 1 and isinstance(pipeline[0], list | tuple):
        operators = pipeline[0]
    if not operators or not all(isinstance(operator, Operator) for operator in operators):
        raise UsageError(
            "probe() takes operators of streamflow, or an Observable that was piped through them: "
            "sf.probe(sse_decode(), normalize_provider('openai')) or sf.probe(source.pipe(...))"
        )
    return Probe(operators, source, clock)
