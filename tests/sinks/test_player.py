"""Turns of a conversation on virtual time: frames, states, interruption, what was heard."""

import asyncio
import random

import pytest
import reactivex as rx
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from streamflow.audio import AudioSegment
from streamflow.errors import UsageError
from streamflow.events import Chunk, Notice, Sentence
from streamflow.operators import speak
from streamflow.sinks.player import PlaybackState, Player
from streamflow.testing.virtual_time import run_virtually
from tests.support.voices import RATE, SECONDS_PER_CHARACTER, Voice, tone

FIRST = ["One **fine** day. ", "We saw three [birds](https://example.org/b). ", "They sang."]
SPOKEN = ["One fine day. ", "We saw three birds. ", "They sang."]
SECOND = ["A new turn. ", "All of it."]
RAW = "".join(FIRST)


def first_turn():
    starts = [sum(map(len, FIRST[:n])) for n in range(len(FIRST))]
    return [Sentence(n, text, starts[n], starts[n] + len(FIRST[n])) for n, text in enumerate(SPOKEN)]


def segment(index, text, seconds, start=-1):
    end = start + len(text) if start >= 0 else -1
    return AudioSegment.of(Sentence(index, text, start, end), tone(seconds))


def seconds_of(frames):
    return sum(len(frame.pcm) for frame in frames) / (2 * RATE)


class Stage:
    """A player on virtual time that notes all it does."""

    def __init__(self):
        self.clock = TestScheduler()
        self.player = Player(scheduler=self.clock)
        self.frames, self.states, self.played = [], [], []
        self.player.frames.subscribe(lambda frame: self.frames.append((self.clock.clock, frame)))
        self.player.state.subscribe(lambda state: self.states.append((round(self.clock.clock, 6), state.state)))
        self.player.played.subscribe(self.played.append)


def test_frames_come_in_time_and_carry_all_of_the_sound():
    stage = Stage()
    stage.player.play(rx.of(segment(0, "Hello.", 0.5), segment(1, "World.", 0.25)))
    stage.clock.advance_to(2)
    assert seconds_of(frame for _, frame in stage.frames) == pytest.approx(0.75)
    assert all(time == pytest.approx(frame.start_s, abs=1e-5) for time, frame in stage.frames)
    assert [item.index for item in stage.played] == [0, 1]


def test_the_stop_button_is_lit_with_the_first_audio_and_goes_out_at_the_end():
    stage, source = Stage(), Subject()
    stage.player.play(source, text=rx.of("Hello. Bye."))
    stage.clock.advance_to(1)
    assert stage.states == [(0, "idle"), (0, "idle")], "text alone lights nothing"
    source.on_next(segment(0, "Hello. ", 0.5))
    stage.clock.advance_to(3)
    source.on_next(segment(1, "Bye.", 0.5))
    source.on_completed()
    stage.clock.advance_to(9)
    assert stage.states[2:] == [(1, "speaking"), (3.5, "done")]
    assert stage.player.current == PlaybackState("done", 1, first_audio_s=1.0)


def test_a_turn_without_sound_ends_without_ever_being_lit():
    stage = Stage()
    stage.player.play(rx.empty())
    stage.clock.advance_to(1)
    assert [state for _, state in stage.states] == ["idle", "idle", "done"]
    assert stage.player.heard() == ""


def test_the_gap_between_segments_is_what_synthesis_takes_longer_than_playing():
    async def main():
        loop, player, starts = asyncio.get_running_loop(), Player(), {}
        player.frames.subscribe(lambda frame: starts.setdefault(frame.index, round(loop.time(), 6)))
        texts = ["a" * 20, "b" * 20, "c" * 20]  # one second of sound each
        latency = {texts[0]: 0.5, texts[1]: 3.0, texts[2]: 3.2}
        player.play(rx.from_iterable(texts).pipe(speak(Voice(latency.get))))
        await player.wait()
        return starts

    assert run_virtually(main()) == {0: 0.5, 1: 3.0, 2: 4.0}


@pytest.mark.parametrize("milliseconds", range(0, 2310, 10))
def test_b10_an_interruption_at_any_time_silences_at_once_and_leaves_the_next_turn_whole(milliseconds):
    at = milliseconds / 1000
    rng = random.Random(milliseconds)

    async def main():
        loop, player, voice = asyncio.get_running_loop(), Player(), Voice(lambda text: rng.uniform(0, 0.4))
        frames = []
        player.frames.subscribe(frames.append)
        player.play(rx.from_iterable(first_turn()).pipe(speak(voice, played=player.played)), text=rx.of(RAW))
        await asyncio.sleep(at)
        position = player.position_s
        before = len(frames)
        heard = player.interrupt()
        assert player.current.state != "speaking"
        in_flight = voice.running
        player.play(rx.from_iterable(SECOND).pipe(speak(voice, played=player.played)), text=rx.of(*SECOND))
        state = await player.wait()
        assert in_flight == 0 or voice.cancelled
        assert voice.running == 0
        return heard, position, frames[:before], frames[before:], state, player.heard(), loop.time()

    heard, position, old, new, state, second_heard, _ = run_virtually(main())
    assert {frame.turn for frame in old} <= {1}
    assert {frame.turn for frame in new} == {2}, "no old frame after the interruption"
    assert seconds_of(new) == pytest.approx(sum(len(text.strip()) for text in SECOND) * SECONDS_PER_CHARACTER)
    assert state.state == "done"
    assert second_heard == "".join(SECOND)
    assert RAW.startswith(heard)
    assert_within_one_word(heard, position)


def assert_within_one_word(heard, position):
    """The test's own count: each spoken sentence takes its characters' time."""
    said = 0
    for text in SPOKEN:
        characters = position / SECONDS_PER_CHARACTER + 1e-6
        said += len([word for word in words_with_ends(text.strip()) if word[1] <= characters])
        position -= len(text.strip()) * SECONDS_PER_CHARACTER
    visible = heard.replace("](https://example.org/b)", "").replace("*", "").replace("[", "")
    assert abs(len(visible.split()) - said) <= 1


def words_with_ends(text):
    end = 0
    for word in text.split():
        end = text.index(word, end) + len(word)
        yield word, end


def test_nothing_was_heard_when_nothing_was_played():
    stage = Stage()
    stage.player.play(rx.of(segment(0, "Hello.", 1)))
    assert stage.player.interrupt(0) == ""


def test_the_listeners_own_count_is_taken_when_it_is_given():
    stage = Stage()
    stage.player.play(rx.of(segment(0, "One two three four.", 1.9, start=0)))
    stage.clock.advance_to(1.8)
    assert stage.player.interrupt(played_s=0.8) == "One two"
    assert stage.player.interrupt(played_s=0.3) == "One", "also after it is over"


def test_interrupting_closes_the_sources():
    closed = []
    source = rx.never()

    def subscribe(observer, scheduler=None):
        observer.on_next(segment(0, "Hello there.", 1.2, start=0))
        return rx.disposable.Disposable(lambda: closed.append("segments"))

    stage = Stage()
    stage.player.play(rx.create(subscribe), text=source)
    stage.clock.advance_to(0.6)
    stage.player.interrupt()
    assert closed == ["segments"]


def test_a_new_turn_interrupts_the_old_one():
    stage = Stage()
    stage.player.play(rx.of(segment(0, "Old.", 2)))
    stage.clock.advance_to(1)
    stage.player.play(rx.of(segment(0, "New.", 0.5)))
    stage.clock.advance_to(5)
    assert [frame.turn for time, frame in stage.frames if time > 1.001] == [2] * 24
    assert [state for _, state in stage.states] == ["idle", "idle", "speaking", "done", "idle", "speaking", "done"]


def test_disposing_a_turn_stops_it_but_not_a_later_one():
    stage = Stage()
    first = stage.player.play(rx.of(segment(0, "Old.", 2)))
    stage.player.play(rx.of(segment(0, "New.", 0.5)))
    first.dispose()
    stage.clock.advance_to(5)
    assert stage.player.current == PlaybackState("done", 2, first_audio_s=0.0)


def test_words_can_be_followed():
    stage = Stage()
    raw = "Say **it** now."
    stage.player.play(rx.of(AudioSegment.of(Sentence(0, "Say it now.", 0, len(raw)), tone(1.1))), text=rx.of(raw))
    seen = []
    for tenth in range(11):
        stage.clock.advance_to(tenth / 10 + 0.05)
        word = stage.player.word_at()
        seen.append(raw[word.start : word.end])
    assert list(dict.fromkeys(seen)) == ["Say", "it", "now"]


def test_what_went_wrong_on_the_way_is_told():
    stage, notices = Stage(), []
    stage.player.notices.subscribe(notices.append)
    stage.player.play(rx.of(Notice("synthesis_failed"), segment(0, "Hi.", 0.1)))
    stage.clock.advance_to(1)
    assert notices == [Notice("synthesis_failed")]


def test_an_error_of_the_source_ends_the_turn_after_what_is_queued():
    stage = Stage()
    stage.player.play(rx.concat(rx.of(segment(0, "Hi.", 0.5)), rx.throw(RuntimeError("cut"))))
    stage.clock.advance_to(1)
    assert stage.player.current == PlaybackState("done", 1, 0.0, error="cut")
    assert seconds_of(frame for _, frame in stage.frames) == pytest.approx(0.5)


def test_chunks_with_offsets_serve_as_the_raw_text():
    stage = Stage()
    chunks = [Chunk(0, "text", "Hi "), Chunk(0, "text", "you.")]
    stage.player.play(rx.of(segment(0, "Hi you.", 0.7, start=0)), text=rx.from_iterable(chunks))
    stage.clock.advance_to(0.3)
    assert stage.player.heard() == "Hi"
    stage.clock.advance_to(1)
    assert stage.player.heard() == "Hi you."


def test_a_subscriber_of_frames_may_interrupt_from_inside():
    stage = Stage()
    stage.player.frames.subscribe(lambda frame: frame.start_s > 0.1 and stage.player.interrupt())
    stage.player.play(rx.of(segment(0, "Hello.", 1)))
    stage.clock.advance_to(3)
    assert len(stage.frames) == 7
    assert stage.player.current.interrupted


def test_wrong_options_are_told():
    with pytest.raises(UsageError, match="frame_s"):
        Player(frame_s=0)
