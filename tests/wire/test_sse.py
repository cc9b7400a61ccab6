import base64
import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamflow.errors import LimitExceeded, StreamflowError, UsageError
from streamflow.events import Frame
from streamflow.wire.sse import SseDecoder

CORPUS = Path(__file__).parents[2] / "../shared/corpus/sse_cases.json"


def run(reads, **options):
    """All frames, and the error that ended the stream if one did."""
    decoder = SseDecoder(**options)
    out = []
    try:
        for read in reads:
            out += decoder.feed(read)
        out += decoder.flush()
    except StreamflowError as error:
        return out, error
    return out, None


def single(body):
    return [body[at : at + 1] for at in range(len(body))]


def random_cut(body, rng):
    cuts = sorted(rng.randrange(len(body) + 1) for _ in range(rng.randrange(1, 9)))
    return [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]


def assert_same_for_every_cut(body, **options):
    whole = run([body], **options)
    assert run(single(body), **options) == whole
    for at in range(len(body) + 1):
        assert run([body[:at], body[at:]], **options) == whole, at
    rng = random.Random(7)
    for _ in range(50):
        assert run(random_cut(body, rng), **options) == whole
    return whole


def triples(frames):
    return [(frame.event, frame.data, frame.id) for frame in frames]


TABLE = [
    ("plain", b"data: a\n\n", [("message", "a", "")]),
    ("two", b"data: a\n\ndata: b\n\n", [("message", "a", ""), ("message", "b", "")]),
    ("crlf", b"event: e\r\ndata: a\r\n\r\ndata: b\r\n\r\n", [("e", "a", ""), ("message", "b", "")]),
    ("cr", b"event: e\rdata: a\r\rdata: b\r\r", [("e", "a", ""), ("message", "b", "")]),
    (
        "mixed ends",
        b"data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\n\n",
        [("message", "a\nb\nc", ""), ("message", "d", "")],
    ),
    ("cr inside crlf", b"data: a\rdata: b\r\n\r\n", [("message", "a\nb", "")]),
    ("lf inside crlf", b"event: x\nfoo\r\ndata: b\r\n\r\n", [("x", "b", "")]),
    ("lf name then crlf", b"event: x\nevent: y\r\ndata: b\r\n\r\n", [("y", "b", "")]),
    ("cr name then crlf", b"event: x\revent: y\r\ndata: b\r\n\r\n", [("y", "b", "")]),
    ("many blank lines", b"\n\n\ndata: a\n\n\n\n\ndata: b\n\n", [("message", "a", ""), ("message", "b", "")]),
    ("no space", b"data:a\n\n", [("message", "a", "")]),
    ("one space only is cut", b"data:  a\n\n", [("message", " a", "")]),
    ("empty data is dispatched", b"data\n\ndata:\n\n", [("message", "", ""), ("message", "", "")]),
    ("no data, no event, name forgotten", b"event: x\n\ndata: a\n\n", [("message", "a", "")]),
    ("empty name", b"event: \ndata: a\n\n", [("message", "a", "")]),
    ("last name counts", b"event: x\nevent: y\ndata: a\n\n", [("y", "a", "")]),
    ("name after data", b"data: a\nevent: y\n\n", [("y", "a", "")]),
    ("id stays", b"id: 1\ndata: a\n\ndata: b\n\n", [("message", "a", "1"), ("message", "b", "1")]),
    ("id without data stays", b"id: 1\n\ndata: b\n\n", [("message", "b", "1")]),
    ("id with NUL", b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", [("message", "a", "1"), ("message", "b", "1")]),
    ("id emptied", b"id: 1\ndata: a\n\nid\ndata: b\n\n", [("message", "a", "1"), ("message", "b", "")]),
    ("comment", b": ping\n\n:\ndata: a\n: x\ndata: b\n\n", [("message", "a\nb", "")]),
    ("unknown field", b"dat: a\nDATA: b\ndata : c\ndata: d\n\n", [("message", "d", "")]),
    ("one mark", b"\xef\xbb\xbfdata: a\n\n", [("message", "a", "")]),
    ("two marks", b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [("message", "b", "")]),
    ("half a mark", b"\xef\xbbdata: a\n\ndata: b\n\n", [("message", "b", "")]),
    (
        "no other line ends",
        "data: a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n\n".encode(),
        [("message", "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg", "")],
    ),
    ("four byte character", "event: 😀\ndata: 😀é€\n\n".encode(), [("😀", "😀é€", "")]),
    ("invalid bytes", b"data: \xff\xe2\x82|\xf0\x9f\x98\n\n", [("message", "\ufffd\ufffd|\ufffd", "")]),
    ("NUL in data", b"data: \0\n\n", [("message", "\0", "")]),
    ("left open", b"data: a\n\ndata: b\n", [("message", "a", "")]),
    ("left open in a line", b"data: a\n\ndata: b", [("message", "a", "")]),
    ("empty", b"", []),
    ("mark alone", b"\xef\xbb\xbf", []),
]


@pytest.mark.parametrize(("body", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_table(body, expected):
    frames, error = assert_same_for_every_cut(body)
    assert error is None
    assert triples(frames) == expected


@pytest.mark.parametrize("body", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_delivered_tail_is_the_same_for_every_cut(body):
    frames, error = assert_same_for_every_cut(body, tail="deliver")
    assert error is None
    closed, _ = run([body])
    assert frames[: len(closed)] == closed


def corpus_cases():
    return json.loads(CORPUS.read_text()) if CORPUS.exists() else []


@pytest.mark.skipif(not CORPUS.exists(), reason="the shared corpus is not here")
def test_corpus():
    cases = corpus_cases()
    assert cases
    for case in cases:
        body = base64.b64decode(case["input_base64"])
        expected = [(entry["event"], entry["data"], entry["last_event_id"]) for entry in case["expect"]]
        whole = run([body])
        assert whole[1] is None
        assert triples(whole[0]) == expected, case["name"]
        assert run(single(body)) == whole, case["name"]
        for at in range(len(body) + 1):
            assert run([body[:at], body[at:]]) == whole, (case["name"], at)
        if "retry" in case:
            decoder = SseDecoder()
            decoder.feed(body)
            assert decoder.retry == case["retry"]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"data: a\n", ["a"]),
        (b"data: a", ["a"]),
        (b"data: a\ndata: b", ["a\nb"]),
        (b"data: a\ndat", ["a"]),
        (b"data: a\r", ["a"]),
        (b"data: \xe2\x82", ["\ufffd"]),
        (b"data", []),
        (b"data: ", []),
        (b"event: x\n", []),
        (b"\xef\xbb", []),
        (b"data: a\n\n", ["a"]),
    ],
)
def test_tail_delivered(body, data):
    frames, error = assert_same_for_every_cut(body, tail="deliver")
    assert error is None
    assert [frame.data for frame in frames] == data


def test_flush_twice_gives_the_tail_once():
    decoder = SseDecoder(tail="deliver")
    decoder.feed(b"data: a")
    assert [frame.data for frame in decoder.flush()] == ["a"]
    assert list(decoder.flush()) == []


def test_offsets():
    body = b"\xef\xbb\xbf: hi\n\nevent: x\ndata: a\n\ndata: b\r\n\r\n\ndata: c\r\rdata: d"
    frames, _ = assert_same_for_every_cut(body, tail="deliver")
    assert [body[frame.start : frame.end] for frame in frames] == [
        b"event: x\ndata: a\n\n",
        b"data: b\r\n\r",
        b"data: c\r\r",
        b"data: d",
    ]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"retry: 10", 10),
        (b"retry:007", 7),
        (b"retry: 1x", None),
        (b"retry: -1", None),
        (b"retry", None),
        (b"retry: \xd9\xa1", None),
        (b"retry: " + b"9" * 5000, None),
    ],
)
def test_retry(line, value):
    frames, error = run([line + b"\ndata: a\n\ndata: b\n\n"])
    assert error is None
    assert [frame.retry for frame in frames] == [value, None]


def test_text_and_buffers_are_taken():
    expected = [Frame("message", "é", "", None, None, None, 0, 10)]
    body = "data: é\n\n"
    for read in (body, body.encode(), bytearray(body.encode()), memoryview(body.encode())):
        assert run([read]) == (expected, None)
    assert run(["data: \ud800\n\n"])[0][0].data == "\ufffd" * 3
    assert list(SseDecoder().abort(ValueError())) == []


@pytest.mark.parametrize("options", [{"tail": "keep"}, {"max_event_bytes": 0}])
def test_wrong_options(options):
    with pytest.raises(UsageError, match=r"drop, deliver|positive"):
        SseDecoder(**options)


def test_wrong_item():
    with pytest.raises(UsageError, match="not int"):
        SseDecoder().feed(5)


@pytest.mark.parametrize("ok", [b"data: " + b"x" * 14, b"data: xx\ndata: xxxxx", b":" * 20, b"data: 1\n:" + b"c" * 19])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_limit_is_exact(ok, line_end):
    before, after = b"data: a\n\n", line_end + line_end + b"data: z\n\n"
    body = before + ok.replace(b"\n", line_end) + after
    frames, error = assert_same_for_every_cut(body, max_event_bytes=20)
    assert error is None
    assert frames[-1].data == "z"
    body = before + ok.replace(b"\n", line_end) + b"x" + after
    frames, error = assert_same_for_every_cut(body, max_event_bytes=20)
    assert isinstance(error, LimitExceeded)
    assert (error.kind, error.position) == ("max_event_bytes", len(before))
    assert [frame.data for frame in frames] == ["a"]


def test_after_the_limit_nothing_more_is_taken():
    decoder = SseDecoder(max_event_bytes=4)
    for call in (lambda: decoder.feed(b"data: a\n\n"), lambda: decoder.feed(b"\n\n"), decoder.flush):
        with pytest.raises(LimitExceeded):
            call()


@pytest.mark.parametrize("first", [b"data: ", b":", b"event: ", b""])
def test_100_mb_without_a_line_end(first):
    decoder = SseDecoder()
    decoder.feed(first)
    read = b"x" * 65536
    reads = (32 * 1024 * 1024 - len(first)) // len(read)
    for _ in range(reads):
        decoder.feed(read)
    with pytest.raises(LimitExceeded):
        decoder.feed(read)


def test_one_line_in_many_reads_is_linear():
    def seconds(reads):
        decoder = SseDecoder(max_event_bytes=1 << 30)
        begin = time.process_time()
        decoder.feed(b"data: ")
        for _ in range(reads):
            decoder.feed(b"x" * 4096)
        [frame] = decoder.feed(b"\n\n")
        assert len(frame.data) == reads * 4096
        return time.process_time() - begin

    small = min(seconds(500) for _ in range(3))
    large = min(seconds(4000) for _ in range(3))
    assert large < 8 * 8 * max(small, 0.001) / 2


@pytest.mark.parametrize("event", [b"data: x\r\r", b"data:x\n\n", b"id: 1\r\ndata: x\r\n\r\n", b"\n", b"\r", b"data\n"])
def test_one_large_read_is_linear(event):
    def seconds(count):
        begin = time.process_time()
        run([event * count])
        return time.process_time() - begin

    small = min(seconds(2_000) for _ in range(3))
    large = min(seconds(32_000) for _ in range(2))
    assert large < 16 * 6 * max(small, 0.0005)


PIECES = [
    b"data: ", b"data:", b"data", b"event: ", b"event:e", b"id: 1", b"id: \0", b"retry: 5", b":", b" ", b"\n", b"\n\n",
    b"\r", b"\r\n", b"\r\n\r\n", b"x", b"\xef\xbb\xbf", b"\xff", "é".encode(), b'{"a": 1}', b"data: x\n\n",
    b"data:y\r\n\r\n", b"event: x\ndata: ", b"event: x\r\ndata:", b"event: y\r\ndata: y\r\n\r\n", b"event: \n",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=25).map(b"".join),
    st.sampled_from(["drop", "deliver"]),
    st.sampled_from([1, 7, 16, 1000]),
    st.randoms(use_true_random=False),
)
def test_whole_equals_byte_by_byte(body, tail, limit, rng):
    whole = run([body], tail=tail, max_event_bytes=limit)
    assert run(single(body), tail=tail, max_event_bytes=limit) == whole
    assert run(random_cut(body, rng), tail=tail, max_event_bytes=limit) == whole


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join))
def test_like_the_plain_rules(body):
    """Against the standard's algorithm written down without any regard to speed."""
    text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
    expected, name, data, last_id = [], "", "", ""
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                expected.append((name or "message", data[:-1], last_id))
            name = data = ""
        elif field == "data":
            data += value + "\n"
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value
    assert triples(run([body])[0]) == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map(b"".join), max_size=8), st.sampled_from([12, 1000]))
def test_reads_of_whole_events(reads, limit):
    body = b"".join(reads)
    assert run(reads, max_event_bytes=limit) == run(single(body), max_event_bytes=limit)


def test_an_event_without_the_space_does_not_teach_the_next_one_to_keep_it():
    wire = b"event: a\ndata:1\n\nevent: a\ndata: 2\n\nevent: a\ndata:3\n\ndata:4\n\ndata: 5\n\n"
    assert [frame.data for frame in SseDecoder().feed(wire)] == ["1", "2", "3", "4", "5"]
    events = [event + b"\n\n" for event in wire.split(b"\n\n")[:-1]]
    decoder = SseDecoder()
    assert [frame.data for event in events for frame in decoder.feed(event)] == ["1", "2", "3", "4", "5"]
