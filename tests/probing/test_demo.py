"""For every sentence of the demo: the frames that made it, and its place in what the model wrote."""

from importlib import resources

import pytest

import streamflow as sf
from streamflow.cli.demo import _ANSWER, RECORDING
from streamflow.events import Chunk, Sentence
from streamflow.operators import (
    normalize_provider,
    sentence_segment,
    speakable,
    tool_accumulate,
    visible_filter,
    wire_decode,
)
from streamflow.testing import Answer, encode

RECORDED = (resources.files("streamflow") / "cli" / RECORDING).read_bytes()
WIRES = {"recorded": RECORDED, "simulated": b"".join(encode("anthropic", Answer(*_ANSWER)))}
DECODE = (wire_decode("anthropic"), normalize_provider("anthropic"), tool_accumulate())
CHAINS = {
    "as written": (visible_filter(), sentence_segment("en", min_chars=0)),
    "as spoken": (speakable(), sentence_segment("en", min_chars=0)),
}


def visible_text(events):
    return "".join(event.text for event in events if isinstance(event, Chunk) and event.visible)


def openings(data):
    """The frames that say which blocks there are; a delta alone belongs to none."""
    frames = sf.run([data], wire_decode("anthropic"))
    return b"".join(data[frame.start : frame.end] for frame in frames if frame.event.endswith("_start"))


def said(text):
    return "".join(piece.text for piece in sf.run([text], speakable())).strip()


@pytest.mark.parametrize("size", [1, 13, 10_000])
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("wire", WIRES)
def test_explain_finds_the_frames_of_every_sentence(wire, chain, size):
    data = WIRES[wire]
    raw = visible_text(sf.decode("anthropic", data))
    watched = sf.probe(*DECODE, *CHAINS[chain])
    out = sf.run([data[at : at + size] for at in range(0, len(data), size)], *watched.operators)
    sentences = [item for item in out if isinstance(item, Sentence)]
    assert len(sentences) >= (3 if wire == "simulated" else 1)
    for sentence in sentences:
        told = watched.explain(sentence)
        assert told.data == data[told.start : told.end]
        assert all(told.start <= frame.start < frame.end <= told.end for frame in told.frames)
        written = raw[sentence.start : sentence.end]
        if chain == "as written":
            assert written == sentence.text
        else:
            assert said(written).rstrip(".") == sentence.text.strip().rstrip(".")
        # The frames alone, without those between them, hold the sentence.
        frames = b"".join(data[frame.start : frame.end] for frame in told.frames)
        again = visible_text(sf.decode("anthropic", openings(data) + frames))
        assert written.strip() in again
        assert len(told.frames) < watched["wire_decode"].items_out
        assert sentence in watched.made_from(told.start, told.end)
