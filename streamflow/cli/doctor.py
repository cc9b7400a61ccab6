"""``streamflow doctor``: what is there, what is missing, and whom it can reach."""

import os
import sys
from typing import Annotated

import typer

from streamflow.cli.output import Json, Quiet

EXIT_UNREACHABLE = 3


def doctor(
    provider: Annotated[str, typer.Argument(help="Look at one provider only.")] = "",
    offline: Annotated[bool, typer.Option("--offline", help="Do not try to reach anybody.")] = False,
    timeout_s: Annotated[float, typer.Option(help="Patience for each connection.", min=0.1)] = 5.0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show versions, optional parts, which keys are set (never the keys), and whether their services can be reached.

    Exit code 0: nothing is wrong. 3: a service with a key cannot be reached. 2: wrong usage.

    Example: streamflow doctor --offline
    """
    from streamflow.cli.examination import examine  # aiohttp and pydantic: not for the other verbs to load

    sys.exit(0 if examine(provider, os.environ, offline, timeout_s, quiet=quiet, json=json) else EXIT_UNREACHABLE)
