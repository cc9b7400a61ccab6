"""The command line as a filter, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

WIRE = (
    b'data: {"id":"1","choices":[{"delta":{"content":"Hel"}}]}\n\n'
    b'data: {"id":"1","choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
ROOT = Path(__file__).resolve().parents[2]


def streamflow(*arguments, stdin=b""):
    return subprocess.run(
        [sys.executable, "-m", "streamflow", *arguments], input=stdin, capture_output=True, cwd=ROOT, timeout=60
    )


def test_events_are_json_lines():
    done = streamflow("decode", "openai", stdin=WIRE)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["type"] for line in lines] == [
        "StreamStart",
        "BlockStart",
        "Chunk",
        "Chunk",
        "BlockComplete",
        "StreamCompleted",
    ]
    assert done.returncode == 0


def test_text_is_the_visible_text():
    done = streamflow("decode", "openai", "-", "--emit", "text", "--cut", "1", stdin=WIRE)
    assert (done.stdout, done.returncode) == (b"Hello", 0)


def test_response_is_one_object():
    response = json.loads(streamflow("decode", "openai", "--emit", "response", stdin=WIRE).stdout)
    assert (response["text"], response["complete"], response["error"]) == ("Hello", True, None)


def test_segments_are_json_lines_of_their_own_schema():
    arguments = json.dumps({"path": "/a.py", "content": "print('hi')\n"})
    calls = [{"index": 0, "id": "c1", "function": {"name": "write_file", "arguments": arguments}}]
    delta = {"content": "Look:", "tool_calls": calls}
    chunk = {"id": "1", "choices": [{"delta": delta, "finish_reason": "tool_calls"}]}
    wire = b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"
    for cut in ("0", "1"):
        done = streamflow("decode", "openai", "--emit", "segments", "--cut", cut, stdin=wire)
        assert done.returncode == 0
        assert [json.loads(line) for line in done.stdout.splitlines()] == [
            {"type": "SEGMENT_START", "segment_id": "seg_1", "segment_type": "text", "payload": {"metadata": {}}},
            {"type": "SEGMENT_CONTENT", "segment_id": "seg_1", "payload": {"delta": "Look:"}},
            {"type": "SEGMENT_END", "segment_id": "seg_1", "payload": {}},
            {
                "type": "SEGMENT_START",
                "segment_id": "seg_2",
                "segment_type": "write_file",
                "payload": {"metadata": {"path": "/a.py"}},
            },
            {"type": "SEGMENT_CONTENT", "segment_id": "seg_2", "payload": {"delta": "print('hi')\n"}},
            {"type": "SEGMENT_END", "segment_id": "seg_2", "payload": {}},
        ]


def said(text):
    chunk = {"id": "1", "choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ("xml", "Hi <run_bash>ls</run_bash>there"),
        ("sentinel", 'Hi [[SEG_START {"type":"run_bash"}]]ls[[SEG_END]]there'),
        ("json", 'Hi {"tool": {"function": "run_bash", "parameters": {"command": "ls"}}}there'),
    ],
)
def test_blocks_are_taken_out_of_the_text(blocks, text):
    run = [sys.executable, "-m", "streamflow", "decode", "openai", "--blocks", blocks, "--emit"]
    text_out = subprocess.run([*run, "text"], input=said(text), capture_output=True, cwd=ROOT, timeout=60)
    assert (text_out.stdout, text_out.returncode) == (b"Hi there", 0)
    out = subprocess.run([*run, "segments"], input=said(text), capture_output=True, cwd=ROOT, timeout=60).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["segment_type"] for row in rows if "segment_type" in row] == ["text", "run_bash", "text"]
    assert [row["payload"]["delta"] for row in rows if row["type"] == "SEGMENT_CONTENT"] == ["Hi ", "ls", "there"]


def test_without_blocks_the_text_is_as_it_came():
    done = streamflow("decode", "openai", "--emit", "text", stdin=said("Hi <run_bash>ls</run_bash>"))
    assert done.stdout == b"Hi <run_bash>ls</run_bash>"


def test_sentences_are_json_lines():
    done = streamflow("decode", "openai", "--emit", "sentences", stdin=said("Hello there. How is Dr. Who?"))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["type"], row["index"], row["text"].strip()) for row in rows] == [
        ("Sentence", 0, "Hello there."),
        ("Sentence", 1, "How is Dr. Who?"),
    ]
    assert done.returncode == 0


@pytest.mark.parametrize("emit", ["events", "response", "text", "segments", "sentences"])
def test_a_cut_stream_exits_with_3_and_says_so(emit):
    done = streamflow("decode", "openai", "--emit", emit, stdin=WIRE[:70])
    assert done.returncode == 3
    told = done.stderr if emit == "text" else done.stdout
    last = json.loads(told.splitlines()[-1])
    error = last if emit == "text" else last["error"]
    assert error["type"] == "StreamTruncated"
    assert b"Traceback" not in done.stderr
    assert b"Hel" in done.stdout


def test_a_file_is_read(tmp_path):
    path = tmp_path / "answer.wire"
    path.write_bytes(WIRE)
    assert streamflow("decode", "openai", str(path), "--emit", "text").stdout == b"Hello"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("decode", "opneai"), "openai"),
        (("decode", "openai", "/no/such/file"), "cannot read"),
        (("decode", "openai", "--emit", "nonsense"), "events"),
        (("decode", "openai", "--blocks", "nonsense"), "sentinel"),
        (("decode", "openai", "--framing", "xml"), "json_array"),
        (("decode", "openai", "--cut", "-1"), "cut"),
        (("decode",), "provider"),
        (("dekode",), "decode"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_to_do(arguments, hint):
    done = streamflow(*arguments)
    assert done.returncode == 2
    assert hint in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("decode", "--help"), ("demo", "--help")])
def test_help_teaches_by_example(arguments):
    done = streamflow(*arguments)
    assert done.returncode == 0
    assert b"xample" in done.stdout


def test_demo_shows_the_main_job():
    done = streamflow("demo")
    out = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    for word in ("thinking", "get_weather", "tokens in", "the same", "StreamTruncated"):
        assert word in out
    assert "DIFFERENT" not in out
