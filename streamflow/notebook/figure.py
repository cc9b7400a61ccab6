"""Figures as plain text: SVG and HTML built from strings, without scripts, fonts or anything from the network.

Each figure paints its own background and follows the theme of the page where it can find it out, so that it can be
read in a light and in a dark one. Where a page strips style sheets, the light colours in the attributes remain.
"""

import html
import os
from pathlib import Path
from typing import Any

from streamflow.errors import UsageError

_LIGHT = "--sf-bg:#ffffff;--sf-fg:#1f2328;--sf-mut:#656d76;--sf-grid:#d8dee4;--sf-box:#f6f8fa"
_DARK = "--sf-bg:#15181e;--sf-fg:#e6edf3;--sf-mut:#9198a1;--sf-grid:#343b45;--sf-box:#1f242c"
STYLE = (
    f".sf-fig{{{_LIGHT}}}"
    f"@media (prefers-color-scheme:dark){{.sf-fig{{{_DARK}}}}}"
    # A notebook knows its theme better than the system does: JupyterLab says it so, VS Code so.
    f'[data-jp-theme-light="true"] .sf-fig,.vscode-light .sf-fig{{{_LIGHT}}}'
    f'[data-jp-theme-light="false"] .sf-fig,.vscode-dark .sf-fig{{{_DARK}}}'
    ".sf-fig .bg{fill:var(--sf-bg)}.sf-fig .fg{fill:var(--sf-fg)}.sf-fig .mut{fill:var(--sf-mut)}"
    ".sf-fig .box{fill:var(--sf-box);stroke:var(--sf-grid)}.sf-fig .grid{stroke:var(--sf-grid)}"
    ".sf-fig .axis{stroke:var(--sf-mut)}.sf-fig .fgs{stroke:var(--sf-fg)}"
)
LIGHT_FILLS = {"bg": "#ffffff", "fg": "#1f2328", "mut": "#656d76", "box": "#f6f8fa"}
LIGHT_STROKES = {"box": "#d8dee4", "grid": "#d8dee4", "axis": "#656d76", "fgs": "#1f2328"}

SANS = "ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def escaped(text: Any) -> str:
    """Text that may stand in SVG and HTML; characters that XML forbids become a visible sign.

    >>> escaped('<b a="1">' + chr(0))
    '&lt;b a=&quot;1&quot;&gt;�'
    """
    allowed = str(text).translate(_FORBIDDEN)
    return html.escape(allowed.encode("utf-8", "replace").decode())


_FORBIDDEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF), "�")


def clipped(text: str, most: int) -> str:
    """At most so many characters, on one line, with white space that can be seen.

    >>> clipped("one two\\nthree", 9)
    'one·two⏎…'
    """
    shown = text[: most + 1].replace("\n", "⏎").replace("\r", "␍").replace("\t", "⇥").replace(" ", "·")
    return shown if len(shown) <= most else shown[: max(0, most - 1)] + "…"


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(0), duration(0.0000125), duration(0.25), duration(1), duration(12.54)
    ('0', '12 µs', '250 ms', '1 s', '12.5 s')
    """
    if seconds == 0:
        return "0"
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        milliseconds = seconds * 1000
        return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"
    shown = f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}"
    return f"{shown.rstrip('0').rstrip('.')} s"


class Canvas:
    """Collects SVG elements; coordinates are pixels of a drawing that scales with its column.

    >>> canvas = Canvas(40, 20)
    >>> canvas.circle(5, 5, 3, "#ff0000", title="a < b")
    >>> "a &lt; b" in canvas.svg("small")
    True
    """

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._parts: list[str] = []

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str = "", *, r: float = 0, of: str = "",
        opacity: float = 1, stroke: str = "", dash: str = "", title: str = "",
    ) -> None:  # fmt: skip
        """A rectangle; ``of`` is a class of the theme, ``fill`` a colour of its own."""
        self._add(
            f'rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{height:.1f}" rx="{r:g}"'
            f"{_paint(of, fill, stroke, dash, opacity)}",
            title,
        )

    def circle(self, x: float, y: float, r: float, fill: str, *, title: str = "") -> None:
        """A disc."""
        self._add(f'circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" fill="{fill}"', title)

    def path(
        self, d: str, *, fill: str = "none", stroke: str = "", of: str = "", width: float = 1, opacity: float = 1,
        dash: str = "", title: str = "",
    ) -> None:  # fmt: skip
        """Any shape."""
        self._add(f'path d="{d}" stroke-width="{width:g}"{_paint(of, fill, stroke, dash, opacity)}', title)

    def line(self, x1: float, y1: float, x2: float, y2: float, of: str = "grid", *, width: float = 1) -> None:
        """A straight line in a colour of the theme."""
        self._add(
            f'line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke-width="{width:g}"'
            f"{_paint(of, 'none', '', '', 1)}"
        )

    def text(
        self, x: float, y: float, text: str, of: str = "fg", *, size: float = 12, bold: bool = False,
        mono: bool = False, anchor: str = "start", fill: str = "", title: str = "",
    ) -> None:  # fmt: skip
        """A line of text; ``y`` is its base line."""
        font = f' font-family="{MONO}"' if mono else ""
        weight = ' font-weight="600"' if bold else ""
        where = f' text-anchor="{anchor}"' if anchor != "start" else ""
        colour = f' fill="{fill}"' if fill else f' class="{of}" fill="{LIGHT_FILLS[of]}"'
        tip = f"<title>{escaped(title)}</title>" if title else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{font}{weight}{where}{colour}>'
            f"{tip}{escaped(text)}</text>"
        )

    def _add(self, element: str, title: str = "") -> None:
        if title:
            self._parts.append(f"<{element}><title>{escaped(title)}</title></{element.partition(' ')[0]}>")
        else:
            self._parts.append(f"<{element}/>")

    def svg(self, label: str) -> str:
        """The whole drawing."""
        return (
            f'<svg class="sf-fig" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escaped(label)}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" '
            f'style="max-width:100%;height:auto" font-family="{SANS}">'
            f"<style>{STYLE}</style>"
            f'<rect class="bg" fill="{LIGHT_FILLS["bg"]}" width="{self.width:g}" height="{self.height:g}" rx="8"/>'
            f"{''.join(self._parts)}</svg>"
        )


def _paint(of: str, fill: str, stroke: str, dash: str, opacity: float) -> str:
    out = f' class="{of}"' if of else ""
    fill = fill or LIGHT_FILLS.get(of, "none")
    stroke = stroke or LIGHT_STROKES.get(of, "")
    out += f' fill="{fill}"'
    if stroke:
        out += f' stroke="{stroke}"'
    if dash:
        out += f' stroke-dasharray="{dash}"'
    return out if opacity == 1 else f'{out} opacity="{opacity:g}"'


class Figure:
    """What every figure can do: show itself in a notebook, and be saved as ``.svg`` or ``.html``."""

    def html(self) -> str:
        """The figure as a piece of HTML."""
        raise NotImplementedError

    def svg(self) -> str | None:
        """The figure as SVG; None where it is HTML only."""
        return None

    def page(self) -> str:
        """A whole HTML page, to be opened without a network."""
        return (
            "<!doctype html><html><head><meta charset='utf-8'>"
            "<meta name='color-scheme' content='light dark'>"
            f"<title>{escaped(type(self).__name__)}</title></head>"
            f"<body style='margin:16px'>{self.html()}</body></html>"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure to a file; its ending says in which form."""
        target = Path(path)
        makers = {".svg": self.svg, ".html": self.page}
        make = makers.get(target.suffix.lower())
        text = make() if make is not None else None
        if text is None:
            allowed = ".svg or .html" if self.svg() is not None else ".html"
            raise UsageError(f"{type(self).__name__}.save({str(path)!r}): the file must end in {allowed}")
        target.write_text(text, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_svg_(self) -> str | None:
        return self.svg()


class Drawing(Figure):
    """A figure that is one SVG."""

    def svg(self) -> str:
        """The figure as SVG."""
        raise NotImplementedError

    def html(self) -> str:
        """The same SVG, in the page itself, so that hovering over a mark says what it is."""
        return self.svg()
