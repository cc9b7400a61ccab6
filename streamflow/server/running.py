"""Running an application until it is told to end, and ending well."""

import asyncio
from collections.abc import Callable

from aiohttp import web

from streamflow.server.keys import SERVICE

_CLOSE_S = 2.0


async def run(
    app: web.Application, host: str, port: int, ended: asyncio.Event, started: Callable[[str], None] = print
) -> None:
    """Listen until ``ended`` is set; then drain: nothing new, what runs may finish, the rest is sent elsewhere."""
    service = app[SERVICE]
    limits = service.limits
    runner = web.AppRunner(
        app,
        access_log=None,
        handler_cancellation=True,  # a client that leaves is noticed at once
        max_line_size=limits.header_bytes,
        max_field_size=limits.header_bytes,
        shutdown_timeout=_CLOSE_S,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, reuse_address=True, backlog=1024)
        await site.start()
        bound = runner.addresses[0][1]
        shown = f"[{host}]" if ":" in host else host
        started(f"http://{shown}:{bound}")
        await ended.wait()
        # The door stays open while it drains: readers come back for what still runs, new flows are told 503.
        await service.drain()
    finally:
        await runner.cleanup()
