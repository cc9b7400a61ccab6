"""The exported test does what it says: it fails where the recording is faulty, and only there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import streamflow as sf
from streamflow.events import BlockStart, StreamStart
from streamflow.inspector import pytest_of, trace_of, verdict_of
from streamflow.recordings import Piece, Recording, from_capture
from tests.inspector.recorded import cut, good

ROOT = Path(__file__).resolve().parents[2]


def exported(tmp_path, recording, **options):
    trace = trace_of(recording, **options)
    file = tmp_path / "test_recording.py"
    file.write_text(pytest_of(trace, verdict_of(trace)))
    return pytest_run(file)


def pytest_run(file):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    wide = {**os.environ, "COLUMNS": "300"}
    return subprocess.run([*command, str(file)], cwd=ROOT, capture_output=True, text=True, env=wide)


def test_a_cut_stream_fails_for_its_reason(tmp_path):
    done = exported(tmp_path, cut())
    assert done.returncode == 1
    assert "2 failed" in done.stdout
    assert re.search(r"test_the_stream_ends_properly.*StreamTruncated", done.stdout)
    assert "test_every_tool_call_can_be_run" in done.stdout


def test_the_same_test_passes_once_the_stream_is_whole(tmp_path):
    broken = trace_of(cut())
    text = pytest_of(broken, verdict_of(broken))
    whole = trace_of(good())
    pieces = re.search(r"PIECES = \[\n.*?\n\]\n", pytest_of(whole, verdict_of(whole)), re.S)[0]
    file = tmp_path / "test_mended.py"
    file.write_text(re.sub(r"PIECES = \[\n.*?\n\]\n", lambda _: pieces, text, count=1, flags=re.S))
    namespace = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    tests = [value for name, value in namespace.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()


@pytest.mark.parametrize("blocks", ["xml", "none", "all"])
def test_a_good_stream_becomes_a_test_that_passes(tmp_path, blocks):
    done = exported(tmp_path, good(), blocks=blocks)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


def test_unknown_events_and_events_of_ones_own(tmp_path):
    wire = (
        b'data: {"type":"message_start","message":{"id":"m","model":"d","content":[]}}\n\n'
        b'data: {"type":"surprise"}\n\ndata: {"type":"message_stop"}\n\n'
    )
    done = exported(tmp_path, from_capture(wire, provider="anthropic"))
    assert "1 failed" in done.stdout
    assert "unknown_event" in done.stdout
    own = Recording("", (Piece(0.0, StreamStart()), Piece(0.1, BlockStart(0, "text"))))
    done = exported(tmp_path, own)
    assert "test_the_grammar_holds" in done.stdout
    assert done.returncode == 1


def test_every_byte_survives(tmp_path):
    data = bytes(range(256)) + b'"""\\ \r\n'
    trace = trace_of(Recording("bedrock", (Piece(0.0, data[:100]), Piece(0.1, data[100:]))))
    namespace = {}
    exec(pytest_of(trace, verdict_of(trace)), namespace)
    assert b"".join(namespace["PIECES"]) == data
    assert namespace["PROVIDER"] == "bedrock"


def test_what_a_recording_says_cannot_become_code():
    nasty = '"""\nraise SystemExit\n"""\\'
    error = sf.ProviderError(nasty)
    wire = b'data: {"error":{"message":"\\"\\"\\"\\nraise SystemExit"}}\n\n'
    recording = Recording("openai", (Piece(0.0, wire),), "error", 0, error)
    trace = trace_of(recording, nasty)
    text = pytest_of(trace, verdict_of(trace))
    namespace = {}
    exec(text, namespace)
    assert {name for name in namespace if name.startswith("test_")} == {"test_the_stream_ends_properly"}
