"""What the subset of regular expressions allows, and what it says about the rest."""

import re

import pytest

from streamflow.errors import UsageError
from streamflow.text.patterns import MAX_LENGTH, Automaton, compile_patterns, literal_pattern, parse_pattern


@pytest.mark.parametrize(
    ("pattern", "shortest", "longest"),
    [
        ("secret", 6, 6),
        (r"sk-[a-z0-9_]{4,8}", 7, 11),
        (r"(?:a|bcd)?x", 1, 4),
        (r"(?P<key>ab){2}", 4, 4),
        (r"\bcat\B", 3, 3),
        (r"[]x]y", 2, 2),
        (r"[^\]x]", 1, 1),
        (r"\x41\u00e9\n\.", 4, 4),
        ("a{,3}b", 1, 4),
        ("{abc}", 5, 5),
        ("a{b", 3, 3),
        ("x{0,1024}y{0}z{0}", 0, MAX_LENGTH),
    ],
)
def test_lengths_are_known_before_a_match(pattern, shortest, longest):
    if shortest:
        tree = parse_pattern(pattern)
        assert (tree.shortest, tree.longest) == (shortest, longest)
    else:
        with pytest.raises(UsageError, match="no characters"):
            parse_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("a*", "no bound"),
        ("a+", "no bound"),
        ("a{2,}", "no bound"),
        ("a??b", "lazy"),
        ("a{1,2}?", "lazy"),
        ("^a", "anchor"),
        ("a$", "anchor"),
        (r"\Aa", "has"),
        (r"(a)\1", "has"),
        ("(?=a)b", "has"),
        ("(?<!a)b", "has"),
        ("(?i:a)b", "has"),
        ("(a", "no regular expression"),
        ("[a", "no regular expression"),
        ("a?", "no characters"),
        ("", "no characters"),
        ("a{1025}", "1025 characters"),
        (re.compile("a b", re.VERBOSE), "flag"),
        (b"a", "not bytes"),
        (re.compile(b"a"), "not Pattern"),
        (7, "not int"),
    ],
)
def test_anything_else_is_refused_with_the_reason(pattern, complaint):
    with pytest.raises(UsageError, match=complaint) as caught:
        parse_pattern(pattern, "patterns")
    assert "patterns" in str(caught.value)


def test_patterns_that_are_too_large_together_are_refused():
    with pytest.raises(UsageError, match="too large"):
        compile_patterns(["(?:a?){1000}b"] * 30)


def test_only_first_characters_stop_the_skipping():
    assert compile_patterns([r"\bab", "[xy]z", "c?d"]).first.findall("a b x d c -") == ["a", "x", "d", "c"]


def test_a_literal_is_taken_as_it_is():
    assert Automaton([literal_pattern("a.+")]).first.pattern == "a"
    assert literal_pattern("a.+").longest == 3
