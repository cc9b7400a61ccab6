"""Does a sentence end at this mark? The rules for periods, question and exclamation marks and ellipses."""

import re

from streamflow.text.language_data import Language, language
from streamflow.text.scripts import VOWELS, has_case, script_of
from streamflow.text.sentence_lines import numbered_at
from streamflow.text.sentence_reader import AROUND, Reader, last_part

#: The word space of Ethiopic; two of them are often typed for its full stop.
WORD_SPACE = "፡"
#: Marks that need no space after them.
STRONG = "。．！？｡؟۔।॥။።፧፨։៕༎"
ELLIPSES = "…‥⋯"
#: Marks that end a sentence in every language.
MARKS = ".!?" + STRONG + ELLIPSES

_DOTTED = re.compile(r"(?:[^\W\d_]\.-?)+[^\W\d_]")
_ROMAN = re.compile(r"[IVXLCDM]+")
#: After a mark these carry on with the sentence.
CARRIES_ON = frozenset(",;:!?)]}/|=+&、，；：）】」』")
_DASHES = "-–—"
_LATIN_END = re.compile(r"[A-Za-z][A-Za-z.]*$")
# What Latin abbreviations do in the middle of another script.
_LATIN = {"title": "title", "inside": "inside", "number": "number"}


def is_number(word: str) -> bool:
    """Tell whether a word is a plain number: "12", "1.5", "-3".

    >>> is_number("1.000"), is_number("x10")
    (True, False)
    """
    return word[-1:].isdigit() and not word.strip("0123456789.,-+$€£~≈#№٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९")


class Rules:
    """The answer for one mark, given the text before it and as little as possible of the text after it."""

    __slots__ = ("_reader",)

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def ends(self, at: int, run: str, closing: str, after: int, known: Language) -> bool:
        """Tell whether the marks ``run`` at a place end a sentence when text goes on at ``after``."""
        reader = self._reader
        sign = reader.peek(after)
        first = after if sign.isalnum() else reader.skip_opening(after)
        sign = reader.peek(first)
        opening = reader.text[after:first]
        if sign in _DASHES and sign:
            return self._dash_ends(first, run, at, known)
        if not sign or "¿" in opening or "¡" in opening:
            return True
        if sign == ".":
            following = reader.peek(first + 1)
            if not following.isalnum():
                return False
        elif sign in CARRIES_ON:
            return False
        if self._item_starts(at, after, first, opening, sign):
            return True
        if opening.startswith("([") or (sign.islower() and opening.startswith("(") and has_case(reader.before(at))):
            return False  # a source or an aside belongs to what it follows
        if run[-1] in STRONG and not closing:
            return True
        if (run[0] == "." and len(run) < 3) or run[0] == "．":
            return self._period_ends(at, run, closing, opening, first, known)
        if run[0] == "." or run[0] in ELLIPSES:
            return self._ellipsis_ends(at, sign, known)
        if sign.islower() and not self._starts_small(opening, first):
            return run[-1] in known.lowercase_after and not closing
        if run[0] == "!" and sign.isupper() and reader.word_before(at) + "!" in known.marked_names:
            return reader.word_at(first) in known.starters
        return self._closed_quote_ends(closing, first, sign, known)

    def _item_starts(self, at: int, after: int, first: int, opening: str, sign: str) -> bool:
        """A list starts or goes on here: "(b) ...", "a. ..."."""
        if "(" in opening or "（" in opening:
            return numbered_at(self._reader, after) is not None
        if sign in ("a", "i") and not opening and len(self._reader.word_before(at)) > 1:
            return not self._reader.peek(first + 1).isalpha() and numbered_at(self._reader, first) is not None
        return False

    def _dash_ends(self, at: int, run: str, mark: int, known: Language) -> bool:
        """A dash carries on, unless it opens a line of dialogue or a list item."""
        reader = self._reader
        end = at
        while end - at < 3 and (sign := reader.peek(end)) and sign in _DASHES:
            end += 1
        following = reader.peek(end)
        if following.isalnum():
            return True  # a negative number, an option ("-v"), a dialogue set without spaces
        if not following.isspace() and following:
            return False
        first = reader.peek(reader.skip_opening(reader.skip_space(end)))
        if not first.isupper():
            return False
        return run[0] != "." or (not known.behaviour(reader.word_before(mark)) and not self._is_acronym(mark))

    def _is_acronym(self, mark: int) -> bool:
        return bool(_DOTTED.fullmatch(self._reader.word_before(mark)))

    def _closed_quote_ends(self, closing: str, first: int, sign: str, known: Language) -> bool:
        """After a quotation that ended in a mark, a speaker may follow: "Where?" John asked."""
        reader = self._reader
        if sign.islower() and closing:
            return False
        if sign.isupper() and known.speech_verbs and closing and any(mark in "\"'”’»«“" for mark in closing):
            word = reader.word_at(first)
            if word in known.starters:
                return True
            end = first + len(word)
            if reader.peek(end) == " ":
                return reader.word_at(end + 1) not in known.speech_verbs
        return True

    def _ellipsis_ends(self, at: int, sign: str, known: Language) -> bool:
        if sign.islower() or sign.isdigit():
            return False
        if has_case(sign):
            return True
        if known.final_endings:
            return self._reader.word_before(at).endswith(known.final_endings)
        return known.script not in ("Kana", "Han")

    def _period_ends(self, at: int, run: str, closing: str, opening: str, first: int, known: Language) -> bool:
        reader = self._reader
        sign = reader.peek(first)
        words = reader.words_before(at)
        word = words[-1].strip(AROUND)
        if len(run) == 2 and run[1] == ".":
            return not sign.islower()
        if len(run) == 2:
            return not sign.islower() or run[-1] in known.lowercase_after
        if not word:
            return not sign.islower()
        if word[-1].isdigit():
            if is_number(word):
                return self._number_ends(words, word, first, sign, known)
            return not sign.islower()
        if (known.ordinal_before or known.ordinal_after) and sign.isupper() and _ROMAN.fullmatch(word):
            return reader.word_at(first) in known.starters
        behaviour = self._behaviour(words, word, known) if words[-1][-1] not in '`"”“»' else ""
        if behaviour:
            return self._abbreviation_ends(behaviour, words, opening, first, sign, known)
        if sign.islower() and has_case(word[-1]) and not self._starts_small(opening, first):
            return not closing and self._is_plain(word, known)
        if known.vowelless and self._looks_cut_short(word):
            if sign.isdigit():
                return False
            if sign.isupper() and word.istitle():
                return reader.word_at(first) in known.starters
        return self._closed_quote_ends(closing, first, sign, known)

    def _starts_small(self, opening: str, first: int) -> bool:
        """A sentence may start without a capital: with code, with a quoted word, with a word like iPhone."""
        return any(sign in "`\"'“„«" for sign in opening) or self._reader.peek(first + 1).isupper()

    def _behaviour(self, words: list[str], word: str, known: Language) -> str:
        """Say what stands before the period: an abbreviation, an initial, an acronym, or nothing special."""
        before = words[-2] if len(words) > 1 else ""
        if len(before) < 8 and before.endswith("."):
            earlier = before.lstrip("(\"'„“«")
            joined = known.behaviour(earlier + word)
            if joined:
                return joined
            if len(word) < 5 and word.islower() and len(earlier) > 2 and known.behaviour(earlier[:-1]) == "title":
                return "title"  # "Dr. med.", "Dr. rer. nat."
        part = last_part(word)
        found = known.behaviour(word) or (known.behaviour(part) if part != word else "")
        if not found:
            found = self._latin_behaviour(word, known)
        if found:
            return found
        if len(word) == 1:
            return "initial"
        if _DOTTED.fullmatch(word) or (len(word) == 2 and word[0] == word[1] and word.isupper()):
            return "either"
        return ""

    @staticmethod
    def _latin_behaviour(word: str, known: Language) -> str:
        """Say what a Latin abbreviation does in another script: "他是Dr. Wang"."""
        latin = _LATIN_END.search(word)
        if latin is None:
            return ""
        leans = latin.start() > 0 and not has_case(word[latin.start() - 1])
        return _LATIN.get(language("en").behaviour(latin[0]), "") if leans or known.script != "Latin" else ""

    def _abbreviation_ends(
        self, behaviour: str, words: list[str], opening: str, first: int, sign: str, known: Language
    ) -> bool:
        reader = self._reader
        if sign.islower():
            return False
        if behaviour == "title":
            # Where letters have no case, one behind a number is no title but an era: "2020 م."
            return len(words[-1]) == 1 and not has_case(words[-1]) and len(words) > 1 and is_number(words[-2])
        if behaviour == "inside":
            # One letter may be a variable: "does not contain v. If ..."
            one = len(words[-1].strip(AROUND)) == 1 and sign.isupper()
            return one and reader.word_at(first) in known.starters
        if behaviour == "initial":
            return self._initial_ends(words, first, sign, known)
        if not has_case(sign):
            return behaviour == "ending" and sign.isalpha()
        if behaviour == "number":
            following = reader.word_at(first)
            if following in known.pronouns or (len(following) == 1 and following in known.starters):
                return True
            return len(following) > 1 and not _ROMAN.fullmatch(following)
        if opening[:1] in ("(", "["):
            return False
        if behaviour == "either":
            return reader.word_at(first) in known.starters
        only_time = len(words) <= 3 and words[0].lower() in known.openers and reader.start + 40 > first
        return not only_time and not self._time_goes_on(first, known)

    def _time_goes_on(self, first: int, known: Language) -> bool:
        """Tell whether a time zone follows: one of the followers, or up to four capitals."""
        reader = self._reader
        start = reader.text[first] + reader.peek(first + 1)
        if not start.isupper() and not any(word.startswith(start) for word in known.followers):
            return False
        following = reader.word_at(first)
        return following in known.followers or (following.isupper() and 1 < len(following) < 5)

    def _initial_ends(self, words: list[str], first: int, sign: str, known: Language) -> bool:
        """One letter: an initial, a pronoun, a name of something ("vitamin C"), a variable."""
        reader = self._reader
        letter = words[-1].strip(AROUND)
        before = words[-2] if len(words) > 1 else ""
        if not letter[0].isalpha():
            return True
        if not has_case(letter[0]) and script_of(letter[0]) in ("Hangul", "Han", "Kana", "Thai"):
            return True
        if not has_case(letter[0]):
            # A script without capitals: "ए. पी. जे." are initials, a lone letter at the end is rare.
            return not sign.isalpha() and not sign.isdigit()
        if not has_case(sign):
            return letter.islower() or sign.isalpha() or before.lower() in known.reference_nouns
        following = reader.word_at(first)
        if len(following) == 1 and reader.peek(first + 1) == ".":
            return False
        if known.behaviour(f"{letter}.{following}"):
            return False
        if letter.islower() or before.lower() in known.reference_nouns:
            return True
        if letter in known.pronouns and before[:1].islower():
            return True
        return following in known.starters

    def _number_ends(self, words: list[str], word: str, first: int, sign: str, known: Language) -> bool:
        reader = self._reader
        if known.final_endings:
            return False
        if sign.islower():
            return word.isdigit() and len(word) > 3
        if word == "1" and len(words) > 1 and words[-2].endswith((":", "：")):
            return False  # a list in the middle of a sentence: "two steps: 1. Open it."
        ordinals = known.ordinal_before or known.ordinal_after
        if not ordinals or not word.isdigit() or len(word) > 3:
            return True
        if sign.isdigit():
            return self._is_no_date(words, first)
        if not has_case(sign):
            return True
        before = words[-2].lower().strip('("„«') if len(words) > 1 else ""
        following = reader.word_at(first)
        if following in known.ordinal_after:
            return False
        return before not in known.ordinal_before or following in known.starters

    def _is_no_date(self, words: list[str], first: int) -> bool:
        """Read the number behind "31. 12." or "3.": a day, a month or a year goes on."""
        reader = self._reader
        end = first
        while end - first < 5 and reader.peek(end).isdigit():
            end += 1
        if end - first == 4:
            return not (len(words) > 1 and words[-2][:-1].isdigit() and words[-2].endswith("."))
        return reader.peek(end) != "."

    @staticmethod
    def _is_plain(word: str, known: Language) -> bool:
        """A word that is long enough to be no unknown abbreviation, though a small letter follows."""
        if not word.isalpha() or word.isupper() or not VOWELS & set(word.lower()):
            return False
        return len(word) >= known.plain_length or (len(word) > 3 and word.islower() and word[-1] in VOWELS)

    @staticmethod
    def _looks_cut_short(word: str) -> bool:
        """A short word without vowels, such as "Bldg", that is no acronym in capitals and no "Hmm"."""
        if (
            not 1 < len(word) < 5
            or not word.isalpha()
            or word.isupper()
            or not has_case(word[0])
            or word[-1] == word[-2]
        ):
            return False
        return not VOWELS & set(word.lower())
