"""A served application with a fake provider behind it, and a client that reads events."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

import streamflow as sf
from streamflow.server import Limits, Service
from streamflow.server.app import app
from streamflow.server.keys import SERVICE
from streamflow.testing import FakeProvider
from streamflow.wire.sse import SseDecoder

QUICK = Limits(drain_s=0.0, linger_s=5.0)


@dataclass
class Served:
    """A running server."""

    root: str
    session: aiohttp.ClientSession
    service: Service
    fake: FakeProvider
    runner: web.AppRunner
    headers: dict[str, str] = field(default_factory=dict)

    def drop_connections(self) -> None:
        """Break every connection, as a network does."""
        for connection in self.runner.server.connections:
            connection.transport.abort()

    async def begin(self, text: str, **more: Any) -> str:
        body = {"messages": [{"role": "user", "content": text}], **more}
        async with self.session.post(f"{self.root}/flows", json=body, headers=self.headers) as response:
            assert response.status == 201, await response.text()
            return (await response.json())["id"]

    async def events(
        self, flow_id: str, branch: str = "", after: str = "", limit: int | None = None
    ) -> list[tuple[str, Any]]:
        """The items of a flow as (id, JSON object), up to a number of them."""
        headers = {**self.headers, **({"last-event-id": after} if after else {})}
        url = f"{self.root}/flows/{flow_id}/events" + (f"?branch={branch}" if branch else "")
        found: list[tuple[str, Any]] = []
        async with self.session.get(url, headers=headers) as response:
            assert response.status in (200, 204), (response.status, await response.text())
            decoder = SseDecoder()
            async for piece in response.content.iter_any():
                for frame in decoder.feed(piece):
                    event = msgspec.json.decode(frame.data)
                    assert frame.event == event["type"]
                    found.append((frame.id, event))
                    if limit is not None and len(found) == limit:
                        return found
        return found

    async def text(self, flow_id: str, **more: Any) -> str:
        return text_of(await self.events(flow_id, **more))


def text_of(items: list[tuple[str, Any]]) -> str:
    """The visible text of items."""
    return "".join(item["text"] for _, item in items if item["type"] == "Chunk" and item["visible"])


@asynccontextmanager
async def serving(
    *script: Any, limits: Limits = QUICK, source: Any = None, provider: str = "openai", **options: Any
) -> AsyncIterator[Served]:
    """Serve what a fake provider says; without a script it simulates."""
    async with FakeProvider(*script) as fake, aiohttp.ClientSession() as session:
        client = sf.connect(
            provider, model="m", api_key="sk-canary-0123456789", base_url=fake.base_url(provider), max_retries=0
        )
        async with client:
            made = app(source or {provider: client}, limits=limits, **options)
            runner = web.AppRunner(made, handler_cancellation=True, shutdown_timeout=0.2)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            try:
                yield Served(f"http://127.0.0.1:{port}", session, made[SERVICE], fake, runner)
            finally:
                await made[SERVICE].close()
                await runner.cleanup()


async def until(condition: Any, timeout_s: float = 20.0) -> None:
    """Wait for something to become true."""
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.005)
