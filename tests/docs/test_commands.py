"""Every command of the README and the docs is run, or where it needs a broker or a key, read by the real parser."""

import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from streamflow.cli.app import app
from streamflow.recordings import RecordingWriter
from streamflow.testing import Answer, encode

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```$", re.M | re.S)
WIRE = b"".join(encode("openai", Answer("Hello there. How are you?")))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PROGRAMS = {"streamflow", "curl", "make", "pip"}


def commands():
    for page in PAGES:
        for kind, text in BLOCK.findall(page.read_text()):
            lines = text.splitlines()
            if kind == "console":
                # What has no prompt is output, where there are prompts at all.
                prompted = [line[2:] for line in lines if line.startswith("$ ")]
                lines = prompted or lines
            for line in lines:
                if line.strip() and not line.startswith("#"):
                    yield pytest.param(line, id=f"{page.name}: {line.partition('#')[0].strip()}")


def split(line):
    """The commands of a pipe, each with its variables left out."""
    words = shlex.split(line.replace("$(openssl rand -hex 24)", "a-token-of-24-characters"), comments=True)
    parts = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        elif not (not parts[-1] and re.fullmatch(r"[A-Z_]+=.*", word)):
            parts[-1].append(word)
    return parts


def test_there_are_commands_and_no_block_of_another_name():
    assert len(list(commands())) >= 15
    for page in PAGES:
        assert not re.search(r"^```(bash|shell|zsh)\b", page.read_text(), re.M), f"{page.name}: call it sh"


@pytest.mark.parametrize("line", list(commands()))
def test_a_command_does_what_the_page_says(line, tmp_path):
    data = b""
    writer = RecordingWriter(tmp_path / "answer.jsonl", provider="openai")
    writer.write(0.0, WIRE)
    writer.end("completed", 0.1)
    (tmp_path / "other.jsonl").write_bytes((tmp_path / "answer.jsonl").read_bytes())
    for program, *arguments in split(line):
        assert program in PROGRAMS
        if program == "curl":
            data = WIRE  # what the provider would have sent
        elif program == "make":
            done = subprocess.run(["make", "--dry-run", "PYTHON=python3", *arguments], cwd=ROOT, capture_output=True)
            assert done.returncode == 0, done.stderr
        elif program == "pip":
            check_pip(arguments)
        else:
            data = check_streamflow(arguments, data, tmp_path)


def check_pip(arguments):
    name, extras = re.fullmatch(r"([a-z-]+)(?:\[([a-z,]+)\])?", arguments[-1]).groups()
    assert (arguments[0], name) == ("install", PROJECT["name"])
    assert set((extras or "cli").split(",")) <= set(PROJECT["optional-dependencies"])


def check_streamflow(arguments, data, folder):
    verb = get_command(app).commands[arguments[0]]
    verb.make_context(arguments[0], list(arguments[1:]))  # refuses an option or an argument that it does not know
    if arguments[0] == "serve":
        if "--simulate" in arguments:
            check_listener(arguments)
        return b""
    env = {**os.environ, "COLUMNS": "120"}
    command = [sys.executable, "-m", "streamflow", *arguments]
    done = subprocess.run(command, input=data, cwd=folder, env=env, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_listener(arguments):
    command = [sys.executable, "-m", "streamflow", *arguments, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        process.wait(60)
