"""Recordings to look at: whole ones, and those with a fault."""

import random

from streamflow.recordings import Piece, Recording
from streamflow.testing import Answer, Thinking, ToolUse, encode

SAID = (
    "It is **sunny** in Rome today, about 24.5 °C and there is hardly any wind. "
    "Dr. Rossi says: take a hat with you, and drink enough water! The forecast for tomorrow follows."
)
ANSWER = Answer(
    Thinking("They ask for the weather, and they like it short."),
    "<thinking>A thought inside the text.</thinking>" + SAID,
    ToolUse("get_weather", {"city": "Rome"}),
    delta=6,
)


def wire(provider: str = "anthropic", answer: Answer = ANSWER) -> bytes:
    return b"".join(encode(provider, answer))


def recording(data: bytes, provider: str = "anthropic", gap_at: int = -1, seed: int = 1) -> Recording:
    """The bytes in random pieces with times; before one of them a pause of more than two seconds."""
    rng = random.Random(seed)
    pieces: list[Piece] = []
    t, at = 0.3, 0
    while at < len(data):
        t += rng.uniform(0.005, 0.1) + (2.5 if len(pieces) == gap_at else 0)
        size = rng.randint(40, 600)
        pieces.append(Piece(t, data[at : at + size]))
        at += size
    return Recording(provider, tuple(pieces), "completed", t)


def good(provider: str = "anthropic") -> Recording:
    return recording(wire(provider), provider)


def cut() -> Recording:
    """It stops inside the tool call, after a pause."""
    return recording(wire()[:-420], gap_at=9)


def long(events: int, provider: str = "openai") -> Recording:
    """A stream of so many events and a few more."""
    words = Answer("Word by word it goes. " * (events // 3), delta=6)
    return recording(wire(provider, words), provider)
