"""A trace: everything that the inspector shows of one recording, as plain data."""

import base64
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import msgspec
import orjson

from streamflow.encoding import to_json
from streamflow.errors import StreamflowError, UsageError
from streamflow.events import Chunk, Frame, Sentence, StreamFailed
from streamflow.inspector.provenance import AT_END, Made, made_by
from streamflow.operators import block_split, normalize_provider, sentence_segment, tool_accumulate, wire_decode
from streamflow.probing import Probe, StageLog, probe
from streamflow.recordings import Recording
from streamflow.stage import Chain, Operator

BLOCKS: dict[str, tuple[str, ...]] = {
    "none": (),
    "xml": ("xml",),
    "sentinel": ("sentinel",),
    "json": ("json",),
    "all": ("xml", "json", "sentinel"),
}


class StageFigures(msgspec.Struct, frozen=True):
    """A stage of the graph. ``outs`` and ``helds`` tell, for each frame, what it gave so far and what it then held."""

    name: str
    items_in: int
    items_out: int
    us_per_item: float
    most_held: int
    outs: list[int]
    helds: list[int]


class SentenceRow(msgspec.Struct, frozen=True):
    """A sentence, the frame that brought it out, and the events it is made of."""

    text: str
    start: int
    end: int
    final: bool
    born: int
    events: list[int]


class Trace(msgspec.Struct, frozen=True):
    """A recording, run through the chain. ``born`` and ``causes`` count frames (for a recording of events, events).

    A row that came when the stream ended has ``born`` -1.
    """

    name: str
    recording: Recording
    blocks: str
    frames: list[Frame]
    frames_at_end: int
    events: list[Any]
    born: list[int]
    causes: list[list[int]]
    sentences: list[SentenceRow]
    stages: list[StageFigures]
    error: StreamflowError | None = None
    live: bool = False

    @property
    def has_bytes(self) -> bool:
        """False for a recording of events."""
        return all(isinstance(piece.item, bytes) for piece in self.recording.pieces)

    def data(self) -> dict[str, Any]:
        """What the page gets."""
        recording = self.recording
        has_bytes = self.has_bytes
        wire = recording.data if has_bytes else b""
        return {
            "name": self.name,
            "provider": recording.provider,
            "blocks": self.blocks,
            "live": self.live,
            "end": recording.end,
            "end_t": round(recording.end_t, 6),
            "headers": recording.headers,
            "wire": _wire(wire),
            "pieces": [[round(piece.t, 6), len(piece.item) if has_bytes else 1] for piece in recording.pieces],
            "frames": [[frame.start, frame.end, _name(frame)] for frame in self.frames],
            "frames_at_end": self.frames_at_end,
            "events": [orjson.Fragment(to_json(_light(event))) for event in self.events],
            "born": self.born,
            "causes": [_spread(numbers) for numbers in self.causes],
            "sentences": self.sentences,
            "stages": self.stages,
        }


def trace_of(
    recording: Recording,
    name: str = "",
    *,
    blocks: str = "xml",
    operators: Sequence[Operator[Any, Any]] | None = None,
    live: bool = False,
) -> Trace:
    """Run a recording through the usual chain, or through ``operators`` behind the provider's dialect, and keep it all.

    ``live`` says that more is to come: what is held stays held, and a missing end is no fault yet.

    >>> from streamflow.recordings import from_capture
    >>> wire = b'data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}\\n\\ndata: [DONE]\\n\\n'
    >>> trace = trace_of(from_capture(wire, provider="openai"))
    >>> len(trace.frames), [sentence.text for sentence in trace.sentences], trace.causes[2]
    (2, ['Hi.'], [0])
    """
    if blocks not in BLOCKS:
        raise UsageError(f"blocks={blocks!r}: choose one of {', '.join(BLOCKS)}")
    items = [piece.item for piece in recording.pieces]
    has_bytes = all(isinstance(item, bytes) for item in items)
    if has_bytes and not recording.provider:
        raise UsageError("the recording does not say whose stream it is: name the provider (--provider openai)")
    chain: list[Operator[Any, Any]] = []
    if has_bytes:
        chain += [wire_decode(recording.provider, recording.headers.get("content-type"))]
        chain += [normalize_provider(recording.provider)]
    if operators is not None:
        chain += operators
    elif has_bytes:
        chain += [block_split(list(BLOCKS[blocks]))] if BLOCKS[blocks] else []
        chain += [tool_accumulate()]
    seen = probe(*chain, sentence_segment(ids=lambda: "s"))
    error = _run(seen, items, live)
    return _read(recording, name, blocks, seen, error, has_bytes, live)


def _run(seen: Probe, items: Sequence[Any], live: bool) -> StreamflowError | None:
    chain = Chain([seen.operators[0].make_stage()])
    for item in items:
        chain.feed(item)
        if chain.error is not None:
            break
    else:
        if not live:
            chain.finish()
    error = chain.error
    if error is None or (isinstance(error, StreamflowError) and not isinstance(error, UsageError)):
        return error
    raise error


def _read(
    recording: Recording,
    name: str,
    blocks: str,
    seen: Probe,
    error: StreamflowError | None,
    has_bytes: bool,
    live: bool,
) -> Trace:
    logs = seen.stages
    *before, last = [made_by(log) for log in logs]
    frames_made = before[0] if has_bytes else []
    frames: list[Frame] = [made.item for made in frames_made]
    events: list[Any]
    if has_bytes:
        events = [made.item for made in before[-1]]
        born, causes = _traced(before[1:])
    else:
        events = [piece.item for piece in recording.pieces]
        born, causes = list(range(len(events))), [[number] for number in range(len(events))]
    if error is not None:
        events.append(StreamFailed(error.info()))
        born.append(AT_END if any(made.born == AT_END for made in frames_made) else len(frames) - 1)
        causes.append([len(frames) - 1] if frames else [])
    sentences = [
        SentenceRow(
            made.item.text, made.item.start, made.item.end, made.item.final,
            AT_END if made.born == AT_END else born[made.born],
            [number for number in made.causes if isinstance(events[number], Chunk) and events[number].visible],
        )
        for made in last
        if isinstance(made.item, Sentence)
    ]  # fmt: skip
    ticks = len(frames) if has_bytes else len(events)
    stages = _figures(logs, [*before, last], ticks, has_bytes)
    at_end = sum(made.born == AT_END for made in frames_made)
    return Trace(name, recording, blocks, frames, at_end, events, born, causes, sentences, stages, error, live)


def _traced(stages: list[list[Made]]) -> tuple[list[int], list[list[int]]]:
    """For each output of the last of these stages: the input of the first that brought it out, and its causes."""
    first, *rest = stages
    born = [made.born for made in first]
    causes = [made.causes for made in first]
    for stage in rest:
        born, causes = (
            [AT_END if made.born == AT_END else born[made.born] for made in stage],
            [sorted({cause for number in made.causes for cause in causes[number]}) for made in stage],
        )
    return born, causes


def _figures(logs: list[StageLog], made: list[list[Made]], ticks: int, has_bytes: bool) -> list[StageFigures]:
    """Figures of each stage, on the axis of the frames; the last tick is the end."""
    out: list[StageFigures] = []
    ticks_of_inputs: list[int] = []
    for place, log in enumerate(logs):
        if place == 0:
            outputs = list(range(len(made[0]))) if has_bytes else [m.born if m.born >= 0 else ticks for m in made[0]]
            inputs = [0] * log.items_in if has_bytes else list(range(log.items_in))
        else:
            inputs = ticks_of_inputs
            outputs = [ticks if entry.born == AT_END else inputs[entry.born] for entry in made[place]]
        counts = [0] * (ticks + 1)
        for tick in outputs:
            counts[min(tick, ticks)] += 1
        helds = [0] * (ticks + 1)
        if place or not has_bytes:
            number = -1
            for step, (_, held) in zip(log.steps, log.held(), strict=True):
                number += step.item is not None
                helds[ticks if step.item is None else min(inputs[number], ticks)] = held
        row = StageFigures(
            log.name, log.items_in, log.items_out, 1e6 * log.seconds / max(1, log.items_in), max(helds),
            list(accumulate(counts)), helds,
        )  # fmt: skip
        out.append(row)
        ticks_of_inputs = outputs
    return out


def _name(frame: Frame) -> str:
    if frame.headers is not None:
        return str(frame.headers.get(":event-type") or frame.headers.get(":exception-type") or "message")
    return frame.event if frame.event != "message" else ""


def _wire(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _light(event: Any) -> Any:
    # The partial answer repeats what the page has already, block by block.
    return StreamFailed(event.error) if isinstance(event, StreamFailed) else event


def _spread(numbers: list[int]) -> list[int]:
    """Neighbours as first and last; anything else one by one, after a -1."""
    if not numbers:
        return []
    if numbers[-1] - numbers[0] + 1 == len(numbers):
        return [numbers[0], numbers[-1]]
    return [-1, *numbers]
