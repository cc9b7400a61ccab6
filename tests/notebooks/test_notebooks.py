"""Every notebook runs from its first cell to its last, offline, and shows what it was saved with."""

import time

import nbformat
import pytest

from tests.notebooks.executing import NOTEBOOKS, ROOT, WIDGET, executed
from tests.support.redis_server import require_redis

TAKEN: dict[str, float] = {}


def shown(notebook):
    return [
        "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == [
        "00_quick_start",
        "01_blocks",
        "02_voice",
        "03_custom_operator",
        "04_fanout",
        "05_compare_providers",
        "06_scaling",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_was_saved_with(path):
    if path.stem == "06_scaling":
        require_redis()  # without it the notebook runs, and says what is missing
    begin = time.perf_counter()
    assert shown(executed(path)) == shown(nbformat.read(path, as_version=4)), (
        "if that is right: python -m tests.notebooks.executing"
    )
    TAKEN[path.stem] = time.perf_counter() - begin


def test_all_together_take_less_than_a_minute():
    assert sum(TAKEN.values()) < 60


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_clean(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    text = path.read_text()
    assert str(ROOT) not in text, "a path of this machine"
    assert "Traceback" not in text
    assert WIDGET not in text, "a widget is saved; pages without a kernel would look for it on the network"
    assert "widgets" not in notebook.metadata
    assert " at 0x" not in text, "an address that is another one each time"
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "run from the first cell to the last"
