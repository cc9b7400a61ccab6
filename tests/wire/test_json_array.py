import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamflow.errors import LimitExceeded, ProtocolError, StreamflowError, StreamTruncated, UsageError
from streamflow.wire.json_array import JsonArrayDecoder

CORPUS = Path(__file__).parents[2] / "../shared/corpus"

OBJECTS = [
    {"candidates": [{"content": {"parts": [{"text": 'a "quoted" ] } { [ \\ word'}], "role": "model"}}]},
    {"text": 'émoji 🎈 \\" \n end\\', "deep": [[[{"a": []}]]], "empty": {}},
    {},
    {"n": -1.5e3, "t": True, "z": None, "\\\\": '\\\\"'},
]


def pretty(objects, separator="\n,\r\n"):
    elements = separator.join(json.dumps(entry, indent=2, ensure_ascii=False) for entry in objects)
    return f"[{elements}\n]\n".encode()


def outcome(pieces, **options):
    """Everything that is seen from outside: the frames and the error, if any."""
    decoder = JsonArrayDecoder(**options)
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


def random_pieces(wire, seed):
    rng = random.Random(seed)
    cuts = sorted(rng.randrange(len(wire) + 1) for _ in range(rng.randrange(1, 12)))
    return [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]


def same_for_every_cutting(wire, **options):
    expected = outcome([wire], **options)
    assert outcome(bytewise(wire), **options) == expected
    for cut in range(len(wire) + 1):
        assert outcome([wire[:cut], wire[cut:]], **options) == expected, cut
    for seed in range(20):
        assert outcome(random_pieces(wire, seed), **options) == expected, seed
    return expected


@pytest.mark.parametrize(
    "wire",
    [
        pretty(OBJECTS),
        pretty(OBJECTS, ","),
        pretty(OBJECTS, "\r\n,\r\n\r\n"),
        b"\xef\xbb\xbf \n" + pretty(OBJECTS),
        b"\n".join(json.dumps(entry).encode() for entry in OBJECTS),
        b"".join(json.dumps(entry, indent=1).encode() for entry in OBJECTS),
    ],
    ids=["pretty", "dense", "crlf", "bom", "lines", "concatenated"],
)
def test_elements_come_out_whatever_the_cutting(wire):
    frames, error = same_for_every_cutting(wire)
    assert error is None
    assert [json.loads(frame.data) for frame in frames] == OBJECTS
    assert [wire[frame.start : frame.end].decode() for frame in frames] == [frame.data for frame in frames]
    assert {frame.event for frame in frames} == {"message"}


def test_an_element_comes_with_its_last_byte():
    decoder = JsonArrayDecoder()
    assert list(decoder.feed(b'[{"a": {"b": "}"}')) == []
    assert [frame.data for frame in decoder.feed(b"}")] == ['{"a": {"b": "}"}}']


def test_a_single_object():
    frames, error = outcome([b' {"error": {"code": 400}} '])
    assert error is None
    assert [(frame.data, frame.start, frame.end) for frame in frames] == [('{"error": {"code": 400}}', 1, 25)]


@pytest.mark.parametrize("wire", [b"", b" \r\n", b"\xef\xbb\xbf", b"[", b"[ ]", b"[]\n\n"])
def test_no_elements(wire):
    assert same_for_every_cutting(wire) == ([], None)


@pytest.mark.parametrize("wire", [b'[{"a":1}', b'[{"a":1},', b'[{"a":1}\n, \r\n', b'{"a":1}\n'])
def test_the_end_between_elements_is_left_to_the_dialect(wire):
    frames, error = same_for_every_cutting(wire)
    assert error is None
    assert [frame.data for frame in frames] == ['{"a":1}']


@pytest.mark.parametrize("tail", [b"{", b'{"', b'{"b\\', b'{"b":[', b'{"b":1', b'{"b":"\xc3'])
@pytest.mark.parametrize("head", [b'[{"a":1}\n,', b'{"a":1}\n'])
def test_the_end_inside_an_element(head, tail):
    frames, error = same_for_every_cutting(head + tail)
    assert [frame.data for frame in frames] == ['{"a":1}']
    assert type(error) is StreamTruncated
    assert error.position == len(head + tail)


def test_the_end_inside_a_byte_order_mark():
    frames, error = same_for_every_cutting(b"\xef\xbb")
    assert (frames, type(error), error.position) == ([], StreamTruncated, 2)


LONG_PAGE = b"<!DOCTYPE html>" + b"<p>x</p>" * 100


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b"", b"<html><body>502 Bad Gateway</body></html>"),
        (b"", LONG_PAGE),
        (b" ", b"upstream connect error"),
        (b"", b"\xef\xbbx"),
        (b"", b"42"),
        (b"", b'"text"'),
        (b"", b"null"),
        (b"[", b"1]"),
        (b"[", b'"a"]'),
        (b"[", b"[{}]]"),
        (b"[", b",{}]"),
        (b'[{"a":1}', b"garbage"),
        (b'[{"a":1}', b'{"b":2}]'),
        (b'[{"a":1}', LONG_PAGE),
        (b'[{"a":1},', b"]"),
        (b'[{"a":1},', b"true]"),
        (b'[{"a":1},', b",{}]"),
        (b'[{"a":1}]', b"]"),
        (b'[{"a":1}]\n', b'{"b":2}'),
        (b'{"a":1}', b",{}"),
        (b'{"a":1}\n', b"[{}]"),
        (b'{"a":1}', b"}"),
        (b'[{"a":1},{"b":[1', b'}, {"c":2}]'),
        (b'[{"a":1},{"b":1', b"]]"),
    ],
)
def test_what_is_not_json_is_refused_where_it_begins(good, bad):
    frames, error = same_for_every_cutting(good + bad)
    assert type(error) is ProtocolError
    assert error.position == len(good)
    assert repr(" ".join(bad[:200].decode("utf-8", "replace").split())) in error.message
    assert len(error.message) < 400
    assert [frame.data for frame in frames] == (['{"a":1}'] if b'{"a":1}' in good else [])


def test_frames_before_the_garbage_of_the_same_read_are_kept():
    reading = JsonArrayDecoder().feed(b'[{"a":1}' + LONG_PAGE)
    assert next(reading).data == '{"a":1}'
    with pytest.raises(ProtocolError):
        next(reading)


def test_an_error_is_final():
    decoder = JsonArrayDecoder()
    with pytest.raises(ProtocolError):
        list(decoder.feed(LONG_PAGE))
    with pytest.raises(ProtocolError):
        list(decoder.feed(b"[{}]"))
    with pytest.raises(ProtocolError):
        decoder.flush()


def test_a_secret_in_the_excerpt_is_hidden():
    _, error = outcome([b"Authorization: Bearer abcdefghijklmnop"])
    assert "abcdefgh" not in error.message
    assert "[redacted]" in error.message


def test_a_secret_that_crosses_the_end_of_the_excerpt_is_hidden():
    _, error = same_for_every_cutting(b"x" * 190 + b" sk-abcdefghijklmnopqrstuvwxyz" + b" y" * 200)
    assert "sk-" not in error.message


def test_invalid_utf8_becomes_the_replacement_character():
    wire = b'[{"a":"\xff\xc3"}]'
    frames, error = same_for_every_cutting(wire)
    assert error is None
    assert [(frame.data, frame.start, frame.end) for frame in frames] == [('{"a":"��"}', 1, len(wire) - 1)]


def test_text_is_taken_too():
    wire = pretty(OBJECTS)
    assert outcome(list(wire.decode())) == outcome([wire])


def test_wrong_use():
    with pytest.raises(UsageError):
        list(JsonArrayDecoder().feed(7))
    with pytest.raises(UsageError):
        JsonArrayDecoder(max_event_bytes=0)


def test_abort_gives_nothing():
    decoder = JsonArrayDecoder()
    list(decoder.feed(b'[{"a":'))
    assert list(decoder.abort(ValueError())) == []


@pytest.mark.parametrize("inner", [b'{"a":"%s"}', b'{"a":[%s]}'])
def test_the_limit_holds_to_the_byte(inner):
    fits = inner % (b"1" * 40)
    wire = b"[{}," + fits + b",{}]"
    assert same_for_every_cutting(wire, max_event_bytes=len(fits))[1] is None
    frames, error = same_for_every_cutting(wire, max_event_bytes=len(fits) - 1)
    assert [frame.data for frame in frames] == ["{}"]
    assert type(error) is LimitExceeded
    assert (error.kind, error.position) == ("max_event_bytes", 4)


def test_an_end_at_the_limit_is_a_cut_stream():
    _, error = same_for_every_cutting(b'[{"a":1', max_event_bytes=6)
    assert type(error) is StreamTruncated


def test_the_limit_comes_before_a_later_fault():
    wire = b'[{"a":"' + b"x" * 50 + b'"' + b"]" * 300
    _, error = same_for_every_cutting(wire, max_event_bytes=30)
    assert type(error) is LimitExceeded


def test_an_endless_element_does_not_fill_the_memory():
    decoder = JsonArrayDecoder(max_event_bytes=100_000)
    list(decoder.feed(b'{"a":"'))
    for _ in range(99):
        list(decoder.feed(b"x" * 1000))
    with pytest.raises(LimitExceeded):
        list(decoder.feed(b"x" * 1000))
    assert len(decoder._buffer) == 0


def test_white_space_and_finished_elements_are_not_kept():
    decoder = JsonArrayDecoder()
    list(decoder.feed(b"["))
    for _ in range(100):
        list(decoder.feed(b"{}, " + b" " * 1000))
        assert len(decoder._buffer) == 0


def test_two_hundred_thousand_brackets():
    wire = b'[{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}]"
    frames, error = outcome([wire])
    assert error is None
    assert [(frame.start, frame.end) for frame in frames] == [(1, len(wire) - 1)]
    assert outcome([wire[at : at + 999] for at in range(0, len(wire), 999)]) == (frames, None)


def test_cost_is_linear():
    def seconds(size):
        wire = b'[{"a":"' + b'\\"x' * (size // 3) + b'"}]'
        started = time.perf_counter()
        frames, error = outcome([wire[at : at + 16] for at in range(0, len(wire), 16)])
        assert (len(frames), error) == (1, None)
        return time.perf_counter() - started

    small = min(seconds(50_000) for _ in range(3))
    assert seconds(800_000) < small * 16 * 6 + 0.05


JSONISH = st.lists(st.sampled_from([*'[]{},"\\ \n', '{"a":', "{}", "[{", "}]", "x1", "é", "\ufeff"]), max_size=40).map(
    lambda parts: "".join(parts).encode()
)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.one_of(JSONISH, st.binary(max_size=60)), st.integers(1, 40))
def test_any_bytes_give_frames_or_a_typed_error(wire, limit):
    whole = outcome([wire], max_event_bytes=limit)
    assert outcome(bytewise(wire), max_event_bytes=limit) == whole
    assert isinstance(whole[1], (ProtocolError, StreamTruncated, type(None)))
    for frame in whole[0]:
        assert frame.data.startswith("{")
        assert frame.data.endswith("}")
        assert frame.end - frame.start <= limit


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=5),
            st.recursive(
                st.none() | st.text() | st.integers(),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                max_leaves=8,
            ),
            max_size=3,
        ),
        max_size=5,
    ),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_any_array_of_objects_comes_back(objects, indent, ascii_only):
    wire = json.dumps(objects, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    frames, error = outcome(bytewise(wire))
    assert error is None
    assert [json.loads(frame.data) for frame in frames] == objects
    assert outcome([wire]) == (frames, None)


def recorded():
    manifest = CORPUS / "manifest.json"
    entries = json.loads(manifest.read_text()) if manifest.exists() else []
    return [(entry["key"], entry["payloads"]) for entry in entries if entry["framing"] == "json_array"]


@pytest.mark.skipif(not CORPUS.exists(), reason="no recorded streams here")
def test_recorded_streams():
    for key, payloads in recorded():
        wire = (CORPUS / f"{key}.wire").read_bytes()
        frames, error = outcome([wire])
        assert (error, len(frames)) == (None, payloads), key
        assert all(isinstance(json.loads(frame.data), dict) for frame in frames), key
        assert outcome(bytewise(wire)) == (frames, None), key
        assert outcome(random_pieces(wire, 1)) == (frames, None), key
