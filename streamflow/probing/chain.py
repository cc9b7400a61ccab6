"""A chain, as one stage, that writes down what passes between its stages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from streamflow.probing.traces import NOT_REACHED, NOTHING, Made, Step, Traces
from streamflow.stage import Chain, Stage

Clock = Callable[[], float]

# Only every so many items a chain is timed stage by stage; a clock for each step would cost more than the steps.
_TIMED_EVERY = 64


class EndingStage:
    """A stage whose calls at the end of the stream are logged and timed, one by one."""

    def __init__(self, stage: Stage[Any, Any], place: int, traces: Traces, clock: Clock) -> None:
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
            self._traces.ends.append((self._place, Step(begin, self._clock() - begin, item, outputs)))
        return outputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)


class _Ending(Chain):
    """The same stages for the end of the stream, which may come by a fault at any of them."""

    def fail(self, position: int, error: Exception, ready: list[Any]) -> list[Any]:
        return self._fail(position, error, ready)


class ProbedChain:
    """A chain, as one stage, that writes a row of its traces for each input."""

    __slots__ = ("_clock", "_count", "_ending", "_keeper", "_log", "_taps", "_traces")

    def __init__(self, stages: Sequence[Stage[Any, Any]], traces: Traces, clock: Clock) -> None:
        self._ending = _Ending([EndingStage(stage, place, traces, clock) for place, stage in enumerate(stages)])
        self._taps = [stage.feed for stage in stages]
        self._traces = traces
        self._log = traces.rows.append
        self._clock = clock
        self._count = 0
        self._keeper = next((stage for stage in reversed(stages) if hasattr(stage, "partial")), None)

    def feed(self, item: Any) -> Any:
        log = self._log
        begin = self._clock()
        log(begin)
        log(item)
        if not self._count:
            self._count = _TIMED_EVERY
            times = self._traces.times[self._traces.count] = [begin]
            return self._each(0, (item,), times)
        self._count -= 1
        position = 0
        out: list[Any] = []
        try:
            for feed in self._taps:
                out = []
                batch = feed(item)
                if batch.__class__ is not list:
                    out += batch  # adding keeps what a generator yielded before it raised
                    batch = out
                position += 1
                if len(batch) != 1:
                    break
                item = batch[0]
                log(item)
            else:
                return batch
        except Exception as error:
            return self._fault(position, error, (tuple(out),), out)
        if not batch:
            log(NOTHING)
            self._leave_out(position)
            return batch
        log(Made((tuple(batch),)))
        return self._each(position, batch)

    def _each(self, position: int, batch: Any, times: list[float] | None = None) -> Any:
        """The stages from a place on, with any number of items between them."""
        taps = self._taps
        each: list[tuple[Any, ...]] = []
        out: list[Any] = []
        given: list[Any] = []
        try:
            while batch and position < len(taps):
                feed = taps[position]
                each, out, given = [], [], []
                for entry in batch:
                    given = []
                    given += feed(entry)
                    each.append(tuple(given))
                    out += given
                self._log(Made(tuple(each)))
                if times is not None:
                    times.append(self._clock())
                position += 1
                batch = out
        except Exception as error:
            return self._fault(position, error, (*each, tuple(given)), out + given)
        self._leave_out(position)
        return batch if batch.__class__ is list else list(batch)

    def _fault(self, position: int, error: Exception, each: tuple[tuple[Any, ...], ...], ready: list[Any]) -> Any:
        self._log(Made(each))
        self._leave_out(position + 1)
        return self._or_fault(self._ending.fail(position, error, ready))

    def _leave_out(self, position: int) -> None:
        """These stages got nothing of this input."""
        self._traces.rows.extend([NOT_REACHED] * (len(self._taps) - position))

    def flush(self) -> Iterable[Any]:
        return self._or_fault(self._ending.finish())

    def abort(self, error: BaseException) -> list[Any]:
        # A fault inside the chain has made it release everything already.
        return [] if error is self._ending.error else self._ending.abort(error)

    def _or_fault(self, ready: list[Any]) -> Iterable[Any]:
        return ready if self._ending.error is None else _then(ready, self._ending.error)

    def partial(self, error: BaseException | None = None) -> Any:
        return None if self._keeper is None else self._keeper.partial(error)

    @property
    def emitted(self) -> bool:
        return bool(getattr(self._keeper, "emitted", False))


def _then(ready: list[Any], error: BaseException) -> Iterator[Any]:
    yield from ready
    raise error
