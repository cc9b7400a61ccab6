"""The probe: it changes nothing, counts right, and finds the bytes of every output."""

import random

import pytest
import reactivex as rx

import streamflow as sf
from streamflow.events import Chunk, Sentence
from streamflow.operators import (
    normalize_provider,
    sentence_segment,
    sse_decode,
    tool_accumulate,
    visible_filter,
    wire_decode,
    xml_block_split,
)
from tests.recordings.make import RECORDINGS, chat, sse
from tests.support.cuts import at_random

TEXT = "<thinking>Let me see.</thinking>Rome is sunny. Dr. Rossi says: take a hat! It is 24.5 °C, is it not? Yes."


def wire() -> bytes:
    rng = random.Random(3)
    pieces, at = [], 0
    while at < len(TEXT):
        size = rng.randint(1, 6)
        pieces.append(chat({"content": TEXT[at : at + size]}))
        at += size
    return sse(*pieces, chat({}, "stop"), done=True)


CHAIN = (
    sse_decode(),
    normalize_provider("openai"),
    xml_block_split(),
    visible_filter(),
    sentence_segment(language="en", min_chars=0),
)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_probe_changes_nothing(recording):
    chain = (wire_decode(recording.provider), normalize_provider(recording.provider), tool_accumulate())
    plain, probed, ends = [], [], []
    rx.of(recording.wire).pipe(*chain).subscribe(plain.append, ends.append)
    watched = sf.probe(rx.of(recording.wire).pipe(*chain))
    watched.subscribe(probed.append, ends.append)
    assert probed == plain
    assert len(ends) in (0, 2)
    assert len(set(map(str, ends))) <= 1
    assert watched.stages[-1].items_out == len(plain)
    assert [log.name for log in watched.stages] == ["wire_decode", "normalize_provider", "tool_accumulate"]


def test_explain_finds_the_frames_and_bytes_of_every_sentence():
    watched = sf.probe(*CHAIN)
    data = wire()
    out = sf.run(at_random(data, random.Random(1), 40), *watched.operators)
    sentences = [item for item in out if isinstance(item, Sentence)]
    assert len(sentences) >= 4
    for sentence in sentences:
        told = watched.explain(sentence)
        assert told.data == data[told.start : told.end]
        again = sf.decode("openai", told.data, on_bad_frame="skip")
        chunks = [event for event in again if isinstance(event, Chunk)]
        assert sentence.text.strip() in "".join(chunk.text for chunk in chunks)
        assert TEXT[sentence.start : sentence.end] == sentence.text
        assert len(told.frames) < watched["sse_decode"].items_out
        assert sentence in watched.made_from(told.start, told.end)
        assert "bytes" in str(told)


def test_explain_reaches_every_output_of_every_recording():
    for recording in RECORDINGS:
        if recording.whole or recording.wire.startswith(b"["):
            continue
        watched = sf.probe(wire_decode(recording.provider), normalize_provider(recording.provider))
        seen = []
        rx.of(recording.wire).pipe(watched).subscribe(seen.append, lambda error: None)
        for event in seen:
            told = watched.explain(event)
            assert told.end > told.start, (recording.name, event)


def test_figures_of_a_stage():
    ticks = iter(range(1000))
    watched = sf.probe(*CHAIN, clock=lambda: float(next(ticks)))
    sf.run([wire()], *watched.operators)
    row = watched.table()[0]
    assert (row["stage"], row["in"]) == ("sse_decode", 1)
    assert row["seconds"] == 2.0  # one feed and one flush, a tick each
    assert watched["sentence_segment"].most_held > 0
    assert watched["visible_filter"].most_held == 0
    assert "sentence_segment" in str(watched)
    assert watched["sse_decode"].gaps(0.5) == []


def test_each_subscription_has_fresh_logs():
    watched = sf.probe(rx.of(wire()).pipe(*CHAIN))
    for _ in range(2):
        watched.subscribe(lambda item: None)
    assert watched["sse_decode"].items_in == 1


@pytest.mark.parametrize("pipeline", [(), (3,), (rx.of(1),), (sse_decode(), len)])
def test_wrong_use_says_what_to_do(pipeline):
    with pytest.raises(sf.UsageError, match="probe"):
        sf.probe(*pipeline)


def test_an_item_that_is_not_of_this_chain_is_wrong_use():
    watched = sf.probe(*CHAIN)
    sf.run([wire()], *watched.operators)
    with pytest.raises(sf.UsageError, match="explain"):
        watched.explain("nothing of yours")
    with pytest.raises(sf.UsageError, match="no stage"):
        watched["nobody"]
    with pytest.raises(sf.UsageError, match="no source"):
        watched.subscribe(print)
