"""What every verb has in common about its output: `--quiet`, `--json`, and colours only where somebody sees them."""

import os
import sys
from typing import Annotated, Any, BinaryIO

import orjson
import typer
from rich.console import Console

Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, a line for each item, instead of text.")]


def console_for(quiet: bool) -> Console:
    """Where people read; rich gives colours to terminals only, and none where NO_COLOR is set."""
    return Console(quiet=quiet, highlight=False)


def print_json(value: Any, out: BinaryIO | None = None) -> None:
    """One line of JSON, at once."""
    stream = sys.stdout.buffer if out is None else out
    stream.write(orjson.dumps(value, default=str) + b"\n")
    stream.flush()


def print_address(address: str, *, quiet: bool, json: bool) -> None:
    """The first line of a verb that listens."""
    if json:
        print_json({"address": address})
    elif not quiet:
        print(address, flush=True)


def nowhere() -> BinaryIO:
    """A place for output that nobody wants."""
    return open(os.devnull, "wb")
