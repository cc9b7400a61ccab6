"""Ways to cut an input, and how to compare what came out. The network may cut anywhere; the answer stays the same."""

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from streamflow.events import Chunk, Notice

Cuttable = TypeVar("Cuttable", bytes, str)


def whole(data: Cuttable) -> list[Cuttable]:
    """In one piece.

    >>> whole("abc")
    ['abc']
    """
    return [data]


def single(data: Cuttable) -> list[Cuttable]:
    """One byte or character at a time.

    >>> single(b"abc")
    [b'a', b'b', b'c']
    """
    return [data[place : place + 1] for place in range(len(data))]


def two_way(data: Cuttable) -> Iterator[list[Cuttable]]:
    """Every cut into two pieces.

    >>> list(two_way("abc"))
    [['a', 'bc'], ['ab', 'c']]
    """
    for place in range(1, len(data)):
        yield [data[:place], data[place:]]


def at_random(data: Cuttable, rng: random.Random, pieces: int = 12) -> list[Cuttable]:
    """Cut at random places, which a seeded generator repeats; some pieces may be empty, as reads are.

    >>> "".join(at_random("Hello world", random.Random(1)))
    'Hello world'
    """
    places: list[int] = sorted(rng.randrange(len(data) + 1) for _ in range(pieces))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def every_way(data: Cuttable, *, seed: int = 0, randoms: int = 10, most: int = 2000) -> Iterator[list[Cuttable]]:
    """Whole, one at a time, every cut into two, and some random cuts. Above ``most`` bytes only every n-th cut.

    >>> len(list(every_way("abcd", randoms=2)))
    7
    """
    yield whole(data)
    yield single(data)
    step = 1 + len(data) // most
    for place in range(1, len(data), step):
        yield [data[:place], data[place:]]
    rng = random.Random(seed)
    for _ in range(randoms):
        yield at_random(data, rng)


def merged(events: list[Any]) -> list[Any]:
    """Adjacent chunks of the same block and part joined: the only thing that may depend on the cut.

    >>> merged([Chunk(0, "text", "He"), Chunk(0, "text", "llo")])[0].text
    'Hello'
    """
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
    """The same without what is only said beside the stream.

    >>> without_notices([Notice("gap"), Chunk(0, "text", "a")])[0].text
    'a'
    """
    return [event for event in events if not isinstance(event, Notice)]


def assert_cut_invariant(
    run: Callable[[list[Cuttable]], list[Any]], data: Cuttable, *, seed: int = 0, randoms: int = 10
) -> list[Any]:
    """Run every cut of the data and compare: what came out must be the same but for how chunks were cut.

    >>> import streamflow as sf
    >>> from streamflow.testing import Answer, encode
    >>> wire = b"".join(encode("openai", Answer("Hello")))
    >>> events = assert_cut_invariant(lambda pieces: sf.decode("openai", pieces), wire)
    >>> events[-1].stop_reason
    'end_turn'
    """
    expected = merged(run([data]))
    for pieces in every_way(data, seed=seed, randoms=randoms):
        got = merged(run(pieces))
        if got != expected:
            sizes = [len(piece) for piece in pieces[:20]]
            difference = next(
                (f"{mine} instead of {theirs}" for mine, theirs in zip(got, expected, strict=False) if mine != theirs),
                f"{len(got)} instead of {len(expected)} items",
            )
            raise AssertionError(f"cut into pieces of {sizes} it gives {difference}")
    return expected
