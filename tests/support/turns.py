"""Turns made of text, cut as a test likes."""

import random
from collections.abc import Iterator
from typing import Any

from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart
from tests.support.cuts import at_random, single, two_way


def all_cuts(text: str, seed: int = 1) -> Iterator[list[str]]:
    """Whole, character by character, at every place, and at seeded random places."""
    yield [text]
    yield single(text)
    yield from two_way(text)
    rng = random.Random(seed)
    for _ in range(5):
        yield at_random(text, rng)


def block(pieces: list[str], index: int = 0, kind: str = "text", start: int = 0) -> list[Any]:
    """A block of text; offsets count up from ``start``, or are unknown when that is -1."""
    events: list[Any] = [BlockStart(index, kind)]
    offset = start
    for piece in pieces:
        if piece:
            events.append(Chunk(index, kind, piece, kind == "text", start=offset))
            offset += len(piece) if start >= 0 else 0
    return [*events, BlockComplete(index, kind, "".join(pieces))]


def call_block(pieces: list[str], index: int = 0, id: str = "call_1", name: str = "f", **end: Any) -> list[Any]:
    """A tool call as a dialect would send it."""
    events: list[Any] = [
        BlockStart(index, "tool_call"),
        Chunk(index, "tool_call", name, False, part="name", tool_name=name),
        Chunk(index, "tool_call", id, False, part="id", tool_id=id, tool_name=name),
    ]
    for piece in pieces:
        if piece:
            events.append(Chunk(index, "tool_call", piece, False, part="input", tool_id=id, tool_name=name))
    return [*events, BlockComplete(index, "tool_call", "".join(pieces), tool_id=id, tool_name=name, **end)]


def turn(*blocks: list[Any], stop_reason: str = "end_turn") -> list[Any]:
    """Blocks between a start and an end."""
    return [StreamStart("1", "m", "p"), *(event for events in blocks for event in events), StreamCompleted(stop_reason)]


def chunk_texts(events: list[Any], index: int | None = None) -> str:
    """The joined text of all chunks, or of those of one block."""
    return "".join(e.text for e in events if isinstance(e, Chunk) and (index is None or e.index == index))
