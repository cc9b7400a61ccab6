"""What is found wrong, and where."""

import streamflow as sf
from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart
from streamflow.inspector import trace_of, verdict_of
from streamflow.inspector.verdict import grammar_faults
from streamflow.recordings import Piece, Recording, from_capture
from tests.inspector.recorded import cut, good

END = b'data: {"id":"1","choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
HELLO = b'data: {"id":"1","choices":[{"delta":{"content":"Hello."}}]}\n\n'


def levels(trace):
    return {(finding.code, finding.level) for finding in verdict_of(trace)}


def test_a_good_stream_has_no_fault():
    assert {level for _, level in levels(trace_of(good()))} == {"ok"}


def test_a_cut_stream_has_its_faults_in_place():
    trace = trace_of(cut())
    found = {finding.code: finding for finding in reversed(verdict_of(trace))}
    assert (found["end"].level, found["end"].row) == ("fail", len(trace.events) - 1)
    assert found["calls"].level == "fail"
    assert trace.events[found["calls"].row].kind == "tool_call"
    assert (found["gaps"].level, found["gaps"].column, found["gaps"].row) == ("warn", "raw", 9)
    assert ("grammar", "ok") in levels(trace)


def test_gaps_have_a_threshold():
    findings = verdict_of(trace_of(cut()), gap_s=60)
    assert [finding.level for finding in findings if finding.code == "gaps"] == ["ok"]


def test_unknown_events_are_remarks():
    wire = (
        b'data: {"type":"message_start","message":{"id":"m","model":"d","content":[]}}\n\n'
        b'data: {"type":"surprise"}\n\ndata: {"type":"message_stop"}\n\n'
    )
    trace = trace_of(from_capture(wire, provider="anthropic"))
    [finding] = [finding for finding in verdict_of(trace) if finding.code == "unknown"]
    assert (finding.level, trace.events[finding.row].code) == ("warn", "unknown_event")


def test_a_broken_frame_is_a_fault_with_its_type():
    trace = trace_of(from_capture(HELLO + b"data: oops\n\n" + END, provider="openai"))
    worst = verdict_of(trace)[0]
    assert worst.level == "fail"
    assert "ProtocolError" in worst.detail


def test_a_source_that_broke_off_is_told_beside_the_end():
    recording = Recording("openai", (Piece(0.1, HELLO),), "error", 0.2, sf.TransportError("reset by peer"))
    assert {("end", "fail"), ("source", "warn")} <= levels(trace_of(recording))


def test_grammar_faults_are_all_told():
    events = [
        Chunk(0, "text", "early"),
        StreamStart(),
        BlockStart(0, "text"),
        BlockStart(0, "text"),
        Chunk(0, "text", "a"),
        BlockComplete(0, "text", "b"),
        BlockComplete(7, "text", ""),
        BlockStart(1, "text"),
        StreamCompleted("end_turn"),
        StreamStart(),
    ]
    told = [said for _, said in grammar_faults(events)]
    assert told == [
        "the first event is no start",
        "a chunk outside its block",
        "a second start",
        "block 0 opens twice",
        "the chunks of block 0 are not its content",
        "block 7 closes and is not open",
        "blocks [1] are open at the end",
        "an event after the end",
    ]


def test_an_empty_recording_has_no_end():
    assert verdict_of(trace_of(Recording("openai", ())))[0].code == "end"
