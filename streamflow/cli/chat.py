"""``streamflow chat``: a conversation in the terminal."""

import sys
from typing import Annotated

import typer

from streamflow.cli.output import Json

EXIT_FAILED = 3


def chat(
    provider: Annotated[str, typer.Argument(help="Whom to talk to; by default the first one with a key.")] = "",
    model: Annotated[str, typer.Option(help="The model's name.")] = "",
    base_url: Annotated[str, typer.Option(help="Another address, as the vendor's own SDK takes it.")] = "",
    system: Annotated[str, typer.Option(help="Instructions for the model.")] = "",
    thinking: Annotated[bool, typer.Option(help="Show what the model thinks, dimmed.")] = True,
    simulated: Annotated[bool, typer.Option("--simulated", help="Talk to a simulated model: no key, no net.")] = False,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the answers alone: no thinking, no remarks.")] = False,
) -> None:
    """Talk to a model. Ctrl-C stops the answer only; Ctrl-D, or Ctrl-C at the prompt, ends the conversation.

    When the model calls a tool, you play the tool: the next line is its result.

    Examples:

      streamflow chat anthropic --model claude-sonnet-4-5

      streamflow chat --simulated
    """
    from streamflow.cli.conversation import converse  # aiohttp and pydantic: not for the other verbs to load

    failed = converse(provider, model, base_url, system, thinking and not quiet, simulated, quiet=quiet, json=json)
    sys.exit(EXIT_FAILED if failed and not sys.stdin.isatty() else 0)
