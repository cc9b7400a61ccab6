from collections.abc import Callable
from typing import Any, Literal

import reactivex
from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable, SingleAssignmentDisposable

from streamflow.errors import StreamflowError, UsageError
from streamflow.events import Response
from streamflow.operators.seaming import FirstPart, SecondPart, seam_events

_MODES = ("restart", "prefill", "sentence")

Next = Observable[Any] | Callable[[Response], Any]


class _Seamed(Observable[Any]):
    def __init__(self, source: Observable[Any], next_source: Next, mode: str) -> None:
        super().__init__()
        self._source = source
        self._next = next_source
        self._mode = mode

    def _subscribe_core(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        subscription = SerialDisposable()
        first = FirstPart(self._mode == "sentence")

        def emit(events: list[Any]) -> None:
            for event in events:
                observer.on_next(event)

        def ended() -> None:
            emit(first.end())
            observer.on_completed()

        def broke(error: Exception) -> None:
            if first.called or isinstance(error, UsageError) or not isinstance(error, StreamflowError):
                emit(first.end())
                observer.on_error(error)
                return
            if not first.begun:
                subscription.disposable = self._source_of(first.partial(error)).subscribe(
                    observer.on_next, observer.on_error, observer.on_completed, scheduler=scheduler
                )
                return
            emit(first.cut_off())
            partial = first.partial(error)
            emit(seam_events(self._mode, len(partial.text), error))
            self._go_on(observer, subscription, scheduler, first, partial)

        # Put in place before it begins: a source may break while it is being subscribed to.
        subscription.disposable = beginning = SingleAssignmentDisposable()
        beginning.disposable = self._source.subscribe(
            lambda event: emit(first.feed(event)), broke, ended, scheduler=scheduler
        )
        return subscription

    def _go_on(
        self,
        observer: abc.ObserverBase[Any],
        subscription: SerialDisposable,
        scheduler: abc.SchedulerBase | None,
        first: FirstPart,
        partial: Response,
    ) -> None:
        second = SecondPart(first, "" if self._mode == "restart" else partial.text)

        def emit(event: Any) -> None:
            for made in second.feed(event):
                observer.on_next(made)

        def broke(error: Exception) -> None:
            if isinstance(error, StreamflowError):
                error.partial = second.partial(error)
                error.emitted = True
            observer.on_error(error)

        try:
            source = self._source_of(partial)
        except Exception as error:
            observer.on_error(error)
            return
        subscription.disposable = source.subscribe(emit, broke, observer.on_completed, scheduler=scheduler)

    def _source_of(self, partial: Response) -> Observable[Any]:
        given = self._next if isinstance(self._next, Observable) else self._next(partial)
        return given if isinstance(given, Observable) else reactivex.from_iterable(given)


def seam(
    next_source: Next, mode: Literal["restart", "prefill", "sentence"] = "prefill"
) -> Callable[[Observable[Any]], Observable[Any]]:
    """When the stream breaks in its middle, go on with another source, without a repeated or a missing word.

    ``next_source`` is an Observable of events, or a function that gets the partial `Response` and returns one (or a
    list of events). With ``prefill`` it goes on where the text broke off; words that it repeats are taken out. With
    ``sentence`` text leaves in whole sentences, and the second source goes on after the last of them: a voice never
    stops inside one. With ``restart`` it answers anew: `Retrying` with ``discard`` says that what was shown is void.

    The place is marked by `Notice("seam")`. Once a tool call has begun nothing is joined: the error goes on.

    ```
    first   --StreamStart--Chunk(The quick)--BlockComplete--X
    second                                                  --StreamStart--Chunk(quick brown fox)--...--|
    out     --StreamStart--Chunk(The quick)--BlockComplete--Notice(seam)---Chunk( brown fox)-------...--|
    ```

    >>> import reactivex as rx, streamflow as sf
    >>> from streamflow.testing import Answer, encode
    >>> cut = sf.decode("openai", b"".join(encode("openai", Answer("The quick brown fox")))[:-60])
    >>> first = rx.concat(rx.from_iterable(cut[:-1]), rx.throw(sf.StreamTruncated("cut")))
    >>> second = rx.from_iterable(sf.decode("openai", encode("openai", Answer("quick brown fox jumps."))))
    >>> sf.collect(sf.run(cut[:-1], lambda source: first.pipe(seam(second)))).text
    'The quick brown fox jumps.'
    """
    if mode not in _MODES:
        raise UsageError(f"seam(mode={mode!r}): allowed are {', '.join(map(repr, _MODES))}")
    if not isinstance(next_source, Observable) and not callable(next_source):
        raise UsageError("seam(next_source): an Observable, or a function from the partial response to a source")
    return lambda source: _Seamed(source, next_source, mode)
