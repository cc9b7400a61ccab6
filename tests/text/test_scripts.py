import pytest

from streamflow.text.scripts import has_case, is_emoji, joins_previous, script_of, sign_boundary


@pytest.mark.parametrize(
    ("letter", "script"),
    [("a", "Latin"), ("é", "Latin"), ("ж", "Cyrillic"), ("λ", "Greek"), ("あ", "Kana"), ("中", "Han"), ("한", "Hangul"),
     ("ة", "Arabic"), ("क", "Devanagari"), ("ա", "Armenian"), ("ነ", "Ethiopic"), ("မ", "Myanmar"),
     ("5", ""), ("!", "")],
)  # fmt: skip
def test_a_letter_has_a_script(letter, script):
    assert script_of(letter) == script


@pytest.mark.parametrize("sign", ["🎉", "✅", "❤", "\ufe0f", "\u200d", "🇩", "🏽"])
def test_emoji_and_what_glues_them_are_known(sign):
    assert is_emoji(sign)


@pytest.mark.parametrize("sign", ["a", "1", ".", "中", "—", "“", "•"])
def test_letters_digits_and_marks_are_no_emoji(sign):
    assert not is_emoji(sign)


def test_only_some_scripts_have_case():
    assert [has_case(sign) for sign in "aЖλ中あ한ع5"] == [True, True, True, False, False, False, False, False]


@pytest.mark.parametrize("whole", ["e\u0301", "12", "👩\u200d👧", "🇩🇪", "👍🏽", "\r\n", "क\u094dष"])
def test_no_cut_falls_inside_one_sign_or_number(whole):
    text = "ab" + whole + "cd"
    for place in range(3, 2 + len(whole)):
        assert joins_previous(text, place)
        assert sign_boundary(text, place, 0) == 2


def test_a_sign_without_end_is_cut_somewhere():
    assert sign_boundary("1" * 100, 80, 0) == 80
