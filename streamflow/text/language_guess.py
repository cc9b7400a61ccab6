"""Which language a text is in, as far as it has been read: a guess from its script and its small words."""

import re
from functools import cache

import msgspec

from streamflow.text.language_data import Language, language, languages
from streamflow.text.scripts import VOWELS, script_of

_WORDS = re.compile(r"[^\W\d_]+")
# Votes are halved when so many have come, so that a text may change its language.
_MEMORY = 30
# A letter that only some languages use says more than a small word that several share.
_LETTER_VOTES = 2
# So many votes leave little doubt; so many speak for a language at all.
_SURE = 3
_LIKELY = 1
# So many words before a mark are enough to tell.
_WORDS_READ = 16
# The language of a script when little speaks for any.
_DEFAULTS = {"Latin": "en", "Cyrillic": "ru", "Arabic": "ar", "Devanagari": "hi"}


@cache
def _languages_of(script: str) -> tuple[Language, ...]:
    return tuple(known for code in languages() if (known := language(code)).script == script)


@cache
def _telling(script: str) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Give the words and the letters of a script that speak for some of its languages."""
    words: dict[str, tuple[str, ...]] = {}
    letters: dict[str, tuple[str, ...]] = {}
    for known in _languages_of(script):
        for word in known.common:
            words[word] = (*words.get(word, ()), known.code)
        for letter in known.letters:
            letters[letter] = (*letters.get(letter, ()), known.code)
    return words, letters


@cache
def _unsure(code: str) -> Language:
    """Give a language with what is plain in its neighbours ("Srta. Ledesma", "pag. 12", "3. Oktober")."""
    likely = language(code)
    neighbours = _languages_of(likely.script)
    ordinary = {word for known in neighbours for word in (*known.common, *map(str.lower, known.starters))}
    lent: dict[str, str] = {}
    for known in neighbours:
        for word, behaviour in known.abbreviations.items():
            if len(word) < 2 or word.lower() in ordinary:
                continue
            if behaviour == "number" or (behaviour in ("title", "inside") and not VOWELS & set(word.lower())):
                lent[word] = behaviour
            elif behaviour == "title":
                # Among Latin letters a small word with vowels is too often a word of another language.
                lent[word[0].upper() + word[1:] if likely.script == "Latin" else word] = behaviour
    months = frozenset[str]().union(*(known.ordinal_after for known in neighbours))
    return msgspec.structs.replace(
        likely,
        abbreviations=lent | likely.abbreviations,
        ordinal_after=months,
        plain_length=max(likely.plain_length, 6),
    )


class LanguageGuess:
    """Counts the small words and special letters read so far.

    >>> guess = LanguageGuess()
    >>> text = "Das ist nicht der Weg. This is the way of the cat."
    >>> guess.at(text, 0, 21).code
    'de'
    """

    __slots__ = ("_script", "_votes")

    def __init__(self) -> None:
        self._script = "Latin"
        self._votes: dict[str, dict[str, float]] = {}

    def at(self, text: str, begin: int, end: int) -> Language:
        """Read ``text[begin:end]`` and name the language at its end."""
        words = _WORDS.findall(text, begin, end)
        if words:
            self._count(words[-_WORDS_READ:])
        known = _languages_of(self._script)
        if len(known) == 1:
            return known[0]
        votes = self._votes.get(self._script)
        default = _DEFAULTS.get(self._script, "en")
        if not votes:
            return _unsure(default)
        # Among equals the default wins, then the order of the codes: a fixed rule, whatever came first.
        best = max(votes, key=lambda code: (votes[code], code == default, code))
        if votes[best] >= _SURE:
            return language(best)
        return _unsure(best if votes[best] >= _LIKELY else default)

    def _count(self, words: list[str]) -> None:
        script = script_of(words[-1][-1]) or script_of(words[-1][0])
        if script:
            self._script = script
        for word in words:
            origin = "Latin" if word[0] < "\x80" else script_of(word[0])
            if not origin:
                continue
            telling, letters = _telling(origin)
            supporters = telling.get(word.lower(), ())
            if supporters:
                self._vote(origin, supporters, 1)
            if letters and not word.isascii():
                for letter in word:
                    if letter in letters:
                        self._vote(origin, letters[letter], _LETTER_VOTES)

    def _vote(self, script: str, supporters: tuple[str, ...], weight: float) -> None:
        votes = self._votes.setdefault(script, {})
        for code in supporters:
            votes[code] = votes.get(code, 0.0) + weight / len(supporters)
        if sum(votes.values()) > _MEMORY:
            for code in votes:
                votes[code] /= 2
