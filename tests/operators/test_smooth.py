"""Bursts to an even flow, on virtual time."""

import random
from itertools import pairwise

import pytest
from reactivex.testing import ReactiveTest, TestScheduler

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    ErrorInfo,
    Notice,
    Retrying,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    ToolCallsReady,
    Usage,
)
from streamflow.operators import smooth
from streamflow.text.graphemes import graphemes

on_next, on_completed, on_error = ReactiveTest.on_next, ReactiveTest.on_completed, ReactiveTest.on_error
FAMILY = "👨‍👩‍👧‍👦"


def play(messages, operator, until=1000.0):
    """What comes out, as (time, value); the source is subscribed at 200."""
    scheduler = TestScheduler()
    source = scheduler.create_hot_observable(messages)
    results = scheduler.start(lambda: source.pipe(operator), disposed=until)
    return [(message.time, getattr(message.value, "value", message.value.kind)) for message in results.messages]


def shown(out):
    """[(time, text)] of strings and chunks."""
    return [(time, getattr(item, "text", item)) for time, item in out if isinstance(item, Chunk | str) and item != "C"]


def bursts(seed=1, count=12, every_s=0.45):
    """Fifty to eighty tokens at once, every 450 ms: what proxies make of a stream."""
    rng = random.Random(seed)
    return [
        (210 + n * every_s, "".join(f"w{rng.randint(0, 999)} " for _ in range(rng.randint(50, 80))))
        for n in range(count)
    ]


def lags(messages, out):
    """For each character, how much later it left than it came."""
    came = [time for time, text in messages for _ in text]
    left = [time for time, text in shown(out) for _ in text]
    return [b - a for a, b in zip(came, left, strict=True)]


@pytest.mark.parametrize("by", ["word", "grapheme"])
@pytest.mark.parametrize("lag", [0.2, 0.5, 1.0])
def test_bursts_become_an_even_flow_and_no_character_is_too_late(by, lag):
    messages = bursts()
    out = play([on_next(*message) for message in messages], smooth(lag, by))
    assert "".join(text for _, text in shown(out)) == "".join(text for _, text in messages)
    times = [time for time, _ in shown(out)]
    gaps = sorted(after - before for before, after in pairwise(times))
    assert gaps[int(len(gaps) * 0.95)] < 0.06
    assert max(lags(messages, out)) <= lag + 0.011
    if lag >= 0.5:
        assert max(gaps) < 0.06, "longer than the silence between two bursts: no pause at all"
        sizes = [len(text) for _, text in shown(out)]
        assert max(sizes) <= 40, "no burst is left"


def test_the_first_word_does_not_wait():
    out = play([on_next(210, "Hello big world ")], smooth(1.0))
    assert out[0] == (210, "Hello ")


def test_a_steady_stream_stays_steady():
    messages = [(210 + n * 0.02, f"w{n} ") for n in range(200)]
    out = play([on_next(*message) for message in messages], smooth(0.3))
    times = [time for time, _ in shown(out)]
    assert max(after - before for before, after in pairwise(times)) < 0.06
    assert max(lags(messages, out)) <= 0.311


def test_a_word_leaves_whole_however_it_was_cut():
    text = "Unbelievable things happen everywhere. "
    out = play([on_next(210 + n * 0.005, char) for n, char in enumerate(text)], smooth(0.5))
    starts = {0, *(place + 1 for place, char in enumerate(text) if char == " ")}
    place = 0
    for _, piece in shown(out):
        assert place in starts
        place += len(piece)
    assert place == len(text)


def test_a_word_that_does_not_go_on_leaves_in_time():
    assert play([on_next(210, "Hel")], smooth(0.5)) == [(210.5, "Hel")]


@pytest.mark.parametrize("by", ["word", "grapheme"])
def test_signs_are_never_torn(by):
    text = f"a{FAMILY}e\u0301o\u0308 \U0001f1eb\U0001f1f7\U0001f1ee\U0001f1f9 👍🏽 क्षि 한국 が\u3099 end" * 3
    rng = random.Random(4)
    for pace in (0.0, 0.004, 0.03):
        time, messages = 210.0, []
        for char in text:
            time += rng.uniform(0, pace)
            messages.append(on_next(time, char))
        out = play([*messages, on_completed(time + 0.001)], smooth(0.2, by))
        signs = graphemes(text)
        boundaries = {0}
        for sign in signs:
            boundaries.add(max(boundaries) + len(sign))
        place = 0
        for _, piece in shown(out):
            place += len(piece)
            assert place in boundaries, (pace, piece)
        assert place == len(text)


def test_the_rest_leaves_within_a_quarter_of_a_second_after_the_end():
    text = "word " * 400
    out = play([on_next(210, text), on_completed(210.1)], smooth(5.0))
    assert out[-1][1] == "C"
    assert out[-1][0] <= 210.35
    assert "".join(piece for _, piece in shown(out)) == text
    assert len(out) > 10, "and still not all at once"


def test_the_end_of_the_message_keeps_its_place_and_comes_within_a_quarter_of_a_second():
    block, end = BlockComplete(0, "text", "word " * 200), StreamCompleted()
    events = [
        on_next(210, StreamStart("1")),
        on_next(210, BlockStart(0, "text")),
        on_next(210, Chunk(0, "text", "word " * 200, start=0)),
        on_next(210.01, block),
        on_next(210.02, end),
    ]
    out = play(events, smooth(3.0))
    assert [item for _, item in out][:2] == [StreamStart("1"), BlockStart(0, "text")]
    assert [item for _, item in out][-2:] == [block, end]
    assert out[-1][0] <= 210.02 + 0.25


@pytest.mark.parametrize(
    "event",
    [
        BlockStart(1, "tool_call"),
        Chunk(1, "tool_call", "{", visible=False, part="input"),
        BlockComplete(1, "tool_call"),
        ToolCallsReady([]),
        Usage(output_tokens=1),
        Notice("gap"),
        Chunk(2, "thinking", "hm", visible=False),
    ],
)
def test_control_events_overtake_the_text_and_none_is_lost(event):
    text = "word " * 100
    out = play([on_next(210, Chunk(0, "text", text)), on_next(210.1, event), on_completed(214)], smooth(2.0))
    assert (210.1, event) in out
    assert "".join(item.text for _, item in out if isinstance(item, Chunk) and item.index == 0) == text
    assert [item for _, item in out].index(event) < len(out) - 5


def test_an_error_does_not_wait_and_no_text_is_lost():
    text = "word " * 100
    out = play([on_next(210, text), on_error(210.1, RuntimeError("cut"))], smooth(2.0))
    assert out[-1] == (210.1, "E")
    assert "".join(piece for _, piece in shown(out) if piece != "E") == text
    failed = StreamFailed(ErrorInfo("StreamTruncated", "cut"))
    out = play([on_next(210, text), on_next(210.1, failed)], smooth(2.0))
    assert out[-1] == (210.1, failed)
    assert "".join(piece for _, piece in shown(out)) == text


def test_a_discarded_attempt_is_forgotten():
    again = Retrying(1, 2, discard=True)
    out = play([on_next(210, "old " * 100), on_next(210.1, again), on_next(210.2, "new ")], smooth(2.0))
    assert [item for time, item in out if time >= 210.1] == [again, "new "]


def test_offsets_stay_right():
    raw = "One two three four five. "
    chunks = [Chunk(0, "text", raw[at : at + 4], start=at) for at in range(0, len(raw), 4)]
    out = play([on_next(210 + n * 0.001, chunk) for n, chunk in enumerate(chunks)], smooth(0.3))
    assert "".join(chunk.text for _, chunk in out) == raw
    assert all(raw[chunk.start :].startswith(chunk.text) for _, chunk in out)


def test_two_blocks_are_not_mixed():
    events = [
        Chunk(0, "text", "one two thr"),
        BlockComplete(0, "text"),
        BlockStart(1, "text"),
        Chunk(1, "text", "four five"),
    ]
    out = [item for _, item in play([*(on_next(210, event) for event in events), on_completed(210)], smooth(0.5))]
    assert [item.index for item in out if not isinstance(item, str)] == sorted(
        item.index for item in out if not isinstance(item, str)
    )
    assert "".join(item.text for item in out if isinstance(item, Chunk)) == "one two thrfour five"


def test_nothing_comes_after_dispose():
    out = play([on_next(210, "word " * 100)], smooth(2.0), until=211)
    assert max(time for time, _ in out) <= 211


def test_where_no_time_passes_the_text_is_whole():
    events = [BlockStart(0, "text"), Chunk(0, "text", "a b c"), BlockComplete(0, "text", "a b c"), StreamCompleted()]
    out = sf.run(events, smooth(1.0))
    assert "".join(item.text for item in out if isinstance(item, Chunk)) == "a b c"
    assert [type(item) for item in out if not isinstance(item, Chunk)] == [BlockStart, BlockComplete, StreamCompleted]


def test_many_chunks_at_one_moment_cost_no_more_each():
    out = play([*(on_next(210, "ab ") for _ in range(3000)), on_completed(211)], smooth(0.3))
    assert "".join(text for _, text in shown(out)) == "ab " * 3000


@pytest.mark.parametrize("options", [{"target_lag_s": 0}, {"by": "line"}])
def test_wrong_options_are_told_when_the_operator_is_made(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        smooth(**options)
