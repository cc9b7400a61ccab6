"""Bad input: one typed error that says provider, position and first bytes; what came before it is kept; exit code 3."""

import json
import subprocess
import sys
import tracemalloc

import pytest

import streamflow as sf
from streamflow.events import Chunk, StreamFailed
from tests.recordings.make import RECORDINGS
from tests.test_architecture import ROOT

BEFORE = {
    recording.provider: recording
    for recording in RECORDINGS
    if recording.name in ("openai_text", "anthropic_thinking_tool", "gemini_sse", "ollama_thinking", "cohere_tool_plan")
}


def first_half(provider: str) -> tuple[bytes, str]:
    """The beginning of a good stream, up to a frame's end, and its text."""
    wire = BEFORE[provider].wire
    blank = b"\n" if provider == "ollama" else b"\r\n\r\n" if provider == "gemini" else b"\n\n"
    head = blank.join(wire.split(blank)[: 6 if provider == "anthropic" else 3]) + blank
    return head, sf.read(provider, head).text


def frame(provider: str, data: bytes) -> bytes:
    return data + b"\n" if provider == "ollama" else b"data: " + data + b"\n\n"


BROKEN = {
    "not JSON": (b"hello there", "not_json"),
    "half JSON": (b'{"choices": [', "not_json"),
    "a list": (b"[1, 2]", "wrong_shape"),
    "a number": (b"17", "wrong_shape"),
    "deep": (b"[" * 200_000, "not_json"),
}


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("provider", BEFORE)
def test_a9_a_broken_frame_is_one_typed_error_after_what_came_before(provider, broken):
    data, kind = BROKEN[broken]
    head, text = first_half(provider)
    events = sf.decode(provider, head + frame(provider, data))
    failed = events[-1]
    assert isinstance(failed, StreamFailed)
    assert sum(isinstance(event, StreamFailed) for event in events) == 1
    assert (failed.error.type, failed.error.provider, failed.error.kind) == ("ProtocolError", provider, kind)
    assert failed.error.position == len(head)
    assert data[:10].decode() in failed.error.message
    assert len(failed.error.message) < 700
    assert failed.partial.text == text
    assert "".join(event.text for event in events if isinstance(event, Chunk) and event.visible) == text


WRONG_SHAPES = {
    "openai": b'{"choices": [{"delta": "text"}]}',
    "anthropic": b'{"type": "content_block_delta", "index": "nine", "delta": {"type": "text_delta", "text": "x"}}',
    "gemini": b'{"candidates": [{"content": "text"}]}',
    "ollama": b'{"message": {"content": {"no": "text"}}, "done": false}',
    "cohere": b'{"type": "content-delta", "delta": 3}',
}


@pytest.mark.parametrize("provider", WRONG_SHAPES)
def test_json_of_another_shape_is_a_typed_error(provider):
    head, text = first_half(provider)
    response = sf.read(provider, head + frame(provider, WRONG_SHAPES[provider]))
    assert response.error.kind == "wrong_shape"
    assert response.error.position == len(head)
    assert response.text == text


@pytest.mark.parametrize("provider", BEFORE)
def test_a9_skipping_goes_on_with_a_notice(provider):
    wire = BEFORE[provider].wire
    if provider == "ollama":
        noisy = b"garbage\n" + wire
    else:
        noisy = b"data: garbage\n\n" + wire
    events = sf.decode(provider, noisy, on_bad_frame="skip")
    assert sf.collect(events) == sf.collect(sf.decode(provider, wire))
    assert any(getattr(event, "code", None) == "bad_frame" for event in events)


@pytest.mark.parametrize("provider", sf.providers())
@pytest.mark.parametrize(
    "body",
    [b"", b"   \n", b"<!DOCTYPE html><title>502 Bad Gateway</title>", b"upstream connect error", b"\xff\xfe\x00"],
    ids=["empty", "blank", "html", "plain", "binary"],
)
def test_a_body_that_is_no_stream_is_one_typed_error(provider, body):
    error = sf.read(provider, body).error
    assert isinstance(error, sf.ProtocolError | sf.StreamTruncated)
    assert error.provider == provider
    assert error.position is not None
    if body.strip().isascii() and len(body.strip()) > 12:
        assert body.decode()[:9] in error.message


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama", "bedrock"])
def test_a_hundred_megabytes_without_a_line_end_stop_at_the_limit(provider):
    piece = b"x" * (1 << 20)

    def endless():
        yield b'{"a": "' if provider in ("ollama", "gemini") else b"data: "
        for _ in range(100):
            yield piece

    tracemalloc.start()
    error = sf.read(provider, endless()).error
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(error, sf.ProtocolError)
    assert error.provider == provider
    assert peak < 3 * (32 << 20)


@pytest.mark.parametrize(
    "body", [b"", b"<html>502</html>", b"data: {\n\n", b"data: " + b"[" * 200_000 + b"\n\n", b"data: {}\n\n"]
)
def test_the_command_line_exits_with_3_and_one_line(body):
    done = subprocess.run(
        [sys.executable, "-m", "streamflow", "decode", "openai"], input=body, capture_output=True, cwd=ROOT, timeout=60
    )
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["type"] == "StreamFailed"
    assert last["error"]["provider"] == "openai"
    assert last["error"]["position"] is not None
