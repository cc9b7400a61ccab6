"""Transcripts: whole lines whatever happens, also after kill -9."""

import json
import os
import random
import signal
import subprocess
import sys

import pytest

import streamflow as sf
from streamflow.events import BlockComplete, Stamped
from streamflow.sinks.transcript import Transcript, read_transcript
from tests.flow.events import answer, text_of
from tests.recordings.make import RECORDINGS
from tests.test_architecture import ROOT


def test_json_lines_read_back_equal(tmp_path):
    flow = sf.Flow(answer(20))
    seen = []
    flow.subscribe(Transcript(tmp_path / "talk.jsonl"))
    flow.subscribe(seen.append)
    assert read_transcript(tmp_path / "talk.jsonl") == seen
    assert sf.collect(read_transcript(tmp_path / "talk.jsonl")).text == text_of(20)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_every_recording_survives_the_file(recording, tmp_path):
    events = sf.decode(recording.provider, recording.wire)
    with Transcript(tmp_path / "t.jsonl") as transcript:
        for event in events:
            transcript.on_next(event)
    assert read_transcript(tmp_path / "t.jsonl") == events


def test_markdown_is_for_people(tmp_path):
    recording = next(recording for recording in RECORDINGS if recording.name == "anthropic_thinking_tool")
    with Transcript(tmp_path / "talk.md") as transcript:
        for event in sf.decode("anthropic", recording.wire):
            transcript.on_next(event)
    text = (tmp_path / "talk.md").read_text()
    assert "> I need the tool." in text
    assert "\nOne moment.\n" in text
    assert '**tool_call weather**\n\n```json\n{"city": "Rome"}\n```' in text
    assert text.endswith("*tool_use*\n\n")


def test_a_fence_is_longer_than_any_inside(tmp_path):
    with Transcript(tmp_path / "t.md") as transcript:
        transcript.on_next(BlockComplete(0, "tool_call", '{"code": "````"}', tool_name="f"))
    assert (tmp_path / "t.md").read_text().count("`````") == 2


def test_a_torn_line_is_cut_off_and_the_file_goes_on(tmp_path):
    path = tmp_path / "talk.jsonl"
    whole = sf.to_json(Stamped(0, 0.0, sf.events.Notice("a"))) + b"\n"
    path.write_bytes(whole + b'{"type":"Stam')
    with Transcript(path) as transcript:
        transcript.on_next(Stamped(1, 0.1, sf.events.Notice("b")))
    assert [item.event.code for item in read_transcript(path)] == ["a", "b"]


def test_a_path_that_cannot_be_written_says_so(tmp_path):
    with pytest.raises(sf.UsageError, match="cannot write"):
        Transcript(tmp_path / "no" / "such" / "folder.jsonl")


WRITER = """
import itertools, sys
import streamflow as sf
from streamflow.events import Chunk, Stamped
from streamflow.sinks.transcript import Transcript
transcript = Transcript(sys.argv[1])
for seq in itertools.count():
    transcript.on_next(Stamped(seq, 0.0, Chunk(0, "text", "x" * (seq % 700))))
    if seq % 50 == 0:
        print(seq, flush=True)
"""


def test_killed_at_any_point_the_file_is_valid_and_complete(tmp_path):
    rng = random.Random(7)
    for round_number in range(5):
        path = tmp_path / f"{round_number}.jsonl"
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, cwd=ROOT)
        last = 0
        for _ in range(rng.randrange(2, 40)):
            last = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        seen = [item.seq for item in read_transcript(path)]  # the kernel may tear the last line where a page ends
        assert seen == list(range(len(seen)))
        assert len(seen) > last
        *whole, _ = path.read_bytes().split(b"\n")
        assert [json.loads(line)["seq"] for line in whole] == seen
        Transcript(path).close()
        data = path.read_bytes()
        assert data.endswith(b"\n")
        assert [json.loads(line)["seq"] for line in data.splitlines()] == seen
