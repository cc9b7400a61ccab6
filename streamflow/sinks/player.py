"""Playback in turns: frames in real time, what was heard, silence at once when someone interrupts."""

import asyncio
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SerialDisposable
from reactivex.subject import BehaviorSubject, Subject

from streamflow.audio import AudioSegment, Wave
from streamflow.errors import UsageError
from streamflow.events import Chunk, Notice
from streamflow.operators.timed import clock_of, scheduler_for
from streamflow.text.karaoke import Karaoke, SpokenWord


class PlaybackState(msgspec.Struct, frozen=True, tag=True):
    """What a stop button shows: it is lit while the state is ``speaking``.

    ``first_audio_s`` is the time from the beginning of the turn to its first sound.

    >>> PlaybackState("idle").turn
    0
    """

    state: Literal["idle", "speaking", "done"]
    turn: int = 0
    first_audio_s: float | None = None
    interrupted: bool = False
    error: str | None = None


class AudioFrame(msgspec.Struct, frozen=True, tag=True):
    """A few milliseconds of sound; ``start_s`` is its place in the turn's audio.

    >>> AudioFrame(1, 0, b"", 8000, 1, 2, 0.0).turn
    1
    """

    turn: int
    index: int
    pcm: bytes
    sample_rate: int
    channels: int
    sample_width: int
    start_s: float


class _Turn:
    """One answer on its way out."""

    def __init__(self, number: int, begun: float) -> None:
        self.number = number
        self.begun = begun
        self.karaoke = Karaoke()
        self.queue: deque[AudioSegment] = deque()
        self.subscription = CompositeDisposable()
        self.timer = SerialDisposable()
        self.first_audio_s: float | None = None
        self.source_over = False
        self.over = False
        self.complete = False
        self.error: str | None = None
        # The segment that is playing.
        self.segment: AudioSegment | None = None
        self.wave: Wave | None = None
        self.frames: Iterator[bytes] = iter(())
        self.segment_begun = 0.0
        self.segment_base_s = 0.0  # where it begins in the turn's audio
        self.sent_s = 0.0  # how much of it went out


class Player:
    """Plays audio segments on a clock, as an Observable of frames; any subscriber of `frames` is the loudspeaker.

    `play(segments, text=...)` begins a turn, `interrupt()` silences it and answers what was heard, `state` is what a
    stop button shows. The clock is that of ``scheduler``, else of the running asyncio loop.

    >>> from reactivex.testing import TestScheduler
    >>> import reactivex as rx
    >>> from streamflow.events import Sentence
    >>> clock = TestScheduler()
    >>> player = Player(scheduler=clock)
    >>> tone = AudioSegment.of(Sentence(0, "Hello there.", 0, 12), Wave(8000, 1, 2, bytes(16000)).file())
    >>> _ = player.play(rx.of(tone))
    >>> clock.advance_to(0.6)
    >>> player.current.state, player.interrupt(), player.current.state
    ('speaking', 'Hello', 'done')
    """

    def __init__(self, *, scheduler: abc.SchedulerBase | None = None, frame_s: float = 0.02) -> None:
        if frame_s <= 0:
            raise UsageError(f"Player(frame_s={frame_s!r}): more than 0 seconds are needed")
        self._given_scheduler = scheduler
        self._frame_s = frame_s
        self._lock = threading.RLock()
        self._turn = _Turn(0, 0.0)
        self._turn.over = True
        self._state: BehaviorSubject[PlaybackState] = BehaviorSubject(PlaybackState("idle"))
        self._frames: Subject[AudioFrame] = Subject()
        self._played: Subject[AudioSegment] = Subject()
        self._notices: Subject[Notice] = Subject()

    @property
    def state(self) -> Observable[PlaybackState]:
        """The state now and each change of it."""
        return self._state

    @property
    def current(self) -> PlaybackState:
        """The state now."""
        return self._state.value

    @property
    def frames(self) -> Observable[AudioFrame]:
        """The sound, each frame at its time."""
        return self._frames

    @property
    def played(self) -> Observable[AudioSegment]:
        """Each segment when its last frame is over; ``speak(..., played=player.played)`` looks ahead from there."""
        return self._played

    @property
    def notices(self) -> Observable[Notice]:
        """What went wrong on the way: sentences that failed, were skipped or came late."""
        return self._notices

    @property
    def position_s(self) -> float:
        """How many seconds of the turn's audio were played; pauses between segments do not count."""
        turn = self._turn
        if turn.segment is None or turn.over:
            return turn.segment_base_s
        elapsed = self._now() - turn.segment_begun
        return turn.segment_base_s + min(max(elapsed, 0.0), turn.segment.duration_s)

    def play(self, segments: Observable[Any], text: Observable[Any] | None = None) -> abc.DisposableBase:
        """Begin a turn with these segments; what is still being said is interrupted.

        ``text`` is the turn's raw text (chunks or strings); `heard` cuts it. Without it the sentences are taken. What
        is neither an `AudioSegment` nor a `Notice` in ``segments`` is ignored. Disposing what this returns is `stop`.
        """
        with self._lock:
            self._silence()
            scheduler = scheduler_for(self._given_scheduler)
            self._scheduler, self._now = scheduler, clock_of(scheduler)
            turn = self._turn = _Turn(self._turn.number + 1, self._now())
            self._state.on_next(PlaybackState("idle", turn.number))
        if text is not None:
            turn.subscription.add(
                text.subscribe(lambda item: self._take_text(turn, item), lambda _: None, scheduler=scheduler)
            )
        turn.subscription.add(
            segments.subscribe(
                lambda item: self._take(turn, item),
                lambda error: self._source_over(turn, str(error) or type(error).__name__),
                lambda: self._source_over(turn, None),
                scheduler=scheduler,
            )
        )
        return Disposable(lambda: self._stop(turn))

    def interrupt(self, played_s: float | None = None) -> str:
        """Silence at once, cancel what is in flight, and answer the text that was heard.

        ``played_s`` is how much of the turn's audio the listener's device says it played; without it the player's own
        position counts.
        """
        with self._lock:
            position = self.position_s if played_s is None else played_s
            self._silence()
            return self._turn.karaoke.heard(position)

    def heard(self, played_s: float | None = None) -> str:
        """The raw text that was heard: cut after a whole word, all of it after a turn that was played to its end."""
        with self._lock:
            if played_s is None and self._turn.complete:
                return self._turn.karaoke.raw
            return self._turn.karaoke.heard(self.position_s if played_s is None else played_s)

    def word_at(self, t_s: float | None = None) -> SpokenWord | None:
        """The word that is said at that second of the turn's audio, by default now: for captions that follow."""
        with self._lock:
            return self._turn.karaoke.word_at(self.position_s if t_s is None else t_s)

    async def wait(self) -> PlaybackState:
        """Wait until the turn is over."""
        over: asyncio.Future[PlaybackState] = asyncio.get_running_loop().create_future()

        def look(state: PlaybackState) -> None:
            if self._turn.over:
                over.get_loop().call_soon_threadsafe(tell, state)

        def tell(state: PlaybackState) -> None:
            if not over.done():
                over.set_result(state)

        subscription = self._state.subscribe(look)
        try:
            return await over
        finally:
            subscription.dispose()

    def _take_text(self, turn: _Turn, item: Any) -> None:
        if isinstance(item, Chunk):
            turn.karaoke.add_text(item.text, item.start)
        elif isinstance(item, str):
            turn.karaoke.add_text(item)

    def _take(self, turn: _Turn, item: Any) -> None:
        with self._lock:
            if turn.over:
                return
            if isinstance(item, Notice):
                self._notices.on_next(item)
            elif isinstance(item, AudioSegment):
                turn.karaoke.add(item.sentence, item.duration_s)
                turn.queue.append(item)
                if turn.segment is None:
                    self._next_segment(turn)

    def _source_over(self, turn: _Turn, error: str | None) -> None:
        with self._lock:
            turn.source_over = True
            turn.error = error
            if turn.segment is None and not turn.queue:
                self._finish(turn)

    def _next_segment(self, turn: _Turn) -> None:
        if not turn.queue:
            turn.segment = turn.wave = None
            if turn.source_over:
                self._finish(turn)
            return
        now = self._now()
        turn.segment = turn.queue.popleft()
        turn.wave = turn.segment.wave
        turn.frames = iter(turn.wave.frames(self._frame_s))
        turn.segment_begun = now
        turn.sent_s = 0.0
        if turn.first_audio_s is None:
            turn.first_audio_s = now - turn.begun
            self._state.on_next(PlaybackState("speaking", turn.number, turn.first_audio_s))
        if not turn.over:
            self._next_frame(turn)

    def _next_frame(self, turn: _Turn) -> None:
        """Send a frame and come back when it is over; the plan is by the segment's beginning, so it cannot drift."""
        segment, wave = turn.segment, turn.wave
        if turn.over or segment is None or wave is None:
            return
        pcm = next(turn.frames, None)
        if pcm is None:
            turn.segment_base_s += segment.duration_s
            turn.segment = None
            self._played.on_next(segment)
            if not turn.over and turn.segment is None:
                self._next_segment(turn)
            return
        start_s = turn.segment_base_s + turn.sent_s
        turn.sent_s += len(pcm) / (wave.frame_bytes * wave.sample_rate)
        due = turn.segment_begun + turn.sent_s
        frame = AudioFrame(
            turn.number, segment.index, pcm, wave.sample_rate, wave.channels, wave.sample_width, start_s
        )
        self._frames.on_next(frame)
        if not turn.over:
            delay = max(0.0, due - self._now())
            turn.timer.disposable = self._scheduler.schedule_relative(delay, lambda *_: self._on_timer(turn))

    def _on_timer(self, turn: _Turn) -> None:
        with self._lock:
            self._next_frame(turn)

    def _finish(self, turn: _Turn) -> None:
        if turn.over:
            return
        turn.over = True
        turn.complete = turn.error is None
        turn.subscription.dispose()
        self._state.on_next(PlaybackState("done", turn.number, turn.first_audio_s, error=turn.error))

    def _stop(self, turn: _Turn) -> None:
        with self._lock:
            if turn is self._turn:
                self._silence()

    def _silence(self) -> None:
        turn = self._turn
        if turn.over:
            return
        turn.segment_base_s = self.position_s
        turn.over = True
        turn.segment = turn.wave = None
        turn.queue.clear()
        turn.timer.dispose()
        turn.subscription.dispose()
        self._state.on_next(PlaybackState("done", turn.number, turn.first_audio_s, interrupted=True))
