"""How sentences become sound on an event loop: some at a time, delivered in their order."""

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Literal, Protocol

import msgspec
from reactivex import Observable, abc
from reactivex.disposable import Disposable, SerialDisposable

from streamflow.audio import AudioSegment
from streamflow.events import Notice, Retrying, Sentence, StreamCompleted, StreamFailed, StreamStart
from streamflow.loops import run_on_loop
from streamflow.text.spoken import Spoken

_IN_ORDER = (StreamStart, StreamCompleted, StreamFailed)


class Synthesizer(Protocol):
    """What makes sound of text: one method. A plain function in its place runs in a thread of its own."""

    async def synthesize(self, text: str) -> bytes:
        """The text as a wave file."""
        ...


class SpeakOptions(msgspec.Struct, frozen=True):
    """How many sentences are made at once and ahead, and what happens to one that fails or hangs."""

    concurrency: int = 3
    lookahead: int = 6
    gap_s: float = 5.0
    timeout_s: float = 30.0
    on_failure: Literal["skip", "retry", "stop"] = "skip"


class _Entry:
    """One place in the order: a sentence on its way to sound, or an event that keeps its place."""

    __slots__ = ("out", "sentence", "task")

    def __init__(self, sentence: Sentence | None, out: Any = None) -> None:
        self.sentence = sentence
        self.out = out  # None until it is known
        self.task: asyncio.Task[Any] | None = None

    @property
    def has_audio(self) -> bool:
        return self.out is not None and isinstance(self.out, AudioSegment)


class _SpeakRun:
    """One subscription. Everything happens on one event loop, so nothing needs a lock."""

    def __init__(
        self,
        synthesizer: Synthesizer,
        options: SpeakOptions,
        observer: abc.ObserverBase[Any],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._synthesizer = synthesizer
        self._options = options
        self._observer = observer
        self._loop = loop
        self._order: deque[_Entry] = deque()
        self._waiting: deque[_Entry] = deque()  # those of `_order` that have not been begun
        self._running = 0
        self._ahead = 0  # begun, and not yet delivered (or played, where that is known)
        self._made = 0  # segments in `_order` whose turn has not come
        self._counts_played = False
        self._counter = 0
        self._offset = 0
        self._missing: _Entry | None = None
        self._gap_timer: asyncio.TimerHandle | None = None
        self._end: Callable[[], None] | None = None
        self._stopped = False
        self.source = SerialDisposable()
        self.played = SerialDisposable()

    # From any thread.

    def post(self, action: Callable[..., None], *args: Any) -> None:
        """Act on the loop; at once, where that is the one that runs."""
        run_on_loop(self._loop, action, *args)

    def dispose(self) -> None:
        """Deliver nothing more; cancel what is in flight."""
        self._stopped = True
        self.source.dispose()
        self.played.dispose()
        self.post(self._cancel_all)

    # On the loop.

    def take(self, item: Any) -> None:
        """A sentence gets its place, and so does a message's beginning or end; any other event passes at once."""
        if self._stopped:
            return
        if isinstance(item, Sentence | Spoken | str):
            self._take_sentence(self._as_sentence(item))
        elif isinstance(item, _IN_ORDER):
            self._order.append(_Entry(None, item))
            self._counter = self._offset = 0
            self._deliver()
        else:
            if isinstance(item, Retrying) and item.discard:
                self._cancel_all()
                self._counter = self._offset = 0
            self._emit(item)

    def _as_sentence(self, item: Sentence | Spoken | str) -> Sentence:
        if isinstance(item, Sentence):
            return item
        index, self._counter = self._counter, self._counter + 1
        if isinstance(item, Spoken):
            return Sentence(index, item.text, item.start, item.end)
        start, self._offset = self._offset, self._offset + len(item)
        return Sentence(index, item, start, self._offset)

    def _take_sentence(self, sentence: Sentence) -> None:
        if not any(char.isalnum() for char in sentence.text):
            return  # nothing to say, as in a line of dashes
        entry = _Entry(sentence)
        self._order.append(entry)
        self._waiting.append(entry)
        self._begin()

    def end(self, ending: Callable[[], None]) -> None:
        """The source is over: end the same way after the last sound."""
        if not self._stopped:
            self._end = ending
            self._deliver()

    def count_played(self) -> None:
        """From now on a segment counts as ahead until it was played, not until it was delivered."""
        self._counts_played = True

    def one_played(self) -> None:
        """A segment was played."""
        self._ahead = max(0, self._ahead - 1)
        self._begin()

    def _begin(self) -> None:
        options = self._options
        while self._waiting and self._running < options.concurrency and self._ahead < options.lookahead:
            entry = self._waiting.popleft()
            assert entry.sentence is not None
            self._running += 1
            self._ahead += 1
            entry.task = self._loop.create_task(self._make(entry.sentence))
            entry.task.add_done_callback(partial(self._on_made, entry))

    def _on_made(self, entry: _Entry, task: asyncio.Task[Any]) -> None:
        self._running -= 1
        if self._stopped:
            return
        if not task.cancelled():
            if entry.out is None:
                entry.out = task.result()
                self._made += entry.has_audio
            else:  # its turn is over, but the synthesizer would not be cancelled
                self._emit(_notice("late", "came after its turn; it is dropped", entry.sentence))
        self._deliver()

    async def _make(self, sentence: Sentence) -> Any:
        """The segment, a notice of what went wrong, or an exception to end with."""
        policy = self._options.on_failure
        failure = None
        for _ in range(2 if policy == "retry" else 1):
            try:
                async with asyncio.timeout(self._options.timeout_s):
                    return AudioSegment.of(sentence, await self._synthesize(sentence.text.strip()))
            except Exception as error:
                failure = error
        if policy == "stop":
            return failure
        message = str(failure) or type(failure).__name__
        return _notice("synthesis_failed", f"could not be spoken: {message}", sentence)

    async def _synthesize(self, text: str) -> bytes:
        method = self._synthesizer.synthesize
        made = method(text) if inspect.iscoroutinefunction(method) else await asyncio.to_thread(method, text)
        return await made if inspect.isawaitable(made) else made

    def _deliver(self) -> None:
        order = self._order
        while order and order[0].out is not None:
            entry = order.popleft()
            self._made -= entry.has_audio
            if entry.task is not None and not (self._counts_played and entry.has_audio):
                self._ahead -= 1
            if isinstance(entry.out, Exception):
                self._fail(entry.out)
            else:
                self._emit(entry.out)
            if self._stopped:
                return
        self._begin()
        self._watch_gap()
        if not order and self._end is not None:
            self._stopped = True
            self.played.dispose()
            self._end()

    def _watch_gap(self) -> None:
        """The wait is for the one whose turn it is: it begins anew when that changes, and only then."""
        missing = self._order[0] if self._made else None
        if missing is self._missing:
            return
        self._missing = missing
        if self._gap_timer is not None:
            self._gap_timer.cancel()
            self._gap_timer = None
        if missing is not None:
            self._gap_timer = self._loop.call_later(self._options.gap_s, self._skip)

    def _skip(self) -> None:
        """The next one hangs while others are ready: go on with the first that is."""
        self._gap_timer = self._missing = None
        for entry in self._order:
            if entry.has_audio:
                break
            if entry.out is None and entry.task is not None:
                entry.out = _notice("skipped", f"was not ready after {self._options.gap_s:g} s", entry.sentence)
                entry.task.cancel()
        self._deliver()

    def _emit(self, item: Any) -> None:
        if self._stopped:
            return
        try:
            self._observer.on_next(item)
        except Exception:
            self.dispose()
            raise

    def _fail(self, error: Exception) -> None:
        self.dispose()
        self._observer.on_error(error)

    def _cancel_all(self) -> None:
        for entry in self._order:
            if entry.task is not None:
                entry.out = entry.out or ()  # whatever still comes of it is late
                entry.task.cancel()
                self._ahead -= 1
        self._order.clear()
        self._waiting.clear()
        self._made = 0
        self._watch_gap()


def _notice(code: str, message: str, sentence: Sentence | None) -> Notice:
    assert sentence is not None
    raw = {"index": sentence.index, "text": sentence.text, "start": sentence.start, "end": sentence.end}
    return Notice(code, f"sentence {sentence.index} {message}", raw)


class Speaking(Observable[Any]):
    """An Observable that speaks the sentences of its source; made by `speak`."""

    def __init__(
        self,
        source: Observable[Any],
        synthesizer: Synthesizer,
        options: SpeakOptions,
        played: Observable[Any] | None,
    ) -> None:
        super().__init__()
        self.source = source
        self._synthesizer = synthesizer
        self._options = options
        self._played = played

    def _subscribe_core(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        loop, stop_loop = _loop_of(scheduler)
        run = _SpeakRun(self._synthesizer, self._options, observer, loop)

        if self._played is not None:
            run.count_played()
            run.played.disposable = self._played.subscribe(lambda _: run.post(run.one_played), scheduler=scheduler)
        run.source.disposable = self.source.subscribe(
            lambda item: run.post(run.take, item),
            lambda error: run.post(run.end, partial(observer.on_error, error)),
            lambda: run.post(run.end, observer.on_completed),
            scheduler=scheduler,
        )

        def dispose() -> None:
            run.dispose()
            stop_loop()

        return Disposable(dispose)


def _loop_of(scheduler: abc.SchedulerBase | None) -> tuple[asyncio.AbstractEventLoop, Callable[[], None]]:
    """The loop to work on, and how to stop it: that of the scheduler, the running one, else one in a thread."""
    given = getattr(scheduler, "_loop", None)
    if isinstance(given, asyncio.AbstractEventLoop):
        return given, lambda: None
    try:
        return asyncio.get_running_loop(), lambda: None
    except RuntimeError:
        return _loop_in_thread()


def _loop_in_thread() -> tuple[asyncio.AbstractEventLoop, Callable[[], None]]:
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def live() -> None:
        over = asyncio.Event()
        started.set_result((asyncio.get_running_loop(), over))
        await over.wait()

    threading.Thread(target=lambda: asyncio.run(live()), name="streamflow-speak", daemon=True).start()
    loop, over = started.result()
    return loop, lambda: run_on_loop(loop, over.set)
