"""The house rules, as tests."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import streamflow as sf
from streamflow import operators

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "streamflow"
OPERATOR_FILES = sorted(path.stem[1:] for path in (PACKAGE / "operators").glob("_[a-z]*.py"))
README = (ROOT / "README.md").read_text()


def test_every_operator_file_is_exported_and_every_export_has_a_file():
    assert operators.__all__ == OPERATOR_FILES == sorted(operators.__all__)


@pytest.mark.parametrize("name", OPERATOR_FILES)
def test_an_operator_has_a_docstring_a_marble_an_example_a_test_and_a_line_in_the_readme(name):
    doc = getattr(operators, name).__doc__
    assert "```" in doc, "no marble"
    assert ">>>" in doc, "no example"
    assert (ROOT / "tests" / "operators" / f"test_{name}.py").exists()
    assert f"`{name}" in README


def test_public_names_are_listed_once_and_documented():
    assert len(set(sf.__all__)) == len(sf.__all__)
    for name in sf.__all__:
        value = getattr(sf, name)
        if getattr(value, "__module__", "").startswith("streamflow"):
            assert value.__doc__, name


def test_the_core_loads_no_optional_part():
    code = "import streamflow, sys; print([m for m in ('typer', 'rich', 'botocore', 'redis') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT).stdout.strip() == "[]"


def test_operators_can_be_imported_from_a_checkout():
    code = "from operators import sse_decode; print(sse_decode())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "sse_decode()", done.stderr


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_stay_readable(path):
    source = path.read_text()
    assert source.count("\n") <= 450
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name) and node.type.id == "Exception":
            assert not all(isinstance(line, ast.Pass) for line in node.body), "a swallowed exception"


def test_dialects_are_recognised_by_table_and_not_by_name():
    for path in (PACKAGE / "providers").glob("*.py"):
        assert "provider ==" not in path.read_text()


def test_modules_import_on_their_own():
    for path in PACKAGE.rglob("*.py"):
        if path.name != "__main__.py":
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
