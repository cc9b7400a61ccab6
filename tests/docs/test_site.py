"""The site builds without a warning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamflow import operators

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("material")


def test_the_site_builds_without_a_warning_and_asks_nobody(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    made = {path.stem for path in (tmp_path / "site" / "operators").glob("*.html")}
    assert made == set(operators.__all__)
    page = (tmp_path / "site" / "operators" / "sse_decode.html").read_text()
    assert '<svg class="marble"' in page
    assert "fonts.googleapis.com" not in page
    assert "redact.html" in (tmp_path / "site" / "operators.html").read_text()
