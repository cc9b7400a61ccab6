"""JupyterLab in a real browser: figures show, the live one runs, and its re-cut slider changes nothing but the cuts."""

import importlib.util
import os

import pytest

from tests.notebooks.lab_server import jupyterlab, write_notebook
from tests.support.chromium import chromium, need_chromium, picture

SETUP = """
import streamflow as sf
from streamflow.notebook import Graph, Marbles, Timeline, Transcript, rehearse
from streamflow.operators import sentence_segment, xml_block_split
from streamflow.recordings import Piece
from streamflow.testing import Answer, Thinking, encode

answer = Answer(Thinking("Hm."), "<thinking>A hat.</thinking>Rome is sunny today. Take a hat! It is warm.")
pieces = tuple(Piece(0.05 * place, frame) for place, frame in enumerate(encode("anthropic", answer)))
recording = sf.Recording("anthropic", pieces, end_t=pieces[-1].t)
watched = rehearse(recording, xml_block_split(), sentence_segment("en", min_chars=0))
"""
CELLS = (
    SETUP,
    "live = Marbles(watched).live(speed=10)\nlive",
    "Graph(watched)",
    "Timeline(recording)",
    "Transcript(watched)",
)
STATE = ".sf-live-state"
SPLASH = "#jupyterlab-splash"
PATIENCE_MS = 120_000  # of a slow machine that does much else


def need_jupyterlab():
    need_chromium()
    if importlib.util.find_spec("jupyterlab") is None:
        if os.environ.get("STREAMFLOW_REQUIRE_ALL") == "1":
            pytest.fail("jupyterlab is not installed")
        pytest.skip("jupyterlab is not installed")


async def text_of(page, selector):
    return await page.locator(selector).inner_text()


async def command(page, name, arguments="{}"):
    await page.evaluate(f"window.jupyterapp.commands.execute('{name}', {arguments})")


async def visible_figures(page):
    shown = page.locator(".jp-OutputArea .sf-fig")
    for place in range(await shown.count()):
        await shown.nth(place).scroll_into_view_if_needed()
        yield await picture(page, await shown.nth(place).screenshot())


@pytest.mark.slow
async def test_the_live_figure_keeps_its_output_whatever_the_cut(tmp_path):
    need_jupyterlab()
    write_notebook(tmp_path / "live.ipynb", *CELLS)
    with jupyterlab(tmp_path) as address:
        async with chromium(width=1280, height=1600) as page:
            page.set_default_timeout(PATIENCE_MS)
            await page.goto(address.format(name="live.ipynb"))
            await page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.context?.sessionContext?.isReady")
            await command(page, "notebook:run-all-cells")
            await page.wait_for_selector(f'{STATE}[data-state="same"]')
            first = await text_of(page, STATE)
            assert "output unchanged" in first
            fingerprint = first.partition("(")[2]
            assert "Rome is sunny" in await page.locator(".sf-live-text pre").text_content()

            seen = {first}
            await page.locator(".sf-live-speed").focus()
            await page.keyboard.press("End")  # at once
            for _ in range(4):
                await page.locator(".sf-live-cut").focus()
                await page.keyboard.press("ArrowRight")
                known = list(seen)
                await page.wait_for_function(
                    """([state, known]) => {
                        const node = document.querySelector(state);
                        return node.dataset.state === "same" && !known.includes(node.textContent);
                    }""",
                    arg=[STATE, known],
                )
                now = await text_of(page, STATE)
                assert now.partition("(")[2] == fingerprint
                seen.add(now)
            assert len(seen) == 5  # another number of pieces each time

            await page.wait_for_function("document.querySelectorAll('.jp-OutputArea .sf-fig').length >= 4")
            for theme, ground in (("JupyterLab Light", "rgb(255,255,255)"), ("JupyterLab Dark", "rgb(21,24,30)")):
                await command(page, "apputils:change-theme", f"{{theme: '{theme}'}}")
                light = str(theme.endswith("Light")).lower()
                await page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")
                await page.wait_for_selector(SPLASH, state="detached")  # a curtain that fades while themes change
                figures = [figure async for figure in visible_figures(page)]
                assert len(figures) == 4
                assert not any(figure.is_blank for figure in figures), figures
                assert {figure.background for figure in figures} == {ground}
