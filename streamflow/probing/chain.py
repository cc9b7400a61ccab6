"""A chain, as one stage, that writes down what passes between its stages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from streamflow.probing.logs import Step
from streamflow.stage import Chain, Stage

Clock = Callable[[], float]

# Only every so many items a chain is timed stage by stage; a clock for each step would cost more than the steps.
_TIMED_EVERY = 64
_CONTAINERS = (tuple, list)


class TimedStage:
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


class ProbedChain(Chain):
    """A chain, as one stage, that writes down what passes between its stages.

    A trace is ``(t, item, outputs of stage 0, outputs of stage 1, ...)``. Outputs are the item itself where a stage
    made one, a tuple where it made none or several, and a list of tuples where it took several items: the collector
    of garbage forgets tuples of events, and would otherwise take most of a probe's time. Stages that were timed on
    their own leave ``((place, step),)``.
    """

    __slots__ = ("_clock", "_count", "_keeper", "_taps", "_traces")

    def __init__(self, stages: Sequence[Stage[Any, Any]], traces: list[tuple[Any, ...]], clock: Clock) -> None:
        super().__init__([TimedStage(stage, place, traces, clock) for place, stage in enumerate(stages)])
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


def _then(ready: list[Any], error: BaseException) -> Iterator[Any]:
    yield from ready
    raise error
