"""What is fuzzed: each target reads any bytes, whole and in pieces, and is right or says a typed error.

A target raises `AssertionError` where two ways to cut give two answers, and lets anything through that is not a
`StreamflowError`: both are findings.
"""

import json
import random
import zlib
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from streamflow.errors import StreamflowError
from streamflow.events import Chunk
from streamflow.operators import (
    block_split,
    json_tool_split,
    normalize_provider,
    segments,
    sentinel_split,
    speakable,
    tool_accumulate,
    wire_decode,
    xml_block_split,
)
from streamflow.providers.table import providers
from streamflow.stage import Chain, Operator
from streamflow.text.language_data import languages
from streamflow.text.partial_json import END, TEXT, PartialJson
from streamflow.text.segment_events import SegmentContent
from streamflow.text.sentences import SentenceCutter
from streamflow.views import ArgumentsView
from streamflow.wire.eventstream import EventStreamDecoder
from streamflow.wire.json_array import JsonArrayDecoder
from streamflow.wire.ndjson import NdjsonDecoder
from streamflow.wire.sniff import FRAMINGS, WireDecoder
from streamflow.wire.sse import SseDecoder

Target = Callable[[bytes], None]

MOST_BYTES = 4096
"""Longer inputs find nothing more and take time."""

_LIMITS = (16_000_000, 64, 512, 1100)


def cuts(data: Any) -> list[Sequence[Any]]:
    """The data whole, one by one, and cut at random in a way that the data itself decides."""
    seed = zlib.crc32(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    rng = random.Random(seed)
    places = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(rng.randint(1, 8)))})
    ragged = [data[start:end] for start, end in pairwise(places)]
    return [[data], [data[at : at + 1] for at in range(len(data))], ragged]


def outcome(stage: Any, pieces: Iterable[Any]) -> tuple[list[Any], str]:
    """What a stage gives, and its typed error; any other exception is a finding."""
    out: list[Any] = []
    try:
        for piece in pieces:
            out += stage.feed(piece)
        out += stage.flush()
    except StreamflowError as error:
        return out, f"{type(error).__name__}: {error}"
    return out, ""


def same_for_every_cut(make: Callable[[], Any], data: Any, joined: Callable[[list[Any]], Any] = list) -> Any:
    """The outcome, equal however the data is cut."""
    outcomes = [outcome(make(), pieces) for pieces in cuts(data)]
    expected = joined(outcomes[0][0]), outcomes[0][1]
    for out, error in outcomes[1:]:
        assert (joined(out), error) == expected, f"{expected!r} whole, {(joined(out), error)!r} in pieces"
    return expected


# -- framings


def _framing(make: Callable[..., Any]) -> Target:
    def target(data: bytes) -> None:
        limit = _LIMITS[data[0] % len(_LIMITS)] if data else _LIMITS[0]
        frames, _ = same_for_every_cut(lambda: make(max_event_bytes=limit), data[1:])
        for before, after in pairwise(frames):
            assert 0 <= before.start <= before.end <= after.start
        assert all(frame.end <= len(data) - 1 for frame in frames)

    return target


def recognised(data: bytes) -> None:
    """A body whose framing must be found out."""
    choice = data[0] if data else 0
    default = FRAMINGS[choice % 4]
    content_type = (None, "text/event-stream", "application/x-ndjson", "text/html")[choice // 4 % 4]
    same_for_every_cut(lambda: WireDecoder(default=default, content_type=content_type), data[1:])


def provider(data: bytes) -> None:
    """Bytes to events, for the provider that the first byte chooses."""
    names = providers()
    name = names[data[0] % len(names)] if data else names[0]
    on_bad_frame = "skip" if data[:1] > b"\x7f" else "error"

    def make() -> "_Whole":
        normal = normalize_provider(name, on_bad_frame=on_bad_frame)
        return _Whole([wire_decode(name), normal, tool_accumulate()])

    same_for_every_cut(make, data[1:])


class _Whole:
    """A chain with the methods of a stage."""

    def __init__(self, operators: Sequence[Operator[Any, Any]]) -> None:
        self._chain = Chain([operator.make_stage() for operator in operators])

    def feed(self, item: Any) -> Iterable[Any]:
        return self._checked(self._chain.feed(item))

    def flush(self) -> Iterable[Any]:
        return self._checked(self._chain.finish())

    def _checked(self, ready: list[Any]) -> Iterable[Any]:
        yield from ready
        if self._chain.error is not None:
            raise self._chain.error


# -- text


def text_of(data: bytes) -> str:
    """Text out of any bytes: what is no UTF-8 becomes lone surrogates, as a torn escape may."""
    return data.decode("utf-8", "surrogateescape")


_SPLITTERS: tuple[Callable[[], Any], ...] = (
    xml_block_split,
    sentinel_split,
    lambda: json_tool_split(profile="any"),
    lambda: block_split(strategies=["xml", "sentinel", "json"]),
    lambda: xml_block_split(code="ignore"),
    lambda: xml_block_split(on_unclosed="show"),
    lambda: xml_block_split(on_unclosed="error"),
)


def blocks(data: bytes) -> None:
    """A text to blocks, with the operator that the first byte chooses."""
    make = _SPLITTERS[data[0] % len(_SPLITTERS)] if data else _SPLITTERS[0]
    same_for_every_cut(lambda: _Whole([make(), tool_accumulate()]), text_of(data[1:]), _chunks_joined)


def segment_events(data: bytes) -> None:
    """A text to blocks to segments."""
    same_for_every_cut(lambda: _Whole([xml_block_split(), segments()]), text_of(data), _contents_joined)


def speech(data: bytes) -> None:
    """A text as it would be said."""
    join = lambda out: "".join(piece.text for piece in out)
    same_for_every_cut(lambda: speakable().make_stage(), text_of(data), join)


def _contents_joined(events: list[Any]) -> list[Any]:
    out: list[Any] = []
    for event in events:
        before = out[-1] if out else None
        both = isinstance(event, SegmentContent) and isinstance(before, SegmentContent)
        if both and before.segment_id == event.segment_id and {*before.payload, *event.payload} == {"delta"}:
            out[-1] = replace(before, payload={"delta": before.delta + event.delta})
        else:
            out.append(event)
    return out


def _chunks_joined(events: list[Any]) -> list[Any]:
    out: list[Any] = []
    for event in events:
        before = out[-1] if out else None
        if isinstance(event, Chunk) and isinstance(before, Chunk) and _kind(event) == _kind(before):
            out[-1] = replace(before, text=before.text + event.text)
        else:
            out.append(event)
    return out


def _kind(chunk: Chunk) -> tuple[Any, ...]:
    return chunk.index, chunk.kind, chunk.part, chunk.visible


def sentences(data: bytes) -> None:
    """A text to sentences, in the language that the first byte chooses."""
    names = ("auto", *languages())
    name = names[data[0] % len(names)] if data else "auto"
    most = (400, 40, 1)[data[0] // 64 % 3] if data else 400
    text = text_of(data[1:])
    found, error = same_for_every_cut(lambda: SentenceCutter(name, max_chars=most), text)
    assert not error
    assert "".join(found) == text


# -- JSON


def partial_json(data: bytes) -> None:
    """A document as it arrives: in the end it is what `json` says."""
    text = data.decode("utf-8", "replace")
    known, error = same_for_every_cut(PartialJson, text, _known_joined)
    assert not error
    reader = PartialJson()
    reader.feed(text)
    reader.flush()
    try:
        # Models write line breaks into strings as they are, and the reader takes them.
        value = json.loads(text, strict=False, object_pairs_hook=_first_stays, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        assert reader.broken or not reader.closed, "it takes for JSON what is none"
        return
    if not reader.broken:  # nesting and numbers have a limit
        view = ArgumentsView()
        for what, path, part in known:
            if what == TEXT:
                view.append(path, part)
            elif what != END:
                view.set(path, part)
        assert view.value == _paired(value)
        assert reader.closed


def _known_joined(known: list[Any]) -> list[Any]:
    out: list[Any] = []
    for one in known:
        if out and one.what == out[-1].what == TEXT and one.path == out[-1].path:
            out[-1] = out[-1]._replace(value=out[-1].value + one.value)
        else:
            out.append(one)
    return out


def _first_stays(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def _paired(value: Any) -> Any:
    """Half a surrogate pair is no character: the reader gives the sign for that."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_paired(item) for item in value]
    if isinstance(value, dict):
        return {_paired(key): _paired(item) for key, item in value.items()}
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


TARGETS: dict[str, Target] = {
    "sse": _framing(SseDecoder),
    "ndjson": _framing(NdjsonDecoder),
    "json_array": _framing(JsonArrayDecoder),
    "eventstream": _framing(EventStreamDecoder),
    "recognised": recognised,
    "provider": provider,
    "blocks": blocks,
    "segments": segment_events,
    "speech": speech,
    "sentences": sentences,
    "partial_json": partial_json,
}
