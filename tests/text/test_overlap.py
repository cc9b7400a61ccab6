"""Joining two texts without a repeated or a missing word."""

import random

import pytest

from streamflow.text.overlap import Overlap
from tests.support.cuts import every_way

TEXT = (
    "it was late when the old ship came into the harbour and nobody on the quay knew her name although her lamps "
    "were lit and a man stood at the rail who lifted his hat to us as if we had met before in better times"
)
WORDS = TEXT.split()


def joined(before: str, after: str) -> str:
    """The join, checked to be the same however the second text is cut."""
    outcomes = set()
    for pieces in every_way(after, randoms=5):
        overlap = Overlap(before)
        outcomes.add(before + "".join(overlap.feed(piece) for piece in pieces) + overlap.flush())
    assert len(outcomes) == 1, outcomes
    return outcomes.pop()


@pytest.mark.parametrize("repeated", range(21))
@pytest.mark.parametrize("form", ["plain", "led", "ended"])
def test_the_last_words_said_again(repeated: int, form: str) -> None:
    cut = 25
    before = " ".join(WORDS[:cut]) + (" " if form == "ended" else "")
    after = " ".join(WORDS[cut - repeated :])
    if form == "led" or (form == "plain" and repeated == 0):
        after = " " + after
    assert joined(before, after) == " ".join(WORDS)


@pytest.mark.parametrize("repeated", range(1, 21))
def test_the_first_text_ends_inside_a_word(repeated: int) -> None:
    text = TEXT
    start = text.index("better") + 3
    before = text[:start]
    words = before.split()
    after = " ".join(words[-repeated:]) + text[start:]
    assert joined(before, after) == text


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("This is a", " apple tree", "This is a apple tree"),
        ("This is a", "apple tree", "This is aapple tree"),
        ("Hel", "lo", "Hello"),
        ("The quick", " brown fox", "The quick brown fox"),
        ("", "Hello", "Hello"),
        ("Hello", "", "Hello"),
        ("One. Two.", "Two. Three.", "One. Two. Three."),
        ("a b c", "x a b c", "a b cx a b c"),
        ("I like the car", " care is needed", "I like the car care is needed"),
        ("Je ne sais pas,", "pas, mais oui", "Je ne sais pas, mais oui"),
        ("数は一 二 三", "二 三 四", "数は一 二 三 四"),
        ("line one\nline two", "line two\nline three", "line one\nline two\nline three"),
        ("One. ", " Two.", "One. Two."),
        ("One.\n", "\nTwo.", "One.\n\nTwo."),
        ("one  two", "one  two  three", "one  two  three"),
    ],
)
def test_cases(before: str, after: str, expected: str) -> None:
    assert joined(before, after) == expected


def test_text_that_cannot_be_a_repetition_leaves_at_once() -> None:
    overlap = Overlap("The quick brown fox")
    assert overlap.feed("z") == "z"
    overlap = Overlap("The quick brown fox")
    assert overlap.feed(" qui") == ""
    assert overlap.feed("e") == " quie"
    assert overlap.feed("t") == "t"


def test_what_is_held_is_bounded_and_nothing_is_lost() -> None:
    rng = random.Random(3)
    for _ in range(300):
        before = "".join(rng.choice("ab ") for _ in range(rng.randrange(12)))
        after = "".join(rng.choice("ab ") for _ in range(rng.randrange(12)))
        overlap = Overlap(before)
        out = overlap.feed(after) + overlap.flush()
        assert after.endswith(out)
        assert len(after) - len(out) == overlap.trimmed
        assert before.rstrip().endswith(after[: overlap.trimmed].strip())


def test_a_long_text_costs_little() -> None:
    before = "word " * 100_000
    overlap = Overlap(before)
    out = overlap.feed("word " * 3 + "end")
    assert before + out == before + "end"
