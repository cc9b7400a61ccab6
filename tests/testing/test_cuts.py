"""The ways to cut, and the assertion over all of them."""

import random

import pytest

import streamflow as sf
from streamflow.events import Chunk, Usage
from streamflow.testing import Answer, Text, Thinking, ToolUse, assert_cut_invariant, cuts, encode


@pytest.mark.parametrize("data", ["", "a", "Grüß Gott", b"", b"\x00\xff\n"])
def test_every_way_keeps_the_data(data):
    empty = data[:0]
    for pieces in cuts.every_way(data):
        assert empty.join(pieces) == data


def test_every_way_counts():
    assert len(list(cuts.every_way("abcdef", randoms=3))) == 2 + 5 + 3
    assert len(list(cuts.every_way("x" * 5000, randoms=0, most=100))) < 110


def test_random_cuts_repeat_with_the_seed():
    data = "Hello wide world" * 3
    assert cuts.at_random(data, random.Random(5)) == cuts.at_random(data, random.Random(5))
    assert cuts.at_random(data, random.Random(5)) != cuts.at_random(data, random.Random(6))


def test_merged_joins_only_what_belongs_together():
    events = [Chunk(0, "text", "a"), Chunk(0, "text", "b"), Usage(), Chunk(0, "text", "c"), Chunk(1, "text", "d")]
    assert [getattr(event, "text", None) for event in cuts.merged(events)] == ["ab", None, "c", "d"]


def test_an_answer_is_cut_invariant():
    answer = Answer(Thinking("Hm, ä", "c2ln"), Text("Grüß 👋"), ToolUse("f", {"a": "é"}))
    wire = b"".join(encode("anthropic", answer))
    events = assert_cut_invariant(lambda pieces: sf.decode("anthropic", pieces), wire, randoms=3)
    assert sf.collect(events).text == "Grüß 👋"


def test_what_depends_on_the_cut_is_found():
    with pytest.raises(AssertionError, match=r"cut into pieces of \[1, 1, 1\] it gives"):
        assert_cut_invariant(lambda pieces: [len(piece) for piece in pieces], "abc")
