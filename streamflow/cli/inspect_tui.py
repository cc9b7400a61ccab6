"""A recording in the terminal: it plays as it came, with progress, the answer as it grows, and the verdict."""

import math
import sys
import time
from bisect import bisect_left
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from streamflow.cli.record import pace_of
from streamflow.cli.screen import VISIBLE
from streamflow.events import Chunk
from streamflow.inspector import Finding, Trace

_SIGNS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}
_STYLES = {"thinking": "dim italic", "tool_call": "yellow", "text": ""}
_LINES = 14
_SHOWN = 4000  # characters of the answer that may be in sight


class Board:
    """What is shown at a moment: how far it is, the figures of the stages, the latest events, the answer."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._pieces = len(trace.recording.pieces)
        self._frames = _frames_after_pieces(trace)
        self.came = 0

    def frames(self) -> int:
        """Frames that came so far; for a recording of events, its items."""
        return self._frames[self.came - 1] if self.came else 0

    @property
    def over(self) -> bool:
        """True when all pieces came."""
        return self.came >= self._pieces

    def events(self) -> int:
        """Events that came so far."""
        if self.over:
            return len(self._trace.events)
        # They come in the order of their birth; those of the end (-1) stand last.
        return bisect_left(self._trace.born, self.frames(), key=lambda born: born if born >= 0 else sys.maxsize)

    def __rich__(self) -> Group:
        trace = self._trace
        count = self.events()
        t = trace.recording.pieces[self.came - 1].t if self.came else 0.0
        head = Table.grid(expand=True, padding=(0, 1))
        head.add_column(ratio=1)
        head.add_column(justify="right", no_wrap=True)
        head.add_row(
            ProgressBar(total=max(1, self._pieces), completed=self.came),
            f"{self.came} of {self._pieces} pieces, {t:.2f} s",
        )
        body = Table.grid(expand=True)
        body.add_column(ratio=3)
        body.add_column(ratio=2)
        body.add_row(
            Panel(_Tail(_answer(trace.events, count)), title="answer"),
            Group(Panel(self._stages(), title="stages"), Panel(_latest(trace.events, count), title="events")),
        )
        return Group(head, body)

    def _stages(self) -> Table:
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        place = len(self._trace.stages[0].outs) - 1 if self.over else self.frames() - 1
        for stage in self._trace.stages:
            given = stage.outs[place] if place >= 0 else 0
            held = stage.helds[place] if place >= 0 else 0
            table.add_row(stage.name, f"{given} out", f"holds {held}" if held else "")
        return table


def _frames_after_pieces(trace: Trace) -> list[int]:
    if not trace.has_bytes:
        return list(range(1, len(trace.recording.pieces) + 1))
    out: list[int] = []
    at = frames = 0
    last = len(trace.frames) - trace.frames_at_end
    for piece in trace.recording.pieces:
        at += len(piece.item)
        while frames < last and trace.frames[frames].end <= at:
            frames += 1
        out.append(frames)
    return out


class _Tail:
    """The last lines of a text, however wide the terminal is."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("\n").join(self._text.wrap(console, options.max_width)[-_LINES:])


def _answer(events: list[Any], count: int) -> Text:
    length = 0
    parts: list[Chunk] = []
    for place in range(count - 1, -1, -1):
        event = events[place]
        if isinstance(event, Chunk) and event.kind in _STYLES and event.part != "id":
            parts.append(event)
            length += len(event.text)
            if length > _SHOWN:
                break
    text = Text()
    before = None
    for event in reversed(parts):
        if before not in (None, event.index):
            text.append("\n")
        before = event.index
        text.append(event.text.translate(VISIBLE), _STYLES[event.kind])
    return text


def _latest(events: list[Any], count: int) -> Text:
    latest = events[max(0, count - 6) : count]
    names = [f"{type(event).__name__} {getattr(event, 'kind', '')}".rstrip() for event in latest]
    return Text("\n".join(names), style="dim")


def play(trace: Trace, findings: list[Finding], speed: str, *, quiet: bool = False) -> None:
    """Play a trace; without a terminal only the end of it is printed."""
    pace = pace_of(speed)
    console = Console()
    board = Board(trace)
    if console.is_terminal and not quiet:
        _run(board, trace, pace, console)
    board.came = len(trace.recording.pieces)
    if not quiet:
        if not console.is_terminal:
            console.print(board)
        for finding in findings:
            sign, style = _SIGNS[finding.level]
            detail = f": {finding.detail}" if finding.detail else ""
            console.print(f"{sign} {finding.title}{detail}", style=style, markup=False, highlight=False, soft_wrap=True)


def _run(board: Board, trace: Trace, pace: float, console: Console) -> None:
    begin = time.monotonic()
    with Live(board, console=console, refresh_per_second=15, transient=False):
        for number, piece in enumerate(trace.recording.pieces):
            if not math.isinf(pace):
                _wait_until(begin + piece.t / pace)
            board.came = number + 1
        board.came = len(trace.recording.pieces)


def _wait_until(moment: float) -> None:
    rest = moment - time.monotonic()
    if rest > 0:
        time.sleep(rest)
