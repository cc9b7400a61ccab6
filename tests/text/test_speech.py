"""Markdown, HTML and SSML to speech: what is said, however the text is cut, and where it comes from."""

import os
import random

import pytest

from streamflow.errors import UsageError
from streamflow.text.speech import HOLD_LIMIT, SpeechText
from streamflow.text.spoken import Spoken
from tests.support.cuts import at_random, single, two_way
from tests.text.speech_cases import CASES

FUZZ = max(300, int(os.environ.get("STREAMFLOW_FUZZ", "0")) // 100)
_MARKS = (
    "* ** _ ` ``` ~~ < <b> </b> > [ ] ( ) ]( # ## - | --- $ $$ \\ \\( \\) &amp; & ! ![ http :// www. x.y 😀 語 。"
    " <!-- --> . 1. word é 7 = : ' \" <script> </script> \\begin{a} \\end{a} [^1] ]: 【 † 】 \ue200 \ue201 \u200d"
)
SNIPPETS = [*_MARKS.split(" "), "\n", "\n\n", " ", "  ", "\t", "\r\n", "# ", "- ", "> ", "| "]
CHOICES = {
    "code": ("skip", "say", "read"),
    "links": ("text", "url"),
    "tables": ("cells", "skip"),
    "emoji": ("skip", "say"),
    "latex": ("skip", "say", "read"),
}


def speak(pieces: list[str], options: dict[str, str]) -> list[Spoken]:
    speech = SpeechText(**options)
    out = [spoken for piece in pieces for spoken in speech.feed(piece)]
    return out + speech.flush()


def characters(pieces: list[Spoken]) -> list[Spoken]:
    """The same with verbatim pieces taken apart, so that only the content counts."""
    out = []
    for piece in pieces:
        if piece.end - piece.start == len(piece.text):
            out += [Spoken(char, piece.start + i, piece.start + i + 1) for i, char in enumerate(piece.text)]
        else:
            out.append(piece)
    return out


def assert_spans_fit(raw: str, pieces: list[Spoken]) -> None:
    end = 0
    for piece in pieces:
        assert piece.text
        assert end <= piece.start <= piece.end <= len(raw)
        end = piece.end
        if piece.end - piece.start == len(piece.text) > 1:
            assert raw[piece.start : piece.end] == piece.text


@pytest.mark.parametrize(("group", "raw", "spoken", "options"), CASES)
def test_it_says_what_a_reader_would_say(group, raw, spoken, options):
    pieces = speak([raw], options)
    assert "".join(piece.text for piece in pieces).rstrip() == spoken
    assert_spans_fit(raw, pieces)


@pytest.mark.parametrize(("group", "raw", "spoken", "options"), CASES)
def test_cuts_change_nothing(group, raw, spoken, options):
    whole = characters(speak([raw], options))
    assert characters(speak(single(raw), options)) == whole
    for pieces in two_way(raw):
        assert characters(speak(pieces, options)) == whole, pieces


def test_cuts_change_nothing_in_random_markup():
    rng = random.Random(5)
    for _ in range(FUZZ):
        raw = "".join(rng.choice(SNIPPETS) for _ in range(rng.randint(1, 40)))
        options = {name: rng.choice(choices) for name, choices in CHOICES.items()}
        whole = speak([raw], options)
        assert_spans_fit(raw, whole)
        assert characters(speak(single(raw), options)) == characters(whole), (raw, options)
        assert characters(speak(at_random(raw, rng), options)) == characters(whole), (raw, options)


def test_every_spoken_word_maps_to_itself_in_the_raw_text():
    raw = "# Plan\n\nUse **bold** and [a link](https://example.org) with `code_name`.\n- first\n- second"
    for piece in speak([raw], {}):
        if piece.end > piece.start:
            assert raw[piece.start : piece.end] == piece.text


def test_offsets_go_on_after_a_flush():
    speech = SpeechText()
    first = speech.feed("**One**.") + speech.flush()
    second = speech.feed("# Two") + speech.flush()
    assert [(piece.text, piece.start, piece.end) for piece in first] == [("One", 2, 5), (".", 7, 8)]
    assert [(piece.text, piece.start, piece.end) for piece in second] == [("Two", 10, 13), (".", 13, 13)]


def test_text_without_marks_is_released_at_once():
    speech = SpeechText()
    text = "Nothing here has to wait for what comes next"
    for word in text.split():
        assert "".join(piece.text for piece in speech.feed(word + " ")).strip() == word
        assert speech.held <= 1  # the space: a pause may have to go before it


@pytest.mark.parametrize(
    "unit",
    ["<a ", "[", "[a](", "`", "`a", "$x ", "\\", "*a", "**", "<!--", "| a", "&a", "http://a.", "  ", "\n", "|-", "1. "],
)
def test_what_waits_is_bounded_and_each_character_is_read_a_bounded_number_of_times(unit):
    speech = SpeechText()
    for _ in range(1500):
        speech.feed(unit)
        assert speech.held <= HOLD_LIMIT + 4
    assert len(speech._scan.text) <= HOLD_LIMIT + len(unit) + 4
    assert len(speech._scan.regions) <= HOLD_LIMIT


@pytest.mark.parametrize("name", CHOICES)
def test_a_wrong_option_names_itself_and_what_is_allowed(name):
    with pytest.raises(UsageError, match=f"{name}='loud': allowed are '{CHOICES[name][0]}'"):
        SpeechText(**{name: "loud"})
