"""Figures of a run: rates and waits of a stage, and when an answer showed its first signs of life."""

from bisect import bisect_right
from collections.abc import Iterable
from statistics import median
from typing import Any, NamedTuple

from streamflow.audio import AudioSegment
from streamflow.errors import UsageError
from streamflow.events import Chunk, Frame, Sentence, Stamped, StreamCompleted, StreamFailed
from streamflow.notebook.held import held_text
from streamflow.notebook.rehearsal import rehearse
from streamflow.operators import sentence_segment, visible_filter, xml_block_split
from streamflow.probing import Probe, StageLog, span_of
from streamflow.recordings import Recording


class StageFigures(NamedTuple):
    """One stage in numbers: items, items a second, characters held at most, seconds that outputs waited for."""

    name: str
    items_in: int
    items_out: int
    rate: float
    most_held: int
    median_wait_s: float
    longest_wait_s: float
    us_per_item: float


def stage_figures(log: StageLog) -> StageFigures:
    """The numbers of a stage. An output waited since the first of its characters came in."""
    steps = log.steps
    lasted = steps[-1].t - steps[0].t if steps else 0.0
    waits = list(_waits(log))
    return StageFigures(
        log.name,
        log.items_in,
        log.items_out,
        log.items_out / lasted if lasted > 0 else 0.0,
        max((held.characters for held in held_text(log)), default=0),
        median(waits) if waits else 0.0,
        max(waits, default=0.0),
        1e6 * log.seconds / max(1, log.items_in),
    )


def _waits(log: StageLog) -> Iterable[float]:
    arrived: list[tuple[int, float]] = []  # a place in the raw text and when it came, both going up
    for step in log.steps:
        span = span_of(step.item)
        if span is not None and (not arrived or span[0] > arrived[-1][0]):
            arrived.append((span[0], step.t))
        for item in step.outputs:
            made = span_of(item)
            if made is None or not arrived:
                yield 0.0
            else:
                place = max(0, bisect_right(arrived, (made[0], float("inf"))) - 1)
                yield max(0.0, step.t - arrived[place][1])


MILESTONES = ("first byte", "first thinking", "first visible", "first sentence", "first audio", "end")


class Signs(NamedTuple):
    """When what came first; ``chunks`` are all pieces of text with their kinds."""

    name: str
    times: dict[str, float]
    chunks: list[tuple[float, str]]
    failed: bool
    complete: bool


def signs_of(name: str, source: Any) -> Signs:
    """The milestones of a recording, of a probe, or of pairs of a time and an item.

    >>> signs_of("demo", [(0.2, Chunk(0, "thinking", "hm", visible=False)), (0.5, Chunk(1, "text", "Hi"))]).times
    {'first thinking': 0.2, 'first visible': 0.5, 'end': 0.5}
    """
    items = list(timed_items(source))
    times: dict[str, float] = {}
    chunks: list[tuple[float, str]] = []
    failed = isinstance(source, Recording) and source.end != "completed"
    complete = False
    for t, item in items:
        sign = _sign(item)
        if sign is not None:
            times.setdefault(sign, t)
        if isinstance(item, Chunk):
            chunks.append((t, item.kind))
        failed = failed or isinstance(item, StreamFailed)
        complete = complete or isinstance(item, StreamCompleted)
    if items:
        times["end"] = max(t for t, _ in items)
    ordered = {name: times[name] for name in MILESTONES if name in times}
    return Signs(name, ordered, chunks, failed, complete)


def timed_items(source: Any) -> Iterable[tuple[float, Any]]:
    """What passed and when; a recording is decoded and cut into sentences on its own clock."""
    if isinstance(source, Recording):
        return _of_recording(source)
    if isinstance(source, Probe):
        return _of_probe(source)
    pairs = [(entry.t, entry.event) if isinstance(entry, Stamped) else entry for entry in source]
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise UsageError("a timeline takes recordings, probes, stamped events, or pairs of a time and an item")
    return pairs


def _of_recording(recording: Recording) -> list[tuple[float, Any]]:
    seen = rehearse(recording, xml_block_split(), visible_filter(), sentence_segment())
    inputs = list(seen.stages[0].inputs())
    chunks = [pair for log in seen.stages[-3:-2] for pair in log.outputs()]
    spoken = [(t, item) for t, item in seen.stages[-1].outputs() if isinstance(item, Sentence)]
    end = [(max(recording.end_t, recording.pieces[-1].t), None)] if recording.pieces else []
    return sorted([*inputs[:1], *chunks, *spoken, *end], key=lambda pair: pair[0])


def _of_probe(seen: Probe) -> list[tuple[float, Any]]:
    begin = next((t for t, _ in seen.stages[0].inputs()), 0.0)
    inputs = list(seen.stages[0].inputs())[:1]
    found: dict[int, tuple[float, Any]] = {}
    for log in seen.stages:
        for t, item in log.outputs():
            found.setdefault(id(item), (t, item))  # an item that later stages pass on counts once
    return sorted(((t - begin, item) for t, item in [*inputs, *found.values()]), key=lambda pair: pair[0])


def _sign(item: Any) -> str | None:
    if isinstance(item, bytes | Frame):
        return "first byte"
    if isinstance(item, Chunk):
        return "first visible" if item.visible else "first thinking" if item.kind == "thinking" else None
    if isinstance(item, Sentence):
        return "first sentence"
    return "first audio" if isinstance(item, AudioSegment) else None
