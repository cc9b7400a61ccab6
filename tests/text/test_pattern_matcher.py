"""Matches are the same for every cutting, equal to a brute-force reading, and nothing waits without need."""

import itertools
import random
import re
import time

import pytest

from streamflow.text import pattern_matcher
from streamflow.text.pattern_matcher import MatchTable, PatternMatcher, Span
from streamflow.text.patterns import Automaton, compile_patterns, literal_pattern
from tests.support.turns import all_cuts

PATTERNS = [
    ["ab", "abc"],
    ["a{2,3}b"],
    ["a|ab{2}c"],
    [r"\bab\b"],
    [r"a\b", "ba"],
    [r"\Bab?", r"c\b"],
    ["(ab|b){1,3}c?"],
    ["[ab]{1,2}c", "aab"],
    [r"b\b a", "a"],
    ["a(?:b|)c"],
    ["(?i)aB", "[^ab]c"],
]


def matches_at(patterns, text, start, end):
    """Whether a pattern matches just text[start:end], with the characters around it in sight."""
    for pattern in patterns:
        flags = "i" if pattern.startswith("(?i)") else "s"
        inner = pattern.removeprefix("(?i)")
        probe = rf"(?{flags}s)[\s\S]{{{start}}}(?:{inner})(?=[\s\S]{{{len(text) - end}}}\Z)"
        if re.match(probe, text):
            return True
    return False


def by_brute_force(patterns, text):
    """Leftmost, then longest, by trying everything."""
    out = []
    position = 0
    while position < len(text):
        ends = [end for end in range(len(text), position, -1) if matches_at(patterns, text, position, end)]
        end = ends[0] if ends else position + 1
        if not ends and out and not out[-1][1]:
            out[-1] = (out[-1][0] + text[position], False)
        else:
            out.append((text[position:end], bool(ends)))
        position = end
    return out


def joined(spans):
    out = []
    position = 0
    for span in spans:
        assert span.start == position
        position += len(span.text)
        if not span.text:
            continue
        if out and not span.matched and not out[-1][1]:
            out[-1] = (out[-1][0] + span.text, False)
        else:
            out.append((span.text, span.matched))
    return out


def read(table, pieces):
    matcher = PatternMatcher(table)
    return joined([span for piece in pieces for span in matcher.feed(piece)] + matcher.flush())


@pytest.mark.parametrize("patterns", PATTERNS, ids=str)
def test_every_cutting_gives_what_brute_force_gives(patterns):
    rng = random.Random(7)
    table = MatchTable(compile_patterns(patterns))
    for _ in range(60):
        text = "".join(rng.choice("aAbc ") for _ in range(rng.randrange(1, 10)))
        expected = by_brute_force(patterns, text)
        for pieces in all_cuts(text):
            assert read(table, pieces) == expected, (text, pieces)


@pytest.mark.parametrize("patterns", [["ab", "aab"], ["aba"], ["abab", "b"], ["a", "abb"], ["ab{1,2}a"]], ids=str)
def test_what_is_held_is_the_longest_tail_that_may_still_become_a_match(patterns):
    alphabet = "ab"
    table = MatchTable(compile_patterns(patterns))
    tails = ["".join(tail) for size in range(5) for tail in itertools.product(alphabet, repeat=size)]
    for text in ("".join(letters) for letters in itertools.product(alphabet, repeat=6)):
        matcher = PatternMatcher(table)
        given = sum(len(span.text) for char in text for span in matcher.feed(char))
        # A character is decided when all continuations agree on the piece that it belongs to.
        readings = [pieces_of(by_brute_force(patterns, text + tail)) for tail in tails]
        decided = 0
        while decided < len(text) and all(reading[decided] == readings[0][decided] for reading in readings):
            decided += 1
        assert len(text) - given == len(matcher.held)
        assert given <= decided, (text, matcher.held)
        assert given >= last_boundary(readings[0], decided), (text, matcher.held)


def pieces_of(reading):
    """For each character the match that it belongs to, or None."""
    out = []
    for text, matched in reading:
        begin = len(out)
        out += [(begin, begin + len(text)) if matched else None] * len(text)
    return out


def last_boundary(reading, decided):
    while 0 < decided < len(reading) and reading[decided] is not None and reading[decided] == reading[decided - 1]:
        decided -= 1
    return decided


def test_the_match_that_ends_first_counts_when_asked_for():
    table = MatchTable(Automaton([literal_pattern(text) for text in ("abcd", "bc", "\n\nU:", "\nU:")]), first_end=True)
    for pieces in all_cuts("xabcd"):
        assert read(table, pieces)[:2] == [("xa", False), ("bc", True)]
    for pieces in all_cuts("x\n\n\nU:"):
        assert read(table, pieces) == [("x\n", False), ("\n\nU:", True)]


def test_a_match_that_is_certain_is_announced_before_its_end_is():
    for text, announced in (("a secret", True), ("a secre", False), ("a secreta", True), ("a secretx", False)):
        matcher = PatternMatcher(MatchTable(compile_patterns(["secret(?:ary)?"])))
        spans = [span for char in text for span in matcher.feed(char)]
        assert ((spans[-1].text, spans[-1].matched) == ("", True)) is announced
        if announced:
            assert matcher.flush()[0] == Span("secret", 2, True, True)


def test_a_match_is_not_announced_while_one_that_began_before_it_may_win():
    matcher = PatternMatcher(MatchTable(compile_patterns(["ab", "xab{2}"])))
    assert matcher.feed("xab") == []
    assert [(span.text, span.matched, span.announced) for span in matcher.feed("c")] == [
        ("x", False, False), ("ab", True, False), ("c", False, False),
    ]  # fmt: skip


def test_text_without_a_first_character_is_never_held():
    matcher = PatternMatcher(MatchTable(compile_patterns([r"\bsk-\w{8}"])))
    assert matcher.passes("plain text, no candidate: 1+1")
    assert not matcher.passes("but sk")
    assert matcher.held == ""


def test_a_word_edge_sees_the_character_before_and_after_a_pause():
    matcher = PatternMatcher(MatchTable(compile_patterns([r"\bcat\b"])))
    assert matcher.passes("wild")
    assert [(span.text, span.matched) for span in matcher.feed("cat ")] == [("cat ", False)]
    assert matcher.feed("cat") == []
    assert [(span.text, span.matched) for span in matcher.flush()] == [("cat", True)]
    assert [(span.text, span.matched) for span in matcher.feed("cat ")] == [("cat ", False)]


def test_memory_stays_bounded_when_every_state_is_new(monkeypatch):
    monkeypatch.setattr(pattern_matcher, "_MAX_PLACES", 500)
    table = MatchTable(compile_patterns(["a.{60}b"]))
    rng = random.Random(2)
    text = "".join(rng.choice("aac") for _ in range(3000)) + "b"
    whole = read(table, [text])
    assert whole == read(MatchTable(compile_patterns(["a.{60}b"])), list(text))
    assert len(table._states) <= 500


@pytest.mark.parametrize("pattern", ["a{500}b", "a|a{60}b", r"[\w.]{1,64}@[\w.]{1,64}"])
def test_cost_grows_with_the_text_and_no_faster(pattern):
    table = MatchTable(compile_patterns([pattern]))

    def cost(size):
        text = "a" * size
        best = 9.9
        for _ in range(3):
            matcher = PatternMatcher(table)
            begin = time.process_time()
            for place in range(0, size, 8):
                matcher.feed(text[place : place + 8])
            best = min(best, time.process_time() - begin)
        return best

    cost(1000)
    assert cost(20_000) < 3 * cost(10_000) + 0.005
