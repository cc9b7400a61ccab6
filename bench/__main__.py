"""``python -m bench``: one table, every row beside its peers, in one run."""

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import contenders, wires
from bench.measure import Timing, interleaved

EVENTS = 5000
READ = 16384
RESULTS = Path(__file__).parent / "results.json"

BARS = {
    # (wire, cutting): contender -> at least this many times slower than ours
    ("openai", "1 event a read"): {"openai SDK": 20},
    ("openai", "16 KiB reads"): {"openai SDK": 30},
    ("anthropic", "1 event a read"): {"anthropic SDK": 5},
    ("anthropic", "16 KiB reads"): {"anthropic SDK": 5},
}
PEERS = {"openai": {"openai SDK": contenders.openai_sdk}, "anthropic": {"anthropic SDK": contenders.anthropic_sdk}}
WIRES = {"openai": wires.openai_events, "anthropic": wires.anthropic_events}


def main() -> None:
    """Measure, print a table, write JSON."""
    console = Console()
    table = Table("wire", "cutting", "contender", "us an event", "spread", "x ours", "bar")
    rows = []
    missed = 0
    for wire, make in WIRES.items():
        events = make(EVENTS)
        for cutting, reads in (("1 event a read", events), ("16 KiB reads", wires.recut(events, READ))):
            console.print(f"measuring {wire}, {cutting} ...")
            timings = _measure(wire, reads, len(events))
            base = timings["streamflow"].median
            for name, timing in timings.items():
                ratio = timing.median / base
                bar = BARS[wire, cutting].get(name)
                missed += bar is not None and ratio < bar
                verdict = "" if bar is None else f">= {bar} {'met' if ratio >= bar else 'MISSED'}"
                spread = f"{timing.least:.2f}-{timing.most:.2f}"
                table.add_row(wire, cutting, name, f"{timing.median:.2f}", spread, f"{ratio:.2f}", verdict)
                rows.append({"wire": wire, "cutting": cutting, "contender": name, "us": timing.median, "ratio": ratio})
    console.print(table)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    raise SystemExit(1 if missed else 0)


def _measure(wire: str, reads: list[bytes], events: int) -> dict[str, Timing]:
    runs = {
        "streamflow": contenders.ours(wire),
        "streamflow, three branches": contenders.ours_three_branches(wire),
        **PEERS[wire],
    }
    texts = {name: run(reads) for name, run in runs.items()}
    assert len(set(texts.values())) == 1, "the contenders disagree on the text"
    runs |= {"orjson limit": contenders.orjson_limit, "httpx-sse, framing only": contenders.httpx_sse_decode}
    return interleaved({name: lambda run=run: run(reads) for name, run in runs.items()}, events)  # type: ignore[misc]


if __name__ == "__main__":
    main()
