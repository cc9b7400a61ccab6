"""Where the events of a flow come from: a source that is pulled, or one that pushes, through the common operators."""

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import Any, Protocol

import reactivex as rx
from reactivex import Observable, abc
from reactivex.disposable import Disposable, SingleAssignmentDisposable

from streamflow.errors import StreamflowError, UsageError
from streamflow.flow.serial import Serial
from streamflow.stage import Lifted, Run, fused

Operators = Sequence[Callable[[Observable[Any]], Observable[Any]]]


class Stopped(StreamflowError):
    """The reason that operators are given when a flow is stopped; it never leaves the flow."""


class Sink(Protocol):
    """What a feed gives its events to."""

    def on_next(self, event: Any) -> None: ...

    def on_error(self, error: BaseException) -> None: ...

    def on_completed(self) -> None: ...

    async def room(self) -> None:
        """Return when the readers that make the source wait have room again."""
        ...

    @property
    def crowded(self) -> bool:
        """True when a reader makes the source wait."""
        ...


class Relay(Observable[Any]):
    """The place between a source and the common operators: it can tell them to stop."""

    def __init__(self, operators: Operators) -> None:
        super().__init__()
        self._operators = operators
        self._observer: Any = None

    def connect(self, sink: Sink) -> Callable[[Sequence[Any]], None]:
        """Run the operators into a sink, as one loop where they are all ours; what takes the items of the source."""
        make_chain = fused(self._operators)
        if make_chain is None:
            self.pipe(*self._operators).subscribe(sink.on_next, sink.on_error, sink.on_completed)
            return self.on_items
        self._observer = Run(make_chain(), sink)  # type: ignore[arg-type]
        take: Callable[[Sequence[Any]], None] = self._observer.on_items
        return take

    def _subscribe_core(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        self._observer = observer
        return Disposable(self._forget)

    def _forget(self) -> None:
        self._observer = None

    def on_items(self, items: Sequence[Any]) -> None:
        """Items of the source."""
        for item in items:
            if self._observer is not None:
                self._observer.on_next(item)

    def on_error(self, error: BaseException) -> None:
        """The source failed, or the flow was stopped."""
        if self._observer is not None:
            self._observer.on_error(error)

    def on_completed(self) -> None:
        """The source ended."""
        if self._observer is not None:
            self._observer.on_completed()


class PushFeed:
    """An Observable, or a plain iterable. It cannot wait for a slow reader."""

    can_wait = False

    def __init__(self, source: Observable[Any] | Iterable[Any], operators: Operators) -> None:
        if not isinstance(source, Observable):
            source = rx.from_iterable(source)
        if isinstance(source, Lifted):
            # Its stages are taken over, so that stopping can ask them for what they hold.
            operators = (*source.operators, *operators)
            source = source.source
        self._source = source
        self._relay = Relay(operators)
        self._subscription = SingleAssignmentDisposable()

    def start(self, sink: Sink, serial: Serial) -> None:
        """Subscribe; a synchronous source runs in here."""
        relay = self._relay
        # Sources may emit from several threads, and from inside a subscriber: stages see one item at a time.
        take = serial.bound(relay.connect(sink))
        self._subscription.disposable = self._source.subscribe(
            lambda item: take((item,)),
            lambda error: serial.run(relay.on_error, error),
            lambda: serial.run(lambda _: relay.on_completed(), None),
        )

    def stop(self) -> None:
        """Unsubscribe, and let the operators give out what they hold."""
        self._subscription.dispose()
        self._relay.on_error(Stopped("the flow was stopped"))

    def dispose(self) -> None:
        """Unsubscribe."""
        self._subscription.dispose()


class PullFeed:
    """An async iterable, read by one task that waits while a reader makes it wait."""

    can_wait = True

    def __init__(self, source: AsyncIterable[Any], operators: Operators) -> None:
        self._source = source
        self._relay = Relay(operators)
        self._task: asyncio.Task[None] | None = None

    def start(self, sink: Sink, serial: Serial) -> None:
        """Begin to read in a task of its own."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError(
                "a flow over an async source needs a running event loop: start it, or subscribe, inside an async "
                "function, for example under asyncio.run(main())"
            ) from None
        take = serial.bound(self._relay.connect(sink))
        self._task = loop.create_task(self._pump(sink, take, serial), name="streamflow flow")

    async def _pump(self, sink: Sink, take: Callable[[Sequence[Any]], None], serial: Serial) -> None:
        relay = self._relay
        iterator = aiter(self._source)
        try:
            async for item in iterator:
                take((item,))
                if sink.crowded:
                    await sink.room()
        except Exception as error:
            serial.run(relay.on_error, error)
        else:
            serial.run(lambda _: relay.on_completed(), None)
        finally:
            close = getattr(iterator, "aclose", None)
            if close is not None:
                await close()

    def stop(self) -> None:
        """A source that can be cancelled ends by itself, properly; another one is left where it stands."""
        cancel = getattr(self._source, "cancel", None)
        if cancel is not None:
            cancel()
            return
        self.dispose()
        self._relay.on_error(Stopped("the flow was stopped"))

    def dispose(self) -> None:
        """End the task, which closes the source."""
        if self._task is not None and not self._task.done():
            loop = self._task.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._task.cancel)


def feed_of(source: Any, operators: Operators) -> PushFeed | PullFeed:
    """The feed for a source: pulled where it can be, because only then it can wait."""
    if hasattr(source, "__aiter__"):
        if operators and isinstance(source, Observable):
            # A live stream takes our operators in and stays an async iterable; one that cannot is piped behind.
            piped = source.pipe(*operators)
            if hasattr(piped, "__aiter__"):
                source, operators = piped, ()
        return PullFeed(source, operators)
    if isinstance(source, Observable) or (isinstance(source, Iterable) and not isinstance(source, str | bytes | dict)):
        return PushFeed(source, operators)
    raise UsageError(
        f"a flow needs a source: an Observable, an async iterable or an iterable of events, not {type(source).__name__}"
    )
