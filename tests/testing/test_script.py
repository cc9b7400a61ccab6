"""Scripts: what is given is kept, and cannot be changed."""

import dataclasses
import gzip

import pytest

from streamflow.errors import UsageError
from streamflow.testing import Answer, Drop, Pause, Refusal, Stall, Text, Thinking, ToolUse, gzip_bomb, redirect


def test_answers_are_frozen_and_equal_by_value():
    assert Answer("a", stop="refusal") == Answer(Text("a"), stop="refusal") != Answer("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Answer("a").stop = "x"


def test_events_may_be_given_alone_or_in_a_tuple():
    assert Answer(before=Stall()).before == (Stall(),)
    assert Answer(after=(Pause(1), Drop())).after == (Pause(1), Drop())


@pytest.mark.parametrize("text", ["", " ", "a", " a  b\n\nc ", "世界 👋", "x" * 50])
@pytest.mark.parametrize("delta", [0, 1, 7])
def test_deltas_are_the_text(text, delta):
    pieces = list(Answer(delta=delta).deltas(text))
    assert "".join(pieces) == text
    assert all(pieces)


def test_stop_reasons():
    assert Answer("a").stop_reason == "end_turn"
    assert Answer(ToolUse("f")).stop_reason == "tool_use"
    assert Answer(ToolUse("f"), stop="max_tokens").stop_reason == "max_tokens"


@pytest.mark.parametrize(
    ("given", "text", "value"),
    [({"a": "ä"}, '{"a":"ä"}', {"a": "ä"}), ('{"a": 1}', '{"a": 1}', {"a": 1}), ('{"a": ', '{"a": ', '{"a": ')],
)
def test_arguments(given, text, value):
    use = ToolUse("f", given)
    assert (use.json, use.value) == (text, value)


def test_a_bomb_is_small_until_it_bursts():
    bomb = gzip_bomb(5_000_000)
    assert len(bomb.body) < 10_000
    assert len(gzip.decompress(bomb.body)) == 5_000_001
    assert redirect("/x", 302).status == 302


@pytest.mark.parametrize("part", [3, None, b"raw", {"text": "a"}])
def test_what_is_no_part_is_named(part):
    with pytest.raises(UsageError, match="is no part of an answer; parts are texts and Text, Thinking"):
        Answer(part)


def test_repr_reads_as_it_was_written():
    assert repr(Thinking("a", "s")) == "Thinking(text='a', signature='s', redacted='')"
    assert repr(Refusal("no")) == "Refusal(text='no')"
