"""The data behind the page: rows, and which of them belong together."""

import pytest

import streamflow as sf
from streamflow.events import BlockStart, Chunk, StreamStart
from streamflow.inspector import trace_of
from streamflow.operators import normalize_provider, sentence_segment, tool_accumulate, wire_decode, xml_block_split
from streamflow.recordings import Piece, Recording, from_capture
from tests.inspector.recorded import SAID, cut, good, long
from tests.recordings.make import RECORDINGS


def spans(numbers):
    return range(numbers[0], numbers[-1] + 1) if numbers else range(0)


def test_the_events_are_those_of_decode():
    trace = trace_of(good())
    assert trace.events == sf.decode("anthropic", good().data, xml_block_split(tables=_tables()), tool_accumulate())
    assert "".join(sentence.text for sentence in trace.sentences) == SAID


def _tables():
    from streamflow.operators._block_split import ALL_TABLES

    return ALL_TABLES


@pytest.mark.parametrize("size", [1, 7, 5000])
def test_rows_are_the_same_however_the_bytes_were_cut(size):
    whole, other = trace_of(good()), trace_of(good().recut(size=size))
    assert (whole.frames, whole.events, whole.born, whole.causes) == (
        other.frames,
        other.events,
        other.born,
        other.causes,
    )
    assert whole.sentences == other.sentences


def test_provenance_is_what_the_probe_explains():
    recording = good()
    seen = sf.probe(
        wire_decode("anthropic"),
        normalize_provider("anthropic"),
        xml_block_split(),
        tool_accumulate(),
        sentence_segment(ids=lambda: "s"),
    )
    sf.run([piece.item for piece in recording.pieces], *seen.operators)
    trace = trace_of(recording)
    explained = [seen.explain(item) for _, item in seen.stages[-1].outputs() if isinstance(item, sf.Sentence)]
    assert len(explained) == len(trace.sentences) > 1
    for row, explanation in zip(trace.sentences, explained, strict=True):
        frames = {frame for event in row.events for frame in trace.causes[event]}
        assert min(trace.frames[frame].start for frame in frames) == explanation.start
        assert max(trace.frames[frame].end for frame in frames) == explanation.end


@pytest.mark.parametrize("made", RECORDINGS, ids=lambda made: made.name)
def test_every_row_has_its_place(made):
    trace = trace_of(from_capture(made.wire, provider=made.provider))
    assert len(trace.born) == len(trace.causes) == len(trace.events)
    assert all(-1 <= born < len(trace.frames) for born in trace.born)
    came = [born for born in trace.born if born >= 0]
    assert came == sorted(came)
    for event, causes in zip(trace.events, trace.causes, strict=True):
        if isinstance(event, Chunk):
            assert causes
        assert all(0 <= cause < len(trace.frames) for cause in causes)
    for stage in trace.stages:
        assert stage.outs == sorted(stage.outs)
        assert stage.outs[-1] == stage.items_out


def test_a_cut_stream_keeps_its_error():
    trace = trace_of(cut())
    assert type(trace.error).__name__ == "StreamTruncated"
    assert type(trace.events[-1]).__name__ == "StreamFailed"


def test_what_is_held_is_told_for_each_frame():
    trace = trace_of(good())
    sentences = trace.stages[-1]
    assert sentences.most_held > 20
    assert sentences.helds[-1] == 0


def test_a_recording_of_events_has_no_frames():
    events = sf.decode("anthropic", good().data)
    trace = trace_of(Recording("anthropic", tuple(Piece(0.1 * n, event) for n, event in enumerate(events))))
    assert (trace.frames, trace.events) == ([], events)
    assert trace.born == list(range(len(events)))
    assert trace.data()["wire"] == {"text": ""}


def test_wrong_use_is_told():
    with pytest.raises(sf.UsageError, match="provider"):
        trace_of(from_capture(b"data: a\n\n"))
    with pytest.raises(sf.UsageError, match="xml"):
        trace_of(good(), blocks="yaml")


def test_cost_is_linear():
    trace = trace_of(long(3000))
    assert sum(len(causes) for causes in trace.causes) < 2 * len(trace.events)


def test_a_stream_that_begins_without_a_start_is_shown_all_the_same():
    trace = trace_of(Recording("", (Piece(0, BlockStart(0, "text")), Piece(0, StreamStart()))))
    assert len(trace.events) == 2
