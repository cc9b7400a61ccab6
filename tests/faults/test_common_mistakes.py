"""The ten commonest mistakes: each message says what is wrong and what to do."""

import os
import socket
import stat
import subprocess
import sys

import pytest
import reactivex as rx

import streamflow as sf
from streamflow.operators import (
    normalize_provider,
    sse_decode,
    tool_accumulate,
    visible_filter,
    wire_decode,
    xml_block_split,
)
from streamflow.testing import Answer, encode
from tests.test_architecture import ROOT

WIRE = encode("openai", Answer("Hello."))
BLOCKED = "import sys; sys.modules[{0!r}] = None\n"


def streamflow(*arguments: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
    keep = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    command = [sys.executable, "-m", "streamflow", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT, timeout=60, env={**keep, **environ})


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60)


# -- 1: no key


@pytest.mark.parametrize(("provider", "variable"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")])
def test_no_key_names_the_variable(provider, variable):
    with pytest.raises(sf.UsageError, match=f"pass api_key, or set {variable}"):
        sf.connect(provider, model="m", environ={})


def test_no_key_on_the_command_line():
    done = streamflow("chat", "openai", "--model", "m", stdin=b"hi\n")
    assert done.returncode == 2
    assert b"OPENAI_API_KEY" in done.stderr
    assert b"Traceback" not in done.stderr


# -- 2: a wrong provider name


@pytest.mark.parametrize(
    "ask",
    [
        lambda name: sf.connect(name, model="m", api_key="k"),
        lambda name: sf.read(name, b""),
        lambda name: normalize_provider(name),
        lambda name: wire_decode(name),
        lambda name: sf.build_request(name, "hi", model="m"),
    ],
    ids=["connect", "read", "normalize", "decode", "build"],
)
def test_a_wrong_provider_is_answered_with_the_one_that_was_meant(ask):
    with pytest.raises(sf.UsageError, match=r"unknown provider 'antropic'.*'anthropic'"):
        ask("antropic")


# -- 3: forgot await


@pytest.fixture
def llm():
    return sf.connect("openai", model="m", api_key="k", environ={})


@pytest.mark.parametrize(
    "make",
    [
        lambda llm: llm.stream("hi"),
        lambda llm: llm.stream("hi").pipe(visible_filter()),
        lambda llm: sf.Flow(rx.never()).branch("ui"),
        lambda llm: sf.Flow(rx.never()).events,
        lambda llm: sf.replay(sf.Recording("openai")),
        lambda llm: rx.never().pipe(sse_decode()),
    ],
    ids=["stream", "pipe", "branch", "events", "replay", "operator"],
)
def test_a_plain_for_says_async_for(make, llm):
    with pytest.raises(sf.UsageError, match="async for"):
        next(iter(make(llm)))


def test_a_plain_with_says_async_with(llm):
    with pytest.raises(sf.UsageError, match="async with"), llm:
        pass


def test_a_stream_without_a_loop_says_asyncio_run(llm):
    with pytest.raises(sf.UsageError, match=r"asyncio\.run"):
        llm.stream("hi").subscribe(print)


async def test_a_coroutine_that_nobody_awaits_is_told_by_python(llm):
    with pytest.warns(RuntimeWarning, match="never awaited"):
        llm.collect("hi")


# -- 4: operators in the wrong order


@pytest.mark.parametrize(
    ("operators", "says"),
    [
        ([lambda: normalize_provider("openai")], r"put sse_decode\(\) or wire_decode"),
        ([lambda: normalize_provider("openai"), sse_decode], "wrong order"),
        ([sse_decode, sse_decode], "decoded once"),
        ([sse_decode, xml_block_split], "normalize_provider.* is missing"),
        ([lambda: wire_decode("openai"), tool_accumulate], "normalize_provider.* is missing"),
        ([xml_block_split, lambda: wire_decode("openai")], "wrong order"),
    ],
)
def test_a_wrong_order_says_what_is_missing(operators, says):
    made = [make() for make in operators]
    with pytest.raises(sf.UsageError, match=says):
        sf.run(WIRE, *made)
    errors: list[Exception] = []
    try:
        rx.from_iterable(WIRE).pipe(*made).subscribe(lambda item: None, errors.append)
    except sf.UsageError as error:
        errors.append(error)
    assert isinstance(errors[0], sf.UsageError)


def test_an_operator_that_was_not_called():
    with pytest.raises(sf.UsageError, match=r"write sse_decode\(\.\.\.\)"):
        sf.run(WIRE, sse_decode)


# -- 5: an extra that is not installed


@pytest.mark.parametrize(
    ("module", "program", "extra"),
    [
        ("redis", "import streamflow as sf; sf.RedisJournal", "redis"),
        ("typer", "from streamflow.cli import main; main()", "cli"),
        ("opentelemetry", "from streamflow.sinks.telemetry import telemetry; telemetry()", "otel"),
    ],
)
def test_a_missing_extra_names_what_to_install(module, program, extra):
    done = python(BLOCKED.format(module) + program)
    assert done.returncode != 0
    assert f"pip install 'streamflow-rx[{extra}]'" in done.stderr


# -- 6: a port in use


@pytest.mark.parametrize("verb", [["serve", "--simulate"], ["simulate"]])
def test_a_taken_port_is_named_with_what_to_do(verb):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = streamflow(*verb, "--port", port)
    assert done.returncode == 2
    assert port.encode() in done.stderr
    assert b"--port" in done.stderr
    assert b"Traceback" not in done.stderr


# -- 7: Redis away


async def test_redis_that_is_away_is_asked_for():
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        journal = sf.RedisJournal(f"redis://127.0.0.1:{nobody.getsockname()[1]}/0")
        with pytest.raises(sf.TransportError, match="is Redis running"):
            await journal.claim("s")
        await journal.aclose()


# -- 8: not a recording


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"# Title\n\nProse.\n", b"<html>"])
def test_what_is_no_recording_says_how_to_make_one(content, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(sf.UsageError, match=r"no recording.*streamflow record"):
        sf.load_recording(path)
    done = streamflow("replay", str(path))
    assert done.returncode == 2
    assert b"streamflow record" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_file_that_is_not_there_is_named(tmp_path):
    done = streamflow("replay", str(tmp_path / "nothing.jsonl"))
    assert done.returncode == 2
    assert b"nothing.jsonl" in done.stderr


# -- 9: a cut file


def test_a_cut_file_says_so_and_keeps_what_came(tmp_path):
    body = b"".join(WIRE)
    done = streamflow("decode", "openai", "--emit", "text", stdin=body[: len(body) - 30])
    assert (done.returncode, done.stdout.strip()) == (3, b"Hello.")
    assert b"StreamTruncated" in done.stderr or b"ended" in done.stderr or b"cut" in done.stderr
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b'{"streamflow": 1, "provider": "openai"}\n{"t": 0, "text": "data: x\\n\\n"}\n{"t": 1, "te')
    done = streamflow("replay", str(path), "--speed", "inf")
    assert (done.returncode, done.stdout) == (3, b"data: x\n\n")
    assert b"cut" in done.stderr


# -- 10: Python too old


def test_an_old_python_is_told_which_one_is_needed(tmp_path):
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")  # what `sys.exit(sys.version_info < (3, 11))` does there
    old.chmod(old.stat().st_mode | stat.S_IXUSR)
    venv = tmp_path / "venv"
    done = subprocess.run(
        ["make", "demo", f"PYTHON={old}", f"VENV={venv}"], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stdout + done.stderr
    assert "PYTHON=python3" in done.stdout + done.stderr
    assert not venv.exists()
    assert 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text()
