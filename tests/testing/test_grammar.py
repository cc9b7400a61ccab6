"""The grammar assertion finds each kind of break."""

import pytest

from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    ErrorInfo,
    Notice,
    Retrying,
    StreamCompleted,
    StreamFailed,
    StreamStart,
)
from streamflow.testing import assert_grammar

START, END = StreamStart(), StreamCompleted()
OPEN, SAID, CLOSE = BlockStart(0, "text"), Chunk(0, "text", "a"), BlockComplete(0, "text", "a")


@pytest.mark.parametrize(
    "events",
    [
        [START, END],
        [Retrying(1, 2), Retrying(2, 2), START, OPEN, SAID, CLOSE, END],
        [StreamFailed(ErrorInfo("TransportError", "no"))],
        [START, OPEN, BlockStart(1, "tool_call"), SAID, BlockComplete(1, "tool_call"), CLOSE, END, Notice("late")],
    ],
)
def test_good(events):
    assert_grammar(events)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "no events"),
        ([OPEN, CLOSE, END], "no start"),
        ([START, START, END], "a second start"),
        ([START], "has no end"),
        ([START, END, SAID], "after the end"),
        ([START, SAID, END], "outside its block"),
        ([START, OPEN, OPEN, END], "opens twice"),
        ([START, OPEN, SAID, CLOSE, OPEN, END], "opens twice"),
        ([START, OPEN, END], "are open at the end"),
        ([START, CLOSE, END], "not open"),
        ([START, OPEN, CLOSE, END], "the chunks of a block say ''"),
        ([START, OPEN, Chunk(0, "text", ""), END], "an empty chunk"),
    ],
)
def test_bad(events, message):
    with pytest.raises(AssertionError, match=message):
        assert_grammar(events)


def test_text_must_be_writable():
    with pytest.raises(UnicodeEncodeError):
        assert_grammar([START, OPEN, Chunk(0, "text", "\ud800"), BlockComplete(0, "text", "\ud800"), END])
