"""`streamflow serve` as programs of their own, and a reader that moves from one to another."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from streamflow.wire.sse import SseDecoder


class Program:
    """One server process."""

    def __init__(self, process: asyncio.subprocess.Process, root: str) -> None:
        self.process = process
        self.root = root

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    async def exit_code(self) -> int:
        async with asyncio.timeout(60):
            return await self.process.wait()


@asynccontextmanager
async def programs(count: int, *options: str) -> AsyncIterator[list[Program]]:
    """So many servers with the simulator behind them."""
    command = [sys.executable, "-m", "streamflow", "serve", "--port", "0", "--simulate", "--voice", "none", *options]
    started: list[Program] = []
    try:
        for _ in range(count):
            process = await asyncio.create_subprocess_exec(
                *command, stdout=asyncio.subprocess.PIPE, env={**os.environ, "NO_COLOR": "1"}
            )
            assert process.stdout is not None
            started.append(Program(process, (await process.stdout.readline()).decode().strip()))
        yield started
    finally:
        for program in started:
            if program.process.returncode is None:
                program.process.kill()
            await program.process.wait()


async def begin(session: aiohttp.ClientSession, root: str, text: str) -> str:
    """The id of a new flow."""
    async with session.post(f"{root}/flows", json={"messages": [text]}) as response:
        assert response.status == 201, await response.text()
        return (await response.json())["id"]


async def read(
    session: aiohttp.ClientSession, root: str, flow: str, after: str = "", limit: int | None = None
) -> list[tuple[str, Any]]:
    """What a flow says behind an id, up to its end, a number, or a cut."""
    found: list[tuple[str, Any]] = []
    headers = {"last-event-id": after} if after else {}
    try:
        async with session.get(f"{root}/flows/{flow}/events", headers=headers) as response:
            if response.status == 204:
                return found
            assert response.status == 200, await response.text()
            decoder = SseDecoder()
            async for piece in response.content.iter_any():
                for frame in decoder.feed(piece):
                    found.append((frame.id, msgspec.json.decode(frame.data)))
                    if len(found) == limit:
                        return found
    except aiohttp.ClientConnectionError:
        pass
    return found
