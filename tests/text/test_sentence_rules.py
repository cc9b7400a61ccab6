import pytest

from streamflow.text.language_data import language
from streamflow.text.sentence_reader import Reader
from streamflow.text.sentence_rules import Rules, is_number


def ends(before, mark, after, code="en"):
    reader = Reader()
    reader.text, reader.final = f"{before}{mark} {after}", True
    reader.bound = len(reader.text) + 1
    place = len(before)
    return Rules(reader).ends(place, mark, "", place + len(mark) + 1, language(code))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It is done", "The end"),
        ("It is done", "5 left"),
        ("It is done", "$5 left"),
        ("It is done", "“Good,” he said"),
        ("It is done", "`ls` is next"),
        ("It is done", "iPhones ring"),
        ("We met at 5 p.m", "Then we left"),
        ("in the U.S", "It rains"),
        ("you and I", "Did you"),
        ("vitamin C", "Take it"),
        ("and so on etc", "Then"),
        ("I said no", "I did"),
        ("in 1999", "In 2000"),
    ],
)
def test_a_period_ends_a_sentence(before, after):
    assert ends(before, ".", after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I met Dr", "Smith"),
        ("See p", "55"),
        ("See Fig", "IV"),
        ("fruit, e.g", "Apples"),
        ("at 5 p.m", "EST"),
        ("At 5 a.m", "Mr. Smith"),
        ("the U.S", "Army"),
        ("Albert I", "Jones"),
        ("J", "R. Smith"),
        ("Acme Inc", "said"),
        ("Apple Inc", "(the firm)"),
        ("for 1", "above"),
        ("It is done", ", he said"),
        ("It is done", "& over"),
    ],
)
def test_a_period_goes_on(before, after):
    assert not ends(before, ".", after)


@pytest.mark.parametrize(
    ("mark", "after", "answer"),
    [
        ("!", "He left", True),
        ("!", "he yelled", False),
        ("?", "yes", True),
        ("...", "He left", True),
        ("...", "he left", False),
        ("!", "- he said", False),
        ("?", "- He said", True),
        ("!", "-5 is it", True),
    ],
)
def test_other_marks(mark, after, answer):
    assert ends("Leave me alone", mark, after) is answer


@pytest.mark.parametrize(
    ("code", "before", "after", "answer"),
    [
        ("de", "am 12", "Juni", False),
        ("de", "auf Seite 12", "Dort", True),
        ("de", "am 31. 12", "2024", False),
        ("de", "Ludwig XIV", "König", False),
        ("de", "Das ist z", "B. gut", False),
        ("de", "Dr. med", "Meier", False),
        ("ru", "в 1961 г", "Гагарин", False),
        ("ko", "1990", "5월", False),
        ("ar", "في عام 2020 م", "كان", True),
        ("ar", "قال د", "أحمد", False),
        ("cs", "je 1", "Potom", True),
        ("es", "los EE", "UU. y", False),
    ],
)
def test_languages_have_their_own_ways(code, before, after, answer):
    assert ends(before, ".", after, code) is answer


def test_numbers_are_told_from_words_with_digits():
    assert [is_number(word) for word in ("12", "1.5", "$3", "x10", "AS750-10", "a")] == [True, True, True] + [False] * 3
