"""``streamflow inspect`` on the command line: page, verdict, test, terminal."""

import json
import os
import pty
import signal
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

import streamflow as sf
from streamflow.cli.app import app
from streamflow.recordings import RecordingWriter
from tests.inspector.recorded import SAID, cut, good

RUN = [sys.executable, "-m", "streamflow", "inspect"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, recording in (("good", good()), ("cut", cut())):
        writer = RecordingWriter(tmp_path / f"{name}.jsonl", provider="anthropic")
        for piece in recording.pieces:
            writer.write(piece.t, piece.item)
        writer.end("completed", recording.end_t)
    (tmp_path / "plain.sse").write_bytes(good().data)
    return tmp_path


def inspect(*arguments):
    return CliRunner().invoke(app, ["inspect", *arguments])


def test_it_writes_a_page_and_says_what_it_found(files):
    done = inspect("cut.jsonl")
    assert done.exit_code == 0
    assert "✗ the stream did not end properly: StreamTruncated" in done.stdout
    assert "wrote cut.html" in done.stdout
    assert (files / "cut.html").read_text().startswith("<!doctype html>")


def test_two_files_make_one_page(files):
    assert inspect("good.jsonl", "plain.sse", "--other-provider", "anthropic", "--out", "both.html").exit_code == 0
    page = (files / "both.html").read_text()
    assert "good.jsonl and plain.sse" in page


def test_a_fault_can_fail_a_build(files):
    assert inspect("good.jsonl", "--check", "--quiet").exit_code == 0
    done = inspect("cut.jsonl", "--check", "--json")
    assert done.exit_code == 3
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (found[0]["file"], found[0]["code"], found[0]["level"]) == ("cut.jsonl", "end", "fail")
    assert not (files / "cut.html").exists()


def test_it_exports_a_test(files):
    assert inspect("cut.jsonl", "--export-pytest", "test_cut.py").exit_code == 0
    assert not (files / "cut.html").exists()
    namespace = {}
    exec((files / "test_cut.py").read_text(), namespace)
    with pytest.raises(AssertionError, match="StreamTruncated"):
        namespace["test_the_stream_ends_properly"]()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing.jsonl"], "nothing.jsonl"),
        (["plain.sse"], "--provider"),
        (["plain.sse", "--provider", "antropic"], "Did you mean 'anthropic'"),
        (["good.jsonl", "--out", "no/such/place.html"], "cannot write"),
        (["good.jsonl", "--tui", "--speed", "fast"], "--speed fast"),
    ],
)
def test_wrong_use_says_what_to_do(files, arguments, told):
    done = inspect(*arguments)
    assert isinstance(done.exception, sf.UsageError)
    assert told in str(done.exception)


def test_in_the_terminal_it_plays(files):
    inside, outside = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen([*RUN, "good.jsonl", "--tui", "--speed", "10"], stdout=outside, env=env, cwd=files)
    os.close(outside)
    seen = b""
    try:
        while piece := os.read(inside, 65536):
            seen += piece
    except OSError:  # how Linux says that nobody writes any more
        pass
    os.close(inside)
    assert process.wait(60) == 0
    shown = seen.decode()
    assert "23 of 23 pieces" in shown
    assert "sentence_segment" in shown
    assert "✓ ended properly" in shown
    assert "\x1b[" in shown


def test_without_a_terminal_only_the_end_is_shown(files):
    done = inspect("good.jsonl", "--tui", "--speed", "inf")
    assert done.exit_code == 0
    assert "23 of 23 pieces" in done.stdout
    assert SAID.split()[-1] in done.stdout
    assert "\x1b[" not in done.stdout


def test_it_serves_the_page(files):
    process = subprocess.Popen([*RUN, "good.jsonl", "--serve"], stdout=subprocess.PIPE, text=True, cwd=files)
    try:
        address = process.stdout.readline().strip()
        with urllib.request.urlopen(address, timeout=30) as response:
            assert response.headers["x-content-type-options"] == "nosniff"
            assert b"streamflow inspector" in response.read()
    finally:
        process.send_signal(signal.SIGINT)
        process.stdout.close()
    assert process.wait(60) == 0
