"""Bytes to three branches, beside the SDKs and frameworks and beside the least that anyone must do.

The branches are visible text, tool calls and transcript, all fed from one flow. A peer is asked for its text alone.
"""

from bench import contenders, peers, wires
from bench.measure import Row, Timing, at_least, at_most, interleaved

EVENTS = 3000
READ = 16384
OURS = "streamflow"
BRANCHES = "streamflow, three branches"
LIMIT = "orjson limit"
SINGLE, LARGE = "1 event a read", "16 KiB reads"

WIRES = {"openai": wires.openai_events, "anthropic": wires.anthropic_events, "gemini": wires.gemini_events}

# How many times slower than our three branches a peer must be.
FASTER = {
    ("openai", SINGLE, "openai SDK raw"): 20,
    ("openai", SINGLE, "openai SDK .stream()"): 40,
    ("openai", LARGE, "openai SDK raw"): 30,
    ("openai", LARGE, "openai SDK .stream()"): 60,
    ("anthropic", SINGLE, "anthropic SDK raw"): 5,
    ("anthropic", SINGLE, "anthropic SDK .stream()"): 13,
}
# How many times the limit our three branches may take.
OVER_LIMIT = {
    ("openai", SINGLE): 3.5,
    ("openai", LARGE): 2.2,
    ("anthropic", SINGLE): 4.5,
    ("anthropic", LARGE): 3.0,
}


def rows() -> list[Row]:
    """Every wire in both cuttings."""
    found = []
    for wire, make in WIRES.items():
        events = make(EVENTS)
        for cutting, reads in ((SINGLE, events), (LARGE, wires.recut(events, READ))):
            found += _rows(wire, cutting, reads, len(events))
    return found


def _rows(wire: str, cutting: str, reads: list[bytes], events: int) -> list[Row]:
    beside = peers.installed(wire)
    runs = {OURS: contenders.ours(wire), BRANCHES: contenders.ours_three_branches(wire), **beside}
    texts = {name: run(reads) for name, run in runs.items()}
    assert len(set(texts.values())) == 1, f"the contenders disagree on the text: {texts.keys()}"
    runs |= {LIMIT: contenders.orjson_limit, "httpx-sse, framing only": peers.httpx_sse_decode}
    timings = interleaved({name: lambda run=run: run(reads) for name, run in runs.items()}, events)  # type: ignore[misc]
    place = f"{wire} wire, {cutting}"
    found = [_plain(f"{place}: us an event", name, timing) for name, timing in timings.items()]
    for peer in beside:
        found.append(_plain(f"{place}: times slower than our events", peer, timings[peer].over(timings[OURS])))
        found.append(_slower(place, peer, timings[peer].over(timings[BRANCHES]), FASTER.get((wire, cutting, peer))))
    over = timings[BRANCHES].over(timings[LIMIT])
    measure = f"{place}: times the limit"
    found.append(_plain(measure, OURS, timings[OURS].over(timings[LIMIT])))
    if (wire, cutting) in OVER_LIMIT:
        found.append(at_most(measure, BRANCHES, over.median, OVER_LIMIT[wire, cutting], over.spread))
    else:
        found.append(_plain(measure, BRANCHES, over))
    return found


def _slower(place: str, peer: str, times: Timing, bar: float | None) -> Row:
    measure = f"{place}: times slower than our three branches"
    return _plain(measure, peer, times) if bar is None else at_least(measure, peer, times.median, bar, times.spread)


def _plain(measure: str, contender: str, timing: Timing) -> Row:
    return Row(measure, contender, timing.median, spread=timing.spread)
