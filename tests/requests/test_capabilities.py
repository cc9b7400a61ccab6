"""The table in the docs is the table of the code."""

from pathlib import Path

from streamflow.requests import ENDPOINTS
from streamflow.requests.capabilities import capability_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "providers.md"


def test_the_docs_show_the_table_as_it_is() -> None:
    assert capability_table() in PAGE.read_text(), "run capability_table() and put its text into docs/providers.md"


def test_every_provider_has_a_line() -> None:
    lines = capability_table().splitlines()
    assert len(lines) == 2 + len(ENDPOINTS)
    assert len({line.count("|") for line in lines}) == 1
