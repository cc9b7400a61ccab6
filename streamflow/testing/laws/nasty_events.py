"""Nasty streams of events: several blocks, parallel calls that overlap, facts in the middle, every kind of end.

Streams keep the grammar that dialects promise. `recut` cuts the chunks of a stream anywhere, which no operator may
notice.
"""

import json
import random
from typing import Any

import msgspec

from streamflow.errors import StreamTruncated
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Frame,
    Notice,
    Raw,
    Retrying,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    Usage,
)
from streamflow.fold import CUT_CALL
from streamflow.testing.laws import nasty_text
from streamflow.text.calls import parse_arguments

TOOL_NAMES = ("write_file", "Edit_File", "run_bash", "get_weather", "f", "İx")


def text_answer(text: str, end: Any = None) -> list[Any]:
    """One text block as a dialect would give it."""
    body = [BlockStart(0, "text"), Chunk(0, "text", text, start=0), BlockComplete(0, "text", text)] if text else []
    return [StreamStart("m", "model", "test"), *body, end or StreamCompleted("end_turn", "stop")]


def arguments(rng: random.Random) -> str:
    """The JSON of a call's arguments, now and then broken."""
    value = {
        name: rng.choice(
            (nasty_text.text(rng, 4), rng.randint(-5, 10**20), None, [1, {"path": "/evil"}], {"content": "no"})
        )
        for name in rng.sample(("path", "content", "patch", "command", "city", "İ"), rng.randint(0, 4))
    }
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 1)))
    roll = rng.random()
    if roll < 0.1:
        return text[: rng.randrange(len(text))]
    if roll < 0.15:
        return nasty_text.mutated(text, rng)
    return text if roll < 0.95 else rng.choice(("", " ", "null"))


class _Scribe:
    """Writes a stream down, block by block."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.out: list[Any] = [StreamStart("m", "model", "test")]
        self.index = 0
        self.offset = 0
        self.open: dict[int, tuple[str, list[str], str | None, str | None, dict[str, Any]]] = {}

    def fact(self) -> None:
        rng = self.rng
        if rng.random() < 0.15:
            self.out.append(
                rng.choice(
                    (
                        Usage(rng.randint(0, 9), rng.randint(0, 9)),
                        Notice("unknown_event", "ping"),
                        Raw(Frame(data="{}")),
                        Citation(max(0, self.index - 1), url="https://example.org"),
                    )
                )
            )

    def start(self, kind: str, attributes: dict[str, Any] | None = None) -> int:
        index = self.index
        self.index += 1
        self.open[index] = (kind, [], None, None, attributes or {})
        self.out.append(BlockStart(index, kind, attributes or {}))
        self.fact()
        return index

    def name(self, index: int, name: str, id: str) -> None:
        kind, parts, _, _, attributes = self.open[index]
        self.open[index] = (kind, parts, id, name, attributes)
        self.out.append(Chunk(index, kind, name, False, 0, "name", None, name))
        self.out.append(Chunk(index, kind, id, False, 0, "id", id, name))

    def add(self, index: int, text: str) -> None:
        kind, parts, id, name, _ = self.open[index]
        if not text:
            return
        parts.append(text)
        start = -1
        if kind == "text":
            start = self.offset
            self.offset += len(text)
        part = "input" if kind == "tool_call" else None
        self.out.append(Chunk(index, kind, text, kind == "text", 0, part, id, name, start))
        self.fact()

    def complete(self, index: int, incomplete: bool = False) -> None:
        kind, parts, id, name, attributes = self.open.pop(index)
        content = "".join(parts)
        value, error, raw = None, None, None
        if kind == "tool_call":
            raw = content
            value, error = (None, CUT_CALL) if incomplete else parse_arguments(content)
        self.out.append(
            BlockComplete(index, kind, content, id, name, value, error, incomplete, raw, attributes=attributes)
        )
        self.fact()


def stream(rng: random.Random) -> list[Any]:
    """A whole nasty stream with its end."""
    scribe = _Scribe(rng)
    for _ in range(rng.randint(0, 4)):
        roll = rng.random()
        if roll < 0.5:
            index = scribe.start("text")
            for _ in range(rng.randint(1, 3)):
                scribe.add(index, nasty_text.text(rng, 6))
            scribe.complete(index)
        elif roll < 0.65:
            index = scribe.start("thinking")
            scribe.add(index, nasty_text.text(rng, 3))
            scribe.complete(index)
        elif roll < 0.7:
            index = scribe.start("tool_result", {"server": "search"})
            scribe.add(index, nasty_text.text(rng, 2))
            scribe.complete(index)
        else:
            _parallel_calls(scribe)
    out = scribe.out
    cut = rng.random() < 0.25
    if cut and len(out) > 2:
        out = cut_off(out, rng.randrange(1, len(out)))
    out.append(_end(rng, cut))
    return out


def rounds(rng: random.Random) -> list[Any]:
    """Two turns of one flow: the numbers of blocks count on, the offsets of text begin again."""
    first = stream(rng)
    first[-1] = StreamCompleted("tool_use", "tool_calls")
    after = max((event.index for event in first if isinstance(event, BlockStart)), default=-1) + 1
    second = [
        msgspec.structs.replace(event, index=event.index + after)
        if isinstance(event, BlockStart | Chunk | BlockComplete | Citation)
        else event
        for event in stream(rng)
    ]
    return [*first, *second]


def restarted(rng: random.Random) -> list[Any]:
    """A stream that broke and began anew: what came before `Retrying` with ``discard`` is void."""
    first, second = stream(rng)[:-1], stream(rng)
    after = max((event.index for event in first if isinstance(event, BlockStart)), default=-1) + 1
    moved = [
        msgspec.structs.replace(event, index=event.index + after)
        if isinstance(event, BlockStart | Chunk | BlockComplete | Citation)
        else event
        for event in second[1:]
    ]
    return [*first, Retrying(1, 1, "cut", discard=True), *moved]


def _parallel_calls(scribe: _Scribe) -> None:
    rng = scribe.rng
    todo: list[tuple[int, list[str]]] = []
    for number in range(rng.randint(1, 3)):
        attributes = {"server": "code"} if rng.random() < 0.1 else None
        index = scribe.start("tool_call", attributes)
        scribe.name(index, rng.choice(TOOL_NAMES), f"call_{index}_{number}")
        text = arguments(rng)
        middle = rng.randint(0, len(text))
        todo.append((index, [text[:middle], text[middle:]]))
    while todo:
        index, pieces = rng.choice(todo)
        scribe.add(index, pieces.pop(0))
        if not pieces:
            scribe.complete(index)
            todo = [entry for entry in todo if entry[0] != index]


def cut_off(events: list[Any], place: int) -> list[Any]:
    """The stream up to a place, with what is open closed as incomplete: what a dialect gives of a cut stream."""
    out = events[:place]
    last = events[place] if place < len(events) else None
    if isinstance(last, Chunk) and len(last.text) > 1:
        out.append(_piece(last, 0, len(last.text) // 2))
    opened: dict[int, list[str]] = {}
    facts: dict[int, Any] = {}
    for event in out:
        if isinstance(event, BlockStart):
            opened[event.index] = []
            facts[event.index] = event
        elif isinstance(event, Chunk):
            if event.part in (None, "input"):
                opened[event.index].append(event.text)
            facts[event.index] = event
        elif isinstance(event, BlockComplete):
            del opened[event.index]
    for index, parts in opened.items():
        fact = facts[index]
        tool = fact.kind == "tool_call"
        out.append(
            BlockComplete(
                index,
                fact.kind,
                "".join(parts),
                getattr(fact, "tool_id", None),
                getattr(fact, "tool_name", None),
                error=CUT_CALL if tool else None,
                incomplete=True,
                raw="".join(parts) if tool else None,
            )
        )
    return out


def _end(rng: random.Random, cut: bool) -> Any:
    if cut:
        return rng.choice((StreamFailed(StreamTruncated("cut").info()), StreamCompleted("cancelled")))
    return StreamCompleted(rng.choice(("end_turn", "tool_use", "max_tokens", "stop_sequence", "cancelled")), "raw")


def recut(items: list[Any], rng: random.Random, how: str) -> list[Any]:
    """The same items with chunks and strings cut: ``whole`` not at all, ``single`` by the character, ``random``."""
    out: list[Any] = []
    for item in items:
        text = item if isinstance(item, str) else item.text if isinstance(item, Chunk) else ""
        if len(text) < 2 or how == "whole" or (isinstance(item, Chunk) and item.part == "id"):
            out.append(item)
            continue
        if how == "single":
            places = list(range(1, len(text)))
        else:
            places = sorted({rng.randrange(1, len(text)) for _ in range(rng.randint(1, 4))})
        for start, end in zip([0, *places], [*places, len(text)], strict=True):
            out.append(text[start:end] if isinstance(item, str) else _piece(item, start, end))
    return out


def _piece(chunk: Chunk, start: int, end: int) -> Chunk:
    name = chunk.tool_name
    if chunk.part == "name" and name:
        name = name.removesuffix(chunk.text) + chunk.text[:end]
    return msgspec.structs.replace(
        chunk, text=chunk.text[start:end], tool_name=name, start=chunk.start + start if chunk.start >= 0 else -1
    )


def raw_text(items: list[Any]) -> str:
    """What the model wrote as text."""
    return "".join(
        item if isinstance(item, str) else item.text
        for item in items
        if isinstance(item, str) or (isinstance(item, Chunk) and item.kind == "text")
    )


def smaller(events: list[Any]) -> list[list[Any]]:
    """Streams a little smaller than this one: without a block, without a fact, without a character."""
    out: list[list[Any]] = []
    blocks = {event.index for event in events if isinstance(event, BlockStart)}
    for index in blocks:
        out.append(_consistent([event for event in events if getattr(event, "index", None) != index]))
    for place, event in enumerate(events[1:-1], 1):
        if not isinstance(event, BlockStart | Chunk | BlockComplete):
            out.append(events[:place] + events[place + 1 :])
        elif isinstance(event, Chunk) and event.part in (None, "input"):
            size = len(event.text)
            for start, end in [(0, size // 2), (size // 2, size), *((at, at + 1) for at in range(size))]:
                text = event.text[:start] + event.text[end:]
                shorter = [msgspec.structs.replace(event, text=text)] if text else []
                out.append(_consistent([*events[:place], *shorter, *events[place + 1 :]]))
    return out


def _consistent(events: list[Any]) -> list[Any]:
    """The events with contents, offsets and arguments that follow from their chunks."""
    parts: dict[int, list[str]] = {}
    offset = 0
    out: list[Any] = []
    for event in events:
        if isinstance(event, BlockStart):
            parts[event.index] = []
        elif isinstance(event, Chunk):
            if event.part in (None, "input"):
                parts[event.index].append(event.text)
            if event.kind == "text":
                event = msgspec.structs.replace(event, start=offset)
                offset += len(event.text)
        elif isinstance(event, BlockComplete):
            content = "".join(parts[event.index])
            event = msgspec.structs.replace(event, content=content)
            if event.kind == "tool_call":
                value, error = (None, CUT_CALL) if event.incomplete else parse_arguments(content)
                event = msgspec.structs.replace(event, input=value, error=error, raw=content)
        out.append(event)
    return out
