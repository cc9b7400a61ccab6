"""Serves one page to this machine, until Ctrl-C."""

import asyncio
import signal
from contextlib import suppress

from streamflow.errors import UsageError

_HOST = "127.0.0.1"


def serve_page(page: str, port: int) -> None:
    """Serve it; the first line on standard output is the address."""
    asyncio.run(_serve(page, port))


async def _serve(page: str, port: int) -> None:
    from aiohttp import web

    async def answer(request: web.Request) -> web.Response:
        headers = {"cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
        return web.Response(text=page, content_type="text/html", headers=headers)

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows: Ctrl-C interrupts the loop instead
            loop.add_signal_handler(number, ended.set)
    try:
        site = web.TCPSite(runner, _HOST, port)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(f"cannot listen on {_HOST}:{port}: {error.strerror}; choose another --port") from error
        print(f"http://{_HOST}:{runner.addresses[0][1]}", flush=True)
        await ended.wait()
    finally:
        await runner.cleanup()
