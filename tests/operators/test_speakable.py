"""The voice's branch: spans in the raw text, other events in order, nothing lost at a tool call or an end."""

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Notice,
    Retrying,
    StreamCompleted,
    StreamStart,
    ToolCallsReady,
)
from streamflow.operators import speakable, visible_filter
from streamflow.text.spoken import Spoken
from tests.text.speech_cases import CASES


def said(items):
    return "".join(item.text for item in items if isinstance(item, Spoken))


def test_chunks_and_strings_are_spoken_and_hidden_chunks_pass():
    hidden = Chunk(0, "thinking", "hm **no**", visible=False)
    out = sf.run([hidden, Chunk(1, "text", "**Yes**.")], speakable())
    assert out[0] == hidden
    assert said(out) == "Yes."


def test_spans_follow_the_offsets_of_the_chunks():
    raw = "Say <think>secret</think>**it** now."
    place = raw.index("**it")
    chunks = [
        Chunk(0, "text", "Say ", start=0),
        Chunk(1, "text", "**i", start=place),
        Chunk(1, "text", "t** now.", start=place + 3),
    ]
    out = sf.run(chunks, speakable())
    assert said(out) == "Say it now."
    assert all(raw[piece.start : piece.end] == piece.text for piece in out)


def test_a_piece_that_runs_over_a_seam_is_split_there():
    raw = "5 < <x>hid</x>10 done"
    chunks = [Chunk(0, "text", "5 <", start=0), Chunk(1, "text", "10 done", start=raw.index("10"))]
    out = sf.run(chunks, speakable())
    assert said(out) == "5 <10 done"
    assert all(raw[piece.start : piece.end] == piece.text for piece in out)
    assert [piece.start for piece in out] == sorted(piece.start for piece in out)


def test_a_replacement_over_a_seam_spans_both_sides():
    out = sf.run([Chunk(0, "text", "a &am", start=0), Chunk(1, "text", "p; b", start=100)], speakable())
    assert said(out) == "a & b"
    assert Spoken("&", 2, 102) in out


def test_text_blocks_that_adjoin_are_one_text():
    events = [
        BlockStart(0, "text"),
        Chunk(0, "text", "It is **Par"),
        BlockComplete(0, "text", "It is **Par"),
        BlockStart(1, "text"),
        Chunk(1, "text", "is** [1]."),
        BlockComplete(1, "text", "is** [1]."),
        StreamCompleted(),
    ]
    out = sf.run(events, speakable())
    assert said(out) == "It is Paris."
    assert [item for item in out if not isinstance(item, Spoken)] == [e for e in events if not isinstance(e, Chunk)]


@pytest.mark.parametrize(
    "event",
    [
        BlockStart(1, "tool_call"),
        ToolCallsReady([]),
        StreamCompleted(),
        StreamStart("2"),
        Chunk(1, "tool_call", "{", False),
    ],
)
def test_a_tool_call_and_the_end_release_what_is_held(event):
    out = sf.run(["Wait [for", event], speakable())
    assert said(out) == "Wait [for"
    assert out[-1] == event


def test_notices_overtake_and_do_not_decide():
    out = sf.run(["**a *", Notice("gap"), "* b"], speakable())
    assert Notice("gap") in out
    assert said(out) == said(sf.run(["**a ** b"], speakable()))


def test_an_attempt_that_is_discarded_leaves_nothing_behind():
    out = sf.run(["old [te", Retrying(1, 2, discard=True), "new text"], speakable())
    assert [piece.text for piece in out if isinstance(piece, Spoken)][-1] == "new text"
    assert [piece.start for piece in out if isinstance(piece, Spoken)][-1] == 0


@pytest.mark.parametrize(("group", "raw", "spoken", "options"), CASES)
def test_the_screen_keeps_the_text_of_the_model(group, raw, spoken, options):
    events = [Chunk(0, "text", char, start=place) for place, char in enumerate(raw)]
    assert "".join(chunk.text for chunk in sf.run(events, visible_filter())) == raw
    assert said(sf.run(events, speakable(**options))).rstrip() == spoken


def test_a_failing_stream_still_says_what_was_held():
    feeder = sf.Feeder(speakable())
    said_first = feeder.feed("Look [here")
    assert said(said_first + list(feeder._chain.abort(RuntimeError("cut")))) == "Look [here"


def test_wrong_options_are_told_when_the_operator_is_made():
    with pytest.raises(UsageError, match="links='all': allowed are 'text', 'url'"):
        speakable(links="all")
