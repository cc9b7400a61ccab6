"""``streamflow record`` and ``streamflow replay``: streams into files, and back."""

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from streamflow.cli.output import print_json
from streamflow.errors import UsageError
from streamflow.recordings import Recording, RecordingWriter, load_recording

_READ = 1 << 16


def record(
    file: Annotated[Path, typer.Argument(help="Where to write the recording.")],
    provider: Annotated[str, typer.Option(help="Whose stream it is; kept in the file.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print what was recorded as JSON, not the bytes.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not pass the bytes on.")] = False,
) -> None:
    """Record what comes in on standard input, piece by piece with its times, and pass it on.

    Example: curl -N https://api.example/v1/messages ... | streamflow record answer.jsonl --provider anthropic
    """
    writer = RecordingWriter(file, provider=provider)
    begin = time.monotonic()
    pieces = size = 0
    try:
        while data := os.read(sys.stdin.fileno(), _READ):
            writer.write(time.monotonic() - begin, data)
            pieces, size = pieces + 1, size + len(data)
            if not quiet and not json:
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
        writer.end("completed", time.monotonic() - begin)
        if json:
            seconds = round(time.monotonic() - begin, 3)
            print_json({"file": str(file), "pieces": pieces, "bytes": size, "seconds": seconds})
    except (KeyboardInterrupt, BrokenPipeError):
        writer.end("cancelled", time.monotonic() - begin)
        raise


def replay(
    file: Annotated[Path, typer.Argument(help="A recording, a VCR cassette, or a plain capture of a body.")],
    speed: Annotated[str, typer.Option(help="1: in its own time, n: n times faster, inf: at once.")] = "1",
    recut: Annotated[int, typer.Option(help="Cut the bytes into pieces of this size (0: as recorded).", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON line for each piece, with its time.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Write the bytes of a recording to standard output, at the times at which they came.

    How far it is stands on the terminal, when the bytes themselves go elsewhere. Exits with 3 when the recording ends
    in an error, or was cut.

    Example: streamflow replay answer.jsonl --speed inf | streamflow decode anthropic --emit text
    """
    pace = pace_of(speed)
    recording = load_recording(file)
    if recut:
        recording = recording.recut(size=recut)
    begin = time.monotonic()
    with _progress(recording, quiet) as came:
        for piece in recording.pieces:
            if not isinstance(piece.item, bytes):
                raise UsageError(f"{file} is a recording of events; replay writes bytes (use sf.replay in a program)")
            _wait_until(begin + piece.t / pace)
            if json:
                print_json({"t": piece.t, "size": len(piece.item), "text": piece.item.decode(errors="replace")})
            else:
                sys.stdout.buffer.write(piece.item)
                sys.stdout.buffer.flush()
            came(piece.t)
        _wait_until(begin + recording.end_t / pace)
    if recording.end != "completed":
        told = recording.error.message if recording.error else f"it was {recording.end}"
        print(f"streamflow: the recording ends early: {told}", file=sys.stderr)
        raise typer.Exit(3)


def pace_of(speed: str) -> float:
    """How many times faster; `UsageError` for what is no such number."""
    try:
        pace = float(speed)
    except ValueError:
        pace = 0.0
    if not pace > 0:
        raise UsageError(f"--speed {speed}: give a number above 0, or inf")
    return pace


@contextmanager
def _progress(recording: Recording, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A bar on standard error, where somebody sees it and the bytes are not on the same screen."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal or sys.stdout.isatty():
        yield lambda t: None
        return
    columns = (BarColumn(), TextColumn("{task.completed:.1f} of {task.total:.1f} s"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("replay", total=max(recording.end_t, 0.001))
        yield lambda t: progress.update(task, completed=t)


def _wait_until(moment: float) -> None:
    if not math.isinf(moment) and (rest := moment - time.monotonic()) > 0:
        time.sleep(rest)
