"""Hostile input x provider x chain: the right text or one typed error in every cell, whole and byte by byte."""

import orjson
import pytest

import streamflow as sf
from streamflow.events import Chunk, Notice, StreamCompleted, StreamFailed, ToolCallsReady
from streamflow.operators import (
    block_split,
    partial_json,
    redact,
    sentence_segment,
    sequence,
    stop_sequences,
    tag_holdback,
    to_response,
    tool_accumulate,
    xml_block_split,
)
from streamflow.testing import Answer, Text, ToolUse, encode

TEXT = "Hé 😀 \u2028 <b> there. Yes."
SSE = ["openai", "openai-responses", "anthropic", "gemini", "cohere", "google-interactions", "watsonx"]
NDJSON = ["ollama"]
BINARY = ["bedrock"]
LINES = [*SSE, *NDJSON]
# The others end with the body: after the finish reason comes more that is meant.
MARKED = [provider for provider in SSE if provider not in ("gemini", "watsonx")]
PROVIDERS = [*LINES, *BINARY]
CHAINS = {
    "none": list,
    "blocks": lambda: [xml_block_split(), tool_accumulate()],
    "all blocks": lambda: [block_split(strategies=["xml", "json", "sentinel"])],
    "voice": lambda: [xml_block_split(), sentence_segment()],
    "screen": lambda: [tag_holdback(["thinking"]), redact(["secret"]), stop_sequences(["<|eot|>"]), to_response()],
    "record": lambda: [tool_accumulate(), partial_json(), sequence()],
}


def frames(provider: str) -> list[bytes]:
    return encode(provider, Answer(Text(TEXT), delta=3))


def frame(provider: str, data: bytes) -> bytes:
    """A frame with other data in the framing of this provider."""
    return data + b"\n" if provider in NDJSON else b"data: " + data + b"\n\n"


def inserted(provider: str, data: bytes) -> bytes:
    good = frames(provider)
    middle = len(good) - 4 if provider != "ollama" else 2
    return b"".join(good[:middle]) + data + b"".join(good[middle:])


def one_surrogate_each(provider: str) -> bytes:
    """Each half of a pair in a delta of its own."""
    whole = encode(provider, Answer(Text("a#%b"), delta=1))
    return b"".join(whole).replace(b'"#"', b'"\\ud83d"').replace(b'"%"', b'"\\ude00"')


# What is done to the bytes, for whom, and what must come of it: the whole text, or the names of errors that are right.
CUT, BAD = ("StreamTruncated",), ("ProtocolError",)
ANY = ("StreamTruncated", "ProtocolError", "LimitExceeded", "ProviderError")
INPUTS = {
    "as it is": (PROVIDERS, lambda p: b"".join(frames(p)), None),
    "invalid UTF-8": (LINES, lambda p: b"".join(frames(p)).replace("é".encode(), b"\xff"), "replaced"),
    "CR only": (SSE, lambda p: b"".join(frames(p)).replace(b"\n", b"\r"), None),
    "CRLF": (LINES, lambda p: b"".join(frames(p)).replace(b"\n", b"\r\n"), None),
    "BOM": (LINES, lambda p: b"\xef\xbb\xbf" + b"".join(frames(p)), None),
    "retry only": (SSE, lambda p: inserted(p, b"retry: 10\n\n"), None),
    "retry that is none": (SSE, lambda p: inserted(p, b"retry: 1_000\n\n"), None),
    "event only": (SSE, lambda p: inserted(p, b"event: message_stop\n\n"), None),
    "id only": (SSE, lambda p: inserted(p, b"id: 7\n\n"), None),
    "empty data": (SSE, lambda p: inserted(p, b"event: x\ndata:\n\n"), BAD),  # it is dispatched, and no JSON
    "comments": (SSE, lambda p: inserted(p, b": keep-alive\n\n" * 100), None),
    "blank lines": (LINES, lambda p: inserted(p, b"\n" * 100), None),
    "end without the marker": (PROVIDERS, lambda p: b"".join(frames(p)[:-3]), CUT),
    "end inside a frame": (PROVIDERS, lambda p: b"".join(frames(p)[:-3])[:-5], (*CUT, *BAD)),
    "data after the end": (MARKED, lambda p: b"".join([*frames(p), *frames(p)[2:]]), None),
    "not JSON": (LINES, lambda p: inserted(p, frame(p, b"{no json}")), BAD),
    "deep JSON": (LINES, lambda p: inserted(p, frame(p, b"[" * 200_000)), BAD),
    "deep object": (LINES, lambda p: inserted(p, frame(p, b'{"a":' * 900 + b"1" + b"}" * 900)), (None, *BAD)),
    "NaN": (LINES, lambda p: inserted(p, frame(p, b'{"usage": NaN}')), BAD),
    "a list": (LINES, lambda p: inserted(p, frame(p, b"[1]")), BAD),
    "an unknown object": (LINES, lambda p: inserted(p, frame(p, b'{"type": "news", "x": 1}')), (None, *BAD)),
    "huge numbers": (LINES, lambda p: inserted(p, frame(p, b'{"type": "x", "x": %s}' % (b"9" * 5000))), (None, *BAD)),
    "a NUL": (LINES, lambda p: inserted(p, b"\0"), (None, *BAD)),
    "HTML": (PROVIDERS, lambda p: b"<!DOCTYPE html><html><title>Sign in</title></html>", BAD),
    "nothing": (PROVIDERS, lambda p: b"", CUT),
    "surrogates": (["openai", "anthropic", "gemini", "cohere", "ollama"], one_surrogate_each, "joined"),
    "a flipped bit": (BINARY, lambda p: b"".join(frames(p))[:200] + b"\x01" + b"".join(frames(p))[201:], BAD),
    "a huge length": (BINARY, lambda p: b"\xff\xff\xff\xff" + b"".join(frames(p))[4:], ("LimitExceeded", *BAD)),
    "another framing": (BINARY, lambda p: b"".join(frames("openai")), ANY),
    "a large frame": (["openai", "ollama"], lambda p: b"".join(encode(p, Answer(Text("x" * 300_000)))), "large"),
}  # fmt: skip
TEXTS = {None: TEXT, "replaced": TEXT.replace("é", "\ufffd"), "joined": "a😀b", "large": "x" * 300_000}
CELLS = [
    pytest.param(name, provider, chain, id=f"{name}-{provider}-{chain}")
    for name, (providers, _, _) in INPUTS.items()
    for provider in providers
    for chain in CHAINS
]


def outcome(provider: str, pieces: list[bytes], chain: str) -> tuple[str, str | None, list]:
    """The visible text, the name of the error, and all items; anything but a typed error would be raised here."""
    items = sf.decode(provider, pieces, *CHAINS[chain]())
    events = [getattr(item, "event", item) for item in items]
    ends = [event for event in events if isinstance(event, StreamCompleted | StreamFailed)]
    assert len(ends) == 1, "one end, and no more than one"
    behind = events[events.index(ends[0]) + 1 :]
    assert all(isinstance(event, Notice) and event.code == "data_after_end" for event in behind)
    sentences = [event.text for event in events if isinstance(event, sf.events.Sentence)]
    text = "".join(sentences or [event.text for event in events if isinstance(event, Chunk) and event.visible])
    text.encode()  # what is handed out can be written
    return text, ends[0].error.type if isinstance(ends[0], StreamFailed) else None, events


@pytest.mark.parametrize(("name", "provider", "chain"), CELLS)
def test_e_the_right_text_or_one_typed_error(name, provider, chain):
    _, make, expected = INPUTS[name]
    wire = make(provider)
    text, error, _ = outcome(provider, [wire], chain)
    if isinstance(expected, tuple):
        assert error in expected
        wanted = TEXTS[None]
        assert wanted.startswith(text) or error is None, "what came before the fault, and nothing else"
    else:
        assert error is None
        assert text == TEXTS[expected]
    if len(wire) < 5000 and chain in ("none", "voice"):
        pieces = [wire[at : at + 1] for at in range(len(wire))]
        assert outcome(provider, pieces, chain)[:2] == (text, error)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_e_a_call_that_is_cut_anywhere_is_never_runnable(provider):
    wire = encode(provider, Answer(ToolUse("f", {"path": "é😀", "n": [1, {"a": None}]})))
    whole = b"".join(wire)
    for at in range(0, len(whole), 7):
        events = sf.decode(provider, [whole[:at]], tool_accumulate())
        if any(isinstance(event, StreamFailed) for event in events):
            ready = [call for event in events if isinstance(event, ToolCallsReady) for call in event.calls]
            assert all(call.error for call in ready)


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999", b"9" * 400, b"-0", b"1E400", b"0x10", b"1_0"])
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama"])
def test_a10_odd_numbers_are_a_number_or_a_typed_error(provider, number):
    wire = b"".join(frames(provider))
    spoilt = wire.replace(b":11,", b":" + number + b",").replace(b":11}", b":" + number + b"}")
    assert spoilt != wire
    response = sf.read(provider, spoilt)
    assert response.complete or isinstance(response.error, sf.ProtocolError)
    assert TEXT.startswith(response.text)
    orjson.dumps(sf.to_json(response).decode())  # it can be written down again


@pytest.mark.parametrize("field", [b"retry: 10", b"event: message_stop", b"id: 7", b"id", b"event: error", b": data"])
@pytest.mark.parametrize("provider", SSE)
def test_a13_an_event_without_data_is_none(provider, field):
    events = sf.decode(provider, [inserted(provider, field + b"\n\n")])
    assert events == sf.decode(provider, frames(provider))


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><title>Sign in", b"upstream connect error", b"SSH-2.0-OpenSSH"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a14_what_is_no_stream_is_shown_by_its_first_bytes(provider, page):
    error = sf.read(provider, page + b"." * 5000).error
    assert isinstance(error, sf.ProtocolError)
    assert page.decode()[:12] in error.message or provider in BINARY
    assert len(error.message) < 700
