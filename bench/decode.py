"""Bytes to events, and to three branches, beside the SDKs and beside the least that anyone must do."""

from bench import contenders, wires
from bench.measure import Row, at_least, at_most, interleaved

EVENTS = 5000
READ = 16384
OURS = "streamflow"
BRANCHES = "streamflow, three branches"
LIMIT = "orjson limit"

PEERS = {
    "openai": {"openai SDK raw": contenders.openai_sdk},
    "anthropic": {"anthropic SDK raw": contenders.anthropic_sdk},
}
WIRES = {"openai": wires.openai_events, "anthropic": wires.anthropic_events}

# How many times slower the SDK must be than our bytes to events, and how many times the limit three branches may take.
FASTER = {"openai": 20, "anthropic": 5}
OVER_LIMIT = {
    ("openai", "1 event a read"): 3.5,
    ("openai", "16 KiB reads"): 2.2,
    ("anthropic", "1 event a read"): 4.5,
    ("anthropic", "16 KiB reads"): 3.0,
}


def rows() -> list[Row]:
    """Every wire in both cuttings."""
    found = []
    for wire, make in WIRES.items():
        events = make(EVENTS)
        for cutting, reads in (("1 event a read", events), ("16 KiB reads", wires.recut(events, READ))):
            found += _rows(wire, cutting, reads, len(events))
    return found


def _rows(wire: str, cutting: str, reads: list[bytes], events: int) -> list[Row]:
    runs = {OURS: contenders.ours(wire), BRANCHES: contenders.ours_three_branches(wire), **PEERS[wire]}
    texts = {name: run(reads) for name, run in runs.items()}
    assert len(set(texts.values())) == 1, "the contenders disagree on the text"
    runs |= {LIMIT: contenders.orjson_limit, "httpx-sse, framing only": contenders.httpx_sse_decode}
    timings = interleaved({name: lambda run=run: run(reads) for name, run in runs.items()}, events)  # type: ignore[misc]
    measure = f"{wire} wire, {cutting}: us an event"
    found = [
        Row(measure, name, timing.median, spread=f"{timing.least:.2f}-{timing.most:.2f}")
        for name, timing in timings.items()
    ]
    ours, branches, limit = (timings[name].median for name in (OURS, BRANCHES, LIMIT))
    for peer in PEERS[wire]:
        times = f"{wire} wire, {cutting}: times slower than ours"
        found.append(at_least(times, peer, timings[peer].median / ours, FASTER[wire]))
        found.append(Row(times, f"{peer}, to ours with three branches", timings[peer].median / branches))
    over = f"{wire} wire, {cutting}: times the limit"
    found.append(Row(over, OURS, ours / limit))
    found.append(at_most(over, BRANCHES, branches / limit, OVER_LIMIT[wire, cutting]))
    return found
