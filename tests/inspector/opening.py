"""The inspector's page in a browser that has no network; whatever the page complains about fails the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from streamflow.inspector import page_of
from streamflow.inspector.trace import Trace
from tests.support.chromium import chromium


def watch(page: Any) -> Any:
    """Collect what a page complains about and what it asks for."""
    page.complaints, page.asked = [], []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: page.complaints.append("dialog " + dialog.message))
    page.on("request", lambda request: page.asked.append(request.url))
    page.set_default_timeout(20_000)
    return page


@asynccontextmanager
async def opened(folder: Path, *traces: Trace, **options: Any) -> AsyncIterator[Any]:
    """The page of one or two traces, from a file."""
    file = folder / "page.html"
    file.write_text(page_of(traces))
    async with chromium(**{"width": 1440, **options}) as page:
        watch(page)
        await page.goto(file.as_uri())
        await page.wait_for_selector("body[data-ready]")
        yield page
        assert page.complaints == []
        assert [url for url in page.asked if not url.startswith(("file:", "blob:"))] == []


async def linked(page: Any, pane: int = 0) -> dict[str, list[int]]:
    """The rows of each column that are lit, in sight or not."""
    return await page.evaluate(
        "(pane) => Object.fromEntries(Object.entries(inspector.panes[pane].columns.lists)"
        ".map(([name, list]) => [name, [...list.linked].sort((a, b) => a - b)]))",
        pane,
    )


async def came(page: Any, pane: int = 0) -> dict[str, int]:
    """How many rows of each column have come at this moment."""
    return await page.evaluate(
        "(pane) => Object.fromEntries(Object.entries(inspector.panes[pane].columns.lists)"
        ".map(([name, list]) => [name, Math.min(list.came, list.count)]))",
        pane,
    )


def row(column: str, number: int) -> str:
    """The selector of a row that is in sight."""
    return f".column.{column} .row[data-row='{number}']"
