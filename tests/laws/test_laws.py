"""The laws over every operator and over random chains of three; ``STREAMFLOW_FUZZ`` sets how many examples."""

import os
from pathlib import Path

import pytest

from streamflow import operators
from tests.laws.runner import example, names
from tests.laws.table import KNOWN_OPEN, ROWS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = int(os.environ.get("STREAMFLOW_FUZZ", "2000"))
CHAINS = EXAMPLES * 2 // 5
EACH = max(20, (EXAMPLES - CHAINS) // len(names()))
BATCHES = 8


def test_every_operator_has_a_row():
    missing = set(operators.__all__) - set(ROWS)
    assert not missing, f"add to ROWS in tests/laws/table.py how to make, and what they take: {sorted(missing)}"


def test_what_is_tested_elsewhere_is_tested():
    elsewhere = [ROWS[name].elsewhere for name in operators.__all__ if not ROWS[name].makes]
    assert all(elsewhere)
    assert all((ROOT / path).is_file() for path in elsewhere)


def test_no_law_is_waived():
    assert not KNOWN_OPEN


@pytest.mark.parametrize("name", names())
def test_an_operator_keeps_the_laws(name):
    for number in range(EACH):
        violation = example(f"{name}:{number}", name)
        assert violation is None, str(violation)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_chains_of_three_keep_the_laws(batch):
    for number in range(batch, CHAINS, BATCHES):
        violation = example(f"chain:{number}")
        assert violation is None, str(violation)
