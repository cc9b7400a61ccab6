"""Marbles: what went into each stage and what came out, on one axis."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from streamflow.errors import UsageError
from streamflow.notebook.figure import Canvas, Drawing, clipped, duration
from streamflow.notebook.held import Held
from streamflow.notebook.lanes import Axis, Lane, Mark, axis_of, lanes_of
from streamflow.notebook.live import live
from streamflow.notebook.looks import COLOURS, colour_of, told
from streamflow.probing import Probe

if TYPE_CHECKING:
    from streamflow.notebook.widget import LiveFigure

AXES = ("auto", "time", "order")

_LEFT, _RIGHT, _TOP, _LANE, _AXIS = 168, 20, 14, 76, 52
_CHARACTER = 5.5  # the width of one in the labels
_READABLE = {"bytes": 14, "frame": 14}  # fewer letters of the wire say nothing
_DENSE = 400  # from so many items in a lane on, neighbours are drawn as one and hover texts are short


class Marbles(Drawing):
    """A lane for the source and one for each stage of a `Probe`; look at it after a run, or while it runs.

    A disc is an item in the colour of its kind, a band is a block from its start to its end, a yellow step below a
    lane is text that waits inside the stage. Hovering over anything says what it is. ``axis`` is ``time``, ``order``
    (each input has the same room), or ``auto``: time, unless everything came at once.

    >>> import streamflow as sf
    >>> from streamflow.operators import xml_block_split
    >>> watched = sf.probe(xml_block_split())
    >>> _ = sf.run(["<thin", "king>hm</thinking>", "Yes."], *watched.operators)
    >>> Marbles(watched).svg()[:19]
    '<svg class="sf-fig"'
    """

    def __init__(self, probe: Probe, *, axis: str = "auto", width: int = 980) -> None:
        if not isinstance(probe, Probe):
            raise UsageError(
                f"Marbles shows what sf.probe(...) saw, not {type(probe).__name__}: Marbles(sf.probe(...))"
            )
        if axis not in AXES:
            raise UsageError(f"axis={axis!r}: choose one of {', '.join(AXES)}")
        if width < 400:
            raise UsageError(f"width={width}: marbles need at least 400 pixels")
        self.probe = probe
        self._axis = axis
        self._width = width

    def svg(self) -> str:
        """The figure as it is now."""
        lanes = lanes_of(self.probe)
        axis = axis_of(self.probe, self._axis)
        marks = (mark.look for lane in lanes for mark in lane.marks)
        kinds = list(dict.fromkeys(look.kind for look in marks if look.shape != "bar"))
        held = any(lane.held for lane in lanes)
        canvas = Canvas(self._width, _TOP + _LANE * len(lanes) + _AXIS)
        drawing = _Lanes(canvas, axis, self._width)
        drawing.grid(len(lanes))
        for number, lane in enumerate(lanes):
            drawing.lane(lane, _TOP + _LANE * number)
        drawing.legend([*kinds, *(["held"] if held else [])], _TOP + _LANE * len(lanes) + 40)
        return canvas.svg("marbles of " + ", ".join(lane.name for lane in lanes[1:]))

    def __repr__(self) -> str:
        return f"Marbles({' -> '.join(['source', *(log.name for log in self.probe.stages)])})"

    def live(self, *, speed: float = 1.0) -> "LiveFigure":
        """The same figure as a widget that is drawn anew while the stream runs; needs ``streamflow-rx[notebook]``.

        A probe that has not run is subscribed to now; one that has runs again, from what it saw.
        """
        return live(lambda watched: Marbles(watched, axis=self._axis, width=self._width), self.probe, speed)


class _Group(NamedTuple):
    """Marks that stand on the same spot."""

    x: float
    marks: list[Mark]


class _Lanes:
    def __init__(self, canvas: Canvas, axis: Axis, width: float) -> None:
        self._canvas = canvas
        self._axis = axis
        self._end = width - _RIGHT
        self._room = self._end - _LEFT
        self._hover = (8, 300)  # items in a hover text, characters of each

    def _x(self, t: float) -> float:
        return _LEFT + min(1.0, max(0.0, self._axis.place(t))) * self._room

    def grid(self, lanes: int) -> None:
        bottom = _TOP + _LANE * lanes
        for place, label in self._axis.ticks:
            x = _LEFT + place * self._room
            self._canvas.line(x, _TOP, x, bottom)
            self._canvas.text(x, bottom + 14, label, "mut", size=10, anchor="middle")
        self._canvas.text(16, bottom + 14, self._axis.name, "mut", size=10)

    def lane(self, lane: Lane, top: float) -> None:
        canvas, middle = self._canvas, top + 32
        count = sum(mark.look.shape != "none" for mark in lane.marks)
        canvas.text(16, middle - 2, clipped(lane.name, 23), size=12, bold=True, title=lane.name)
        note = f"{count} item{'' if count == 1 else 's'}"
        note += f" · held up to {lane.most_held}" if lane.most_held else ""
        canvas.text(16, middle + 12, note, "mut", size=10)
        canvas.line(_LEFT, middle, self._end, middle, "axis")
        self._spans(lane, middle)
        self._held(lane, middle)
        self._marks(lane, middle)

    def _spans(self, lane: Lane, middle: float) -> None:
        for span in lane.spans:
            start = self._x(span.start)
            end = self._end if span.end is None else max(start + 4, self._x(span.end))
            state = "is open" if span.end is None else "is incomplete" if span.incomplete else "is complete"
            self._canvas.rect(
                start - 5, middle - 15, end - start + 10, 30, colour_of(span.kind), r=7, opacity=0.22,
                stroke=colour_of(span.kind), dash="4 3" if span.incomplete else "",
                title=f"block {span.block}: {span.kind}, {state}",
            )  # fmt: skip
            if (end - start) > _CHARACTER * len(span.kind):
                self._canvas.text(start - 3, middle - 19, span.kind, "mut", size=9)

    def _held(self, lane: Lane, middle: float) -> None:
        most = lane.most_held
        for held in lane.held:
            start, end = self._x(held.start), self._x(held.end)
            size = 3 + 11 * held.characters / most
            self._canvas.rect(
                start, middle + 40 - size, max(1.5, end - start), size, COLOURS["held"], title=_held_title(held)
            )

    def _marks(self, lane: Lane, middle: float) -> None:
        dense = len(lane.marks) > _DENSE
        groups = list(self._groups(lane, 2.5 if dense else 0.5))
        radius = 5.0 if len(groups) * 11 < self._room else 3.5 if len(groups) * 7 < self._room else 2.5
        self._hover = (3, 60) if dense else (8, 300)
        for place, group in enumerate(groups):
            last = place + 1 == len(groups)
            following = self._end + 8 if last else groups[place + 1].x
            before = group.x - (groups[place - 1].x if place else _LEFT)
            self._group(group, middle, radius, following - group.x, before if last else 0.0)

    def _groups(self, lane: Lane, apart: float) -> Iterator[_Group]:
        """Marks nearer to each other than this are one group."""
        group = _Group(-100.0, [])
        for mark in lane.marks:
            if mark.look.shape == "none":
                continue
            x = self._x(mark.t)
            if x - group.x < apart:
                group.marks.append(mark)
                continue
            if group.marks:
                yield group
            group = _Group(x, [mark])
        if group.marks:
            yield group

    def _group(self, group: _Group, middle: float, radius: float, room: float, room_before: float) -> None:
        """Items of one moment stand side by side where there is room, else as one mark that tells of all."""
        count = len(group.marks)
        step = min(2 * radius + 1, room / count) if count > 1 else 0.0
        if count > 1 and step < 2.5:
            self._mark(group.marks[0], group.marks, group.x, middle, radius)
        else:
            for number, mark in enumerate(group.marks):
                self._mark(mark, [mark], group.x + number * step, middle, radius)
        letters = int((room - 2) / _CHARACTER)
        text = "".join(mark.look.label for mark in group.marks).strip(" ")
        if text and letters >= min(_READABLE.get(group.marks[0].look.kind, 4), len(text)):
            self._canvas.text(group.x - radius, middle + 25, clipped(text, min(letters, 40)), "mut", size=9, mono=True)
        elif text and room_before > 150:  # the last of its lane writes to the left
            self._canvas.text(self._end, middle + 25, clipped(text, 24), "mut", size=9, mono=True, anchor="end")

    def _mark(self, mark: Mark, marks: list[Mark], x: float, middle: float, radius: float) -> None:
        items, letters = self._hover
        title = "\n".join(told(one.item, letters) for one in marks[:items])
        if len(marks) > items:
            title += f"\nand {len(marks) - items} more"
        colour, canvas = mark.look.colour, self._canvas
        if mark.look.shape == "bar":
            canvas.rect(x - 1.5, middle - 11, 3, 22, colour, title=title)
        elif mark.look.shape == "cross":
            d = f"M{x - 6:.1f} {middle - 6:.1f}l12 12m0 -12l-12 12"
            canvas.path(d, stroke=colour, width=3, title=title)
        elif mark.look.shape == "tick":
            d = f"M{x:.1f} {middle - 5:.1f}l4 5l-4 5l-4 -5z"
            canvas.path(d, fill=colour, title=title)
        else:
            canvas.circle(x, middle, radius, colour, title=title)

    def legend(self, kinds: list[str], y: float) -> None:
        x: float = _LEFT
        for kind in kinds:
            width = 26 + 5.4 * len(kind)
            if x + width > self._end:
                break
            self._canvas.circle(x + 4, y - 4, 4, colour_of(kind))
            self._canvas.text(x + 12, y, kind, "mut", size=10)
            x += width


def _held_title(held: Held) -> str:
    characters = f"{held.characters} character{'' if held.characters == 1 else 's'}"
    return f"holds {characters} for {duration(held.end - held.start)}: {held.text!r}"
