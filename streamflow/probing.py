"""Look inside a chain without changing it: what each stage took, gave, held, and how long it was at it.

A probe keeps one record for each step of each stage. From these it answers which frames and which bytes made an
output, and what came of a range of bytes. Without a probe nothing of this costs anything.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from reactivex import Observable

from streamflow.errors import UsageError
from streamflow.events import Chunk, Frame, Sentence, Stamped
from streamflow.stage import Chain, Lifted, Operator, Stage

Clock = Callable[[], float]


# Only every so many items a chain is timed stage by stage; a clock for each step would cost more than the steps.
_TIMED_EVERY = 64


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


class _TimedStage:
    """A stage that logs and times each call."""

    def __init__(self, stage: Stage[Any, Any], place: int, traces: list[tuple[Any, ...]], clock: Clock) -> None:
        self._stage = stage
        self._place = place
        self._traces = traces
        self._clock = clock

    def feed(self, item: Any) -> list[Any]:
        return self._call(lambda: self._stage.feed(item), item)

    def flush(self) -> list[Any]:
        return self._call(self._stage.flush, None)

    def abort(self, error: BaseException) -> list[Any]:
        return self._call(lambda: self._stage.abort(error), None)

    def _call(self, give: Callable[[], Iterable[Any]], item: Any) -> list[Any]:
        begin = self._clock()
        outputs: list[Any] = []
        try:
            outputs += give()
        finally:
            self._traces.append(((self._place, Step(begin, self._clock() - begin, item, outputs)),))
        return outputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)


class _ProbedChain(Chain):
    """A chain, as one stage, that writes down what passes between its stages.

    A trace is ``(t, item, outputs of stage 0, outputs of stage 1, ...)``. Outputs are the item itself where a stage
    made one, a tuple where it made none or several, and a list of tuples where it took several items: the collector
    of garbage forgets tuples of events, and would otherwise take most of a probe's time. Stages that were timed on
    their own leave ``((place, step),)``.
    """

    __slots__ = ("_clock", "_count", "_keeper", "_taps", "_traces")

    def __init__(self, stages: Sequence[Stage[Any, Any]], traces: list[tuple[Any, ...]], clock: Clock) -> None:
        super().__init__([_TimedStage(stage, place, traces, clock) for place, stage in enumerate(stages)])
        self._taps = [stage.feed for stage in stages]
        self._traces = traces
        self._clock = clock
        self._count = 0
        self._keeper = next((stage for stage in reversed(stages) if hasattr(stage, "partial")), None)

    def feed(self, item: Any) -> Any:
        if not self._count:
            self._count = _TIMED_EVERY
            return self._or_fault(super().feed(item))
        self._count -= 1
        trace = [self._clock(), item]
        batch: Any = (item,)
        position = -1
        out: list[Any] = []
        try:
            for feed in self._taps:
                position += 1
                out = []
                if len(batch) == 1:
                    batch = feed(batch[0])
                    if batch.__class__ is not list:
                        out += batch
                        batch = out
                    made = batch[0] if len(batch) == 1 else None
                    trace.append(tuple(batch) if made is None or made.__class__ in _CONTAINERS else made)
                else:
                    each = []
                    for entry in batch:
                        out += (made := tuple(feed(entry)))
                        each.append(made)
                    trace.append(each)
                    batch = out
                if not batch:
                    return []
        except Exception as error:
            trace.append(tuple(out))
            return self._or_fault(self._fail(position, error, out))
        finally:
            self._traces.append(tuple(trace))
        return batch

    def flush(self) -> Iterable[Any]:
        return self._or_fault(self.finish())

    def abort(self, error: BaseException) -> list[Any]:
        # A fault inside the chain has made it release everything already.
        return [] if error is self.error else super().abort(error)

    def _or_fault(self, ready: list[Any]) -> Iterable[Any]:
        return ready if self.error is None else _then(ready, self.error)

    def partial(self, error: BaseException | None = None) -> Any:
        return None if self._keeper is None else self._keeper.partial(error)

    @property
    def emitted(self) -> bool:
        return bool(getattr(self._keeper, "emitted", False))


_CONTAINERS = (tuple, list)


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


def _then(ready: list[Any], error: BaseException) -> Iterator[Any]:
    yield from ready
    raise error


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


class Probe:
    """A chain with a log for each stage; made by `probe`. Itself an operator, and an Observable where it got one.

    Each subscription begins new logs, so that they always tell of the latest one.
    """

    def __init__(self, operators: Sequence[Operator[Any, Any]], source: Observable[Any] | None, clock: Clock) -> None:
        self._operators = operators
        self._clock = clock
        self.stages = [StageLog(operator.name) for operator in operators]
        name = " | ".join(operator.name for operator in operators)
        self.operators: tuple[Operator[Any, Any], ...] = (Operator(self._make, name),)
        self._observable = None if source is None else source.pipe(*self.operators)

    def _make(self) -> Stage[Any, Any]:
        stages = [operator.make_stage() for operator in self._operators]
        traces: list[tuple[Any, ...]] = []
        self.stages = [StageLog(operator.name) for operator in self._operators]
        for place, log in enumerate(self.stages):
            log.watch(traces, place)
        return _ProbedChain(stages, traces, self._clock)

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
        place = self._place_of(item)
        wanted = [item]
        stages: list[tuple[str, list[Any]]] = []
        frames: list[Frame] = []
        for log in reversed(self.stages[: place + 1]):
            causes = _causes(log, wanted)
            if causes and isinstance(causes[0], Frame):
                frames = [cause for cause in causes if isinstance(cause, Frame)]
            stages.append((log.name, wanted))
            wanted = causes
        start, end, data = self._bytes_of(frames, wanted)
        return Explanation(item, stages, frames, start, end, data)

    def made_from(self, start: int, end: int) -> list[Any]:
        """The outputs of the last stage that bytes from ``start`` to ``end`` helped to make."""
        last = self.stages[-1]
        found = []
        for _, item in last.outputs():
            explanation = self.explain(item)
            if explanation.start < end and start < explanation.end:
                found.append(item)
        return found

    def _place_of(self, item: Any) -> int:
        for place in reversed(range(len(self.stages))):
            if any(other is item for _, other in self.stages[place].outputs()):
                return place
        for place in reversed(range(len(self.stages))):
            if any(other == item for _, other in self.stages[place].outputs()):
                return place
        raise UsageError("no stage of this probe gave this item; explain() takes an output of the probed chain")

    def _bytes_of(self, frames: list[Frame], wanted: list[Any]) -> tuple[int, int, bytes]:
        pieces = [item for _, item in self.stages[0].inputs() if isinstance(item, bytes | bytearray)]
        data = b"".join(pieces)
        if frames:
            start, end = min(frame.start for frame in frames), max(frame.end for frame in frames)
            return start, end, data[start:end]
        offsets = {}
        at = 0
        for piece in pieces:
            offsets[id(piece)] = (at, at + len(piece))
            at += len(piece)
        spans = [offsets[id(item)] for item in wanted if id(item) in offsets]
        if not spans:
            return 0, 0, b""
        start, end = min(span[0] for span in spans), max(span[1] for span in spans)
        return start, end, data[start:end]

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


def _causes(log: StageLog, wanted: list[Any]) -> list[Any]:
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


def probe(*pipeline: Any, clock: Clock = time.perf_counter) -> Probe:
    """Watch a chain: operators, or an Observable that was piped through some.

    >>> import streamflow as sf
    >>> from streamflow.operators import sse_decode, normalize_provider
    >>> wire = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\\n\\ndata: [DONE]\\n\\n'
    >>> seen = probe(sse_decode(), normalize_provider("openai"))
    >>> events = sf.run([wire[:20], wire[20:]], *seen.operators)
    >>> [(row["stage"], row["in"], row["out"]) for row in seen.table()]
    [('sse_decode', 2, 2), ('normalize_provider', 2, 5)]
    >>> chunk = next(event for event in events if isinstance(event, Chunk))
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
