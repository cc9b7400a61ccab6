"""Every notebook runs from its first cell to its last, offline, and shows what it was saved with."""

import os
import warnings
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def executed(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the notebook machinery; the project's own are errors inside the kernel
        from nbclient import NotebookClient

        notebook = nbformat.read(path, as_version=4)
        client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": ROOT}})
        client.execute(env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default", "NO_PROXY": "*"})
    return notebook


def shown(notebook):
    return [
        "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS][:1] == ["01_blocks.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_was_saved_with(path):
    assert shown(executed(path)) == shown(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_clean(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    text = path.read_text()
    assert str(ROOT) not in text, "a path of this machine"
    assert "Traceback" not in text
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "run from the first cell to the last"
