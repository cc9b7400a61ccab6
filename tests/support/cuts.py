"""Ways to cut an input, and how to compare what came out: adjacent chunks of one block are one."""

import random
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from streamflow.events import Chunk, Notice

Cuttable = TypeVar("Cuttable", bytes, str)


def two_way(data: Cuttable) -> Iterator[list[Cuttable]]:
    """Every cut into two pieces."""
    for place in range(1, len(data)):
        yield [data[:place], data[place:]]


def single(data: Cuttable) -> list[Cuttable]:
    """One byte or character at a time."""
    return [data[place : place + 1] for place in range(len(data))]


def at_random(data: Cuttable, rng: random.Random, pieces: int = 12) -> list[Cuttable]:
    """Cut at seeded random places."""
    places = sorted(rng.randrange(len(data) + 1) for _ in range(pieces))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def merged(events: list[Any]) -> list[Any]:
    """Adjacent chunks of the same block and part joined."""
    out: list[Any] = []
    for event in events:
        last = out[-1] if out else None
        if (
            isinstance(event, Chunk)
            and isinstance(last, Chunk)
            and (last.index, last.part) == (event.index, event.part)
        ):
            out[-1] = msgspec.structs.replace(last, text=last.text + event.text)
        else:
            out.append(event)
    return out


def without_notices(events: list[Any]) -> list[Any]:
    """The same without what is only said beside the stream."""
    return [event for event in events if not isinstance(event, Notice)]
