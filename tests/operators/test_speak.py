"""Sentences to sound: exact order, bounded look-ahead, failures and hangs survived. Time is virtual."""

import asyncio
import random
import threading

import pytest
import reactivex as rx
from reactivex import operators as ops
from reactivex.subject import Subject

import streamflow as sf
from streamflow.audio import AudioSegment
from streamflow.errors import UsageError
from streamflow.events import Notice, Retrying, Sentence, StreamCompleted, StreamStart, Usage
from streamflow.operators import speak
from streamflow.testing.virtual_time import run_virtually
from streamflow.text.spoken import Spoken
from tests.support.voices import SECONDS_PER_CHARACTER, Voice, tone


def listen(items, *operators):
    """Run on virtual time: [(time, item)] and how it ended."""

    async def main():
        loop, out, end = asyncio.get_running_loop(), [], loop_future()
        rx.from_iterable(items).pipe(*operators).subscribe(
            lambda item: out.append((round(loop.time(), 6), item)),
            lambda error: end.set_result(error),
            lambda: end.set_result(None),
        )
        return out, await end

    return run_virtually(main())


def loop_future():
    return asyncio.get_running_loop().create_future()


def texts(out):
    return [item.sentence.text for _, item in out if isinstance(item, AudioSegment)]


def sentences(count):
    return [Sentence(n, f"Sentence {n}.", id=f"seq{n + 1}_t") for n in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_b9_random_latencies_give_exact_order_and_a_bounded_look_ahead(seed):
    rng = random.Random(seed)
    delivered = []

    class Watched(Voice):
        async def synthesize(self, text):
            assert len(self.begun) + 1 - len(delivered) <= 5
            return await super().synthesize(text)

    voice = Watched(lambda text: rng.uniform(0, 3))
    out, end = listen(sentences(40), speak(voice, concurrency=3, lookahead=5), ops.do_action(delivered.append))
    assert [item.index for _, item in out] == list(range(40))
    assert end is None
    assert voice.most_running == 3


def test_each_result_belongs_to_its_own_sentence():
    # A loop variable captured by reference once made two requests speak the same sentence.
    voice = Voice(lambda text: 1.0 if "first" in text else 0.1)
    out, _ = listen(["The first one.", "A second."], speak(voice))
    assert voice.begun == ["The first one.", "A second."]
    for _, segment in out:
        assert segment.duration_s == pytest.approx(len(segment.sentence.text) * SECONDS_PER_CHARACTER)


def test_segments_leave_as_soon_as_it_is_their_turn():
    latency = {"A.": 2.0, "B.": 0.5, "C.": 1.0}
    out, _ = listen(["A.", "B.", "C."], speak(Voice(latency.get)))
    assert [(time, item.sentence.text) for time, item in out] == [(2.0, "A."), (2.0, "B."), (2.0, "C.")]


def test_b9_a_failing_sentence_is_reported_and_skipped():
    out, end = listen(["A.", "B.", "C."], speak(Voice(fails=lambda text: text == "B.")))
    assert [getattr(item, "code", None) for _, item in out] == [None, "synthesis_failed", None]
    notice = out[1][1]
    assert notice.raw == {"index": 1, "text": "B.", "start": 2, "end": 4}
    assert "no voice for B." in notice.message
    assert end is None


def test_what_is_no_wave_file_is_a_failure():
    class Text:
        async def synthesize(self, text):
            return b"oops"

    out, _ = listen(["A."], speak(Text()))
    assert out[0][1].code == "synthesis_failed"
    assert "not a wave file" in out[0][1].message


def test_retry_tries_once_more():
    tries = []

    def fails(text):
        tries.append(text)
        return len(tries) == 1

    out, _ = listen(["A."], speak(Voice(fails=fails), on_failure="retry"))
    assert texts(out) == ["A."]
    assert tries == ["A.", "A."]


def test_stop_ends_with_the_error_after_what_came_before():
    voice = Voice(lambda text: 1.0, fails=lambda text: text == "B.")
    out, end = listen(["A.", "B.", "C."], speak(voice, on_failure="stop"))
    assert texts(out) == ["A."]
    assert isinstance(end, ConnectionError)


def test_one_that_hangs_is_given_up_when_others_have_waited_long_enough():
    latency = {"A.": 0.0, "B.": 100.0, "C.": 1.0, "D.": 2.0}
    voice = Voice(latency.get)
    out, end = listen(list(latency), speak(voice, gap_s=5))
    assert [(time, item.code if isinstance(item, Notice) else item.sentence.text) for time, item in out] == [
        (0.0, "A."),
        (6.0, "skipped"),
        (6.0, "C."),
        (6.0, "D."),
    ]
    assert voice.cancelled == ["B."]
    assert end is None


def test_one_that_cannot_be_cancelled_is_reported_as_late_and_never_played():
    class Stubborn(Voice):
        async def synthesize(self, text):
            if text != "B.":
                return await super().synthesize(text)
            until = asyncio.get_running_loop().time() + 8
            while asyncio.get_running_loop().time() < until:
                try:
                    await asyncio.sleep(1)
                except asyncio.CancelledError:
                    asyncio.current_task().uncancel()
            return tone(1)

    items = ["A.", "B.", "C.", *(f"Long number {n}." for n in range(12))]
    out, _ = listen(items, speak(Stubborn(lambda text: 1.0), gap_s=5))
    kinds = [item.code if isinstance(item, Notice) else item.sentence.text for _, item in out]
    assert kinds[:3] == ["A.", "skipped", "C."]
    assert kinds.count("late") == 1
    assert [kind for kind in kinds if kind not in ("skipped", "late")] == [item for item in items if item != "B."]


def test_the_wait_for_a_gap_is_not_prolonged_by_others_that_come():
    latency = {"A.": 100.0, "B.": 1.0, "C.": 4.0, "D.": 0.5}
    out, _ = listen(list(latency), speak(Voice(latency.get), gap_s=5))
    assert out[0][0] == 6.0


def test_any_is_given_up_after_the_time_limit():
    out, end = listen(["A."], speak(Voice(lambda text: 1e6), timeout_s=30))
    assert [(time, item.code) for time, item in out] == [(30.0, "synthesis_failed")]
    assert end is None


def test_with_a_player_the_look_ahead_counts_what_was_not_played():
    async def main():
        played, source, voice, out = Subject(), Subject(), Voice(), []
        subscription = source.pipe(speak(voice, lookahead=2, played=played)).subscribe(out.append)
        for sentence in sentences(6):
            source.on_next(sentence)
        seen = []
        for _ in range(4):
            await asyncio.sleep(1)
            seen.append(len(voice.begun))
            played.on_next(None)
        subscription.dispose()
        return seen

    assert run_virtually(main()) == [2, 3, 4, 5]


def test_b10_dispose_cancels_what_is_in_flight_and_silences_at_once():
    async def main():
        voice, out = Voice(lambda text: 1.0), []
        subscription = rx.from_iterable(sentences(9)).pipe(speak(voice)).subscribe(out.append)
        await asyncio.sleep(1.5)
        heard = len(out)
        subscription.dispose()
        await asyncio.sleep(10)
        assert (heard, len(out), len(voice.cancelled), voice.running) == (3, 3, 3, 0)

    run_virtually(main())


def test_the_beginning_and_end_of_a_message_keep_their_places_and_others_pass_at_once():
    start, end, usage = StreamStart("1"), StreamCompleted(), Usage(output_tokens=3)
    out, _ = listen([start, "A.", usage, end, start, "B.", end], speak(Voice(lambda text: 1.0)))
    assert [item if not isinstance(item, AudioSegment) else item.sentence.text for _, item in out] == [
        start,
        usage,
        "A.",
        end,
        start,
        "B.",
        end,
    ]
    assert [item.index for _, item in out if isinstance(item, AudioSegment)] == [0, 0], "each message counts anew"


def test_a_discarded_attempt_is_not_spoken():
    async def main():
        voice, source, out = Voice(lambda text: 1.0), Subject(), []
        source.pipe(speak(voice)).subscribe(out.append)
        source.on_next("Old text.")
        await asyncio.sleep(0.5)
        source.on_next(Retrying(1, 2, discard=True))
        source.on_next("New text.")
        source.on_completed()
        await asyncio.sleep(5)
        assert [item.sentence.text for item in out if isinstance(item, AudioSegment)] == ["New text."]
        assert [item.index for item in out if isinstance(item, AudioSegment)] == [0]
        assert voice.cancelled == ["Old text."]

    run_virtually(main())


def test_an_error_of_the_source_comes_after_what_can_be_said():
    async def main():
        source, out, faults = Subject(), [], []
        source.pipe(speak(Voice(lambda text: 1.0))).subscribe(out.append, faults.append)
        source.on_next("A.")
        source.on_error(RuntimeError("cut"))
        await asyncio.sleep(0.5)
        assert not faults
        await asyncio.sleep(1)
        assert len(out) == len(faults) == 1

    run_virtually(main())


def test_what_has_nothing_to_say_is_not_sent():
    voice = Voice()
    out, _ = listen(["---\n", "Hi.", "\n\n", Spoken("Du.", 10, 13)], speak(voice))
    assert voice.begun == ["Hi.", "Du."]
    assert out[-1][1].sentence.start == 10


def test_a_plain_function_runs_in_a_thread_and_does_not_block_the_loop():
    threads = []

    class Plain:
        def synthesize(self, text):
            threads.append(threading.current_thread())
            return tone(0.1)

    async def main():
        return [item.sentence.text async for item in sf.aiter(rx.of("A.", "B.").pipe(speak(Plain())))]

    assert asyncio.run(main()) == ["A.", "B."]
    assert threading.main_thread() not in threads


def test_without_a_running_loop_it_brings_its_own():
    out = sf.run(["A.", "B."], speak(Voice()))
    assert [item.sentence.text for item in out] == ["A.", "B."]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"synthesizer": object()}, "method `synthesize"),
        ({"concurrency": 0}, "at least 1"),
        ({"lookahead": 0}, "at least 1"),
        ({"on_failure": "cry"}, "'skip', 'retry', 'stop'"),
    ],
)
def test_wrong_options_are_told_when_the_operator_is_made(arguments, words):
    with pytest.raises(UsageError, match=words):
        speak(**({"synthesizer": Voice()} | arguments))
