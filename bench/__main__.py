"""``python -m bench [section ...]``: every row beside its peers, in one run; tables, ``results.json`` and the page."""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results.json"
SECTIONS = ("decode", "blocks", "sentences", "speakable", "memory", "probing", "flows", "sockets", "redis")


def main(chosen: list[str]) -> None:
    """Measure the sections, print a table of each, write JSON and the page. Exit code 1 when a bar is missed."""
    console = Console(width=max(150, Console().width))
    unknown = set(chosen) - set(SECTIONS)
    if unknown:
        console.print(f"no such section: {', '.join(unknown)}; choose from {', '.join(SECTIONS)}")
        raise SystemExit(2)
    if absent := importlib.import_module("bench.peers").missing():
        console.print(f"not installed, so left out: {', '.join(absent)}; `make bench` installs them")
    # Sections that are not measured this time keep their last results.
    results: dict[str, list[dict[str, Any]]] = json.loads(RESULTS.read_text()) if chosen and RESULTS.exists() else {}
    missed = 0
    sections = chosen or list(SECTIONS)
    for number, section in enumerate(sections, 1):
        console.print(f"measuring {section} ({number} of {len(sections)}) ...")
        begun = time.monotonic()
        rows = [_fields(row) for row in importlib.import_module(f"bench.{section}").rows()]
        results[section] = rows
        missed += sum(not row["met"] for row in rows)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        console.print(_table(f"{section}, {time.monotonic() - begun:.0f} s", rows))
    results = {section: results[section] for section in SECTIONS if section in results}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    importlib.import_module("bench.report").main()
    console.print(f"{missed} bars missed" if missed else "all bars met")
    raise SystemExit(1 if missed else 0)


def _fields(row: Any) -> dict[str, Any]:
    # The sections of sockets and sentences have rows of their own, with fewer fields.
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    fields.setdefault("measure", "us of CPU a token")
    fields["value"] = fields.pop("us", fields.get("value"))
    if "ratio" in fields:
        fields["spread"] = f"{fields.pop('ratio'):.2f}x the bare loop"
    return {"bar": "", "met": True, "spread": "", **fields}


def _table(section: str, rows: list[dict[str, Any]]) -> Table:
    table = Table("measure", "contender", "value", "spread", "bar", title=section)
    for row in rows:
        verdict = f"{row['bar']} {'met' if row['met'] else 'MISSED'}" if row["bar"] else ""
        table.add_row(row["measure"], row["contender"], f"{row['value']:.2f}", row["spread"], verdict)
    return table


if __name__ == "__main__":
    main(sys.argv[1:])
