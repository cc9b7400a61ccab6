import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamflow.errors import LimitExceeded, StreamflowError, UsageError
from streamflow.wire.ndjson import NdjsonDecoder


def run(reads, **options):
    decoder = NdjsonDecoder(**options)
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


def assert_same_for_every_cut(body, **options):
    whole = run([body], **options)
    assert run(single(body), **options) == whole
    for at in range(len(body) + 1):
        assert run([body[:at], body[at:]], **options) == whole, at
    rng = random.Random(3)
    for _ in range(30):
        cuts = sorted(rng.randrange(len(body) + 1) for _ in range(4))
        assert run([body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)], **options) == whole
    return whole


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']),
        (b'{"a":1}\r\n{"b":2}\r\n', ['{"a":1}', '{"b":2}']),
        (b'{"a":1}\n{"b":2}', ['{"a":1}', '{"b":2}']),
        (b'{"a":1}\n{"b":2}\r', ['{"a":1}', '{"b":2}']),
        (b'\n\r\n \t\n{"a":1}\n\n\n', ['{"a":1}']),
        (b'\xef\xbb\xbf{"a":1}\n', ['{"a":1}']),
        (b"\xef\xbb", ["\ufffd"]),
        (b"\xef\xbb\xbf", []),
        (b"", []),
        ('"a\u2028b\x85c\x0bd"\n"😀"\n'.encode(), ['"a\u2028b\x85c\x0bd"', '"😀"']),
        (b'"\xff"\n', ['"\ufffd"']),
        (b"a\rb\n", ["a\rb"]),
    ],
)
def test_lines(body, expected):
    frames, error = assert_same_for_every_cut(body)
    assert error is None
    assert [frame.data for frame in frames] == expected


def test_offsets():
    body = b'\xef\xbb\xbf{"a":1}\r\n\n{"b":2}'
    frames, _ = assert_same_for_every_cut(body)
    assert [body[frame.start : frame.end] for frame in frames] == [b'{"a":1}\r\n', b'{"b":2}']


def test_limit_is_exact():
    frames, error = assert_same_for_every_cut(b"1\n" + b"2" * 8 + b"\n3\n", max_event_bytes=8)
    assert (len(frames), error) == (3, None)
    frames, error = assert_same_for_every_cut(b"1\n" + b"2" * 9 + b"\n3\n", max_event_bytes=8)
    assert isinstance(error, LimitExceeded)
    assert (error.kind, error.position) == ("max_event_bytes", 2)
    assert [frame.data for frame in frames] == ["1"]


def test_100_mb_without_a_line_end():
    decoder = NdjsonDecoder()
    for _ in range(512):
        decoder.feed(b"x" * 65536)
    with pytest.raises(LimitExceeded):
        decoder.feed(b"x" * 65536)
    with pytest.raises(LimitExceeded):
        decoder.feed(b"\n")
    with pytest.raises(LimitExceeded):
        decoder.flush()


def test_text_is_taken_and_numbers_are_not():
    assert [frame.data for frame in run(['"é"\n', bytearray(b"1\n")])[0]] == ['"é"', "1"]
    with pytest.raises(UsageError):
        NdjsonDecoder().feed(3)
    with pytest.raises(UsageError):
        NdjsonDecoder(max_event_bytes=-1)
    assert list(NdjsonDecoder().abort(ValueError())) == []


PIECES = [b"\n", b"\r\n", b"\r", b"{}", b"\xef\xbb\xbf", b" ", b"\xff"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join),
    st.sampled_from([1, 3, 100]),
)
def test_whole_equals_byte_by_byte(body, limit):
    assert run(single(body), max_event_bytes=limit) == run([body], max_event_bytes=limit)
