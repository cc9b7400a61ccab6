"""Runs notebooks. ``python -m tests.notebooks.executing`` runs them all and saves what they show."""

import os
import warnings
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"


def executed(path: Path) -> Any:
    """The notebook, run from its first cell to its last in its own folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the notebook machinery; the project's own are errors inside the kernel
        from nbclient import NotebookClient

        notebook = nbformat.read(path, as_version=4)
        client = NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            resources={"metadata": {"path": str(path.parent)}},
            store_widget_state=False,
        )
        client.execute(env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default", "NO_PROXY": "*"})
    return notebook


def tidied(notebook: Any) -> Any:
    """Without times, and without widgets: their state would be looked for on the network, the drawing is there."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)
    return notebook


def main() -> None:
    for path in NOTEBOOKS:
        notebook = tidied(executed(path))
        nbformat.validate(notebook)
        nbformat.write(notebook, path)
        print(path.name)


if __name__ == "__main__":
    main()
