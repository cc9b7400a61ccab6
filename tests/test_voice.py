"""The whole way from tokens to sound, and the faults that voices of this kind have had: each is a test here."""

import asyncio
import random
import re
import time

import pytest
import reactivex as rx
from reactivex import operators as ops
from reactivex.subject import Subject

import streamflow as sf
from streamflow.audio import AudioSegment
from streamflow.events import BlockComplete, BlockStart, Chunk, Notice, Sentence, StreamCompleted, StreamStart
from streamflow.operators import sentence_segment, speak, speakable, visible_filter
from streamflow.sinks.player import Player
from streamflow.testing import FakeProvider, run_virtually
from streamflow.text.spoken import Spoken
from tests.support.voices import Voice

ANSWER = """# Bread

Making **bread** takes *time*. You need:

- 500 g of flour
- 3.5 dl of water, see [the recipe](https://example.org/bread)

```python
bake("bread")
```

Dr. Crumb says: "Knead it well!" Then wait. 🍞 It is done when `core_temp` is 96 °C.
"""


def tokens(text, size=4):
    return [text[at : at + size] for at in range(0, len(text), size)]


def message(text, identity="1", size=4):
    """One message as events, with its offsets."""
    yield StreamStart(identity)
    yield BlockStart(0, "text")
    for number, token in enumerate(tokens(text, size)):
        yield Chunk(0, "text", token, start=number * size)
    yield BlockComplete(0, "text", text)
    yield StreamCompleted()


def to_sentences(items, **options):
    out = sf.run(items, speakable(), sentence_segment("en", min_chars=options.pop("min_chars", 0), **options))
    return [item for item in out if isinstance(item, Sentence)]


def test_from_markdown_tokens_to_what_a_voice_says():
    assert [sentence.text.strip() for sentence in to_sentences(message(ANSWER))] == [
        "Bread.",
        "Making bread takes time.",
        "You need:",
        "500 g of flour.",
        "3.5 dl of water, see the recipe.",
        'Dr. Crumb says: "Knead it well!"',
        "Then wait.",
        "It is done when core_temp is 96 °C.",
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 10_000])
def test_the_sentences_are_the_same_however_the_tokens_are_cut(size):
    assert to_sentences(message(ANSWER, size=size)) == to_sentences(message(ANSWER))


def test_spans_are_in_order_and_lie_in_the_raw_text():
    end = 0
    for sentence in to_sentences(message(ANSWER)):
        assert end <= sentence.start <= sentence.end <= len(ANSWER)
        end = sentence.end
        first_word = re.search(r"\w+", sentence.text)[0]
        assert first_word in ANSWER[sentence.start : sentence.end]


def test_the_screen_sees_the_text_of_the_model():
    shown = sf.run(message(ANSWER), visible_filter())
    assert "".join(chunk.text for chunk in shown) == ANSWER


# The symptoms of voices that went wrong, one by one.


def test_every_sentence_has_a_number_of_its_own():
    # A counter set to 0 inside the loop over fragments made all of them the first.
    ids = [sentence.id for sentence in to_sentences(message(ANSWER, size=1))]
    assert [re.match(r"seq(\d+)_", identity)[1] for identity in ids] == [str(n + 1) for n in range(len(ids))]
    assert len({identity.split("_", 1)[1] for identity in ids}) == 1, "one token for one message"


def test_each_message_counts_from_one():
    sentences = to_sentences([*message("One. Two.", "1"), *message("Three. Four.", "2")])
    assert [(sentence.index, sentence.id[:5]) for sentence in sentences] == [(0, "seq1_"), (1, "seq2_")] * 2


def test_the_last_sentence_is_said_though_it_is_not_finished_and_its_id_is_like_the_others():
    sentences = to_sentences(message("One is done. This one never ends"))
    assert sentences[-1].text == "This one never ends"
    assert sentences[-1].final
    assert all(re.fullmatch(r"seq\d+_\S+", sentence.id) for sentence in sentences)


def test_a_finished_sentence_does_not_wait_for_the_end_of_the_stream():
    feeder = sf.Feeder(speakable(), sentence_segment("en", min_chars=0))
    out = [item for token in tokens("First one here. Second one") for item in feeder.feed(token)]
    assert [sentence.text for sentence in out] == ["First one here. "]


def test_short_sentences_are_joined_but_the_first_leaves_at_once():
    text = "Yes. No. So it is. And a sentence that is longer than sixty characters, it must be. Ok."
    sentences = to_sentences([text], min_chars=60)
    assert sentences[0].text == "Yes. "
    assert all(len(sentence.text) > 60 for sentence in sentences[1:-1])
    assert "".join(sentence.text for sentence in sentences).endswith("Ok.")


def test_blocks_that_end_in_mid_sentence_add_no_break():
    # Web search cuts an answer into many blocks.
    texts = ["Rome is ", "the capital", " of Italy [1]. ", "It is old."]
    events = []
    for n, text in enumerate(texts):
        events += [BlockStart(n, "text"), Chunk(n, "text", text), BlockComplete(n, "text", text)]
    said_texts = [sentence.text.strip() for sentence in to_sentences(events)]
    assert said_texts == ["Rome is the capital of Italy.", "It is old."]


def test_nothing_hidden_is_said():
    hidden = [Chunk(0, "thinking", "Secret. ", visible=False), Chunk(2, "tool_call", "{}", part="input")]
    events = [hidden[0], Chunk(1, "text", "Hello."), hidden[1]]
    assert [sentence.text for sentence in to_sentences(events)] == ["Hello."]


def conversation(texts, latency, **options):
    """Speak messages one after the other, without a pause; [(time, item)] and the voice."""

    async def main():
        loop, source, out, voice = asyncio.get_running_loop(), Subject(), [], Voice(latency)
        over = loop.create_future()
        source.pipe(speakable(), sentence_segment("en", min_chars=0), speak(voice, **options)).subscribe(
            lambda item: out.append((loop.time(), item)), over.set_exception, lambda: over.set_result(None)
        )
        for number, text in enumerate(texts):
            for event in message(text, str(number)):
                source.on_next(event)
        source.on_completed()
        await over
        return out, voice

    return run_virtually(main())


def said(out):
    return [item.sentence.text.strip() for _, item in out if isinstance(item, AudioSegment)]


@pytest.mark.parametrize("seed", range(10))
def test_two_messages_are_said_whole_in_order_and_without_waiting(seed):
    rng = random.Random(seed)
    out, voice = conversation(["One. Two. Three. Four. Five.", "Six. Seven. Eight."], lambda text: rng.uniform(0, 1))
    assert said(out) == ["One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.", "Eight."]
    assert voice.begun == said(out), "no sentence twice, none left out"
    assert not [item for _, item in out if isinstance(item, Notice)]
    assert out[-1][0] < 5, "the second message waits for no number of the first"


def test_ten_and_more_sentences_keep_their_order():
    # Sorted as text, the tenth would come before the second.
    rng = random.Random(0)
    texts = [f"Number {n}." for n in range(25)]
    out, _ = conversation([" ".join(texts)], lambda text: rng.uniform(0, 3))
    assert said(out) == texts


def test_the_late_one_after_a_skip_does_not_move_the_order_back():
    slow = {"Two.": 60.0}
    out, voice = conversation(["One. Two. Three. Four. Five."], lambda text: slow.get(text, 0.1), gap_s=5)
    assert said(out) == ["One.", "Three.", "Four.", "Five."]
    assert [item.code for _, item in out if isinstance(item, Notice)] == ["skipped"]
    assert voice.cancelled == ["Two."]
    assert out[-1][0] < 6, "and the ones after it do not wait again"


def test_the_wait_ends_when_the_missing_one_comes():
    slow = {"One.": 4.9}
    out, _ = conversation(["One. Two. Three. Four."], lambda text: slow.get(text, 0.1), gap_s=5)
    assert said(out) == ["One.", "Two.", "Three.", "Four."]
    assert not [item for _, item in out if isinstance(item, Notice)]


def test_b9_a_voice_that_fails_leaves_the_text_alone():
    out, _ = conversation(["One. Two. Three."], lambda text: 1 / 0 if text == "Two." else 0.1)
    assert said(out) == ["One.", "Three."]
    assert [item.raw["text"].strip() for _, item in out if isinstance(item, Notice)] == ["Two."]


def test_a_whole_turn_is_heard_as_the_raw_text_and_an_interrupted_one_as_its_beginning():
    async def main():
        player = Player()
        chunks = [item for item in message(ANSWER) if isinstance(item, Chunk)]
        source = rx.from_iterable(chunks)
        voice = speak(Voice(lambda text: 0.2), played=player.played)
        pipeline = (speakable(), sentence_segment("en", min_chars=0), voice)
        player.play(source.pipe(*pipeline), text=source)
        await player.wait()
        assert player.heard() == ANSWER
        player.play(source.pipe(*pipeline), text=source)
        await asyncio.sleep(2.0)
        heard = player.interrupt()
        assert ANSWER.startswith(heard)
        assert heard.startswith("# Bread\n\nMaking **bread**")
        assert player.word_at(0).text == "Bread"

    run_virtually(main())


def test_captions_follow_every_spoken_word_to_its_place():
    pieces = [item for item in sf.run(message(ANSWER), speakable()) if isinstance(item, Spoken)]
    for piece in pieces:
        if len(piece.text) == piece.end - piece.start and piece.text.isalnum():
            assert ANSWER[piece.start : piece.end] == piece.text


async def test_b10_an_interruption_closes_the_connection_to_the_provider_and_leaves_no_task():
    async with (
        FakeProvider() as fake,
        sf.connect("openai", model="m", api_key="sk-test-0123456789", base_url=fake.base_url("openai")) as llm,
    ):
        events = llm.stream("sim:long 5000 2").pipe(ops.share())
        player, voice = Player(), Voice()
        first = asyncio.get_running_loop().create_future()
        player.frames.subscribe(lambda frame: first.done() or first.set_result(frame))
        pipeline = (speakable(), sentence_segment("en", min_chars=0, max_chars=60), speak(voice, played=player.played))
        player.play(events.pipe(*pipeline), text=events)
        await first
        assert fake.open_connections == 1
        heard = player.interrupt(played_s=1.0)
        await fake.wait_closed()
        assert heard
        assert voice.running == 0
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_many_calls_in_one_process_do_not_delay_each_other():
    # 200 calls at 50 tokens a second for two seconds; an operator may take 20 ms at the most, p99.
    feeders = [sf.Feeder(speakable(), sentence_segment("en")) for _ in range(200)]
    pieces = tokens(ANSWER * 2)[:100]
    times = []
    for token in pieces:
        for feeder in feeders:
            begun = time.perf_counter()
            feeder.feed(token)
            times.append(time.perf_counter() - begun)
    times.sort()
    assert times[int(len(times) * 0.99)] < 0.02
    assert sum(times) < 2.0, "one core can do it in the time that it takes to come"
