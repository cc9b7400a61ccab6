"""The recipes of the architecture page, followed to the letter in a copy of the project."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"""^```py title=(["'])(?P<path>[^,\n]+?)(?:, above: (?P<above>[^\n]+?))?\1\n(?P<text>.*?)^```$""", re.M | re.S)  # noqa: E501
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def project(tmp_path):
    for name in ("streamflow", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "SECURITY.md", "pyproject.toml", "Makefile", "mkdocs.yml"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "operators").symlink_to("streamflow/operators")
    return tmp_path


def follow(project: Path, recipe: str, leave_out: str = "") -> list[str]:
    """Write each file of a recipe, or put its lines above the line that it names."""
    done = []
    for step in STEP.finditer(recipe):
        path, text = project / step["path"], step["text"]
        if leave_out and leave_out in f"{step['path']} {step['above']}":
            continue
        if step["above"] is None:
            assert not path.exists(), f"{path} is there already"
            path.write_text(text)
        else:
            lines = path.read_text().splitlines(keepends=True)
            places = [number for number, line in enumerate(lines) if line.startswith(step["above"])]
            places = places or [number for number, line in enumerate(lines) if step["above"] in line]
            assert places, f"{step['path']} has no line with {step['above']}"
            lines.insert(places[0], text)
            path.write_text("".join(lines))
        done.append(step["path"])
    return done


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # -P and an explicit path: the copy is meant, not the project that is installed.
    code = f"import sys; sys.path.insert(0, {str(project)!r}); import runpy; sys.argv = {list(arguments)!r}; "
    code += f"runpy.run_module({arguments[0]!r}, run_name='__main__', alter_sys=True)"
    return subprocess.run([sys.executable, "-P", "-c", code], cwd=project, capture_output=True, text=True)


OPERATOR_TESTS = (
    "tests/operators/test_plain_quotes.py",
    "tests/test_architecture.py",
    "tests/docs/test_operator_pages.py",
    "tests/laws/test_laws.py",
    "streamflow/operators/_plain_quotes.py",
)
CHOSEN = "plain_quotes or every_operator or overview or chains"


def test_an_operator_is_added_as_described(project):
    files = follow(project, section("Add an operator"))
    assert len(files) == 7
    done = run(project, "pytest", "-q", "-p", "no:cacheprovider", "-k", CHOSEN, *OPERATOR_TESTS)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 8


@pytest.mark.parametrize("forgotten", ["docs/operators.md", "tests/laws/table.py"])
def test_a_forgotten_step_is_noticed(project, forgotten):
    follow(project, section("Add an operator"), leave_out=forgotten)
    tests = [path for path in OPERATOR_TESTS if (project / path).exists()]
    done = run(project, "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", f"({CHOSEN}) and not chains", *tests)
    assert done.returncode == 1, done.stdout[-3000:]
    assert "plain_quotes" in done.stdout


def test_a_provider_is_added_as_described(project):
    assert len(follow(project, section("Add a provider"))) == 3
    made = run(project, "tests.recordings.make")
    assert made.returncode == 0, made.stderr
    assert (project / "tests" / "recordings" / "acme_text.events.jsonl").exists()
    tests = ("tests/providers/test_recordings.py", "tests/requests/test_endpoints.py")
    done = run(project, "pytest", "-q", "-p", "no:cacheprovider", "-k", "acme or every", *tests)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 5
