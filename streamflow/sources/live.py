"""The stream object: an Observable of events that is an async iterable too."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from streamflow.errors import UsageError
from streamflow.events import Response
from streamflow.sources.context import StreamContext
from streamflow.sources.run import Run, Stats
from streamflow.stage import Operator, refuse_plain_loop

StartRun = Callable[[Sequence[Operator[Any, Any]], StreamContext], Run]


class LiveStream(Observable[Any]):
    """What `Client.stream` returns. Nothing is sent before somebody subscribes or iterates.

    Each subscription and each iteration is a request of its own; to share one, put it into a flow or use
    ``share()``. Iterating pulls: a consumer that pauses stops the provider. Subscribers are pushed to by one task.
    A ``pipe`` of streamflow's own operators gives a `LiveStream` again.
    """

    __iter__ = refuse_plain_loop

    def __init__(
        self, start: StartRun, context: StreamContext | None = None, operators: Sequence[Operator[Any, Any]] = ()
    ) -> None:
        super().__init__()
        self._start = start
        self._operators = tuple(operators)
        self._run: Run | None = None
        self.context = context or StreamContext()

    def pipe(self, *operators: Any) -> Any:
        """Compose operators; with streamflow's own the result can still be iterated and keeps its back-pressure."""
        # Exactly this class: a timed operator needs the scheduler of a subscription.
        own = list(itertools.takewhile(lambda operator: type(operator) is Operator, operators))
        stream = LiveStream(self._start, self.context, (*self._operators, *own))
        rest = operators[len(own) :]
        return Observable.pipe(stream, *rest) if rest else stream

    @property
    def response(self) -> Response | None:
        """What came so far in the latest run, also after it was disposed or failed; None before the first."""
        return None if self._run is None else self._run.response()

    @property
    def stats(self) -> Stats | None:
        """Numbers of the latest run, None before the first."""
        return None if self._run is None else self._run.stats

    def cancel(self) -> None:
        """Stop: the stream ends with ``cancelled`` and what came."""
        self.context.cancel()

    async def collect(self) -> Response:
        """Read everything; the whole response. A failure is raised, with ``.partial``."""
        async for _ in self:
            pass
        response = self.response
        assert response is not None
        return response

    def __aiter__(self) -> "LiveIterator":
        return LiveIterator(self._begin())

    def _begin(self) -> Run:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError(
                "a live stream needs a running event loop: subscribe or iterate inside an async function, "
                "for example under asyncio.run(main())"
            ) from None
        self._run = run = self._start(self._operators, self.context)
        return run

    def _subscribe_core(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        pump = Pump(self._begin(), observer)
        return Disposable(pump.dispose)

    def __repr__(self) -> str:
        return f"LiveStream({' | '.join(map(repr, self._operators))})"


class _Reading:
    """The events of one run, one by one.

    Apart from the iterator, which must be free when a loop is left: an exception that somebody keeps, of an attempt
    that failed for instance, keeps the frames of all who waited, and with them what those frames hold.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._events: Iterator[Any] = iter(())
        self._raised = False

    async def next_event(self) -> Any:
        run = self._run
        while True:
            if run.asks_context:
                run.check_context()
            if not run.stopping and not run.over:
                for event in self._events:
                    return event
            events = await run.read()
            if events is None:
                if run.error is not None and not self._raised:
                    self._raised = True
                    raise run.error
                raise StopAsyncIteration
            self._events = events


class LiveIterator:
    """One run, pulled by ``async for``. Leaving the loop closes the connection at once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._reading = _Reading(run)

    def __aiter__(self) -> "LiveIterator":
        return self

    def __anext__(self) -> Coroutine[Any, Any, Any]:
        return self._reading.next_event()

    async def aclose(self) -> None:
        """Close the connection; nothing more is delivered."""
        self.dispose()

    def dispose(self) -> None:
        """Close the connection; nothing more is delivered."""
        if not self._run.over:
            self._run.dispose()

    def __del__(self) -> None:
        # `break` drops the iterator, and that is all that anybody hears of it.
        self.dispose()


class Pump:
    """One run, pushed to one observer by one task."""

    def __init__(self, run: Run, observer: abc.ObserverBase[Any]) -> None:
        self._run = run
        self._observer = observer
        self._disposed = False
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._push())
        run.pumped_by = self._task

    def dispose(self) -> None:
        """Close the connection; nothing is delivered after this returns. Safe from any thread."""
        self._disposed = True
        self._run.dispose()

    async def _push(self) -> None:
        run, observer = self._run, self._observer
        try:
            while (events := await run.read()) is not None:
                for event in events:
                    if self._disposed:
                        return
                    observer.on_next(event)
                    if run.asks_context:
                        run.check_context()
                    if run.stopping:
                        break
            if self._disposed:
                return
            if run.error is not None:
                observer.on_error(run.error)  # type: ignore[arg-type]
            else:
                observer.on_completed()
        except Exception as fault:
            # A subscriber's own fault is not the stream's: it goes where asyncio reports faults of callbacks. An error
            # of the stream arrives here when there is no `on_error` for it.
            who = "a live stream failed, and has no on_error" if fault is run.error else "a subscriber raised"
            # Without the task: asyncio would enter its context, in which this runs already.
            self._loop.call_exception_handler({"message": who, "exception": fault})
        finally:
            run.dispose()
