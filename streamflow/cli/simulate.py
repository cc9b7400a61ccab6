"""``streamflow simulate``: a provider that is not there, for applications to talk to."""

import asyncio
import signal
from contextlib import suppress
from typing import Annotated

import typer

from streamflow.cli.output import Json, Quiet, print_address
from streamflow.errors import UsageError


def simulate(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 is any free one.", min=0, max=65535)] = 8900,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve every provider's API with a simulated model, until Ctrl-C. The first line is the address.

    What the last user message says decides: sim:text T, sim:long N MS, sim:tool NAME JSON, sim:think A | B,
    sim:error STATUS, sim:error-event, sim:429 SECONDS; anything else gets a friendly answer.

    Examples:

      streamflow simulate --port 8900

      OPENAI_BASE_URL=http://127.0.0.1:8900/v1 OPENAI_API_KEY=none python my_app.py

      ANTHROPIC_BASE_URL=http://127.0.0.1:8900 ANTHROPIC_API_KEY=none python my_app.py
    """
    asyncio.run(_serve(host, port, quiet=quiet, json=json))


async def _serve(host: str, port: int, *, quiet: bool, json: bool) -> None:
    from streamflow.testing.server import FakeProvider  # aiohttp: not for the other verbs to load

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows: Ctrl-C interrupts the loop instead
            loop.add_signal_handler(number, ended.set)
    fake = FakeProvider(host=host, port=port, keeps=0)
    try:
        await fake.start()
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from error
    try:
        print_address(fake.root, quiet=quiet, json=json)
        await ended.wait()
    finally:
        await fake.stop()
