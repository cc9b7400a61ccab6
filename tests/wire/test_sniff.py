import json
import random
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamflow.errors import LimitExceeded, ProtocolError, StreamflowError, StreamTruncated, UsageError
from streamflow.wire.eventstream import encode_message
from streamflow.wire.sniff import FRAMINGS, WireDecoder

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
AWS = encode_message({":message-type": "event", ":event-type": "chunk"}, b'{"a":1}')
PAGE = b"<!DOCTYPE html>\n<html><body>  502 Bad Gateway\n" + b"<!-- padding -->\n" * 60


def run(reads, *args, **options):
    """The framing, the frames, and the error that ended the body if one did."""
    decoder = WireDecoder(*args, **options)
    out = []
    try:
        for read in reads:
            out += decoder.feed(read)
        out += decoder.flush()
    except StreamflowError as error:
        return decoder.framing, out, error
    return decoder.framing, out, None


def single(body):
    return [body[at : at + 1] for at in range(len(body))]


def same_for_every_cut(body, *args, **options):
    whole = run([body], *args, **options)
    assert run(single(body), *args, **options) == whole
    for at in range(len(body) + 1):
        assert run([body[:at], body[at:]], *args, **options) == whole, at
    rng = random.Random(11)
    for _ in range(20):
        cuts = sorted(rng.randrange(len(body) + 1) for _ in range(4))
        reads = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
        assert run(reads, *args, **options) == whole
    return whole


@pytest.mark.parametrize(
    ("body", "options", "framing", "count"),
    [
        (b"data: 1\n\n", {}, "sse", 1),
        (b"data: 1", {}, "sse", 1),
        (b"\xef\xbb\xbf\n\n: hi\n\ndata: 1\n\n", {}, "sse", 1),
        (b"\n" * 600 + b"data: 1\n\n", {}, "sse", 1),
        (b'[{"a":1},\n{"a":2}]', {}, "json_array", 2),
        (b'\xef\xbb\xbf \r\n[{"a":1}]', {}, "json_array", 1),
        (b'{"a":1}\n{"a":2}\n', {}, "json_array", 2),
        (b'{"a":1}\n{"a":2}\n', {"default": "ndjson"}, "ndjson", 2),
        (b'{"a":1}\n{"a":2}\n', {"content_type": "application/x-ndjson; charset=utf-8"}, "ndjson", 2),
        (b'{"a":1}', {"default": "ndjson"}, "ndjson", 1),
        (b'{"a":1}{"a":2}', {"default": "ndjson"}, "json_array", 2),
        (b'{\n "error": {\n  "message": "no"\n }\n}\n', {"default": "ndjson"}, "json_array", 1),
        (b'{"a":"' + b"x" * 600 + b'"}\n{"b":1}\n', {"default": "ndjson"}, "ndjson", 2),
        (b'[{"a":1}]', {"default": "ndjson"}, "json_array", 1),
        (b'{"error":1}', {"content_type": "text/event-stream"}, "json_array", 1),
        (b'{"error":1}', {"default": "eventstream"}, "json_array", 1),
        (b"data: 1\n\n", {"content_type": "application/jsonl"}, "sse", 1),
        (b"event: x\ndata: 1\n\n", {"default": "ndjson"}, "sse", 1),
        (b": hello\n\ndata: 1\n\n", {"default": "eventstream"}, "sse", 1),
        (b"data: 1\n\n", {"content_type": "application/json"}, "sse", 1),
        (b"database\n", {"default": "ndjson"}, "ndjson", 1),
        (b'"text"\n', {"default": "ndjson"}, "ndjson", 1),
        (AWS * 2, {}, "eventstream", 2),
        (AWS, {"content_type": "text/event-stream"}, "eventstream", 1),
        (AWS, {"content_type": "Application/Vnd.Amazon.Eventstream"}, "eventstream", 1),
        (AWS, {"default": "eventstream"}, "eventstream", 1),
    ],
)
def test_recognised(body, options, framing, count):
    seen, frames, error = same_for_every_cut(body, **options)
    assert (seen, len(frames), error) == (framing, count, None)


@pytest.mark.parametrize("framing", FRAMINGS)
def test_asked_for_is_not_questioned(framing):
    bodies = {"sse": b"data: 1\n\n", "ndjson": b"[1]\n", "json_array": b'{"a":1}', "eventstream": AWS}
    seen, frames, error = same_for_every_cut(bodies[framing], framing, content_type="text/html")
    assert (seen, len(frames), error) == (framing, 1, None)
    assert run([b'data: {"a":1}\n\n'], "ndjson")[0] == "ndjson"


@pytest.mark.parametrize("options", [{}, {"content_type": "text/event-stream"}, {"default": "eventstream"}])
@pytest.mark.parametrize("body", [PAGE, b"\xef\xbb\xbf\n<html>key: api_key=abcdef0123456789</html>", b"<"])
def test_web_page(body, options):
    framing, frames, error = same_for_every_cut(body, **options)
    assert (framing, frames, type(error), error.position) == (None, [], ProtocolError, 0)
    assert "web page" in error.message
    assert "\n" not in error.message
    assert "abcdef0123456789" not in error.message
    assert len(error.message) < 300
    decoder = WireDecoder()
    with pytest.raises(ProtocolError):
        list(decoder.feed(PAGE))
    with pytest.raises(ProtocolError):
        list(decoder.feed(b"data: 1\n\n"))
    with pytest.raises(ProtocolError):
        list(decoder.flush())


@pytest.mark.parametrize(
    ("body", "args", "expected", "words"),
    [
        (b"", (), StreamTruncated, "the body is empty"),
        (b"", ("ndjson",), StreamTruncated, "the body is empty"),
        (b"", ("eventstream",), StreamTruncated, "the body is empty"),
        (b"\n \r\n", (), StreamTruncated, "blank"),
        (b"\xef\xbb\xbf", (), StreamTruncated, "blank"),
        (b": ping\n\n: ping\n\n", (), StreamTruncated, "ended before"),
        (b"event: x\n", (), StreamTruncated, "ended before"),
        (b"dat", (), StreamTruncated, "ended before"),
        (b"[", (), StreamTruncated, "ended before"),
        (b'{"a":', (), StreamTruncated, "ended inside"),
        (AWS[:-1], (), StreamTruncated, "ended inside"),
        (b"[]", (), ProtocolError, r"\[\]"),
        (b"Internal error\nsk-abcdefghijklmnopqrst", (), ProtocolError, r"Internal error \[redacted\]"),
        (b"\0\0\0\x20 not a prelude at all", (), ProtocolError, "no message"),
    ],
)
def test_body_without_a_frame(body, args, expected, words):
    _, frames, error = same_for_every_cut(body, *args)
    assert frames == []
    assert type(error) is expected
    assert error.position is not None
    with pytest.raises(expected, match=words):
        raise error


def test_prelude_needs_its_checksum():
    good = struct.pack(">II", 40, 0)
    assert run([good + struct.pack(">I", zlib.crc32(good))])[0] == "eventstream"
    assert run([good + struct.pack(">I", zlib.crc32(good) ^ 1)])[0] == "sse"


def test_wrong_options():
    with pytest.raises(UsageError, match="auto, sse, ndjson, json_array, eventstream"):
        WireDecoder("xml")
    with pytest.raises(UsageError, match="sse, ndjson, json_array, eventstream"):
        WireDecoder(default="auto")
    with pytest.raises(UsageError):
        WireDecoder(max_event_bytes=0)
    with pytest.raises(UsageError):
        list(WireDecoder().feed(1))


def test_limit_reaches_every_framing():
    for body in (b"data: a\n\ndata: " + b"x" * 50, b'{"a":1}\n{"a":"' + b"x" * 50, b'[{"a":1},{"a":"' + b"x" * 50):
        for default in ("sse", "ndjson"):
            _, frames, error = run(single(body), default=default, max_event_bytes=20)
            assert (len(frames), type(error)) == (1, LimitExceeded)


def test_frames_before_a_fault_are_kept():
    _, frames, error = run([b"data: a\n\ndata: " + b"x" * 50 + b"\n\n"], max_event_bytes=20)
    assert ([frame.data for frame in frames], type(error)) == (["a"], LimitExceeded)


def test_abort_gives_nothing():
    decoder = WireDecoder()
    assert list(decoder.feed(b"dat")) == []
    assert list(decoder.abort(ValueError())) == []
    assert list(WireDecoder().abort(ValueError())) == []


def corpus_streams():
    manifest = CORPUS / "manifest.json"
    return json.loads(manifest.read_text()) if manifest.exists() else []


@pytest.mark.skipif(not CORPUS.exists(), reason="the shared corpus is not here")
def test_corpus():
    streams = corpus_streams()
    assert streams
    for stream in streams:
        framing = stream["framing"].removeprefix("aws_")
        body = (CORPUS / f"{stream['key']}.wire").read_bytes()
        reads = [body[at : at + 1000] for at in range(0, len(body), 1000)]
        for default in {"sse", framing}:
            seen, frames, error = run(reads, default=default)
            assert error is None, stream["key"]
            # Without a hint NDJSON goes to the decoder of whole objects, which reads it as well.
            assert seen == framing or (seen, framing, default) == ("json_array", "ndjson", "sse"), stream["key"]
            # An end marker that is no payload may come on top.
            assert 0 <= len(frames) - stream["payloads"] <= 1, stream["key"]


PIECES = [
    b"data: x", b"event: y", b":", b"\n", b"\r\n", b"\n\n", b"{", b"}", b'{"a":1}', b"[", b"]", b",", b"<p>", b"\0",
    AWS, AWS[:14], b"\xef\xbb\xbf", b"\xff", b" ", b'"',
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=12).map(b"".join),
    st.sampled_from(["auto", *FRAMINGS]),
    st.sampled_from(FRAMINGS),
    st.sampled_from([None, "text/event-stream", "application/x-ndjson"]),
)
def test_whole_equals_byte_by_byte(body, framing, default, content_type):
    whole = run([body], framing, default=default, content_type=content_type)
    assert run(single(body), framing, default=default, content_type=content_type) == whole
    assert whole[1] or whole[2] is not None
