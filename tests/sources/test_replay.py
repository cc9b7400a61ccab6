"""A recording of a stream is that stream again: its items at its times, through every chain of the documentation."""

import asyncio
import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import reactivex as rx

import streamflow as sf
from streamflow.operators import normalize_provider, record, tool_accumulate, wire_decode
from streamflow.recordings import Piece
from streamflow.testing import Answer, Thinking, ToolUse, encode, run_virtually
from tests.recordings.make import chat, sse
from tests.support.docs_chains import documented_chains

TEXT = (
    "<thinking>They ask about Rome.</thinking>Rome is **sunny** today. Write to ada@example.org, please. "
    "Dr. Rossi says: take a hat! Is it 24.5 °C? Yes.\n\n```python\nhat()\n```\n\nEND and more."
)


def timed(items: list[Any], seed: int = 2) -> sf.Recording:
    rng = random.Random(seed)
    t, pieces = 0.0, []
    for item in items:
        t += rng.choice((0.0, 0.02, 0.3))
        pieces.append(Piece(round(t, 3), item))
    return sf.Recording("openai", tuple(pieces), "completed", round(t + 0.25, 3))


def pieces(data: Any, seed: int) -> list[Any]:
    rng = random.Random(seed)
    cuts = sorted({0, len(data), *(rng.randrange(len(data)) for _ in range(60))})
    return [data[start:end] for start, end in pairwise(cuts)]


def wire() -> bytes:
    call = {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
    said = [chat({"content": piece}) for piece in pieces(TEXT, 1)]
    return sse(*said, chat({"tool_calls": [call]}), chat({}, "tool_calls"), done=True)


BYTES = timed(pieces(wire(), 4))
STRINGS = timed(pieces(TEXT, 5))
ANTHROPIC = timed(encode("anthropic", Answer(Thinking("They ask about Rome."), TEXT, ToolUse("weather", {}))))
NUMBERS = timed([1, 0, 2, 5, 3, 4, 6])


def plain(item: Any) -> Any:
    """Without ids that chance made."""
    if isinstance(item, msgspec.Struct):
        fields = {name: getattr(item, name) for name in item.__struct_fields__}
        changed = {name: "" if name == "id" else plain(value) for name, value in fields.items()}
        return type(item).__name__, tuple(changed.items())
    return f"{type(item).__name__}: {item}" if isinstance(item, BaseException) else item


async def heard(source: Any, chain: Any) -> list[tuple[float, Any]]:
    """All that comes, with the loop's time; the end too."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    out: list[tuple[float, Any]] = []

    def end(how: Any) -> None:
        out.append((round(loop.time(), 6), plain(how)))
        over.set_result(None)

    subscription = source.pipe(*chain).subscribe(
        lambda item: out.append((round(loop.time(), 6), plain(item))), end, lambda: end("end")
    )
    await over
    subscription.dispose()
    return out


async def original(recording: sf.Recording, chain: Any) -> list[tuple[float, Any]]:
    """The same from a source of its own, which gives the pieces at their times."""
    loop = asyncio.get_running_loop()
    source: Any = rx.subject.Subject()
    listening = asyncio.ensure_future(heard(source, chain))
    await asyncio.sleep(0)
    for piece in recording.pieces:
        if piece.t > loop.time():
            await asyncio.sleep(piece.t - loop.time())
        source.on_next(piece.item)
    await asyncio.sleep(recording.end_t - loop.time())
    source.on_completed()
    return await listening


def text_of(items: list[tuple[float, Any]]) -> list[Any]:
    """Items, with adjacent pieces of text joined."""
    joined: list[Any] = []
    for _, item in items:
        if isinstance(item, tuple) and item[0] == "Chunk":
            fields = dict(item[1])
            key = (fields["index"], fields["kind"], fields["part"])
            if joined and joined[-1][0] == key:
                joined[-1] = (key, joined[-1][1] + fields["text"])
            else:
                joined.append((key, fields["text"]))
        else:
            joined.append((None, item))
    return joined


def fitting(chain: Any) -> tuple[sf.Recording, Any]:
    """What the chain can read: bytes of one of two providers, events, plain strings, or numbers."""
    decoded = (wire_decode("openai"), normalize_provider("openai"))
    candidates = [
        (BYTES, chain),
        (ANTHROPIC, chain),
        (BYTES, (*decoded, *chain)),
        (BYTES, (*decoded, tool_accumulate(), *chain)),
        (STRINGS, chain),
        (NUMBERS, chain),
    ]
    for recording, whole in candidates:
        seen = run_virtually(heard(sf.replay(recording, math.inf), whole))
        if seen[-1][1] == "end" and len(seen) > 1:
            return recording, whole
    return BYTES, chain  # it ends in an error, and the replay must too


def separate(items: list[Any], name: str) -> list[Any]:
    """Sound is made beside the stream and comes when it is made: in its own order, but not in one with the events."""
    if "speak" not in name.split(" | "):
        return items
    is_sound = [isinstance(item, tuple) and item[0] == "AudioSegment" for _, item in items]
    sounds = [item for item, sound in zip(items, is_sound, strict=True) if sound]
    return [*sounds, *(item for item, sound in zip(items, is_sound, strict=True) if not sound)]


def test_the_documentation_has_chains():
    chains = documented_chains()
    assert len(chains) >= 20
    assert "sse_decode | normalize_provider | tool_accumulate" in chains
    assert any("speak" in name.split(" | ") for name in chains)


def test_a_replay_is_the_stream_again(tmp_path):
    # Not one test for each: the pages would have to run before a single test is known.
    for number, (name, chain) in enumerate(sorted(documented_chains().items())):
        check(name, chain, tmp_path / f"{number}.jsonl")


def check(name: str, documented: Any, path: Path) -> None:
    """Live, recorded, replayed in its time and at once."""
    recording, chain = fitting(documented)
    copy = recording
    expected = run_virtually(original(recording, chain))
    assert expected[-1][1] == "end" or "acme" in name, name  # a provider that a page invents

    async def recorded() -> list[tuple[float, Any]]:
        tap = record(path, provider="openai", clock=asyncio.get_running_loop().time)
        return await original(recording, (tap, *chain))

    if recording is not NUMBERS:
        assert run_virtually(recorded()) == expected, name
        copy = sf.load_recording(path)
        kept = [piece.item for piece in copy.pieces]
        assert kept == [piece.item for piece in recording.pieces][: len(kept)], name
        assert len(kept) == len(recording.pieces) or expected[-1][1] != "end"  # a chain that fails leaves its source
    assert run_virtually(heard(sf.replay(copy, 1.0), chain)) == expected, name
    at_once = run_virtually(heard(sf.replay(copy, math.inf), chain))
    assert text_of(separate(at_once, name)) == text_of(separate(expected, name)), name
