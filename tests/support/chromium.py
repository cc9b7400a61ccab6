"""A headless Chromium without a network, and how much there is to see in a picture."""

import base64
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def need_chromium() -> None:
    """Without it the test is skipped, or fails on request."""
    try:
        import playwright.async_api  # noqa: F401
    except ImportError:
        problem = "playwright is not installed"
    else:
        problem = "" if CHROMIUM.exists() else "chromium is not installed"
    if problem:
        if os.environ.get("STREAMFLOW_REQUIRE_ALL") == "1":
            pytest.fail(problem)
        pytest.skip(problem)


@asynccontextmanager
async def chromium(scheme: str = "light", width: int = 1100, height: int = 900, **options: Any) -> AsyncIterator[Any]:
    """A page of a fresh browser, in a light or dark scheme."""
    need_chromium()
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        try:
            context = await browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, **options
            )
            yield await context.new_page()
        finally:
            await browser.close()


class Picture(NamedTuple):
    """What a picture consists of: its most common colour, how many others, and how much of it is not that colour."""

    background: str
    colours: int
    drawn: float

    @property
    def is_blank(self) -> bool:
        """Nothing to be seen, or next to nothing."""
        return self.colours < 4 or self.drawn < 0.004


_COUNT = """async (data) => {
    const image = new Image();
    image.src = "data:image/png;base64," + data;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
    const counts = new Map();
    for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
    const [colour, most] = [...counts].sort((a, b) => b[1] - a[1])[0];
    const rgb = [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
    return ["rgb(" + rgb.join(",") + ")", counts.size - 1, 1 - most / pixels.length];
}"""


async def picture(page: Any, png: bytes) -> Picture:
    """Count the pixels of a PNG; the browser that drew it can read it too."""
    return Picture(*await page.evaluate(_COUNT, base64.b64encode(png).decode()))
