"""Timeline: when an answer showed its first byte, thought, word, sentence and sound; several side by side."""

from typing import Any

from streamflow.errors import UsageError
from streamflow.notebook.figure import Canvas, Drawing, clipped, duration
from streamflow.notebook.lanes import nice_step
from streamflow.notebook.looks import COLOURS, colour_of
from streamflow.notebook.measures import MILESTONES, Signs, signs_of

_LEFT, _RIGHT, _TOP, _ROW = 150, 24, 14, 58
MARK_COLOURS = {
    "first byte": COLOURS["bytes"],
    "first thinking": COLOURS["thinking"],
    "first visible": COLOURS["text"],
    "first sentence": COLOURS["sentence"],
    "first audio": COLOURS["audio"],
    "end": COLOURS["end"],
}


class Timeline(Drawing):
    """Recordings (or probes, or pairs of a time and an item) compared; a name for each by keyword, or its provider.

    Thin lines are the pieces of text as they came, flags are the first of each kind; the table below has the times.

    >>> from streamflow.events import Chunk
    >>> timeline = Timeline(a=[(0.2, Chunk(0, "text", "Hi"))], b=[(0.7, Chunk(0, "text", "Hello"))])
    >>> [row["first visible"] for row in timeline.table()]
    [0.2, 0.7]
    """

    def __init__(self, *sources: Any, width: int = 980, **named: Any) -> None:
        entries = [(_name(source, number), source) for number, source in enumerate(sources)] + list(named.items())
        if not entries:
            raise UsageError("Timeline takes at least one recording or probe: Timeline(openai=recording, ...)")
        self._signs = [signs_of(name, source) for name, source in entries]
        self._width = width

    def table(self) -> list[dict[str, Any]]:
        """One row of times, in seconds, for each source; what never came is None."""
        return [{"name": signs.name, **{name: signs.times.get(name) for name in MILESTONES}} for signs in self._signs]

    def __repr__(self) -> str:
        names = [name for name in MILESTONES if any(name in signs.times for signs in self._signs)]
        lines = [f"{'':<20}" + "".join(f"{name:>16}" for name in names)]
        lines += [
            f"{clipped(signs.name, 19):<20}" + "".join(f"{_time(signs, name):>16}" for name in names)
            for signs in self._signs
        ]
        return "\n".join(lines)

    def svg(self) -> str:
        """The figure as SVG."""
        rows = len(self._signs)
        used = [name for name in MILESTONES if any(name in signs.times for signs in self._signs)]
        bottom = _TOP + _ROW * rows
        canvas = Canvas(self._width, bottom + 62 + 22 * rows)
        room = self._width - _LEFT - _RIGHT
        longest = max((signs.times.get("end", 0.0) for signs in self._signs), default=0.0) or 1.0
        step = nice_step(longest, 8)
        for number in range(int(longest / step) + 1):
            x = _LEFT + number * step / longest * room
            canvas.line(x, _TOP, x, bottom)
            canvas.text(x, bottom + 13, duration(number * step), "mut", size=10, anchor="middle")
        for number, signs in enumerate(self._signs):
            self._row(canvas, signs, _TOP + _ROW * number + 30, room / longest)
        self._figures(canvas, used, bottom + 40)
        return canvas.svg("timeline of " + ", ".join(signs.name for signs in self._signs))

    def _row(self, canvas: Canvas, signs: Signs, middle: float, scale: float) -> None:
        canvas.text(16, middle + 4, clipped(signs.name, 20), bold=True, title=signs.name)
        end = _LEFT + signs.times.get("end", 0.0) * scale
        canvas.rect(_LEFT, middle - 11, end - _LEFT, 22, of="box", r=4, title=f"{signs.name}: {_ending(signs)}")
        seen: set[tuple[int, str]] = set()
        for t, kind in signs.chunks:
            x = _LEFT + t * scale
            if (spot := (round(x * 2), kind)) not in seen:
                seen.add(spot)
                canvas.rect(x - 0.75, middle - 9, 1.5, 18, colour_of(kind), opacity=0.8)
        if signs.failed or not signs.complete:
            canvas.path(f"M{end - 5:.1f} {middle - 5:.1f}l10 10m0 -10l-10 10", stroke=COLOURS["failed"], width=3)
        else:
            canvas.rect(end - 1.5, middle - 13, 3, 26, MARK_COLOURS["end"], title=f"end after {_time(signs, 'end')}")
        for name in MILESTONES[:-1]:
            if name in signs.times:
                x = _LEFT + signs.times[name] * scale
                d = f"M{x:.1f} {middle - 22:.1f}l8 4l-8 4z M{x - 0.5:.1f} {middle - 22:.1f}v33h1v-33z"
                canvas.path(d, fill=MARK_COLOURS[name], title=f"{name} after {_time(signs, name)}")

    def _figures(self, canvas: Canvas, used: list[str], top: float) -> None:
        column = (self._width - _LEFT - _RIGHT) / max(1, len(used))
        for place, name in enumerate(used):
            x = _LEFT + place * column
            canvas.circle(x + 5, top - 4, 4, MARK_COLOURS[name])
            canvas.text(x + 14, top, name, "mut", size=11)
        canvas.line(16, top + 8, self._width - _RIGHT, top + 8)
        best = {name: min(signs.times.get(name, float("inf")) for signs in self._signs) for name in used}
        for number, signs in enumerate(self._signs):
            y = top + 26 + 22 * number
            canvas.text(16, y, clipped(signs.name, 20), size=11)
            for place, name in enumerate(used):
                first = len(self._signs) > 1 and signs.times.get(name) == best[name] and name != "end"
                canvas.text(_LEFT + place * column + 14, y, _time(signs, name), size=11, mono=True, bold=first)


def _time(signs: Signs, name: str) -> str:
    return duration(signs.times[name]) if name in signs.times else "–"


def _ending(signs: Signs) -> str:
    return "complete" if signs.complete and not signs.failed else "cut or failed"


def _name(source: Any, number: int) -> str:
    return getattr(source, "provider", "") or f"stream {number + 1}"
