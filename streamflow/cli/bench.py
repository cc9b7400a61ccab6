"""``streamflow bench``: the measurements of a checkout."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer

from streamflow.cli.output import Json, Quiet, print_json
from streamflow.errors import UsageError


def bench(
    sections: Annotated[
        list[str] | None, typer.Argument(help="decode, blocks, sentences, flows, sockets; all when none is named.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure this library beside its peers, in one run.

    Exits with 1 when a bar is missed.

    Example: streamflow bench decode blocks
    """
    found = importlib.util.find_spec("bench")
    if found is None or not found.submodule_search_locations:
        raise UsageError("the benchmarks are part of a checkout, not of the package: clone it and run make bench there")
    shown = subprocess.DEVNULL if json or quiet else None
    done = subprocess.run([sys.executable, "-m", "bench", *(sections or [])], check=False, stdout=shown)
    if json:
        results = Path(found.submodule_search_locations[0]) / "results.json"
        print_json(orjson.loads(results.read_bytes()))
    raise typer.Exit(done.returncode)
