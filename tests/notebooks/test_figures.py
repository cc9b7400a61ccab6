"""The figures in the notebooks can be seen: in a browser without a network, in light and in dark."""

import warnings

import nbformat
import pytest

from tests.notebooks.executing import NOTEBOOKS
from tests.support.chromium import Picture, chromium, picture

FIGURE = 'class="sf-fig"'
COUNTS = {
    "00_quick_start": 4,
    "01_blocks": 0,
    "02_voice": 0,
    "03_custom_operator": 1,
    "04_fanout": 2,
    "05_compare_providers": 6,
    "06_scaling": 0,
}
WITH_FIGURES = [path for path in NOTEBOOKS if COUNTS[path.stem]]
GROUNDS = {"light": "rgb(255,255,255)", "dark": "rgb(21,24,30)"}


def figures(path):
    notebook = nbformat.read(path, as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [html for output in outputs if FIGURE in (html := output.get("data", {}).get("text/html", ""))]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_saved_notebook_has_its_figures(path):
    assert len(figures(path)) == COUNTS[path.stem]


async def seen(page, figure):
    return await picture(page, await figure.screenshot())


async def test_no_figure_is_blank_in_light_or_dark():
    async with chromium(offline=True) as page:
        for path in WITH_FIGURES:
            for number, html in enumerate(figures(path)):
                await page.set_content(f"<meta name='color-scheme' content='light dark'>{html}")
                for scheme, ground in GROUNDS.items():
                    await page.emulate_media(color_scheme=scheme)
                    found = await seen(page, page.locator(".sf-fig"))
                    assert not found.is_blank, (path.stem, number, scheme, found)
                    assert found.background == ground, (path.stem, number, scheme)


async def test_a_notebook_says_its_theme_better_than_the_system():
    html = figures(WITH_FIGURES[0])[0]
    async with chromium(offline=True) as page:
        for theme, other in (("light", "dark"), ("dark", "light")):
            await page.emulate_media(color_scheme=other)
            lab = f'<body data-jp-theme-light="{str(theme == "light").lower()}">'
            for body in (lab, f'<body class="vscode-{theme}">'):
                await page.set_content(body + html)
                assert (await seen(page, page.locator(".sf-fig"))).background == GROUNDS[theme]


async def test_a_blank_figure_would_be_found():
    async with chromium(offline=True) as page:
        await page.set_content("<svg class='sf-fig' width='900' height='300'><text x='9' y='20'>hi</text></svg>")
        assert (await seen(page, page.locator(".sf-fig"))).is_blank
    assert not Picture("rgb(0,0,0)", 200, 0.05).is_blank


@pytest.mark.filterwarnings("ignore")
async def test_figures_show_in_offline_html(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the notebook machinery
        nbconvert = pytest.importorskip("nbconvert")
        bodies = {path.stem: nbconvert.HTMLExporter().from_filename(str(path))[0] for path in WITH_FIGURES}
    async with chromium(offline=True) as page:
        for name, body in bodies.items():
            file = tmp_path / f"{name}.html"
            file.write_text(body, encoding="utf-8")
            # The page names scripts for formulas on the network; nobody may wait for them.
            await page.goto(file.as_uri(), wait_until="domcontentloaded")
            shown = page.locator(".sf-fig")
            assert await shown.count() == COUNTS[name]
            for place in range(COUNTS[name]):
                assert not (await seen(page, shown.nth(place))).is_blank, (name, place)
