"""Speaking from the command line, in a process of its own."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from streamflow.audio import read_wave
from streamflow.sinks.espeak import Espeak

ROOT = Path(__file__).resolve().parents[2]
TEXT = "# Plan\n\nHello **there**, Dr. Who. It costs 3.50 today.\n\n```py\nx = 1\n```\n\nThat is all."
WIRE = (
    b'data: {"id":"1","choices":[{"delta":{"content":"Good morn"}}]}\n\n'
    b'data: {"id":"1","choices":[{"delta":{"content":"ing. All is well."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


@pytest.fixture(autouse=True)
def espeak():
    if not Espeak.installed():
        if os.environ.get("STREAMFLOW_REQUIRE_ALL") == "1":
            pytest.fail("espeak-ng is not installed")
        pytest.skip("espeak-ng is not installed")


def speak(*arguments, stdin=b"", env=None):
    return subprocess.run(
        [sys.executable, "-m", "streamflow", "speak", *arguments],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        timeout=60,
        env={**os.environ, **(env or {})},
    )


def sentences(output):
    return re.findall(r"^ *[\d.]+ s +\d+  \+(\d+) chars  (.*)$", output.decode(), re.MULTILINE)


def test_sentences_are_shown_with_their_delay_and_the_sound_is_written(tmp_path):
    out = tmp_path / "speech.wav"
    done = speak("--out", str(out), "--min-chars", "0", stdin=TEXT.encode())
    assert done.returncode == 0, done.stderr
    shown = sentences(done.stdout)
    assert [text for _, text in shown] == ["Plan.", "Hello there, Dr. Who.", "It costs 3.50 today.", "That is all."]
    assert all(int(delay) <= 20 for delay, _ in shown)
    told = [float(seconds) for seconds in re.findall(rb"sound of ([\d.]+) s", done.stdout)]
    assert read_wave(out.read_bytes()).duration_s == pytest.approx(sum(told), abs=0.05)


def test_a_providers_stream_is_spoken(tmp_path):
    out = tmp_path / "speech.wav"
    path = tmp_path / "answer.sse"
    path.write_bytes(WIRE)
    done = speak(str(path), "--provider", "openai", "--out", str(out), "--min-chars", "0")
    assert [text for _, text in sentences(done.stdout)] == ["Good morning.", "All is well."]
    assert done.returncode == 0
    assert read_wave(out.read_bytes()).duration_s > 1


def test_a_cut_stream_says_what_came_and_fails(tmp_path):
    out = tmp_path / "speech.wav"
    done = speak("--provider", "openai", "--out", str(out), stdin=WIRE[: WIRE.index(b"data: [DONE]")])
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr
    assert out.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-file", "--out", "x.wav"], b"cannot read no-such-file"),
        (["--provider", "nobody", "--out", "x.wav"], b"nobody"),
        (["--out", "/no/such/folder/x.wav"], b"cannot write"),
        (["--words-per-minute", "9", "--out", "x.wav"], b"words_per_minute"),
    ],
)
def test_wrong_usage_is_told(arguments, words):
    done = speak(*arguments, stdin=b"Hello.")
    assert done.returncode == 2
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_nothing_to_say_writes_no_file(tmp_path):
    out = tmp_path / "speech.wav"
    assert speak("--out", str(out), stdin=b"\n---\n").returncode == 0
    assert not out.exists()


def test_a_voice_that_can_say_nothing_is_a_failure(tmp_path):
    done = speak("--voice", "zzz", "--out", str(tmp_path / "speech.wav"), stdin=b"Hello.")
    assert done.returncode == 3
    assert b"nothing could be spoken" in done.stderr


def fake_loudspeaker(folder):
    """A program by the name of a known one that takes sound and keeps quiet."""
    path = folder / "pw-play"
    path.write_text('#!/bin/sh\nexec cat > "$0.pcm"\n')
    path.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_it_plays_in_time_and_shows_the_state(tmp_path):
    done = speak(stdin=b"Hi.", env=fake_loudspeaker(tmp_path))
    states = re.findall(rb"\[(\w+)\]", done.stdout)
    assert states == [b"idle", b"speaking", b"done"]
    seconds = float(re.search(rb"sound of ([\d.]+) s", done.stdout)[1])
    played = (tmp_path / "pw-play.pcm").stat().st_size / (2 * 22050)
    assert played == pytest.approx(seconds, abs=0.05)


def test_an_interrupt_silences_at_once_and_tells_what_was_heard(tmp_path):
    env = {**os.environ, **fake_loudspeaker(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "streamflow", "speak", "--min-chars", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=env,
    )
    process.stdin.write(b"This **sentence** is rather long and would go on for some seconds. Then another comes. ")
    process.stdin.flush()
    seen = b""
    while b"[speaking]" not in seen:
        seen += process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert b"[done]" in out
    heard = re.search(r"stopped; heard: '(.*)'", out.decode())[1]
    assert "This **sentence** is rather long".startswith(heard)
    assert b"Traceback" not in err
