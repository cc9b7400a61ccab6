"""``streamflow bench``: the measurements of a checkout."""

import importlib.util
import subprocess
import sys
from typing import Annotated

import typer

from streamflow.errors import UsageError


def bench(
    sections: Annotated[
        list[str] | None, typer.Argument(help="decode, blocks, sentences, flows, sockets; all when none is named.")
    ] = None,
) -> None:
    """Measure this library beside its peers, in one run.

    Exits with 1 when a bar is missed.

    Example: streamflow bench decode blocks
    """
    if importlib.util.find_spec("bench") is None:
        raise UsageError("the benchmarks are part of a checkout, not of the package: clone it and run make bench there")
    done = subprocess.run([sys.executable, "-m", "bench", *(sections or [])], check=False)
    raise typer.Exit(done.returncode)
