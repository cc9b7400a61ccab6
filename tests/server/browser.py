"""A headless Chromium for the page; without one the tests are skipped, or fail on request."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.chromium import CHROMIUM, FLAGS, need_chromium

WITH_SOUND = [*FLAGS, "--autoplay-policy=no-user-gesture-required"]


@asynccontextmanager
async def browsing() -> AsyncIterator[Any]:
    """A browser context; its pages collect what they complain about in ``page.complaints``."""
    need_chromium()
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(CHROMIUM), args=WITH_SOUND)
        try:
            context = await browser.new_context(viewport={"width": 1200, "height": 800})
            context.set_default_timeout(30_000)
            yield context
        finally:
            await browser.close()


async def open_page(context: Any, address: str) -> Any:
    page = await context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: page.complaints.append("dialog " + dialog.message))
    await page.goto(address)
    return page
