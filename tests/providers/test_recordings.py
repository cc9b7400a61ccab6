"""The project's own recordings: the known answer, the golden events, the same for every cutting, cut anywhere a cut."""

import random

import pytest

import streamflow as sf
from streamflow.events import StreamCompleted, StreamFailed, ToolCallsReady
from streamflow.operators import (
    eventstream_decode,
    json_array_decode,
    ndjson_decode,
    normalize_provider,
    sse_decode,
    tool_accumulate,
    wire_decode,
)
from streamflow.providers.table import PROVIDERS
from tests.recordings.make import HERE, RECORDINGS, Recording
from tests.support.cuts import at_random, merged, single, two_way
from tests.support.grammar import assert_grammar

SMALL = 700  # bytes: up to here every two-way cut is tried
every_recording = pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)


def golden(recording: Recording) -> list:
    return [sf.from_json(line) for line in (HERE / f"{recording.name}.events.jsonl").read_bytes().splitlines()]


def decoded(recording: Recording, pieces: list[bytes]) -> list:
    return merged(sf.decode(recording.provider, pieces))


def test_every_dialect_has_a_recording():
    spoken = {dialect for row in PROVIDERS.values() for dialect in row.dialects}
    recorded = {dialect for recording in RECORDINGS for dialect in PROVIDERS[recording.provider].dialects}
    assert recorded == spoken


@every_recording
def test_a_recording_says_what_was_written_down_by_hand(recording):
    answer = sf.read(recording.provider, recording.wire)
    assert (answer.text, answer.thinking, answer.refusal) == (recording.text, recording.thinking, recording.refusal)
    assert tuple((call.name, call.arguments) for call in answer.tool_calls) == recording.calls
    assert (answer.stop_reason, answer.raw_stop_reason) == (recording.stop_reason, recording.raw_stop_reason)
    tokens = (answer.usage.input_tokens, answer.usage.output_tokens) if answer.usage else None
    assert tokens == recording.tokens
    counts = len(answer.citations), len(answer.images), len(answer.server_tools)
    assert counts == (recording.citations, recording.images, recording.server_tools)
    assert answer.complete == (recording.error is None)
    assert (answer.error and answer.error.type) == recording.error


@every_recording
def test_the_files_are_those_that_the_script_writes(recording):
    assert (HERE / f"{recording.name}.wire").read_bytes() == recording.wire


@every_recording
def test_a11_golden_events_whole_byte_by_byte_and_at_random_cuts(recording):
    want = merged(golden(recording))
    assert_grammar(want)
    assert decoded(recording, [recording.wire]) == want
    assert decoded(recording, single(recording.wire)) == want
    rng = random.Random(recording.name)
    for _ in range(200):
        assert decoded(recording, at_random(recording.wire, rng)) == want


@pytest.mark.parametrize("recording", [r for r in RECORDINGS if len(r.wire) <= SMALL], ids=lambda r: r.name)
def test_a11_golden_events_at_every_two_way_cut(recording):
    want = merged(golden(recording))
    for pieces in two_way(recording.wire):
        assert decoded(recording, pieces) == want


FRAMINGS = {
    "sse": sse_decode,
    "ndjson": ndjson_decode,
    "json_array": json_array_decode,
    "eventstream": eventstream_decode,
}


def frame_ends(recording: Recording) -> list[int]:
    framing = "json_array" if recording.wire.startswith(b"[") else PROVIDERS[recording.provider].framing
    return [frame.end for frame in sf.run([recording.wire], FRAMINGS[framing]())]


@pytest.mark.parametrize("recording", [r for r in RECORDINGS if not r.whole], ids=lambda r: r.name)
def test_b8_cut_after_every_event_is_reported_and_yields_no_runnable_half_call(recording):
    ends = frame_ends(recording)
    assert ends
    for place in [0, *ends[:-1]]:
        events = sf.decode(recording.provider, recording.wire[:place], tool_accumulate())
        assert_grammar(events)
        if any(isinstance(event, StreamCompleted) for event in events):
            # The end marker was seen; what may follow it (usage, metadata) is no part of the answer.
            answer = sf.collect(events)
            assert (answer.text, answer.raw_stop_reason) == (recording.text, recording.raw_stop_reason)
            assert tuple((call.name, call.arguments) for call in answer.tool_calls) == recording.calls
            continue
        assert isinstance(events[-1], StreamFailed)
        assert events[-1].error.type == "StreamTruncated"
        assert not any(isinstance(event, ToolCallsReady) for event in events)
        partial = events[-1].partial
        assert partial.complete is False
        assert all(call.error for call in partial.tool_calls if (call.name, call.arguments) not in recording.calls)
        assert recording.text.startswith(partial.text.removesuffix("\ufffd"))  # half of a pair cannot be shown


@pytest.mark.parametrize("recording", [r for r in RECORDINGS if r.error is None], ids=lambda r: r.name)
def test_a5_cut_at_any_byte_is_never_complete_without_the_end_marker(recording):
    whole = sf.read(recording.provider, recording.wire)
    for place in range(0, len(recording.wire) - 1, max(1, len(recording.wire) // 300)):
        answer = sf.read(recording.provider, recording.wire[:place])
        assert answer.complete is False or (answer.text, answer.tool_calls) == (whole.text, whole.tool_calls)
        assert answer.complete or answer.error.type == "StreamTruncated", answer.error


def ends_by_its_own_marker(recording: Recording) -> bool:
    """True when the end is known before the connection closes."""
    feeder = sf.Feeder(wire_decode(recording.provider), normalize_provider(recording.provider))
    return any(isinstance(event, StreamCompleted) for event in feeder.feed(recording.wire))


@pytest.mark.parametrize(
    "recording", [r for r in RECORDINGS if r.error is None and ends_by_its_own_marker(r)], ids=lambda r: r.name
)
def test_a12_data_after_the_end_is_ignored_with_a_notice(recording):
    twice = sf.decode(recording.provider, recording.wire + recording.wire)
    once = sf.decode(recording.provider, recording.wire)
    assert sf.collect(twice).text == sf.collect(once).text
    assert twice[-1].code == "data_after_end"
