"""S5: not one character of hidden thought is shown, wherever the text is cut and however the tag is written."""

import random

import pytest

import streamflow as sf
from streamflow.events import Chunk
from streamflow.operators import visible_filter, xml_block_split
from streamflow.text.tags import Tag
from tests.support.cuts import at_random, single, two_way
from tests.support.splits import as_events

HIDDEN = "qzqzqz"  # letters that are nowhere else
EVASIONS = {
    "plain": f"Hi <thinking>{HIDDEN}</thinking> there",
    "short": f"Hi <think>{HIDDEN}</think> there",
    "broken bracket before": f"Hi <t<thinking>{HIDDEN}</thinking> there",
    "two brackets": f"Hi <<think>{HIDDEN}</think> there",
    "near close": f"Hi <think>{HIDDEN}</thin{HIDDEN}</thinkx>{HIDDEN}</think> there",
    "attributes": f'Hi <thinking a="b>c">{HIDDEN}</thinking> there',
    "new line in the tag": f"Hi <thinking\n>{HIDDEN}</thinking\n> there",
    "another inside": f"Hi <thinking>{HIDDEN}<think>{HIDDEN}</thinking> there",
    "unclosed": f"Hi <thinking>{HIDDEN}",
    "unclosed, half a close": f"Hi <thinking>{HIDDEN}</thinkin",
    "entities": f"Hi <thinking>{HIDDEN}&lt;/thinking&gt;{HIDDEN}</thinking> there",
    "code inside": f"Hi <thinking>```{HIDDEN}``` `{HIDDEN}`</thinking> there",
    "comment inside": f"Hi <thinking><!-- </b> -->{HIDDEN}</thinking> there",
    "emoji around": f"😀<thinking>{HIDDEN}😀</thinking>😀",
    "twice": f"<think>{HIDDEN}</think>a<think>{HIDDEN}</think>b",
}


def shown(pieces: list[str], **options) -> str:
    visible = sf.run(as_events(pieces), xml_block_split(**options), visible_filter())
    return "".join(chunk.text for chunk in visible if isinstance(chunk, Chunk))


@pytest.mark.parametrize("name", EVASIONS)
def test_s05_nothing_hidden_is_shown_at_any_cut(name):
    text = EVASIONS[name]
    whole = shown([text])
    assert "q" not in whole, "hidden text leaked"
    rng = random.Random(5)
    for pieces in (single(text), *two_way(text), *(at_random(text, rng, 4) for _ in range(30))):
        assert shown(pieces) == whole


@pytest.mark.parametrize("tag", ["Thinking", "THINKING", "tHiNk"])
def test_s05_other_case_is_hidden_on_request(tag):
    text = f"Hi <{tag}>{HIDDEN}</{tag}> there"
    for pieces in two_way(text):
        assert shown(pieces, case_sensitive=False) == "Hi  there"


def test_s05_a_thought_inside_a_thought_is_hidden_on_request():
    # By default the first close ends the thought: a mere mention of the tag must not hide the whole answer.
    nested = f"Hi <thinking>{HIDDEN}<thinking>{HIDDEN}</thinking>{HIDDEN}</thinking> there"
    for pieces in two_way(nested):
        assert shown(pieces, tables=[Tag("thinking", nests=True)]) == "Hi  there"


def test_s05_random_texts_never_leak():
    rng = random.Random(505)
    noise = ["a", "<", ">", "/", "<b>", "</", "`", "\n", "&lt;", '"', "<thin", "think>", " ", "é", "{"]
    harmless = [word for word in noise if word not in ("`", "\n")]  # no code begins with them
    for _ in range(1500):
        inner = "".join(rng.choice([HIDDEN, *noise[:8], "</thin", "</ think>"]) for _ in range(rng.randint(1, 6)))
        before = "".join(rng.choice(harmless) for _ in range(rng.randint(0, 3)))
        text = before + "<thinking>" + inner + "</thinking>" + rng.choice(["", " done", "<"])
        whole = shown([text])
        assert "q" not in whole, text
        assert shown(at_random(text, rng, 3)) == whole, text
