"""Every input that is kept passes, what was found stays found, and a few new ones are tried each time."""

import pytest

from tests.fuzz import corpus
from tests.fuzz.engine import Campaign, failure
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_kept_passes(name):
    for data in (*seeds(name), *corpus.load("corpus", name), *corpus.load("findings", name)):
        assert failure(TARGETS[name], data) == "", data


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_campaign_finds_nothing(name):
    campaign = Campaign(name, TARGETS[name], seeds(name)[:6])
    campaign.run(executions=60)
    assert campaign.findings == []
    assert campaign.executions == 66


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_at_all_is_an_input_too(name):
    for data in (b"", b"\0", b"\xff" * 40, b"\0" * 40):
        assert failure(TARGETS[name], data) == ""
