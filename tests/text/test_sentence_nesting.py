import pytest

from streamflow.text.language_data import language
from streamflow.text.sentence_nesting import SIGNS, Nesting
from streamflow.text.sentence_reader import REACH, NeedMore, Reader, Waiting


def nesting_at(text, final=True, code="en"):
    """The nesting before the mark that is written as ‡."""
    reader = Reader()
    place = text.index("‡")
    reader.text, reader.final = text.replace("‡", "."), final
    reader.bound = place + REACH
    nesting = Nesting(reader)
    for at in range(place):
        if reader.text[at] in SIGNS:
            nesting.sign(at, language(code))
    return nesting, place


@pytest.mark.parametrize(
    "text",
    [
        'He said "Go‡ Now" twice',
        "He said “Go‡ Now” twice",
        "Er sagte „Geh‡ Jetzt“ laut",
        "Er sagte »Geh‡ Jetzt« laut",
        "Il dit « Va‡ Vite » et",
        "the 'a‡ B' case",
        "(one‡ Two) three",
        "彼は「行く‡すぐ」と",
        "call `a‡ B` now",
        "let $x‡ Y$ be",
        "[a (b‡ C) d]",
    ],
)
def test_a_place_in_what_closes_is_inside(text):
    nesting, place = nesting_at(text)
    assert nesting.encloses(place + 1, "")


@pytest.mark.parametrize(
    "text",
    [
        'He said "Go‡ Now',
        'a 27" monitor‡ It is "big"',
        "the dogs' bowls‡ The cats' bowls",
        "rock 'n' roll‡ It's 'fine'",
        "it costs $5‡ Pay $6",
        "(one) two‡ Three (four)",
        '"one" two‡ Three',
        'He said "go‡ Now.\n\nThen" he',
        "smile :( now‡ And then :)",
    ],
)
def test_a_place_in_what_never_closes_or_is_closed_is_not_inside(text):
    nesting, place = nesting_at(text)
    assert not nesting.encloses(place + 1, "")


def test_signs_right_behind_the_mark_close_first():
    nesting, place = nesting_at('He said "Go‡" and "left" it')
    assert not nesting.encloses(place + 1, '"')


def test_an_undecided_place_waits_for_the_closing_sign_alone():
    nesting, place = nesting_at('He said "Go‡ Now', final=False)
    with pytest.raises(Waiting) as waiting:
        nesting.encloses(place + 1, "")
    assert waiting.value.signs == {'"', "\n"}
    assert waiting.value.until <= place + REACH


def test_a_sign_at_the_very_end_waits_for_what_follows():
    nesting, place = nesting_at("the 'a‡ B'", final=False)
    with pytest.raises(NeedMore):
        nesting.encloses(place + 1, "")


def test_what_closes_too_far_away_does_not_count():
    nesting, place = nesting_at('He said "Go‡ ' + "x" * REACH + '" end', final=False)
    assert not nesting.encloses(place + 1, "")
