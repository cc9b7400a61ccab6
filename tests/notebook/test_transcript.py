"""The transcript: every block, coloured by kind; what was cut says so."""

import pytest

import streamflow as sf
from streamflow.notebook import Transcript, rehearse
from streamflow.notebook.looks import colour_of
from streamflow.operators import xml_block_split
from tests.notebook.streams import probe, recording


def sources():
    whole = recording()
    events = sf.decode("anthropic", whole.data)
    flow = sf.Flow(events)
    flow.start()
    return {
        "recording": whole,
        "events": events,
        "flow": flow,
        "response": sf.collect(events),
        "probe": rehearse(whole),
    }


@pytest.mark.parametrize("name", sources())
def test_the_same_answer_from_whatever_holds_it(name):
    assert Transcript(sources()[name]).html() == Transcript(sf.collect(sf.decode("anthropic", recording().data))).html()


def test_blocks_have_the_colour_and_name_of_their_kind():
    shown = Transcript(probe(xml_block_split())).html()
    for kind in ("thinking", "tool_call"):
        assert f"border-left:3px solid {colour_of(kind)}" in shown
        assert f">{kind}" in shown
    assert "Rome is sunny." in shown
    assert "tool_call weather" in shown


def test_a_cut_answer_says_so():
    whole = recording("openai", "Rome is sunny.")
    shown = Transcript(sf.Recording("openai", whole.pieces[:3], "cut", 1.0)).html()
    assert ">cut<" in shown
    assert "not complete" in shown


def test_wrong_use_says_what_to_do():
    with pytest.raises(sf.UsageError, match="Transcript takes"):
        Transcript("text")
