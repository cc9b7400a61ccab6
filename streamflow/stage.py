"""Stages, and `lift`: the only bridge from pure cores to Rx.

A stage is a plain object with three methods. ``feed(item)`` returns or yields what is ready, ``flush()`` is called
when the source completes, ``abort(error)`` when it fails or when the stage itself raised: it releases what may
still be shown and closes what is open. Whatever a generator yielded before it raised is delivered.

Adjacent lifted operators in one ``pipe()`` are recognised and run as one loop (`Chain`), so composing costs little.

Two kinds of fault are kept apart. A stage that raises ends the stream with ``on_error``, after everything that was
ready. A subscriber that raises is never taken for a fault of the stream: stages are not told, nothing more is
delivered to it, and its own exception goes back to whoever was emitting (a synchronous source hands it to that
subscriber's ``on_error``, as reactivex does).
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from streamflow.errors import StreamflowError, UsageError

A = TypeVar("A")
B = TypeVar("B")
In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)


class Stage(Protocol[In, Out]):
    """The contract of a pure core."""

    def feed(self, item: In, /) -> Iterable[Out]:
        """Take one item, give what is ready."""
        ...

    def flush(self) -> Iterable[Out]:
        """The source completed: give the rest."""
        ...

    def abort(self, error: BaseException, /) -> Iterable[Out]:
        """The source or this stage failed: release what may be shown, close what is open."""
        ...


# Items that came together, and the list that takes what is ready of them.
FeedAll = Callable[[Sequence[Any], list[Any]], None]


def feed_all_of(stage: Stage[Any, Any]) -> FeedAll | None:
    """The stage's own ``feed_all(items, out)``, if its class has one.

    One read often completes many frames, and for a stage of few instructions the calls cost more than the work. Such a
    stage may take items that came together in one call: it adds to ``out`` exactly what ``feed`` would return for one
    after the other, so that nothing is lost when one of them raises.
    """
    # Asked of the class: a stage that stands for another one and lets its attributes through has no such method.
    made: FeedAll | None = getattr(type(stage), "feed_all", None)
    return None if made is None else made.__get__(stage)


class Chain:
    """Several stages as one, without Rx. After a fault `error` is set and nothing more is taken in.

    >>> class Double:
    ...     def feed(self, item): return [item, item]
    ...     def flush(self): return ["end"]
    ...     def abort(self, error): return []
    >>> chain = Chain([Double(), Double()])
    >>> chain.feed("a"), chain.finish()
    (['a', 'a', 'a', 'a'], ['end', 'end', 'end'])
    """

    __slots__ = ("_feeds", "_stages", "error")

    def __init__(self, stages: Sequence[Stage[Any, Any]]) -> None:
        _check_order(stages)
        self._stages = stages
        self._feeds = [(stage.feed, feed_all_of(stage)) for stage in stages]
        self.error: BaseException | None = None

    def feed(self, item: Any) -> list[Any]:
        """Push one item through; what comes out at the end."""
        return self.feed_all((item,))

    def feed_all(self, items: Sequence[Any]) -> list[Any]:
        """Push items that came together through, one stage after the other; what comes out at the end."""
        batch: Any = items
        position = 0
        out: list[Any] = []
        try:
            for feed, feed_all in self._feeds:
                out = []
                if feed_all is not None:
                    feed_all(batch, out)
                    batch = out
                elif len(batch) == 1:
                    batch = feed(batch[0])
                    if batch.__class__ is not list:
                        out += batch  # adding keeps what a generator yielded before it raised
                        batch = out
                else:
                    for entry in batch:
                        out += feed(entry)
                    batch = out
                if not batch:
                    return []
                position += 1
        except Exception as error:
            return self._fail(position, error, out)
        return batch  # type: ignore[no-any-return]

    def finish(self) -> list[Any]:
        """The source completed: flush every stage in order."""
        batch: list[Any] = []
        for position, stage in enumerate(self._stages):
            out: list[Any] = []
            try:
                for entry in batch:
                    out += stage.feed(entry)
                out += stage.flush()
            except Exception as error:
                return self._fail(position, error, out)
            batch = out
        return batch

    def abort(self, error: BaseException) -> list[Any]:
        """The source failed: let every stage release what may be shown."""
        return self._fail(-1, error, [])

    def _fail(self, position: int, error: BaseException, ready: list[Any]) -> list[Any]:
        """End with the fault of a stage; ``ready`` is what this stage gave before it."""
        released = list(self._stages[position].abort(error)) if position >= 0 else []
        for stage in self._stages[position + 1 :]:
            out: list[Any] = []
            let_go: list[Any] = []
            try:
                for entry in ready:
                    out += stage.feed(entry)
            except Exception as earlier:
                # It fails on what came before the fault: in smaller pieces nobody would have got as far as that.
                error, released = earlier, []
            try:
                for entry in released:
                    let_go += stage.feed(entry)
            except Exception as second:
                error.add_note(f"while passing on what was held: {second!r}")
            let_go += stage.abort(error)
            ready, released = out, let_go
        self.error = error
        self._attach_partial(error)
        return ready + released

    def _attach_partial(self, error: BaseException) -> None:
        # The last stage that keeps blocks has the view of the stream that the subscriber saw.
        if not isinstance(error, StreamflowError):
            return
        for stage in reversed(self._stages):
            partial = getattr(stage, "partial", None)
            if partial is not None:
                error.partial = partial(error)
                error.emitted = stage.emitted
                return


_MISSING = {
    ("frames", "events"): "normalize_provider(...) is missing between them",
    ("frames", "bytes"): "bytes are decoded once",
}


def _check_order(stages: Sequence[Stage[Any, Any]]) -> None:
    """Neighbours that say what they take and give must fit; otherwise items would just pass by."""
    for first, second in pairwise(stages):
        given, wanted = getattr(first, "gives", ""), getattr(second, "takes", "")
        if given and wanted and given != wanted:
            names = type(second).__name__, type(first).__name__
            raise UsageError(
                f"wrong order of operators: {names[0]} takes {wanted}, but {names[1]} before it gives {given}; "
                + _MISSING.get((given, wanted), "the order is wire_decode(...), normalize_provider(...), the others")
            )


def refuse_plain_loop(stream: Any) -> NoReturn:
    """For ``__iter__``: an Observable can be indexed, so a plain ``for`` over it would never end."""
    raise UsageError(
        f"a {type(stream).__name__} cannot be read by a plain for: write `async for item in ...` (or sf.aiter(...)) "
        "inside an async function, or subscribe to it"
    )


class Lifted(Observable[B]):
    """An Observable that runs a chain of stages over its source; made by `lift`."""

    __iter__ = refuse_plain_loop

    def __init__(self, source: Observable[Any], operators: "tuple[Operator[Any, Any], ...]") -> None:
        super().__init__()
        self.source = source
        self.operators = operators

    def _subscribe_core(
        self, observer: abc.ObserverBase[B], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        run = Run(Chain([operator.make_stage() for operator in self.operators]), observer)
        run.subscription = self.source.subscribe(
            run.on_next, run.on_error, run.on_completed, scheduler=scheduler
        )
        if run.stopped:
            run.subscription.dispose()
        return Disposable(run.dispose)


class Run(Generic[B]):
    """One subscription: its own stages, one observer. Whoever makes it sets ``subscription``."""

    __slots__ = ("_emit", "chain", "observer", "stopped", "subscriber_fault", "subscription")

    def __init__(self, chain: Chain, observer: abc.ObserverBase[B]) -> None:
        self.chain = chain
        self.observer = observer
        # An observer with `on_batch` never raises, and takes what came together at once.
        self._emit: Callable[[list[B]], None] = getattr(observer, "on_batch", None) or self._emit_each
        self.stopped = False
        self.subscriber_fault: BaseException | None = None
        self.subscription: abc.DisposableBase | None = None

    def on_next(self, item: Any) -> None:
        """The source gave an item."""
        self.on_items((item,))

    def on_items(self, items: Sequence[Any]) -> None:
        """The source gave items together."""
        if self.stopped:
            self.dispose()
            return
        ready = self.chain.feed_all(items)
        if ready:
            self._emit(ready)
        if self.chain.error is not None:
            self._end_with_error(self.chain.error)

    def on_error(self, error: Exception) -> None:
        """The source failed."""
        if error is self.subscriber_fault:
            self.subscriber_fault = None
            self.observer.on_error(error)
        elif not self.stopped:
            if ready := self.chain.abort(error):
                self._emit(ready)
            self._end_with_error(error)

    def on_completed(self) -> None:
        """The source ended."""
        if self.stopped:
            return
        if ready := self.chain.finish():
            self._emit(ready)
        if self.chain.error is not None:
            self._end_with_error(self.chain.error)
        elif not self.stopped:
            self.stopped = True
            self.observer.on_completed()

    def dispose(self) -> None:
        """Leave the source; nothing more is delivered."""
        self.stopped = True
        if self.subscription is not None:
            self.subscription.dispose()

    def _emit_each(self, ready: list[B]) -> None:
        emit = self.observer.on_next
        try:
            for item in ready:
                if self.stopped:
                    return
                emit(item)
        except Exception as fault:
            # Not disposed yet: a synchronous source still has to hand this back through `on_error`.
            self.subscriber_fault = fault
            self.stopped = True
            raise

    def _end_with_error(self, error: BaseException) -> None:
        if self.stopped:
            return
        self.dispose()
        self.observer.on_error(error)  # type: ignore[arg-type]


def fused(operators: Sequence[Any]) -> "Callable[[], Chain] | None":
    """A maker of one chain for operators that are all lifted; None when one of them needs Rx.

    >>> class Echo:
    ...     def feed(self, item): return [item]
    ...     def flush(self): return []
    ...     def abort(self, error): return []
    >>> fused([lift(Echo), lift(Echo)])().feed(1), fused([len])
    ([1], None)
    """
    # Exactly this class: a timed operator needs the scheduler of a subscription.
    if not all(type(operator) is Operator for operator in operators):
        return None
    return lambda: Chain([operator.make_stage() for operator in operators])


class Operator(Generic[A, B]):
    """A reactivex operator made of a pure stage: ``source.pipe(operator)``.

    `make_stage` gives a fresh stage, so the same operator also serves without Rx (`streamflow.run`, `Feeder`).
    """

    __slots__ = ("make_stage", "name")

    def __init__(self, make_stage: Callable[[], Stage[A, B]], name: str) -> None:
        self.make_stage = make_stage
        self.name = name

    def __call__(self, source: Observable[A]) -> Observable[B]:
        if isinstance(source, Lifted):
            return Lifted(source.source, (*source.operators, self))
        if not isinstance(source, Observable):
            raise UsageError(
                f"{self.name}() works on an Observable, not on {type(source).__name__}: "
                f"use source.pipe({self.name}()), or sf.run(items, {self.name}()) for a plain iterable"
            )
        return Lifted(source, (self,))

    def __repr__(self) -> str:
        return f"{self.name}()"


def lift(make_stage: Callable[[], Stage[A, B]], name: str = "operator") -> Operator[A, B]:
    """Make an operator from a function that makes a stage. Each subscription gets a stage of its own.

    >>> import reactivex as rx
    >>> class Upper:
    ...     def feed(self, item): return [item.upper()]
    ...     def flush(self): return []
    ...     def abort(self, error): return []
    >>> rx.of("a", "b").pipe(lift(Upper, "upper")).subscribe(print) and None
    A
    B
    """
    return Operator(make_stage, name)
