"""SECURITY.md says what the code does."""

import inspect
import re
from pathlib import Path

import pytest

import streamflow as sf
from streamflow.recordings import KEPT_HEADERS
from streamflow.server import Limits
from streamflow.sources import http, media
from streamflow.sources.retry import RetryPolicy
from tests.test_architecture import ROOT

PAGE = (ROOT / "SECURITY.md").read_text()
TABLES = {
    "sf.connect": {name: parameter.default for name, parameter in inspect.signature(sf.connect).parameters.items()},
    "sf.Flow": {name: parameter.default for name, parameter in inspect.signature(sf.Flow).parameters.items()},
    "sf.tool_loop": {name: parameter.default for name, parameter in inspect.signature(sf.tool_loop).parameters.items()},
    "Limits": {name: getattr(Limits(), name) for name in Limits.__struct_fields__},
}


def rows(owner: str) -> dict[str, str]:
    section = PAGE.partition(f"`{owner}(...)`\n")[2].partition("\n### ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", section, re.MULTILINE))


@pytest.mark.parametrize("owner", TABLES)
def test_every_default_is_the_one_of_the_code(owner):
    found = rows(owner)
    assert found
    assert {name: str(TABLES[owner][name]) for name in found} == found


def test_no_limit_is_left_out():
    assert set(rows("Limits")) == set(TABLES["Limits"])
    bounds = {name for name in TABLES["sf.connect"] if name.startswith("max_") or name.endswith("_timeout_s")}
    assert set(rows("sf.connect")) == bounds


def test_the_numbers_in_the_sentences():
    assert f"inflate to {http.MAX_RATIO} times" in PAGE
    assert http.RATIO_FREE_BYTES == 1 << 20
    assert f"up to {http.ERROR_BODY_BYTES // 1024} KiB" in PAGE
    assert http.MAX_REDIRECTS == media.MAX_REDIRECTS == 3
    assert f"loads: {media.MAX_BYTES} bytes" in PAGE
    assert len(KEPT_HEADERS) == 7
    error = sf.ProviderError("x", status=429)
    assert RetryPolicy().delay_s(error, 1, draw=0.0, headers={"retry-after": "121"}) is None
    assert RetryPolicy().delay_s(error, 1, draw=0.0, headers={"retry-after": "120"}) == 120


def test_the_files_that_it_names_are_there():
    for name in re.findall(r"`((?:tests|docs)/[\w/.]+)`", PAGE):
        assert (Path(ROOT) / name).exists(), name
    assert len(PAGE.splitlines()) < 160
