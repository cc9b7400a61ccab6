"""The conversation behind ``streamflow chat``."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

from rich.console import Console

from streamflow.cli.screen import JsonScreen, Screen
from streamflow.errors import StreamflowError, UsageError
from streamflow.events import Response
from streamflow.requests import ENDPOINTS, Message, message_of
from streamflow.sources.client import Client, connect
from streamflow.sources.context import StreamContext
from streamflow.testing.server import FakeProvider


def converse(
    provider: str,
    model: str,
    base_url: str,
    system: str,
    thinking: bool,
    simulated: bool,
    *,
    quiet: bool = False,
    json: bool = False,
) -> bool:
    """Talk until the input ends; true when an answer failed."""
    name = provider or ("anthropic" if simulated else provider_with_key(os.environ))
    if not model and not simulated:
        raise UsageError(f"which model of {name}? pass --model NAME, or try --simulated")
    screen = JsonScreen() if json else Screen(Console(), thinking, errors=Console(stderr=True), remarks=not quiet)
    talk = Conversation(screen, name, system)
    with asyncio.Runner() as runner:
        try:
            runner.run(talk.open(model or "simulated", base_url, simulated))
            talk.go(runner)
        finally:
            runner.run(talk.close())
    return talk.failed


def provider_with_key(environ: Mapping[str, str]) -> str:
    """The first provider whose key is set.

    >>> provider_with_key({"GEMINI_API_KEY": "k"})
    'gemini'
    """
    for name, row in ENDPOINTS.items():
        if any(environ.get(variable) for variable in row.key_env):
            return name
    raise UsageError("no API key is set: name a provider and set its key (see streamflow doctor), or try --simulated")


class Conversation:
    """What was said, and the loop of asking and answering."""

    def __init__(self, screen: Screen | JsonScreen, provider: str, system: str) -> None:
        self._screen = screen
        self._provider = provider
        self._messages: list[Message] = [Message.system(system)] if system else []
        self._stack = AsyncExitStack()
        self._client: Client | None = None
        self.failed = False

    async def open(self, model: str, base_url: str, simulated: bool) -> None:
        """Connect, to a model that is simulated here if that was asked for."""
        options: dict[str, Any] = {"base_url": base_url or None}
        if simulated:
            fake = await self._stack.enter_async_context(FakeProvider(keeps=0))
            options = {"base_url": fake.base_url(self._provider), "api_key": "sim-0000"}
        self._client = await self._stack.enter_async_context(connect(self._provider, model=model, **options))

    async def close(self) -> None:
        """Leave nothing open."""
        await self._stack.aclose()

    def go(self, runner: asyncio.Runner) -> None:
        """Ask and answer until the input ends."""
        if sys.stdin.isatty():
            self._screen.remark(f"talking to {self._provider}; Ctrl-C stops an answer, Ctrl-D ends")
        waiting: list[Any] = []  # calls of tools that the user has to answer
        while (line := self._line(f"result of {waiting[0].name}> " if waiting else "you> ")) is not None:
            if waiting:
                self._messages.append(Message.tool_result(waiting.pop(0).id, line))
                if waiting:
                    continue
            elif line.strip():
                self._messages.append(Message.user(line))
            else:
                continue
            waiting = runner.run(self._answer())

    def _line(self, prompt: str) -> str | None:
        try:
            return input(prompt if sys.stdin.isatty() else "")
        except EOFError:
            return None

    async def _answer(self) -> list[Any]:
        """One answer of the model; the calls of tools in it."""
        assert self._client is not None
        context = StreamContext()
        stream = self._client.stream(self._messages, context=context)
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # Windows: Ctrl-C ends the program instead
            loop.add_signal_handler(signal.SIGINT, context.cancel)
        try:
            async for event in stream:
                self._screen.show(event)
        except StreamflowError as error:
            self.failed = True
            self._screen.fail(error.message)
        finally:
            with suppress(NotImplementedError):
                loop.remove_signal_handler(signal.SIGINT)
            self._screen.end()
        return self._keep(stream.response)

    def _keep(self, response: Response | None) -> list[Any]:
        """Keep what was said. A question without any answer is forgotten, so that it can be asked again."""
        made = None if response is None else message_of(response, self._provider)
        if made is None or not made.content:
            while self._messages and self._messages[-1].role not in ("assistant", "system"):
                self._messages.pop()
            return []
        self._messages.append(made)
        return made.tool_calls
