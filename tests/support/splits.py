"""Text through a block operator, cut in every way: what comes out is compared after joining adjacent chunks."""

import random
from collections.abc import Iterator
from typing import Any

import streamflow as sf
from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart
from tests.support.cuts import at_random, merged, single, two_way
from tests.support.grammar import assert_grammar


def cuttings(text: str, seed: int = 7) -> Iterator[list[str]]:
    """Whole, character by character, every two-way cut, some random ones."""
    yield [text]
    yield single(text)
    yield from two_way(text)
    rng = random.Random(seed)
    for _ in range(10):
        yield at_random(text, rng, 5)


def as_events(pieces: list[str], start: int = 0) -> list[Any]:
    """The pieces as the text of one turn."""
    out: list[Any] = [StreamStart("1", "m", "p"), BlockStart(start, "text")]
    offset = 0
    for piece in pieces:
        if piece:
            out.append(Chunk(start, "text", piece, start=offset))
        offset += len(piece)
    out += [BlockComplete(start, "text", "".join(pieces)), StreamCompleted("end_turn")]
    return out


def split(text: str, operator: Any) -> list[Any]:
    """The events for this text, after the same came out of every cutting, of strings and of events alike."""
    expected = merged(sf.run([text], operator))
    for pieces in cuttings(text):
        got = merged(sf.run(pieces, operator))
        assert got == expected, pieces
        events = sf.run(as_events(pieces), operator)
        assert_grammar(events)
        assert merged(events)[1:-1] == expected, pieces
    return expected


def blocks(text: str, operator: Any) -> list[tuple[str, Any]]:
    """Kind and content (the input of a call) of each block; what was cut has a ``!`` after its kind."""
    out: list[tuple[str, Any]] = []
    for event in split(text, operator):
        if isinstance(event, BlockComplete):
            is_call = event.kind == "tool_call" and event.error is None
            value = (event.tool_name, event.input) if is_call else event.content
            out.append((event.kind + "!" * (event.incomplete or bool(event.error)), value))
    return out


def visible(text: str, operator: Any) -> str:
    """What a person sees."""
    return "".join(event.text for event in split(text, operator) if isinstance(event, Chunk) and event.visible)
