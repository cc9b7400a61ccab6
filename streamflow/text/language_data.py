"""The languages the sentence cutter knows: readable data files, read when first needed.

Each file in ``languages/`` is one language. ``en.toml`` explains the keys. A file that is added there is a language
that can be chosen; nothing else has to be touched.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from streamflow.errors import UsageError

#: What an abbreviation does before the next word; the keys of the ``[abbreviations]`` table of a data file.
BEHAVIOURS = ("title", "number", "inside", "ending", "either")
# A language that extends another takes over its words but not what tells the two apart.
_OWN = frozenset(
    {
        "common",
        "letters",
        "lowercase_after",
        "openers",
        "pronouns",
        "elisions",
        "extends",
        "abbreviations",
        "plain_length",
    }
)


class Language(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the cutter needs to know about one language; see ``languages/en.toml`` for the meaning of each field."""

    code: str
    name: str
    script: str
    terminators: frozenset[str] = frozenset()
    not_terminators: frozenset[str] = frozenset()
    clause_terminators: frozenset[str] = frozenset()
    lowercase_after: frozenset[str] = frozenset({"?"})
    abbreviations: dict[str, str] = {}
    suffixes: tuple[str, ...] = ()
    starters: frozenset[str] = frozenset()
    pronouns: frozenset[str] = frozenset()
    openers: frozenset[str] = frozenset()
    followers: frozenset[str] = frozenset()
    elisions: frozenset[str] = frozenset()
    marked_names: frozenset[str] = frozenset()
    reference_nouns: frozenset[str] = frozenset()
    ordinal_before: frozenset[str] = frozenset()
    ordinal_after: frozenset[str] = frozenset()
    quote_followers: tuple[str, ...] = ()
    speech_verbs: frozenset[str] = frozenset()
    line_joiners: tuple[str, ...] = ()
    final_endings: tuple[str, ...] = ()
    common: frozenset[str] = frozenset()
    letters: frozenset[str] = frozenset()
    vowelless: bool = True
    plain_length: int = 6

    def behaviour(self, word: str) -> str:
        """Return what the abbreviation ``word`` (without its last period) does, "" for an ordinary word.

        >>> language("en").behaviour("Dr"), language("en").behaviour("house")
        ('title', '')
        """
        table = self.abbreviations
        found = table.get(word)
        if found is None and len(word) > 1:
            found = table.get(word.lower()) or (table.get(word.capitalize()) if word.isupper() else None)
        if found is None and self.suffixes and word.endswith(self.suffixes):
            found = "number"
        return found or ""


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of all languages with a data file.

    >>> {"en", "ja", "my"} <= set(languages())
    True
    """
    names = (entry.name for entry in files("streamflow.text").joinpath("languages").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def _read(code: str) -> dict[str, Any]:
    own = tomllib.loads(files("streamflow.text").joinpath("languages", f"{code}.toml").read_text("utf-8"))
    behaviours = own.pop("abbreviations", {})
    abbreviations: dict[str, str] = {}
    for behaviour, words in behaviours.items():
        if behaviour not in BEHAVIOURS:
            raise ValueError(f"{code}.toml: unknown behaviour {behaviour!r}; known are {', '.join(BEHAVIOURS)}")
        abbreviations.update(dict.fromkeys(words, behaviour))
    parent = _read(own["extends"]) if "extends" in own else {}
    merged = {key: value for key, value in parent.items() if key not in _OWN}
    for key, value in own.items():
        inherited = merged.get(key)
        merged[key] = [*value, *inherited] if isinstance(value, list) and inherited else value
    merged["abbreviations"] = {**parent.get("abbreviations", {}), **abbreviations}
    return merged


@cache
def language(code: str) -> Language:
    """Return the data of a language, read once; a region says nothing about sentences.

    >>> language("de").name, language("pt-BR").name
    ('German', 'Portuguese')
    """
    plain = code.replace("_", "-").partition("-")[0].lower()
    if plain != code and plain in languages():
        return language(plain)
    if code not in languages():
        raise UsageError(f"language={code!r}: allowed are 'auto', {', '.join(map(repr, languages()))}")
    data = {key: value for key, value in _read(code).items() if key != "extends"}
    return msgspec.convert({"code": code, **data}, Language)
