"""A branch: a named view of a flow with its own operators, speed and faults."""

from typing import TYPE_CHECKING, Any, cast

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SingleAssignmentDisposable
from reactivex.internal import default_error, noop
from reactivex.scheduler import CurrentThreadScheduler

from streamflow.events import Stamped
from streamflow.flow.feed import Operators
from streamflow.flow.policies import Policy
from streamflow.flow.reader import BranchReader
from streamflow.stage import Run, fused, refuse_plain_loop

if TYPE_CHECKING:
    from streamflow.flow.flow import Flow

trampoline = CurrentThreadScheduler.singleton()


class Hooks:
    """A subscriber's own functions, with nothing between them and the flow."""

    __slots__ = ("on_completed", "on_error", "on_next")

    def __init__(self, on_next: Any, on_error: Any, on_completed: Any) -> None:
        if callable(getattr(on_next, "on_next", None)):
            on_next, on_error, on_completed = on_next.on_next, on_next.on_error, on_next.on_completed
        self.on_next = on_next or noop
        self.on_error = on_error or default_error
        self.on_completed = on_completed or noop


class Events(Observable[Any]):
    """The events of a flow, for one subscription after another, each from its own place on."""

    __iter__ = refuse_plain_loop

    def __init__(self, flow: "Flow", operators: Operators = (), after: int = -1) -> None:
        super().__init__()
        self._flow = flow
        self._operators = operators
        self._after = after

    def subscribe(
        self,
        on_next: Any = None,
        on_error: Any = None,
        on_completed: Any = None,
        *,
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        """Subscribe an observer or its functions.

        A flow keeps to the rules of Rx by itself (nothing after an end, a fault or a farewell), so its subscribers are
        spared the guard that reactivex puts before each of them, and its cost for every event.
        """
        observer = cast("abc.ObserverBase[Any]", Hooks(on_next, on_error, on_completed))
        subscription = SingleAssignmentDisposable()

        def join(*_: object) -> None:
            try:
                subscription.disposable = self._subscribe_core(observer, scheduler)
            except Exception as fault:
                observer.on_error(fault)

        # As in reactivex: what a synchronous source schedules runs after this subscription stands.
        if trampoline.schedule_required():
            trampoline.schedule(join)
        else:
            join()
        return subscription

    def _subscribe_core(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        if not self._operators:
            return self._flow.attach(observer.on_next, observer.on_error, observer.on_completed, self._after)
        make_chain = fused(self._operators)
        if make_chain is not None and self._after < 0:
            run: Run[Any] = Run(make_chain(), observer)
            run.subscription = self._flow.attach(
                run.on_next, run.on_error, run.on_completed, on_items=run.on_items
            )
            if run.stopped:
                run.subscription.dispose()
            return Disposable(run.dispose)
        return _Piped(self._flow, self._operators, self._after, observer, scheduler).attach()


class _Piped:
    """One subscription through operators. They read the journal from its start, so that their state is right; what
    came out of events that the subscriber has seen before is not delivered again."""

    def __init__(
        self, flow: "Flow", operators: Operators, after: int, observer: abc.ObserverBase[Any], scheduler: Any
    ) -> None:
        self._flow = flow
        self._after = after
        self._observer = observer
        self._seen_before = after >= 0
        source: Observable[Any] = Observable(self._subscribe)
        self._piped = source.pipe(*operators)
        self._scheduler = scheduler

    def attach(self) -> abc.DisposableBase:
        deliver = self._observer.on_next if self._after < 0 else self._deliver
        return self._piped.subscribe(
            deliver, self._observer.on_error, self._observer.on_completed, scheduler=self._scheduler
        )

    def _subscribe(self, observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        if self._after < 0:
            return self._flow.attach(observer.on_next, observer.on_error, observer.on_completed)

        def feed(stamped: Stamped) -> None:
            self._seen_before = stamped.seq <= self._after
            observer.on_next(stamped.event)

        return self._flow.attach(feed, observer.on_error, observer.on_completed, stamped=True)

    def _deliver(self, item: Any) -> None:
        if not self._seen_before:
            self._observer.on_next(item)


class Branch(Observable[Any]):
    """Made by `Flow.branch`. An Observable, and an async iterable that keeps to its policy.

    Each subscription has its own operators and its own place; nobody hears of another one's faults.
    """

    __iter__ = refuse_plain_loop

    def __init__(self, flow: "Flow", name: str, operators: Operators, policy: Policy, after: int) -> None:
        super().__init__()
        self.flow = flow
        self.name = name
        self.operators = tuple(operators)
        self.policy = policy
        self._after = after

    def subscribe(
        self,
        on_next: Any = None,
        on_error: Any = None,
        on_completed: Any = None,
        *,
        after: int | None = None,
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        """Subscribe; with ``after`` only what follows from later events of the journal."""
        place = self._after if after is None else after
        self.flow.check_position(place)
        events = Events(self.flow, self.operators, place)
        return events.subscribe(on_next, on_error, on_completed, scheduler=scheduler)

    def _subscribe_core(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return Events(self.flow, self.operators, self._after).subscribe(observer, scheduler=scheduler)

    def read(self, *, after: int | None = None, policy: Policy | None = None) -> BranchReader:
        """An async iterator over the branch, from a place on, at the reader's own speed."""
        journal = self.flow.journal
        place = self._after if after is None else after
        return BranchReader(self, policy or self.policy, place, journal.max_events, journal.max_bytes)

    def __aiter__(self) -> BranchReader:
        return self.read()

    def __repr__(self) -> str:
        return f"Branch({self.name!r}: {' | '.join(map(repr, self.operators)) or 'events'}; {self.policy.name})"
