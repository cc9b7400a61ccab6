"""What all verbs have in common: help with an example, near names, `--quiet`, `--json`, colours on terminals only."""

import json
import os
import pty
import re
import signal
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from streamflow.cli.app import app
from streamflow.recordings import RecordingWriter
from streamflow.testing import Answer, encode

VERBS = get_command(app).commands
WIRE = b"".join(encode("anthropic", Answer("Hello there. How are you?")))
RUN = [sys.executable, "-m", "streamflow"]
ESCAPE = b"\x1b["


def run(*arguments, data=b"", **environment):
    env = {**os.environ, "COLUMNS": "100", **environment}
    return subprocess.run([*RUN, *arguments], input=data, capture_output=True, env=env, timeout=120)


def ask(*arguments):
    """In this process: most of a call is the start of Python."""
    return CliRunner().invoke(app, arguments, prog_name="streamflow")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "answer.sse").write_bytes(WIRE)
    writer = RecordingWriter(tmp_path / "answer.jsonl", provider="anthropic")
    for number, at in enumerate(range(0, len(WIRE), 300)):
        writer.write(0.001 * number, WIRE[at : at + 300])
    writer.end("completed", 0.01)
    return tmp_path


# Each verb with what it needs to run here and now, and the input.
CALLS = {
    "bench": (["no-such-section"], b""),
    "chat": (["--simulated"], b"sim:text Hello.\n"),
    "decode": (["anthropic", "{files}/answer.sse", "--emit", "text"], b""),
    "demo": (["--speed", "0"], b""),
    "doctor": (["--offline"], b""),
    "inspect": (["{files}/answer.jsonl", "--out", "{files}/page.html"], b""),
    "record": (["{files}/new.jsonl", "--provider", "anthropic"], WIRE),
    "replay": (["{files}/answer.jsonl"], b""),
    "serve": (["--simulate", "--port", "0"], b""),
    "simulate": (["--port", "0"], b""),
    "speak": (["--out", "{files}/said.wav"], b"Hello there."),
}
LISTENERS = ("serve", "simulate")
LOUD = ("chat", "replay")  # what they print is the answer itself: --quiet leaves out everything else
FINITE = [name for name in CALLS if name not in (*LISTENERS, "bench")]


def call(name, files, *more):
    arguments, data = CALLS[name]
    return run(name, *(argument.format(files=files) for argument in arguments), *more, data=data)


def test_every_verb_is_in_the_table():
    assert set(CALLS) == set(VERBS)


@pytest.mark.parametrize("name", ["", *VERBS])
def test_the_help_has_an_example(name):
    done = ask(*([name] if name else []), "--help")
    assert done.exit_code == 0
    assert re.search(rf"Examples?:\s+.*streamflow\s+{name}", done.stdout, re.S)
    assert ESCAPE not in done.stdout_bytes


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_knows_quiet_and_json(name):
    options = {option for parameter in VERBS[name].params for option in parameter.opts}
    assert {"--quiet", "--json"} <= options


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_that_is_nearly_right_is_named(name):
    done = ask(name[:-1] + name[-1] * 2)
    assert done.exit_code == 2
    assert f"Did you mean '{name}'" in done.stderr


@pytest.mark.parametrize("name", VERBS)
def test_an_option_that_is_nearly_right_is_named(name):
    for wrong, right in (("--quite", "--quiet"), ("--jsno", "--json")):
        done = ask(name, wrong)
        assert done.exit_code == 2
        assert right in done.stderr


@pytest.mark.parametrize("name", FINITE)
def test_json_is_json_and_nothing_else(name, files):
    done = call(name, files, "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines
    assert all(isinstance(line, dict) for line in lines)


@pytest.mark.parametrize("name", FINITE)
def test_quiet_is_quiet(name, files):
    done = call(name, files, "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    if name not in LOUD:
        assert done.stdout == b""


def test_quiet_leaves_the_answer_itself(files):
    assert call("chat", files, "--quiet").stdout.decode().strip() == "Hello."
    assert call("replay", files, "--quiet").stdout == WIRE


@pytest.mark.parametrize("name", LISTENERS)
def test_a_listener_tells_its_address_as_json(name):
    process = subprocess.Popen([*RUN, name, *CALLS[name][0], "--json"], stdout=subprocess.PIPE)
    try:
        assert json.loads(process.stdout.readline())["address"].startswith("http://127.0.0.1:")
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        process.wait(60)


def test_a_bench_that_does_not_exist_is_told():
    done = run("bench", "no-such-section", "--quiet")
    assert done.returncode != 0
    assert done.stdout == b""


@pytest.mark.parametrize("name", ["inspect", "demo", "chat"])
def test_colours_are_for_terminals_only(name, files):
    assert ESCAPE not in call(name, files).stdout
    inside, outside = pty.openpty()
    arguments, data = CALLS[name]
    command = [*RUN, name, *(argument.format(files=files) for argument in arguments)]
    if name == "chat":
        data = b"sim:think A thought | Hello.\n"
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=outside, stderr=subprocess.DEVNULL, env=env)
    os.close(outside)
    process.stdin.write(data)
    process.stdin.close()
    seen = b""
    try:
        while piece := os.read(inside, 65536):
            seen += piece
    except OSError:  # how Linux says that nobody writes any more
        pass
    process.wait(60)
    os.close(inside)
    assert ESCAPE in seen


def test_a_long_replay_shows_how_far_it_is(files):
    inside, outside = pty.openpty()
    command = [*RUN, "replay", str(files / "answer.jsonl")]
    env = os.environ | {"TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=outside, env=env)
    os.close(outside)
    assert process.stdout.read() == WIRE
    seen = b""
    try:
        while piece := os.read(inside, 65536):
            seen += piece
    except OSError:
        pass
    assert process.wait(60) == 0
    os.close(inside)
    process.stdout.close()
    assert b"of 0.0 s" in seen
