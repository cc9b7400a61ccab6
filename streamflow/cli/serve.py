"""``streamflow serve``: flows for browsers, apps and SDKs."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from streamflow.cli.output import Json, Quiet, print_address
from streamflow.errors import UsageError

_HOST = "127.0.0.1"
_EXAMPLES = (
    "What can you show me?",
    "sim:think Air scatters short waves most. | Because air scatters **blue** light more. At dusk it is the other way!",
    'sim:tool weather {"city": "Rome", "days": 3}',
    "sim:long 300 40",
    "sim:error-event",
)  # what the simulator can do


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; another than this machine needs a token.")] = _HOST,
    port: Annotated[int, typer.Option(help="Port; 0 is any free one.", min=0, max=65535)] = 8800,
    provider: Annotated[str, typer.Option(help="Who answers.")] = "openai",
    model: Annotated[str | None, typer.Option(help="The model, where a request names none.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Where the provider listens.")] = None,
    token: Annotated[
        list[str] | None, typer.Option(help="Bearer token; repeat it for several owners. Or STREAMFLOW_TOKEN.")
    ] = None,
    origin: Annotated[list[str] | None, typer.Option(help="Another origin whose pages may use this server.")] = None,
    linger_s: Annotated[float, typer.Option(help="How long an answer goes on without readers.", min=0)] = 30.0,
    drain_s: Annotated[float, typer.Option(help="How long answers may finish after SIGTERM.", min=0)] = 30.0,
    voice: Annotated[str, typer.Option(help="A voice of espeak-ng, or 'none'.")] = "en",
    redis: Annotated[
        str | None,
        typer.Option(help="Address of a Redis, redis://HOST:PORT/0: several servers share their flows.", metavar="URL"),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="A directory for the bytes of every flow; the inspector shows them.")
    ] = None,
    simulate: Annotated[bool, typer.Option(help="Answer with the simulator: no network, no key.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve flows, until Ctrl-C or SIGTERM. The first line is the address; open it in a browser for a chat.

    The path /inspector shows all flows as they run.

    Examples:

      streamflow serve --simulate

      streamflow serve --simulate --record recordings

      streamflow serve --provider anthropic --model claude-sonnet-4-5

      STREAMFLOW_TOKEN=... streamflow serve --host 0.0.0.0 --provider openai --model gpt-5

      streamflow serve --simulate --redis redis://localhost:6379/0
    """
    tokens = token or [given for given in os.environ.get("STREAMFLOW_TOKEN", "").split(",") if given]
    origins = origin or []
    settings = _Settings(
        host, port, provider, model, base_url, tokens, origins, linger_s, drain_s, voice, redis, record
    )
    asyncio.run(_serve(settings, simulate, quiet=quiet, json=json))


class _Settings(msgspec.Struct):
    """What the options say."""

    host: str
    port: int
    provider: str
    model: str | None
    base_url: str | None
    tokens: list[str]
    origins: list[str]
    linger_s: float
    drain_s: float
    voice: str
    redis: str | None
    record: Path | None


async def _serve(settings: _Settings, simulate: bool, *, quiet: bool, json: bool) -> None:
    # aiohttp and the server are not for the other verbs to load.
    from streamflow.server.access import check_bind
    from streamflow.server.app import app
    from streamflow.server.limits import Limits
    from streamflow.server.running import run
    from streamflow.sinks.espeak import Espeak

    check_bind(settings.host, settings.tokens)
    limits = Limits(linger_s=settings.linger_s, drain_s=settings.drain_s)
    store = None
    if settings.redis is not None:
        from streamflow.server.redis_store import RedisFlowStore

        store = RedisFlowStore(settings.redis, limits)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows: Ctrl-C interrupts the loop instead
            loop.add_signal_handler(number, ended.set)
    async with AsyncExitStack() as stack:
        if simulate:
            from streamflow.testing.server import FakeProvider

            fake = await stack.enter_async_context(FakeProvider(keeps=0))
            settings.base_url, settings.model = fake.base_url(settings.provider), settings.model or "simulated"
        clients = _Clients(settings, stack, key="simulated" if simulate else None)
        clients.of(settings.provider)  # a missing key is told before anybody asks
        has_voice = settings.voice != "none" and Espeak.installed()
        served = app(
            clients.ask,
            tokens=settings.tokens,
            origins=settings.origins,
            limits=limits,
            store=store,
            record=settings.record,
            synthesizer=Espeak(settings.voice) if has_voice else None,
            examples=_EXAMPLES if simulate else (),
        )
        try:
            tell = partial(print_address, quiet=quiet, json=json)
            await run(served, settings.host, settings.port, ended, started=tell)
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            raise UsageError(f"cannot listen on {where}: {error.strerror}; choose another --port") from error


class _Clients:
    """The client of the chosen provider, and those of others, made when somebody asks for them."""

    def __init__(self, settings: _Settings, stack: AsyncExitStack, key: str | None) -> None:
        self._settings = settings
        self._stack = stack
        self._key = key
        self._made: dict[str, Any] = {}

    def of(self, provider: str) -> Any:
        """The client of a provider; its key comes from the environment of the server."""
        from streamflow.sources.client import connect

        settings = self._settings
        client = self._made.get(provider)
        if client is None:
            own = provider == settings.provider
            client = self._made[provider] = connect(
                provider,
                model=settings.model if own else None,
                base_url=settings.base_url if own else None,
                api_key=self._key if own else None,
            )
            self._stack.push_async_callback(client.close)
        return client

    def ask(self, asked: Any) -> Any:
        """The stream that answers."""
        client = self.of(asked.provider or self._settings.provider)
        return client.stream(asked.messages, model=asked.model, tools=asked.tools, **asked.options)
