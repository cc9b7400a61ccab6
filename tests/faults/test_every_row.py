"""Every fault that we promise to survive has a test that is named after it, in whatever file it is at home.

The rows: A what providers do, B pipeline and subscribers, C server and broker, S security. `test_a3_...` and
`test_a03_...` are tests of row A3.
"""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = {"a": 16, "b": 12, "c": 11, "s": 15}
NAMES = [f"{letter}{number}" for letter, count in ROWS.items() for number in range(1, count + 1)]


def collected(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The tests that pytest collects from a file: functions, and methods of test classes."""
    found = []
    for node in ast.parse(path.read_text()).body:
        inside = node.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test") else [node]
        functions = [each for each in inside if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        found += [function for function in functions if function.name.startswith("test_")]
    return found


@pytest.fixture(scope="module")
def rows() -> dict[str, list[str]]:
    """The tests of each row that run."""
    found: dict[str, list[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        if "node_modules" in path.parts:
            continue
        for test in collected(path):
            match = re.match(r"test_([a-z])0?(\d+)_", test.name)
            marks = [ast.unparse(mark) for mark in test.decorator_list]
            if match and not any("mark.skip" in mark or "xfail" in mark for mark in marks):
                found.setdefault(f"{match[1]}{match[2]}", []).append(f"{path.relative_to(TESTS)}::{test.name}")
    return found


@pytest.mark.parametrize("row", NAMES)
def test_every_row_has_a_test(row, rows):
    assert rows.get(row), f"no test is named test_{row}_..."


def test_no_test_is_named_after_a_row_that_does_not_exist(rows):
    assert set(rows) <= set(NAMES)
