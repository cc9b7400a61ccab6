"""``python -m bench [section ...]``: every row beside its peers, in one run; a table and ``bench/results.json``."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results.json"
SECTIONS = ("decode", "blocks", "sentences", "flows", "sockets", "redis", "probing")


def main(chosen: list[str]) -> None:
    """Measure the sections, print a table of each, write JSON. Exit code 1 when a bar is missed."""
    console = Console()
    unknown = set(chosen) - set(SECTIONS)
    if unknown:
        console.print(f"no such section: {', '.join(unknown)}; choose from {', '.join(SECTIONS)}")
        raise SystemExit(2)
    results: dict[str, list[dict[str, Any]]] = {}
    missed = 0
    for section in chosen or SECTIONS:
        console.print(f"measuring {section} ...")
        rows = [_fields(row) for row in importlib.import_module(f"bench.{section}").rows()]
        results[section] = rows
        missed += sum(not row["met"] for row in rows)
        console.print(_table(section, rows))
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    console.print(f"{missed} bars missed" if missed else "all bars met")
    raise SystemExit(1 if missed else 0)


def _fields(row: Any) -> dict[str, Any]:
    # The sections of sockets and sentences have rows of their own, with fewer fields.
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    fields.setdefault("measure", "us of CPU a token")
    fields["value"] = fields.pop("us", fields.get("value"))
    return {"bar": "", "met": True, "spread": "", **fields}


def _table(section: str, rows: list[dict[str, Any]]) -> Table:
    table = Table("measure", "contender", "value", "spread", "bar", title=section)
    for row in rows:
        verdict = f"{row['bar']} {'met' if row['met'] else 'MISSED'}" if row["bar"] else ""
        spread = row["spread"] or (f"{row['ratio']:.2f}x" if "ratio" in row else "")
        table.add_row(row["measure"], row["contender"], f"{row['value']:.2f}", spread, verdict)
    return table


if __name__ == "__main__":
    main(sys.argv[1:])
