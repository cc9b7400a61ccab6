"""sdist -> wheel -> clean environment -> import."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_a_wheel_built_from_the_sdist_has_the_operators_and_imports(tmp_path):
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)  # without --wheel: the sdist first, the wheel from it
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "streamflow/operators/_sse_decode.py" in names
    assert "streamflow/py.typed" in names
    assert "streamflow/cli/anthropic.demo.wire" in names
    assert not any(name.startswith(("operators/", "tests/")) for name in names)
    venv.create(tmp_path / "clean", with_pip=False)
    code = (
        f"import sys; sys.path[:0] = [{str(wheel)!r}] + {[path for path in sys.path if 'site-packages' in path]!r};"
        "import streamflow.operators; print(streamflow.operators.__file__)"
    )
    python = tmp_path / "clean" / "bin" / "python"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert str(wheel) in done.stdout, done.stderr
