"""Recordings: exact pieces, exact times, exact ends; no secret gets in."""

import base64
import errno
import gzip
import json
import math
import os
import random
import subprocess
import sys
import zlib

import pytest
import reactivex as rx
from reactivex import operators as ops
from reactivex.testing import TestScheduler

import streamflow as sf
from streamflow.events import Sentence
from streamflow.operators import normalize_provider, record, sentence_segment, sse_decode, visible_filter, wire_decode
from streamflow.recordings import Piece, Recording, RecordingWriter, from_capture
from streamflow.testing import run_virtually
from tests.recordings.make import RECORDINGS
from tests.test_architecture import ROOT

OPENAI = next(recording for recording in RECORDINGS if recording.name == "openai_text")


def timed(wire: bytes, seed: int = 1) -> Recording:
    """A made-up recording: random pieces at random times."""
    rng = random.Random(seed)
    pieces, at, t = [], 0, 0.0
    while at < len(wire):
        size = rng.randint(1, 60)
        t += rng.choice((0.0, 0.01, 0.25))
        pieces.append(Piece(round(t, 3), wire[at : at + size]))
        at += size
    return Recording("openai", tuple(pieces), "completed", round(t + 0.5, 3))


def heard(source, scheduler):
    """What a subscriber hears, with the virtual time of each."""
    items = []

    def at():
        return round((scheduler.now - start).total_seconds(), 6)

    start = scheduler.now
    source.subscribe(
        lambda item: items.append((at(), item)),
        lambda error: items.append((at(), error)),
        lambda: items.append((at(), "end")),
        scheduler=scheduler,
    )
    scheduler.start()
    return items


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_file_gives_back_what_was_recorded(recording, tmp_path):
    original = timed(recording.wire)
    original.save(tmp_path / "r.jsonl")
    assert sf.load_recording(tmp_path / "r.jsonl") == original


def test_replay_at_speed_1_has_the_same_items_and_times():
    recording = timed(OPENAI.wire)
    items = heard(sf.replay(recording), TestScheduler())
    assert items == [(piece.t, piece.item) for piece in recording.pieces] + [(recording.end_t, "end")]


def test_replay_is_n_times_faster_and_drifts_not():
    recording = timed(OPENAI.wire)
    items = heard(sf.replay(recording, speed=4), TestScheduler())
    assert [item for _, item in items[:-1]] == [piece.item for piece in recording.pieces]
    assert [t for t, _ in items[:-1]] == pytest.approx([piece.t / 4 for piece in recording.pieces], abs=1e-5)


CHAINS = {
    "bytes": (),
    "frames": (sse_decode(),),
    "events": (wire_decode("openai"), normalize_provider("openai")),
    "visible": (wire_decode("openai"), normalize_provider("openai"), visible_filter()),
    "sentences": (wire_decode("openai"), normalize_provider("openai"), sentence_segment(language="en")),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_every_chain_gives_the_same_at_speed_1_and_at_once(chain):
    recording = timed(OPENAI.wire)
    slow = [item for _, item in heard(sf.replay(recording).pipe(*CHAINS[chain]), TestScheduler())]
    fast = []
    sf.replay(recording, math.inf).pipe(*CHAINS[chain]).subscribe(fast.append, None, lambda: fast.append("end"))
    assert fast == slow
    assert chain != "sentences" or any(isinstance(item, Sentence) for item in fast)


def test_async_replay_waits_for_its_reader_and_keeps_its_times():
    async def main():
        import asyncio

        loop = asyncio.get_running_loop()
        return [(round(loop.time(), 6), item) async for item in sf.replay(timed(OPENAI.wire))]

    recording = timed(OPENAI.wire)
    assert run_virtually(main()) == [(piece.t, piece.item) for piece in recording.pieces]


def test_recording_replay_is_recorded_the_same(tmp_path):
    """Record what a replay gives, on the same virtual clock: an equal file."""
    scheduler = TestScheduler()
    start = scheduler.now
    recording = timed(OPENAI.wire)
    tap = record(tmp_path / "copy.jsonl", provider="openai", clock=lambda: (scheduler.now - start).total_seconds())
    heard(sf.replay(recording).pipe(tap), scheduler)
    copy = sf.load_recording(tmp_path / "copy.jsonl")
    assert [piece.item for piece in copy.pieces] == [piece.item for piece in recording.pieces]
    assert [piece.t for piece in copy.pieces] == pytest.approx([piece.t for piece in recording.pieces], abs=1e-5)
    assert copy.end == "completed"


def test_errors_and_cancels_are_part_of_a_recording(tmp_path):
    error = sf.ProviderError("busy", status=503, retryable=True, provider="openai")
    rx.concat(rx.of(b"a"), rx.throw(error)).pipe(record(tmp_path / "e.jsonl")).subscribe(print, lambda _: None)
    failed = sf.load_recording(tmp_path / "e.jsonl")
    assert (failed.end, failed.error) == ("error", error)
    seen = []
    sf.replay(failed, math.inf).subscribe(seen.append, seen.append)
    assert seen == [b"a", error]
    rx.concat(rx.of(b"a"), rx.never()).pipe(record(tmp_path / "c.jsonl")).subscribe(print).dispose()
    cancelled = sf.load_recording(tmp_path / "c.jsonl")
    assert cancelled.end == "cancelled"
    seen = []
    sf.replay(cancelled, math.inf).subscribe(seen.append, seen.append)
    assert [seen[0], seen[1].type] == [b"a", "StreamTruncated"]


def test_any_stage_can_be_recorded(tmp_path):
    events = []
    rx.of(OPENAI.wire).pipe(
        wire_decode("openai"), normalize_provider("openai"), record(tmp_path / "events.jsonl")
    ).subscribe(events.append)
    recording = sf.load_recording(tmp_path / "events.jsonl")
    assert [piece.item for piece in recording.pieces] == events
    with pytest.raises(sf.UsageError, match="bytes"):
        recording.recut(size=3)


def test_a_disposed_replay_is_silent():
    scheduler = TestScheduler()
    seen = []
    subscription = sf.replay(timed(OPENAI.wire)).subscribe(seen.append, scheduler=scheduler)
    scheduler.advance_by(0.3)
    count = len(seen)
    subscription.dispose()
    scheduler.advance_by(1000)
    assert 0 < count == len(seen)
    only_one = []
    sf.replay(timed(OPENAI.wire), math.inf).pipe(ops.take(1)).subscribe(only_one.append)
    assert len(only_one) == 1


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_recut_keeps_the_bytes_and_each_piece_comes_with_its_last_byte(size):
    recording = timed(OPENAI.wire)
    again = recording.recut(size=size)
    assert again.data == recording.data
    came, upto = {}, 0
    for piece in recording.pieces:
        upto += len(piece.item)
        came[upto] = piece.t
    upto = 0
    for piece in again.pieces:
        upto += len(piece.item)
        assert piece.t == came[min(end for end in came if end >= upto)]
    assert recording.recut(seed=5) == recording.recut(seed=5)
    assert recording.recut(seed=5).data == recording.data


def test_no_secret_gets_into_a_file(tmp_path):
    key = "canary-0123456789abcdef"
    writer = RecordingWriter(
        tmp_path / "r.jsonl",
        headers={"Authorization": f"Bearer {key}", "Set-Cookie": "session=abc", "content-type": "text/event-stream"},
        secrets=[key],
    )
    body = f"data: you sent {key}, and sk-abcdefghijklmnop1234, and x-api-key: {key}\n\n".encode()
    writer.write(0.0, body)
    writer.end("completed", 0.0)
    raw = (tmp_path / "r.jsonl").read_text()
    for secret in (key, "sk-abcdef", "session", "Authorization"):
        assert secret not in raw
    assert len(sf.load_recording(tmp_path / "r.jsonl").pieces[0].item) == len(body)


def test_a_torn_file_is_read_up_to_the_tear(tmp_path):
    recording = timed(OPENAI.wire)
    recording.save(tmp_path / "r.jsonl")
    data = (tmp_path / "r.jsonl").read_bytes()
    (tmp_path / "torn.jsonl").write_bytes(data[: len(data) // 2])
    torn = sf.load_recording(tmp_path / "torn.jsonl")
    assert torn.end == "cut"
    assert torn.pieces == recording.pieces[: len(torn.pieces)]


def test_captures_and_cassettes_are_read(tmp_path):
    (tmp_path / "capture.sse").write_bytes(OPENAI.wire)
    capture = sf.load_recording(tmp_path / "capture.sse", provider="openai")
    assert capture.data == OPENAI.wire
    assert len(capture.pieces) == OPENAI.wire.count(b"\n\n")
    response = {"status": {"code": 200}, "headers": {"content-type": ["text/event-stream"], "set-cookie": ["a=b"]}}
    cassette = {
        "version": 1,
        "interactions": [{"request": {"uri": "x"}, "response": {**response, "body": {"string": OPENAI.wire.decode()}}}],
    }
    (tmp_path / "cassette.json").write_text(json.dumps(cassette))
    read = sf.load_recording(tmp_path / "cassette.json", provider="openai")
    assert (read.data, read.headers) == (OPENAI.wire, {"content-type": "text/event-stream"})
    import yaml

    (tmp_path / "cassette.yaml").write_text(yaml.safe_dump(cassette))
    assert sf.load_recording(tmp_path / "cassette.yaml", provider="openai") == read
    assert sf.read("openai", [piece.item for piece in read.pieces]).complete
    assert from_capture(b"no events").pieces[0].item == b"no events"


def cassette_of(body, headers):
    return {"version": 1, "interactions": [{"request": {"uri": "x"}, "response": {"headers": headers, "body": body}}]}


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_packed_body_of_a_cassette_is_unpacked(encoding, tmp_path):
    import yaml

    packed = gzip.compress(OPENAI.wire) if encoding == "gzip" else zlib.compress(OPENAI.wire)
    headers = {"Content-Encoding": [encoding], "Content-Type": ["text/event-stream"]}
    in_base64 = base64.b64encode(packed).decode()
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(cassette_of({"string": packed}, headers)))
    (tmp_path / "b.json").write_text(json.dumps(cassette_of({"base64_string": in_base64}, headers)))
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(cassette_of({"string": OPENAI.wire}, headers)))  # unpacked already
    for path in tmp_path.iterdir():
        read = sf.load_recording(path, provider="openai")
        assert (read.data, read.headers) == (OPENAI.wire, {"content-type": "text/event-stream"}), path.name


def test_a_bomb_in_a_cassette_is_refused(tmp_path, monkeypatch):
    import yaml

    monkeypatch.setattr("streamflow.recordings.MAX_UNPACKED_BYTES", 100_000)
    bomb = {"string": gzip.compress(bytes(1_000_000))}
    (tmp_path / "bomb.yaml").write_text(yaml.safe_dump(cassette_of(bomb, {"content-encoding": ["gzip"]})))
    with pytest.raises(sf.LimitExceeded, match="100000"):
        sf.load_recording(tmp_path / "bomb.yaml")
    (tmp_path / "br.yaml").write_text(yaml.safe_dump(cassette_of(bomb, {"content-encoding": ["br"]})))
    with pytest.raises(sf.UsageError, match="'br'"):
        sf.load_recording(tmp_path / "br.yaml")


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b'{"streamflow": 99}\n', "version"),
        (b'{"streamflow": 1}\nnonsense\n{"t": 1, "end": "completed"}\n', "byte 18"),
        (b'{"streamflow": 1}\n{"t": 0, "base64": "!"}\n{"t": 1, "end": "completed"}\n', "cannot be read"),
        (b'{"streamflow": 1}\n{"t": 0, "event": {"type": "Nobody"}}\n\n', "cannot be read"),
    ],
)
def test_a_bad_file_is_one_clear_error(content, hint, tmp_path):
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(sf.StreamflowError, match=hint):
        sf.load_recording(tmp_path / "bad.jsonl")


def test_wrong_use_says_what_to_do(tmp_path):
    for speed in (0, -1, "fast", None, True):
        with pytest.raises(sf.UsageError, match="speed"):
            sf.replay(timed(b"x"), speed)
    with pytest.raises(sf.UsageError, match="cannot read"):
        sf.replay(tmp_path / "nothing")
    with pytest.raises(sf.UsageError, match="size= "):
        timed(b"x").recut()


def test_the_command_line_records_and_replays(tmp_path):
    def streamflow(*arguments, stdin=b""):
        command = [sys.executable, "-m", "streamflow", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT, timeout=60)

    path = str(tmp_path / "r.jsonl")
    assert streamflow("record", path, "--provider", "openai", stdin=OPENAI.wire).stdout == OPENAI.wire
    assert sf.load_recording(path).provider == "openai"
    again = streamflow("replay", path, "--speed", "inf", "--recut", "3")
    assert (again.stdout, again.returncode) == (OPENAI.wire, 0)
    assert streamflow("replay", path, "--speed", "never").returncode == 2
    data = (tmp_path / "r.jsonl").read_bytes().rsplit(b"\n", 2)[0]
    (tmp_path / "cut.jsonl").write_bytes(data)
    assert streamflow("replay", str(tmp_path / "cut.jsonl"), "--speed", "inf").returncode == 3


class _FullDisk:
    """Takes a number of bytes, then half a line, then nothing."""

    def __init__(self, room):
        self.room = room

    def write(self, file, data):
        size = min(self.room, len(data))
        self.room -= size
        if data and not size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return REAL_WRITE(file, data[:size])


REAL_WRITE = os.write


@pytest.mark.parametrize("room", range(100, 360, 20))
def test_a_full_disk_ends_the_recording_after_a_whole_line(tmp_path, monkeypatch, caplog, room):
    path = tmp_path / "full.jsonl"
    monkeypatch.setattr("os.write", _FullDisk(room).write)
    before = len(os.listdir("/proc/self/fd"))
    writer = RecordingWriter(path, provider="openai")
    for number in range(20):
        writer.write(number, b"data: %d\n\n" % number)
    writer.end("completed", 20.0)
    assert len(os.listdir("/proc/self/fd")) == before
    monkeypatch.undo()
    assert "No space left" in caplog.text
    recording = sf.load_recording(path)
    assert [piece.item for piece in recording.pieces] == [b"data: %d\n\n" % n for n in range(len(recording.pieces))]
    assert recording.end == "cut"
