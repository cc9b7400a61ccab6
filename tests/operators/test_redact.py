"""Secrets never leave, not even their first character, however the text is cut."""

import re

import msgspec
import pytest

import streamflow as sf
from streamflow.errors import StreamTruncated, UsageError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Notice,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    Usage,
)
from streamflow.operators import redact, to_response
from tests.laws import test_earliest_release as oracle
from tests.support.cuts import merged
from tests.support.grammar import assert_grammar
from tests.support.turns import all_cuts, block, call_block, chunk_texts, turn

KEY = r"\bsk-[a-z0-9]{6,8}\b"
TEXT = "my key sk-abc12345, not sk-ab nor ask-abc12345; sk-abcdef"
CLEAN = "my key [redacted], not sk-ab nor ask-abc12345; [redacted]"


def test_every_cutting_of_strings_gives_the_same_text():
    for pieces in all_cuts(TEXT):
        assert "".join(sf.run(pieces, redact([KEY]))) == CLEAN


def test_every_cutting_of_events_gives_the_same_events():
    expected = merged(sf.run(turn(block([TEXT])), redact([KEY])))
    assert_grammar(expected)
    assert expected[-2] == BlockComplete(0, "text", CLEAN)
    for pieces in all_cuts(TEXT):
        events = sf.run(turn(block(pieces)), redact([KEY]))
        assert_grammar(events)
        assert merged(events) == expected


def test_no_character_of_a_match_is_ever_out():
    feeder = sf.Feeder(redact(["secret", "secretary"]))
    out = ""
    for char in "a secre secret secretary secrets":
        out += "".join(feeder.feed(char))
        assert "secret" not in out
        assert not out.endswith("s") or out.endswith("]s")
    assert out + "".join(feeder.finalize()) == "a secre [redacted] [redacted] [redacted]s"


@pytest.mark.parametrize(
    ("patterns", "alphabet"),
    [
        (["ab", "abc"], "abcd"),
        (["a{1,3}"], "ab"),
        (["ab", "xab{2}"], "abx"),
        (["a|ab{2}c"], "abc"),
        ([r"\bab\b"], "ab "),
        ([r"a\b", "ba"], "ab "),
    ],
)
def test_what_is_out_is_what_every_continuation_agrees_on(patterns, alphabet):
    case = oracle.Case("redact", lambda: redact(patterns, "*"), alphabet, 4, 3)
    oracle.test_what_is_out_is_what_is_certain(case)


def test_offsets_still_point_into_the_raw_text():
    for pieces in all_cuts(TEXT):
        for chunk in sf.run(turn(block(pieces, start=100)), redact([KEY])):
            if isinstance(chunk, Chunk) and not chunk.text.startswith("["):
                assert TEXT[chunk.start - 100 :].startswith(chunk.text)


def test_text_of_unknown_origin_keeps_it_unknown():
    out = sf.run(turn(block(["a sec", "ret b"], start=-1)), redact(["secret"]))
    assert {e.start for e in out if isinstance(e, Chunk)} == {-1}


def test_thought_is_read_too_and_tool_calls_are_left_alone():
    arguments = '{"key": "secret"}'
    events = turn(block(["a secret"], 0, "thinking"), call_block([arguments], 1, input={"key": "secret"}))
    out = sf.run(events, redact(["secret"], replacement="*"))
    assert chunk_texts(out, 0) == "a *"
    assert out[-2] == events[-2]


def test_nothing_in_place_of_a_match():
    out = sf.run(turn(block(["secret"])), redact(["secret"], replacement=""))
    assert_grammar(out)
    assert chunk_texts(out) == ""


def test_metadata_passes_while_text_is_held_and_a_block_start_releases_it():
    feeder = sf.Feeder(redact(["secret"]))
    feeder.feed(BlockStart(0, "text"))
    assert feeder.feed(Chunk(0, "text", "sec")) == []
    assert feeder.feed(Usage(1, 2)) == [Usage(1, 2)]
    assert feeder.feed(Notice("x")) == [Notice("x")]
    assert feeder.feed(BlockStart(1, "tool_call")) == [Chunk(0, "text", "sec"), BlockStart(1, "tool_call")]


def test_a_cut_stream_releases_the_rest_and_closes_its_blocks():
    feeder = sf.Feeder(redact(["secret"]))
    for event in (StreamStart(), BlockStart(0, "text"), Chunk(0, "text", "a sec"), BlockStart(1, "tool_call")):
        feeder.feed(event)
    chunk = Chunk(1, "tool_call", '{"a"', False, part="input", tool_id="c", tool_name="f")
    feeder.feed(chunk)
    first, second = feeder.finalize()
    assert first == BlockComplete(0, "text", "a sec", incomplete=True)
    assert (second.tool_id, second.incomplete, second.input) == ("c", True, None)
    assert second.error


def test_the_partial_answer_of_an_error_has_no_secret_in_it():
    class Fail:
        def feed(self, item):
            if item == "boom":
                raise StreamTruncated("cut")
            return [item]

        def flush(self):
            return []

        def abort(self, error):
            return []

    with pytest.raises(StreamTruncated) as caught:
        sf.run(
            [StreamStart("1"), BlockStart(0, "text"), Chunk(0, "text", "a secret s"), "boom"],
            sf.lift(Fail, "fail"),
            redact(["secret"]),
        )
    assert caught.value.partial.text == "a [redacted] s"
    assert caught.value.emitted


def test_answers_that_were_folded_before_are_folded_again():
    out = sf.run(turn(block(["a secret"])), to_response(), redact(["secret"]))
    assert out[-1].response.text == "a [redacted]"
    failed = StreamFailed(StreamTruncated("cut").info(), sf.collect(turn(block(["a secret"]))))
    out = sf.run([*turn(block(["a secret"]))[:-1], failed], redact(["secret"]))
    assert out[-1].partial.text == "a [redacted]"


def test_the_verbatim_source_of_a_block_is_redacted_too():
    events = block(["a secret"], 0, "thinking")
    events[-1] = msgspec.structs.replace(events[-1], raw="<thinking>a secret</thinking>")
    assert sf.run(events, redact(["secret"]))[-1].raw == "<thinking>a [redacted]</thinking>"


def test_the_words_of_a_citation_are_redacted_too():
    (cited,) = sf.run([Citation(0, "u", "a secret", "the secret text", 3, 9)], redact(["secret"], "*"))
    assert cited == Citation(0, "u", "a *", "the * text", 3, 9)


def test_a_block_without_chunks_is_read_whole():
    assert sf.run([BlockComplete(0, "text", "a secret")], redact(["secret"]))[0].content == "a [redacted]"


def test_patterns_may_be_compiled_and_flags_count():
    assert sf.run(["a Se", "Cret"], redact([re.compile("secret", re.IGNORECASE)])) == ["a ", "[redacted]"]


def test_each_turn_and_each_subscription_starts_afresh():
    operator = redact(["secret"])
    assert sf.run(["sec"], operator) == ["sec"]
    assert sf.run(["ret"], operator) == ["ret"]
    assert sf.run(["sec", StreamCompleted(), "ret"], operator) == ["sec", StreamCompleted(), "ret"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("secret",), "list"),
        (([],), "at least one"),
        ((None,), "list"),
        ((["a*"],), "no bound"),
        (([""],), "no characters"),
        ((["a"], 7), "replacement"),
    ],
)
def test_wrong_options_are_said_at_once(arguments, complaint):
    with pytest.raises(UsageError, match=complaint):
        redact(*arguments)
