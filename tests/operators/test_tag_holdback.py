"""Text cut anew: markers never torn, offsets kept, other events in their place."""

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import BlockComplete, BlockStart, Chunk, Retrying, StreamCompleted, Usage
from streamflow.operators import tag_holdback
from tests.support.splits import as_events, cuttings

TEXT = "a <think a='>'>b</think > <thi c<|eot|><|eo <think"


def test_markers_stand_alone_however_the_text_is_cut():
    for pieces in cuttings(TEXT):
        out = sf.run(pieces, tag_holdback(["think", "<|eot|>"]))
        assert "".join(out) == TEXT
        assert [piece for piece in out if piece[0] == "<" and piece[-1] == ">"] == [
            "<think a='>'>",
            "</think >",
            "<|eot|>",
        ]


def test_chunks_keep_their_offsets():
    for pieces in cuttings(TEXT):
        out = sf.run(as_events(pieces), tag_holdback(["think", "<|eot|>"]))
        for event in out:
            if isinstance(event, Chunk):
                assert TEXT[event.start :].startswith(event.text)
        assert "".join(event.text for event in out if isinstance(event, Chunk)) == TEXT
        assert isinstance(out[-1], StreamCompleted)
        assert isinstance(out[-2], BlockComplete)


def test_a_chunk_never_spans_a_gap_unless_it_is_a_marker():
    def run(*chunks):
        out = sf.run([Chunk(0, "text", text, start=start) for text, start in chunks], tag_holdback(["think"]))
        return [(event.text, event.start) for event in out]

    assert run(("<think a='", 0), ("N", 24), ("M", 40)) == [("<think a='", 0), ("N", 24), ("M", 40)]
    assert run(("a <th", 0), ("ink>b", 10)) == [("a ", 0), ("<think>", 2), ("b", 14)]
    assert run(("a <th", 0), ("is", 5)) == [("a ", 0), ("<this", 2)]
    assert run(("a <th", 0), ("is", -1)) == [("a ", 0), ("<th", 2), ("is", -1)]


def test_metadata_passes_at_once_and_what_ends_the_block_releases():
    stage = tag_holdback(["think"]).make_stage()
    assert [event.text for event in stage.feed(Chunk(0, "text", "a <th"))] == ["a "]
    assert stage.held == "<th"
    assert stage.feed(Usage(1)) == [Usage(1)]
    assert stage.feed(Chunk(1, "thinking", "<th", False)) == [Chunk(1, "thinking", "<th", False)]
    assert stage.feed(BlockComplete(1, "thinking")) == [BlockComplete(1, "thinking")]
    assert stage.feed(BlockStart(2, "tool_call")) == [Chunk(0, "text", "<th"), BlockStart(2, "tool_call")]


def test_text_of_another_block_never_joins_what_is_held():
    stage = tag_holdback(["think"]).make_stage()
    stage.feed(Chunk(0, "text", "<th"))
    assert [(event.index, event.text) for event in stage.feed(Chunk(1, "text", "ink>"))] == [(0, "<th"), (1, "ink>")]


def test_the_end_and_an_error_release_and_a_discard_forgets():
    for end in ("flush", "abort", "discard"):
        stage = tag_holdback(["think"]).make_stage()
        stage.feed("a <th")
        if end == "discard":
            assert stage.feed(Retrying(1, 2, "refusal", discard=True)) == [Retrying(1, 2, "refusal", discard=True)]
            assert list(stage.flush()) == []
        else:
            assert list(stage.flush() if end == "flush" else stage.abort(ValueError())) == ["<th"]


@pytest.mark.parametrize(
    ("markers", "message"),
    [("think", "markers='think'"), ([], "at least one"), ([3], "markers: 3"), (["a b"], "'a b' is no tag name")],
)
def test_wrong_markers_are_named(markers, message):
    with pytest.raises(UsageError, match=message):
        tag_holdback(markers)
    with pytest.raises(UsageError, match="max_tag=1"):
        tag_holdback(["think"], max_tag=1)
