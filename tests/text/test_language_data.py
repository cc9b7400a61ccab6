import tomllib
from importlib.resources import files

import msgspec
import pytest

from streamflow.errors import UsageError
from streamflow.text.language_data import BEHAVIOURS, Language, language, languages
from streamflow.text.scripts import script_of

REQUIRED = {
    "en", "de", "fr", "es", "it", "nl", "pl", "ru", "zh", "ja", "ko",
    "hi", "ar", "fa", "ur", "el", "hy", "bg", "da", "kk", "my", "am",
}  # fmt: skip


def test_the_languages_are_there():
    assert set(languages()) >= REQUIRED


@pytest.mark.parametrize("code", languages())
def test_a_language_can_be_read_and_says_what_it_is(code):
    known = language(code)
    assert known.code == code
    assert known.name
    assert language(code) is known


@pytest.mark.parametrize("code", languages())
def test_the_words_are_in_the_script_of_the_language(code):
    known = language(code)
    scripts = {script_of(word[0]) for word in known.common} - {""}
    assert scripts <= {known.script}


@pytest.mark.parametrize("code", languages())
def test_a_data_file_is_explained_and_its_abbreviations_have_no_last_period(code):
    source = files("streamflow.text").joinpath("languages", f"{code}.toml").read_text("utf-8")
    assert source.startswith("# ")
    for behaviour, words in tomllib.loads(source).get("abbreviations", {}).items():
        assert behaviour in BEHAVIOURS
        assert not [word for word in words if word.endswith(".") or word != word.strip()]


def test_a_language_takes_over_the_words_of_the_one_it_extends():
    assert language("sk").behaviour("apod") == "ending"
    assert language("de").behaviour("Inc") == "either"
    assert "the" not in language("de").common


@pytest.mark.parametrize(
    ("word", "behaviour"),
    [("Dr", "title"), ("DR", "title"), ("dr", ""), ("e.g", "inside"), ("fig", "number"), ("cat", "")],
)
def test_an_entry_with_a_capital_matches_only_with_it(word, behaviour):
    assert language("en").behaviour(word) == behaviour


def test_an_unknown_language_is_told_with_the_known_ones():
    with pytest.raises(UsageError, match="'auto', 'am'"):
        language("tlh")


def test_every_key_is_explained():
    explained = files("streamflow.text").joinpath("languages", "en.toml").read_text("utf-8").split("\nname = ")[0]
    for key in msgspec.structs.fields(Language):
        assert key.name in explained or key.name == "code", key.name
