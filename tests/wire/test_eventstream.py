import base64
import contextlib
import json
import random
import struct
import time
from pathlib import Path
from uuid import UUID
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamflow.errors import LimitExceeded, ProtocolError, StreamflowError, StreamTruncated, UsageError
from streamflow.events import Frame
from streamflow.wire.eventstream import (
    MAX_HEADERS_BYTES,
    MAX_MESSAGE_BYTES,
    EventStreamDecoder,
    decode_headers,
    encode_message,
    unwrap_invoke,
)

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
CASES = json.loads((CORPUS / "eventstream_cases.json").read_text()) if CORPUS.exists() else []

HEADERS = {":message-type": "event", ":event-type": "contentBlockDelta", ":content-type": "application/json"}

ALL_TYPES = (
    b"\x01a\x00\x01b\x01\x01c\x02\xfe\x01d\x03\x80\x00\x01e\x04\x00\x00\x01\x00"
    b"\x01f\x05\xff\xff\xff\xff\xff\xff\xff\xff\x01g\x06\x00\x02\x00\xff"
    b"\x01h\x07\x00\x03\xe2\x82\xac\x01i\x08\x00\x00\x01\x8b\xcf\xe5\x68\x00\x01j\x09" + bytes(range(16))
)


def raw_message(section, payload=b"", *, total=None, headers_length=None):
    """A message with right checksums around whatever it is given."""
    total = len(section) + len(payload) + 16 if total is None else total
    lengths = struct.pack(">II", total, len(section) if headers_length is None else headers_length)
    body = lengths + struct.pack(">I", crc32(lengths)) + section + payload
    return body + struct.pack(">I", crc32(body))


OWN = [
    encode_message(HEADERS, '{"delta":{"text":"Grüße 🎈"}}'.encode()),
    raw_message(ALL_TYPES, b"\x00\xff"),
    encode_message({}, b""),
]


def outcome(pieces, **options):
    decoder = EventStreamDecoder(**options)
    frames = []
    try:
        for piece in pieces:
            for frame in decoder.feed(piece):
                frames.append(frame)
        frames += decoder.flush()
    except StreamflowError as error:
        return frames, error
    return frames, None


def bytewise(wire):
    return [wire[at : at + 1] for at in range(len(wire))]


def same_for_every_cutting(wire, **options):
    expected = outcome([wire], **options)
    assert outcome(bytewise(wire), **options) == expected
    for cut in range(len(wire) + 1):
        assert outcome([wire[:cut], wire[cut:]], **options) == expected, cut
    for seed in range(20):
        rng = random.Random(seed)
        cuts = sorted(rng.randrange(len(wire) + 1) for _ in range(rng.randrange(1, 12)))
        pieces = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
        assert outcome(pieces, **options) == expected, seed
    return expected


def test_frames_whatever_the_cutting():
    frames, error = same_for_every_cutting(b"".join(OWN))
    assert error is None
    first, second, third = frames
    assert (first.event, first.headers) == ("contentBlockDelta", HEADERS)
    assert first.data == '{"delta":{"text":"Grüße 🎈"}}'
    assert first.payload == first.data.encode()
    assert (second.event, second.payload, second.data) == ("message", b"\x00\xff", "\x00�")
    assert third == Frame("message", headers={}, payload=b"", start=second.end, end=second.end + 16)
    assert [frame.start for frame in frames] == [0, len(OWN[0]), len(OWN[0] + OWN[1])]


def test_all_ten_header_types():
    expected = [
        ("a", 0, True),
        ("b", 1, False),
        ("c", 2, -2),
        ("d", 3, -32768),
        ("e", 4, 256),
        ("f", 5, -1),
        ("g", 6, b"\x00\xff"),
        ("h", 7, "€"),
        ("i", 8, 1_700_000_000_000),
        ("j", 9, UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")),
    ]
    assert decode_headers(ALL_TYPES) == expected
    (frame,), error = outcome([OWN[1]])
    assert error is None
    assert frame.headers == {name: value for name, _, value in expected}


def test_headers_cut_anywhere_are_refused_or_shorter():
    whole = decode_headers(ALL_TYPES)
    for length in range(len(ALL_TYPES)):
        try:
            got = decode_headers(ALL_TYPES[:length])
        except ProtocolError:
            continue
        assert got == whole[: len(got)]
        assert len(got) < len(whole)


@pytest.mark.parametrize(
    ("headers", "event"),
    [
        ({":event-type": "chunk", ":exception-type": "x"}, "chunk"),
        ({":exception-type": "throttlingException", ":error-code": "1"}, "throttlingException"),
        ({":error-code": "InternalError", ":message-type": "error"}, "InternalError"),
        ({":message-type": "event"}, "message"),
    ],
)
def test_the_name_of_the_event(headers, event):
    frames, error = outcome([encode_message(headers, b"{}")])
    assert (error, [frame.event for frame in frames]) == (None, [event])


@pytest.mark.parametrize("own", OWN, ids=["text", "types", "empty"])
def test_a16_every_flipped_bit_is_refused(own):
    good = encode_message({":event-type": "before"}, b"{}")
    for bit in range(len(own) * 8):
        wire = bytearray(own)
        wire[bit // 8] ^= 1 << bit % 8
        frames, error = outcome([good + bytes(wire)])
        assert [frame.event for frame in frames] == ["before"], bit
        assert type(error) is ProtocolError, bit
        assert error.position == len(good)
        assert outcome(bytewise(good + bytes(wire))) == (frames, error)


@pytest.mark.parametrize(
    ("section", "at"),
    [
        (b"\x01a\x0a", 0),
        (b"\x01a\xff\x00", 0),
        (b"\x01a\x00\x01a\x01", 3),
        (b"\x00\x00", 0),
        (b"\x05a\x00", 0),
        (b"\x01a", 0),
        (b"\x01a\x07\x00\x02x", 0),
        (b"\x01a\x07\x00", 0),
        (b"\x01a\x04\x00\x00\x00", 0),
        (b"\x01a\x09" + bytes(15), 0),
        (b"\x01a\x07\x00\x01\xff", 0),
        (b"\x01\xff\x00", 0),
        (b"\x01a\x00\x01b\x0b", 3),
    ],
)
def test_broken_headers(section, at):
    with pytest.raises(ProtocolError) as caught:
        decode_headers(section, 100)
    assert caught.value.position == 100 + at
    frames, error = same_for_every_cutting(OWN[0] + raw_message(section, b"{}"))
    assert len(frames) == 1
    assert type(error) is ProtocolError
    assert error.position == len(OWN[0]) + 12 + at


def test_an_event_name_that_is_no_text():
    _, error = outcome([raw_message(b"\x0b:event-type\x00")])
    assert type(error) is ProtocolError


@pytest.mark.parametrize("total", [0, 11, 12, 15])
def test_a_message_shorter_than_its_frame(total):
    frames, error = same_for_every_cutting(OWN[0] + raw_message(b"", total=total))
    assert len(frames) == 1
    assert (type(error), error.position) == (ProtocolError, len(OWN[0]))


def test_headers_longer_than_the_message():
    _, error = same_for_every_cutting(raw_message(b"", b"12345678", headers_length=9))
    assert (type(error), error.position) == (ProtocolError, 0)


@pytest.mark.parametrize("length", range(1, len(OWN[0])))
def test_the_end_inside_a_message(length):
    frames, error = outcome([OWN[1] + OWN[0][:length]])
    assert len(frames) == 1
    assert (type(error), error.position) == (StreamTruncated, len(OWN[1]) + length)


def test_an_error_is_final():
    decoder = EventStreamDecoder()
    with pytest.raises(ProtocolError):
        list(decoder.feed(bytes(12)))
    with pytest.raises(ProtocolError):
        list(decoder.feed(OWN[0]))
    with pytest.raises(ProtocolError):
        decoder.flush()


def test_abort_gives_nothing():
    decoder = EventStreamDecoder()
    list(decoder.feed(OWN[0][:20]))
    assert list(decoder.abort(ValueError())) == []


def test_the_event_limit_holds_to_the_byte():
    wire = OWN[2] + OWN[0]
    assert same_for_every_cutting(wire, max_event_bytes=len(OWN[0]))[1] is None
    frames, error = same_for_every_cutting(wire, max_event_bytes=len(OWN[0]) - 1)
    assert len(frames) == 1
    assert (type(error), error.kind, error.position) == (LimitExceeded, "max_event_bytes", 16)
    with pytest.raises(UsageError):
        EventStreamDecoder(max_event_bytes=0)


def test_the_message_limit_holds_to_the_byte():
    fits = encode_message({}, bytes(MAX_MESSAGE_BYTES - 16))
    frames, error = outcome([fits])
    assert (error, [frame.end for frame in frames]) == (None, [MAX_MESSAGE_BYTES])
    _, error = outcome([raw_message(b"", total=MAX_MESSAGE_BYTES + 1)[:12]])
    assert (type(error), error.kind) == (LimitExceeded, "max_message_bytes")
    with pytest.raises(UsageError):
        encode_message({}, bytes(MAX_MESSAGE_BYTES - 15))


def test_the_headers_limit_holds_to_the_byte():
    value = bytes(0xFF00)
    two = b"".join(b"\x01%c\x06\xff\x00" % name + value for name in b"ab")
    rest = MAX_HEADERS_BYTES - len(two) - 5
    fits = two + b"\x01c\x06" + struct.pack(">H", rest) + bytes(rest)
    assert len(fits) == MAX_HEADERS_BYTES
    frames, error = outcome([raw_message(fits)])
    assert (error, len(frames[0].headers)) == (None, 3)
    over = two + b"\x01c\x06" + struct.pack(">H", rest + 1) + bytes(rest + 1)
    _, error = outcome([raw_message(over)])
    assert (type(error), error.kind) == (LimitExceeded, "max_headers_bytes")


@pytest.mark.parametrize("headers", [{"": "x"}, {"n" * 256: "x"}, {"n": "x" * 65536}])
def test_headers_that_cannot_be_encoded(headers):
    with pytest.raises(UsageError):
        encode_message(headers, b"")


def test_too_many_headers_cannot_be_encoded():
    with pytest.raises(UsageError):
        encode_message(dict.fromkeys("abc", "x" * 65000), b"")


def invoke(payload, **headers):
    (frame,), error = outcome([encode_message({":event-type": "chunk", **headers}, payload)])
    assert error is None
    return frame


def test_unwrap_invoke():
    inner = '{"type":"content_block_delta","text":"Grüße"}'
    frame = invoke(json.dumps({"bytes": base64.b64encode(inner.encode()).decode(), "p": "abcd"}).encode())
    got = unwrap_invoke(frame)
    assert got == Frame("chunk", inner, headers={":event-type": "chunk"}, start=0, end=frame.end)


def test_unwrap_invoke_leaves_other_frames_alone():
    frame = Frame("throttlingException", '{"message":"slow"}', headers={}, payload=b'{"message":"slow"}')
    assert unwrap_invoke(frame) is frame


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"bytes":1}',
        b'{"bytes":null}',
        b'{"bytes":"*"}',
        b'{"bytes":"eyJ"}',
        b'{"bytes":"/w=="}',
        b'\xff{"bytes":""}',
        b'{"a":"\xff","bytes":7}',
        b'{"a":' + b"[" * 200_000,
    ],
)
def test_unwrap_invoke_refuses_what_is_malformed(payload):
    with pytest.raises(ProtocolError) as caught:
        unwrap_invoke(Frame("chunk", payload=payload, start=7))
    assert caught.value.position == 7


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.binary(max_size=80))
def test_any_payload_unwraps_or_is_a_protocol_error(payload):
    with contextlib.suppress(ProtocolError):
        assert isinstance(unwrap_invoke(Frame("chunk", payload=payload)), Frame)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(OWN) | st.binary(max_size=30) | st.binary(max_size=30).map(raw_message), max_size=4))
def test_any_bytes_give_frames_or_a_typed_error(parts):
    wire = b"".join(parts)
    frames, error = outcome([wire])
    assert isinstance(error, (ProtocolError, StreamTruncated, type(None)))
    assert outcome(bytewise(wire)) == (frames, error)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=50)), st.binary())
def test_encoded_messages_come_back(headers, payload):
    frames, error = outcome([encode_message(headers, payload)])
    assert error is None
    assert [(frame.headers, frame.payload) for frame in frames] == [(headers, payload)]


def test_cost_is_linear():
    def seconds(size):
        wire = encode_message({}, bytes(size))
        started = time.perf_counter()
        frames, error = outcome([wire[at : at + 16] for at in range(0, len(wire), 16)])
        assert (len(frames), error) == (1, None)
        return time.perf_counter() - started

    small = min(seconds(50_000) for _ in range(3))
    assert seconds(800_000) < small * 16 * 6 + 0.05


def test_finished_messages_are_not_kept():
    decoder = EventStreamDecoder()
    assert len(list(decoder.feed(OWN[0] * 5000 + OWN[0][:9]))) == 5000
    assert len(decoder._buffer) == 9


PLAIN = {bytes: lambda value: base64.b64encode(value).decode(), UUID: lambda value: value.hex}


def plain(section):
    triples = decode_headers(section)
    return [[name, kind, PLAIN.get(type(value), lambda same: same)(value)] for name, kind, value in triples]


@pytest.mark.skipif(not CASES, reason="no shared cases here")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_shared_cases(case):
    wire = base64.b64decode(case["input_base64"])
    frames, error = outcome([wire])
    assert outcome(bytewise(wire)) == (frames, error)
    if not case["valid"]:
        assert isinstance(error, StreamTruncated if case.get("error") == "incomplete" else ProtocolError)
        return
    assert error is None
    expected = case.get("expect_frames") or [case["expect"]]
    assert len(frames) == len(expected)
    for frame, wanted in zip(frames, expected, strict=True):
        (length,) = struct.unpack_from(">I", wire, frame.start + 4)
        assert plain(wire[frame.start + 12 : frame.start + 12 + length]) == wanted["headers"]
        assert list(frame.headers) == [name for name, _, _ in wanted["headers"]]
        assert base64.b64encode(frame.payload).decode() == wanted["payload_base64"]


@pytest.mark.skipif(not CORPUS.exists(), reason="no recorded streams here")
def test_recorded_streams():
    for entry in json.loads((CORPUS / "manifest.json").read_text()):
        if entry["framing"] != "aws_eventstream":
            continue
        wire = (CORPUS / f"{entry['key']}.wire").read_bytes()
        frames, error = outcome([wire])
        assert (error, len(frames)) == (None, entry["payloads"]), entry["key"]
        assert outcome(bytewise(wire)) == (frames, None), entry["key"]
        for frame in frames:
            assert isinstance(json.loads(unwrap_invoke(frame).data), dict), entry["key"]
