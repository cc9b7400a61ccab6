"""Draws the marbles that operators have in their docstrings.

A line of a marble is a lane: a name, two spaces, then time from left to right. Runs of ``-`` are silence, anything
between them is an item, ``|`` at the end is completion, ``X`` an error, and what stands behind it is a
remark. A line without ``-`` is a row of labels.
"""

import html
import re
from typing import NamedTuple

COLUMN = 8.2  # the width of a character in the drawing
LANE = 46
TOP = 10
_LANE_LINE = re.compile(r"^(?P<name>\S+) {2,}(?P<time>.*)$")
_FAMILIES = (
    (("F(",), "frame"),
    (("Notice", "N", "[gap", "Retrying"), "notice"),
    (("StreamStart", "StreamCompleted", "END"), "edge"),
    (("BlockStart", "BlockComplete", "START"), "block"),
    (("thinking(", "Chunk(thinking"), "thought"),
    (("Sentence", "Spoken", "Audio"), "voice"),
    (("ToolCallsReady", "Invocation", "Partial", "Field", "tool_call", "run_bash(", "BlockComplete(tool"), "tool"),
)


class Item(NamedTuple):
    """An item of a lane: where it stands, in characters, and what it says."""

    at: int
    text: str


class Lane(NamedTuple):
    """One line of a marble. ``end`` is ``|``, ``X`` or empty; ``start`` is where its line begins."""

    name: str
    items: tuple[Item, ...]
    start: int
    stop: int
    end: str
    remark: str
    labels: bool


def read_marble(text: str) -> list[Lane]:
    """The lanes of a marble.

    >>> [lane] = read_marble('bytes  --a--"b-c"---|   (a remark)')
    >>> lane.name, [item.text for item in lane.items], lane.end, lane.remark
    ('bytes', ['a', '"b-c"'], '|', '(a remark)')
    """
    lanes = []
    for line in text.splitlines():
        if (found := _LANE_LINE.match(line.rstrip())) is not None:
            lanes.append(_lane(found["name"], found["time"], found.start("time")))
    if not lanes:
        raise ValueError(f"this is no marble: {text!r}")
    first = min(lane.start for lane in lanes)
    return [lane._replace(items=tuple(Item(item.at - first, item.text) for item in lane.items),
                          start=lane.start - first, stop=lane.stop - first) for lane in lanes]  # fmt: skip


def _lane(name: str, time: str, offset: int) -> Lane:
    if "--" not in time:
        labels = tuple(Item(offset + found.start(), found[0]) for found in re.finditer(r"\S+", time))
        return Lane(name, labels, offset, offset + len(time), "", "", True)
    remark = ""
    if (closed := re.search(r"\| {2,}(\S.*)$", time)) is not None:
        remark, time = closed[1], time[: closed.start() + 1]
    lead = len(time) - len(time.lstrip(" "))
    end = time[-1] if time[-1] in "|X" else ""
    body = time[lead : len(time) - len(end)]
    items = []
    place = 0
    while place < len(body):
        if body[place] == "-":
            place += 1
            continue
        text = _item_at(body, place)
        items.append(Item(offset + lead + place, text))
        place += len(text)
    return Lane(name, tuple(items), offset + lead, offset + len(time), end, remark, False)


def _item_at(body: str, place: int) -> str:
    # Quotes protect dashes inside them, but only where they enclose a whole item.
    if body[place] in "\"'":
        close = body.find(body[place], place + 1)
        if close > 0 and body[close + 1 : close + 2] in ("-", ""):
            return body[place : close + 1]
    stop = body.find("-", place)
    return body[place:] if stop < 0 else body[place:stop]


def draw_marble(text: str, label: str) -> str:
    """The marble as SVG in one line, in the colours of the page."""
    lanes = read_marble(text)
    left = 16 + COLUMN * max(len(lane.name) for lane in lanes) + 14
    length = max(lane.stop for lane in lanes)
    remarks = max((len(lane.remark) for lane in lanes), default=0)
    width = left + COLUMN * length + 24 + (7.2 * remarks + 16 if remarks else 0)
    height = TOP + LANE * len(lanes)
    parts = []
    for number, lane in enumerate(lanes):
        parts += _draw_lane(lane, left, TOP + LANE * number + LANE / 2 - 4, left + COLUMN * length + 12)
    return (
        f'<svg class="marble" role="img" aria-label="{html.escape(label)}" viewBox="0 0 {width:.0f} {height}" '
        f'style="max-width:{width:.0f}px" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _draw_lane(lane: Lane, left: float, y: float, right: float) -> list[str]:
    parts = [_text(8, y + 4, lane.name, "name")]
    if lane.labels:
        return parts + [_text(left + COLUMN * item.at, y + 4, item.text, "label") for item in lane.items]
    start, stop = left + COLUMN * lane.start, left + COLUMN * lane.stop
    parts.append(f'<path class="line" d="M{start:.1f} {y:.1f}H{stop:.1f}"/>')
    for item in lane.items:
        x, wide = left + COLUMN * item.at, COLUMN * len(item.text)
        parts.append(
            f'<rect class="item {_family(item.text)}" x="{x - 2:.1f}" y="{y - 13:.1f}" width="{wide + 4:.1f}" '
            f'height="26" rx="8"/>'
        )
        # The drawing must not depend on the width of the reader's fixed-width font.
        parts.append(_text(x + wide / 2, y + 4, item.text, "said", length=wide - 3 if len(item.text) > 2 else None))
    if lane.end == "|":
        parts.append(f'<path class="end" d="M{stop:.1f} {y - 12:.1f}V{y + 12:.1f}"/>')
    elif lane.end == "X":
        parts.append(f'<path class="fault" d="M{stop - 8:.1f} {y - 8:.1f}l16 16m0 -16l-16 16"/>')
    if lane.remark:
        parts.append(_text(right + 12, y + 4, lane.remark, "label"))
    return parts


def _family(text: str) -> str:
    for beginnings, family in reversed(_FAMILIES):
        if any(text == begin or (len(begin) > 1 and text.startswith(begin)) for begin in beginnings):
            return family
    return "plain"


def _text(x: float, y: float, text: str, of: str, length: float | None = None) -> str:
    fitted = f' textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs"' if length else ""
    # No blank line and no run of spaces may reach the markdown around the drawing.
    shown = html.escape(text).replace(" ", "&#160;").replace("`", "&#96;").replace("*", "&#42;").replace("_", "&#95;")
    return f'<text class="{of}" x="{x:.1f}" y="{y:.1f}"{fitted}>{shown}</text>'
