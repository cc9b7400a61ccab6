"""Words in time and in the raw text."""

import random

import pytest

from streamflow.events import Sentence
from streamflow.text.karaoke import Karaoke
from streamflow.text.speech import SpeechText
from tests.text.speech_cases import CASES


def of_plain(*texts, seconds=1.0):
    karaoke = Karaoke()
    start = 0
    for index, text in enumerate(texts):
        karaoke.add(Sentence(index, text, start, start + len(text)), seconds)
        start += len(text)
    return karaoke


def of_markup(raw, **options):
    """One sentence of all that is said."""
    speech = SpeechText(**options)
    pieces = speech.feed(raw) + speech.flush()
    karaoke = Karaoke()
    karaoke.add_text(raw)
    text = "".join(piece.text for piece in pieces)
    karaoke.add(Sentence(0, text, pieces[0].start if pieces else 0, pieces[-1].end if pieces else 0), 10.0)
    return karaoke


def test_nothing_was_heard_before_the_first_word_ends():
    karaoke = of_plain("Hello there. ", "Bye.")
    assert karaoke.heard(0.0) == karaoke.heard(0.1) == ""
    assert karaoke.heard(0.5) == "Hello"
    assert karaoke.heard(1.0) == "Hello there."
    assert karaoke.heard(99) == "Hello there. Bye."


def test_the_word_at_a_time():
    karaoke = of_plain("One two. ", "Three.")
    assert [karaoke.word_at(t).text for t in (0.0, 0.3, 0.5, 0.99, 1.0, 5)] == [
        "One",
        "One",
        "two",
        "two",
        "Three",
        "Three",
    ]
    assert Karaoke().word_at(1) is None


def test_words_are_found_in_the_markup_and_marks_that_close_go_with_them():
    raw = "## Plan\n\nUse **bold** and [a link](https://example.org/a) now."
    karaoke = of_markup(raw)
    assert [raw[word.start : word.end] for word in karaoke.words] == "Plan Use bold and a link now".split()  # noqa: SIM905
    bold = next(word for word in karaoke.words if word.text == "bold")
    assert karaoke.heard(bold.end_s) == "## Plan\n\nUse **bold**"


@pytest.mark.parametrize(("group", "raw", "spoken", "options"), CASES)
def test_what_was_heard_is_a_growing_prefix_of_the_raw_text(group, raw, spoken, options):
    karaoke = of_markup(raw, **options)
    last = ""
    for tenth in range(101):
        heard = karaoke.heard(tenth / 10)
        assert raw.startswith(heard)
        assert len(heard) >= len(last)
        last = heard
    places = [(word.start, word.end) for word in karaoke.words]
    assert all(0 <= start <= end <= len(raw) for start, end in places)
    assert places == sorted(places)


def test_what_was_heard_never_ends_inside_a_word():
    raw = "The quick brown fox isn't at example.org, it costs 3.50 in well-known places. "
    karaoke = of_plain(raw)
    for hundredth in range(101):
        heard = karaoke.heard(hundredth / 100)
        assert heard == "" or not (heard[-1].isalnum() and raw[len(heard)].isalnum())


def test_without_raw_text_the_sentences_are_taken_as_it():
    karaoke = Karaoke()
    karaoke.add(Sentence(0, "Bold words. "), 1.0)
    karaoke.add(Sentence(1, "More.", 40, 99), 1.0)
    assert karaoke.heard(9) == "Bold words. More."


def test_a_hidden_block_leaves_no_hole_in_what_was_heard():
    karaoke = Karaoke()
    karaoke.add_text("One. ", 0)
    karaoke.add_text("Two.", 500)
    karaoke.add(Sentence(0, "One. ", 0, 5), 1.0)
    karaoke.add(Sentence(1, "Two.", 500, 504), 1.0)
    assert karaoke.heard(2.0) == karaoke.raw == "One. Two."
    assert karaoke.words[-1].start == 500


def test_languages_without_spaces_are_heard_sign_by_sign():
    karaoke = of_plain("これは本です。")
    assert karaoke.heard(0.45) == "これは"


def test_a_repeated_word_is_found_in_its_own_place():
    karaoke = of_plain("no no no. ", "no no.")
    assert [word.start for word in karaoke.words] == [0, 3, 6, 10, 13]


def test_time_is_linear_in_the_length_of_the_turn():
    rng = random.Random(1)
    karaoke = Karaoke()
    start = 0
    for index in range(2000):
        text = "word " * rng.randint(1, 9)
        karaoke.add_text(text, start)
        karaoke.add(Sentence(index, text, start, start + len(text)), 1.0)
        start += len(text)
    assert karaoke.heard(2000) == karaoke.raw.rstrip()


def test_a_word_is_not_found_in_a_tag_or_in_a_target():
    raw = 'See <b class="now">it</b> [here](https://now.here/then) now, then **go**.'
    karaoke = of_markup(raw)
    assert [(word.text, raw[word.start : word.end]) for word in karaoke.words] == [
        (word, word) for word in ("See", "it", "here", "now", "then", "go")
    ]
    assert {word.text: word.start for word in karaoke.words} == {
        "See": 0,
        "it": raw.index("it</b>"),
        "here": raw.index("here]"),
        "now": raw.rindex("now"),
        "then": raw.rindex("then"),
        "go": raw.rindex("go"),
    }
