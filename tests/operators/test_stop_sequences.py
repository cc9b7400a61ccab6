"""The text ends at the stop, nothing of it leaks, and the turn still ends as the grammar says."""

import pytest

import streamflow as sf
from streamflow.errors import StreamTruncated, UsageError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    GeneratedImage,
    Image,
    Notice,
    Retrying,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    Usage,
)
from streamflow.operators import stop_sequences, to_response, tool_accumulate, xml_block_split
from tests.support.cuts import merged
from tests.support.grammar import assert_grammar
from tests.support.turns import all_cuts, block, call_block, chunk_texts, turn

STOPS = ["\nUser:", "\n\nUser:", "<|eot|>"]
TEXT = "Hello <|e\nUse\n\nUser: and <|eot|> more"
KEPT = "Hello <|e\nUse"


def test_every_cutting_of_strings_stops_at_the_same_place():
    for pieces in all_cuts(TEXT):
        assert "".join(sf.run(pieces, stop_sequences(STOPS))) == KEPT


def test_every_cutting_of_events_gives_the_same_events():
    end = [Usage(1, 2)]
    expected = [
        StreamStart("1", "m", "p"),
        BlockStart(0, "text"),
        Chunk(0, "text", KEPT, start=0),
        BlockComplete(0, "text", KEPT),
        Notice("stop", "\n\nUser:", "\n\nUser:"),
        Usage(1, 2),
        StreamCompleted("stop_sequence"),
    ]
    for pieces in all_cuts(TEXT):
        events = sf.run(turn(block(pieces), end), stop_sequences(STOPS))
        assert_grammar(events)
        assert merged(events) == expected


def test_text_without_a_stop_is_left_as_it_is():
    text = "a\nUser <|eot| \n"
    for pieces in all_cuts(text):
        events = turn(block(pieces))
        out = sf.run(events, stop_sequences(STOPS))
        assert merged(out) == merged(events)


def test_only_a_tail_that_may_become_a_stop_is_held():
    feeder = sf.Feeder(stop_sequences(["\nUser:"]))
    assert feeder.feed("plain text") == ["plain text"]
    assert feeder.feed("\nUse") == []
    assert feeder.feed("d") == ["\nUsed"]
    assert feeder.feed("\n") == []
    assert feeder.finalize() == ["\n"]


def test_the_sequence_that_is_whole_first_counts():
    assert sf.run(["xabcd"], stop_sequences(["abcd", "bc"])) == ["xa"]


def test_what_follows_in_the_same_piece_is_gone_even_if_it_could_begin_another_stop():
    assert sf.run(["a<|eot|>b<|eo", "x"], stop_sequences(STOPS)) == ["a"]
    out = sf.run(turn(block(["a<|eot|>b<|eo", "x"])), stop_sequences(STOPS))
    assert chunk_texts(out) == "a"


def test_blocks_that_begin_after_the_stop_are_dropped_with_all_that_belongs_to_them():
    late = [
        *block(["never seen"], 1),
        Citation(1, url="late"),
        Citation(0, url="early"),
        *call_block(["{}"], 2, input={}),
        Image(GeneratedImage(data="aGk=")),
    ]
    events = turn(block(["a<|eot|>"]), late, stop_reason="tool_use")
    out = sf.run(events, tool_accumulate(), stop_sequences(STOPS))
    assert_grammar(out)
    assert [type(event).__name__ for event in out] == [
        "StreamStart", "BlockStart", "Chunk", "BlockComplete", "Notice", "Citation", "StreamCompleted",
    ]  # fmt: skip
    assert out[-2].url == "early"


def test_a_call_that_began_before_the_stop_runs_to_its_own_end():
    first, name, id, part, done = call_block(["{}"], 1, input={})
    events = [StreamStart(), first, name, id, *block(["a<|eot|>b"], 2), part, done, StreamCompleted("tool_use")]
    out = sf.run(events, stop_sequences(STOPS), tool_accumulate())
    assert_grammar(out)
    assert done in out
    assert out[-2].calls[0].runnable
    assert out[-1].stop_reason == "stop_sequence"


def test_a_text_that_had_not_begun_when_the_stop_came_stays_empty():
    first, second = block(["a<|eot|>b"], 0), block(["c"], 1)
    events = [StreamStart(), first[0], second[0], *first[1:], *second[1:], StreamCompleted()]
    out = sf.run(events, stop_sequences(STOPS))
    assert_grammar(out)
    assert [event.content for event in out if isinstance(event, BlockComplete)] == ["a", ""]


def test_thought_and_arguments_are_not_searched():
    events = turn(block(["a<|eot|>b"], 0, "thinking"), call_block(['{"a":"<|eot|>"}'], 1, input={"a": "<|eot|>"}))
    assert sf.run(events, stop_sequences(STOPS)) == events


def test_a_stop_at_the_very_start_leaves_an_empty_block():
    out = sf.run(turn(block(["<|eot|>x"])), stop_sequences(STOPS))
    assert_grammar(out)
    assert out[2] == BlockComplete(0, "text", "")


def test_the_next_turn_is_read_afresh():
    events = [*turn(block(["a<|eot|>b"])), *turn(block(["c"], 1))[1:]]
    out = sf.run(events, stop_sequences(STOPS))
    assert [event.content for event in out if isinstance(event, BlockComplete)] == ["a", "c"]
    assert [event.stop_reason for event in out if isinstance(event, StreamCompleted)] == ["stop_sequence", "end_turn"]


def test_a_retry_that_discards_forgets_the_stop():
    events = [StreamStart(), *block(["a<|eot|>b"])[:-1], Retrying(1, 2, discard=True), *turn(block(["c"]))]
    out = sf.run(events, stop_sequences(STOPS))
    assert out[-2:] == [BlockComplete(0, "text", "c"), StreamCompleted("end_turn")]


def test_a_cancelled_turn_stays_cancelled_and_a_failed_one_failed():
    out = sf.run(turn(block(["a<|eot|>b"]), stop_reason="cancelled"), stop_sequences(STOPS))
    assert out[-1].stop_reason == "cancelled"
    failed = StreamFailed(StreamTruncated("cut").info())
    events = [StreamStart(), *block(["a<|eot|>b"])[:-1], failed]
    out = sf.run(events, stop_sequences(STOPS))
    assert_grammar(out)
    assert out[-1] == failed


def test_an_answer_that_was_folded_before_is_folded_again():
    out = sf.run(turn(block(["a<|eot|>b"])), to_response(), stop_sequences(STOPS))
    assert (out[-1].response.text, out[-1].response.stop_reason) == ("a", "stop_sequence")


def test_metadata_passes_while_text_is_held():
    feeder = sf.Feeder(stop_sequences(STOPS))
    feeder.feed(BlockStart(0, "text"))
    assert feeder.feed(Chunk(0, "text", "a<|")) == [Chunk(0, "text", "a")]
    assert feeder.feed(Usage(1)) == [Usage(1)]
    assert feeder.feed(BlockStart(1, "tool_call")) == [Chunk(0, "text", "<|"), BlockStart(1, "tool_call")]


def test_a_cut_stream_releases_the_tail_and_closes_its_block():
    feeder = sf.Feeder(stop_sequences(STOPS))
    feeder.feed(BlockStart(0, "text"))
    feeder.feed(Chunk(0, "text", "a<|eo"))
    assert feeder.finalize() == [Chunk(0, "text", "<|eo"), BlockComplete(0, "text", "a<|eo", incomplete=True)]


@pytest.mark.parametrize("sequences", ["\nUser:", [], None, [""], ["a", 7], 7])
def test_wrong_options_are_said_at_once(sequences):
    with pytest.raises(UsageError, match="sequences"):
        stop_sequences(sequences)


def test_a_stop_in_the_piece_that_closes_a_thought_leaks_nothing():
    text = "<thinking>sec\nUser:ret</thinking>Hello\nUser: <thinking>more</thinking> and <function_calls>"
    for pieces in all_cuts(text):
        out = sf.run(turn(block(pieces)), xml_block_split(), stop_sequences(["\nUser:"]))
        assert_grammar(out)
        assert [(event.index, event.kind, event.content) for event in out if isinstance(event, BlockComplete)] == [
            (0, "thinking", "sec\nUser:ret"),
            (1, "text", "Hello"),
        ]
        assert "".join(event.text for event in out if isinstance(event, Chunk) and event.visible) == "Hello"
        assert out[-1].stop_reason == "stop_sequence"


def test_a_stop_on_the_end_of_calls_is_a_proper_end():
    call = '<function_calls><invoke name="f"><parameter name="a">b</parameter></invoke>'
    for pieces in all_cuts(f"Hi {call}</function_calls>\nUser: x"):
        out = sf.run(turn(block(pieces)), xml_block_split(), stop_sequences(["\nUser:"]), tool_accumulate())
        assert_grammar(out)
        assert [(call.name, call.arguments, call.runnable) for call in out[-2].calls] == [("f", {"a": "b"}, True)]
        assert out[-1].stop_reason == "stop_sequence"
