"""Spans of rewritten text keep their place in the raw text, even where the raw text has gaps."""

from streamflow.events import Chunk
from streamflow.text.pattern_matcher import MatchTable
from streamflow.text.patterns import compile_patterns
from streamflow.text.rewriting import TextTrack


def chunks_of(track, spans, text=None):
    return [(chunk.text, chunk.start) for span in spans for chunk in track.chunks(span, text if span.matched else None)]


def test_held_text_from_several_places_is_cut_where_they_meet():
    track = TextTrack(MatchTable(compile_patterns(["abcdef"])))
    out = chunks_of(track, track.feed(Chunk(0, "text", "xab", start=10)))
    out += chunks_of(track, track.feed(Chunk(0, "text", "cd", start=13)))
    out += chunks_of(track, track.feed(Chunk(0, "text", "e", start=40)))
    out += chunks_of(track, track.feed(Chunk(0, "text", "!", start=-1)))
    assert out == [("x", 10), ("abcd", 11), ("e", 40), ("!", -1)]


def test_a_replacement_stands_where_its_match_began():
    track = TextTrack(MatchTable(compile_patterns(["abc"])))
    track.feed(Chunk(0, "text", "ab", start=5))
    assert chunks_of(track, track.feed(Chunk(0, "text", "cz", start=30)), "*") == [("*", 5), ("z", 31)]


def test_places_that_are_passed_are_forgotten():
    track = TextTrack(MatchTable(compile_patterns(["abc"])))
    for start in range(0, 1000, 10):
        assert track.passes(Chunk(0, "text", "xyz", start=start))
    assert len(track._origins) == 1
