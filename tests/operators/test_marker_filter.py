"""Markers go, everything else comes through at once; calls in fences look like native ones."""

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamFailed, Usage
from streamflow.operators import marker_filter, to_response, tool_accumulate
from tests.support.cuts import merged
from tests.support.grammar import assert_grammar
from tests.support.turns import all_cuts, block, call_block, chunk_texts, turn

TEXT = "Hi<｜tool▁calls▁begin｜> a <｜b <｜c｜> <｜DSML｜invoke name='x'> <｜｜> d｜> <｜end▁of▁sentence｜>."
CLEAN = "Hi a <｜b  <｜DSML｜invoke name='x'> <｜｜> d｜> ."
FENCE = 'Looking.\n```json\n{"name": "search", "arguments": {"q": "x"}}\n```\n'


def test_every_cutting_of_strings_gives_the_same_text():
    for pieces in all_cuts(TEXT):
        assert "".join(sf.run(pieces, marker_filter())) == CLEAN


def test_every_cutting_of_events_gives_the_same_events():
    expected = merged(sf.run(turn(block([TEXT])), marker_filter()))
    assert expected[-2] == BlockComplete(0, "text", CLEAN)
    for pieces in all_cuts(TEXT):
        events = sf.run(turn(block(pieces)), marker_filter())
        assert_grammar(events)
        assert merged(events) == expected


def test_a_marker_never_blocks_what_follows():
    feeder = sf.Feeder(marker_filter(["search"]))
    assert feeder.feed("a<｜to") == ["a"]
    assert feeder.feed("ol｜>b") == ["b"]
    assert feeder.feed("c") == ["c"]
    assert feeder.feed("<｜") == []
    assert feeder.feed("｜") == ["<｜｜"]


def test_what_never_closes_is_released_after_a_bounded_wait():
    feeder = sf.Feeder(marker_filter())
    out = "".join(text for _ in range(40) for text in feeder.feed("<｜abcd"))
    assert len(out) > 40 * 6 - 110


def test_calls_in_fences_become_blocks_before_the_end():
    for pieces in all_cuts(FENCE):
        out = sf.run(turn(block(pieces), [Usage(1, 2)]), marker_filter(["search"]), tool_accumulate())
        assert_grammar(out)
        assert chunk_texts(out, 0) == FENCE
        assert out[-8:] == [
            Usage(1, 2),
            BlockStart(1, "tool_call"),
            Chunk(1, "tool_call", "search", False, part="name", tool_name="search"),
            Chunk(1, "tool_call", "call_1", False, part="id", tool_id="call_1", tool_name="search"),
            Chunk(1, "tool_call", '{"q":"x"}', False, part="input", tool_id="call_1", tool_name="search"),
            out[-3],
            out[-2],
            StreamCompleted("tool_use"),
        ]
        assert (out[-3].input, out[-3].raw) == ({"q": "x"}, FENCE[17:-5])
        assert [call.runnable for call in out[-2].calls] == [True]


def test_without_names_a_fence_is_only_text():
    out = sf.run(turn(block([FENCE])), marker_filter())
    assert [type(event).__name__ for event in out[-2:]] == ["BlockComplete", "StreamCompleted"]
    assert out[-1].stop_reason == "end_turn"


def test_block_indices_go_on_and_ids_are_made_as_asked():
    events = turn(block([FENCE]), call_block(["{}"], 5, input={}), stop_reason="max_tokens")
    out = sf.run(events, marker_filter(["search"], ids=lambda index: f"mine_{index}"))
    assert (out[-2].index, out[-2].tool_id) == (6, "mine_6")
    assert out[-1].stop_reason == "max_tokens"


def test_the_form_of_the_older_models_is_found_too():
    text = (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n"
        '```json\n{"q": "x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    )
    for pieces in all_cuts(text):
        out = sf.run(turn(block(pieces)), marker_filter(["search"]))
        assert (out[-2].tool_name, out[-2].input) == ("search", {"q": "x"})


def test_a_turn_without_a_proper_end_has_no_calls():
    cancelled = sf.run(turn(block([FENCE]), stop_reason="cancelled"), marker_filter(["search"]))
    failed = [*turn(block([FENCE]))[:-1], StreamFailed(sf.events.ErrorInfo("StreamTruncated", ""))]
    for out in (cancelled, sf.run(failed, marker_filter(["search"])), sf.run(failed[:-1], marker_filter(["search"]))):
        assert all(event.kind != "tool_call" for event in out if isinstance(event, BlockStart))


def test_a_fence_in_thought_is_no_call():
    out = sf.run(turn(block([FENCE], 0, "thinking")), marker_filter(["search"]))
    assert [event.kind for event in out if isinstance(event, BlockStart)] == ["thinking"]


def test_plain_text_ends_where_it_ends():
    *text, start, name, id, part, done = sf.run([FENCE[:20], FENCE[20:]], marker_filter(["search"]))
    assert "".join(text) == FENCE
    assert (start.index, name.text, id.text, part.text, done.input) == (0, "search", "call_0", '{"q":"x"}', {"q": "x"})


def test_an_answer_that_was_folded_before_has_the_call():
    out = sf.run(turn(block([FENCE])), to_response(), marker_filter(["search"]))
    assert [call.name for call in out[-1].response.tool_calls] == ["search"]


@pytest.mark.parametrize("options", [{"names": "search"}, {"names": [""]}, {"names": [7]}, {"names": 7}, {"ids": "x"}])
def test_wrong_options_are_said_at_once(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        marker_filter(**options)
