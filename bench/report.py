"""``python -m bench.report``: the last results as a page with a picture, ``docs/performance.md``."""

import json
import math
from html import escape
from pathlib import Path
from typing import Any

from bench.__main__ import RESULTS

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "performance.md"
PICTURE = DOCS / "performance.svg"
NOTES = Path(__file__).parent / "notes.md"
_BAR = 18
_LABELS = 250
_WIDTH = 760
_INTRO = """# Performance

`make bench` measures every row beside its peers in one run: interleaved rounds, medians, and before anything is timed
all contenders must have read the same text. A ratio is the median of the ratios of the rounds, with the least and the
most beside it. Ratios hold from machine to machine, absolute times do not. The peers go into an environment of their
own, `.venv-bench`; the run writes this page.

![Microseconds an event, smaller is better](performance.svg)

"""
_BARS = """## The bars

| measure | contender | measured | spread | bar | |
|---|---|---|---|---|---|
"""


def main() -> None:
    """Write the page and the picture."""
    results: dict[str, list[dict[str, Any]]] = json.loads(RESULTS.read_text())
    PICTURE.write_text(picture(results["decode"]))
    judged = [row for rows in results.values() for row in rows if row["bar"]]
    missed = sum(not row["met"] for row in judged)
    parts = [_INTRO, f"{len(judged) - missed} of {len(judged)} bars are met in this run.\n\n", _BARS]
    for row in sorted(judged, key=lambda row: row["met"]):
        parts.append(f"| {_cells(row)} | {row['bar']} | {'met' if row['met'] else '**not met**'} |\n")
    parts.append("\n" + NOTES.read_text() + "\n")
    for section, rows in results.items():
        parts.append(f"## All rows: {section}\n\n| measure | contender | measured | spread |\n|---|---|---|---|\n")
        parts += [f"| {_cells(row)} |\n" for row in rows]
        parts.append("\n")
    PAGE.write_text("".join(parts).rstrip("\n") + "\n")


def _cells(row: dict[str, Any]) -> str:
    return f"{row['measure']} | {row['contender']} | {row['value']:.2f} | {row['spread']}"


def picture(rows: list[dict[str, Any]]) -> str:
    """Bars on a logarithmic scale, one group for each wire and cutting."""
    timed = [row for row in rows if row["measure"].endswith("us an event")]
    most = max(row["value"] for row in timed)
    least = min(row["value"] for row in timed) / 2
    span = math.log(most / least)
    lines: list[str] = []
    y = 0
    group = ""
    for row in timed:
        if row["measure"] != group:
            group = row["measure"]
            y += 26
            lines.append(f'<text x="0" y="{y}" class="g">{escape(group.removesuffix(": us an event"))}</text>')
            y += 8
        width = (_WIDTH - _LABELS - 60) * math.log(row["value"] / least) / span
        kind = "ours" if row["contender"].startswith("streamflow") else "peer"
        lines.append(f'<text x="12" y="{y + 13}">{escape(row["contender"])}</text>')
        lines.append(f'<rect x="{_LABELS}" y="{y + 2}" width="{width:.1f}" height="{_BAR - 4}" class="{kind}"/>')
        lines.append(f'<text x="{_LABELS + width + 6:.1f}" y="{y + 13}">{row["value"]:.2f}</text>')
        y += _BAR
    style = (
        "text{font:12px sans-serif;fill:#333}.g{font-weight:bold}.ours{fill:#2a7fff}.peer{fill:#b8b8b8}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}.peer{fill:#777}}"
    )
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y + 12}" width="{_WIDTH}" role="img" '
        f'aria-label="microseconds an event">\n<style>{style}</style>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    main()
