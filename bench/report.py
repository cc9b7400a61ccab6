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
_BAR = 18
_LABELS = 250
_WIDTH = 760
_INTRO = """# Performance

`make bench` measures every row beside its peers in one run: interleaved rounds, medians, equal results asserted before
timing. Ratios hold from machine to machine, absolute times do not. `python -m bench.report` writes this page from
the last run.

![Microseconds an event, smaller is better](performance.svg)

"""


def main() -> None:
    """Write the page and the picture."""
    results: dict[str, list[dict[str, Any]]] = json.loads(RESULTS.read_text())
    PICTURE.write_text(picture(results["decode"]))
    parts = [_INTRO]
    for section, rows in results.items():
        parts.append(f"## {section}\n\n| measure | contender | value | bar |\n|---|---|---|---|\n")
        for row in rows:
            bar = f"{row['bar']} {'met' if row['met'] else '**missed**'}" if row["bar"] else ""
            parts.append(f"| {row['measure']} | {row['contender']} | {row['value']:.2f} | {bar} |\n")
        parts.append("\n")
    notes = DOCS / "performance_notes.md"
    if notes.exists():
        parts.append(notes.read_text())
    PAGE.write_text("".join(parts).rstrip("\n") + "\n")


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
