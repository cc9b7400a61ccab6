"""What surrounds a mark: its run, the signs that close behind it, where the next sentence would start."""

import re
import unicodedata
from typing import NamedTuple

from streamflow.text.language_data import Language
from streamflow.text.scripts import has_case, is_emoji, script_of
from streamflow.text.sentence_lines import numbered_at, starts_block
from streamflow.text.sentence_nesting import BRACKETS, CLOSING_QUOTES, QUOTES, Nesting
from streamflow.text.sentence_reader import INVISIBLE, Reader, Waiting
from streamflow.text.sentence_rules import CARRIES_ON, ELLIPSES, MARKS, STRONG, WORD_SPACE, Rules

_RUN = re.compile(f"[{re.escape(MARKS)}]+")
_CLOSING = re.compile(f"[{re.escape(CLOSING_QUOTES + BRACKETS + '*_~`' + INVISIBLE)}]*")
_NOTE = re.compile(r"[\^\d, –-]*")
_SOURCE = re.compile(r"\d[^】\n]*")
_RAISED = re.compile(r"[¹²³⁰-⁹]*")
_FOOTNOTES = re.compile(r"[\d, ]*")
_SPACED_DOTS = re.compile(r"\.(?:[ \u00a0]\.)*")
_ASIDE = re.compile(r"\((?:[^()\n]++|\([^()\n]*+\))*+\)")
# Signs that open a line of their own: list items, headings, rows, quotes, fences.
_LINE_OPENERS = frozenset("-*+–—•#>|")
# Scripts in which a sentence may follow without a space.
_WITHOUT_SPACES = frozenset({"Han", "Kana", "Hangul", "Thai", "Khmer", "Myanmar", "Ethiopic"})
_ZERO_WIDTH = "\u200b\ufeff"
# How far behind a closed quotation its speaker is looked for in scripts without capitals.
_SPEAKER = 5
_SPEAKER_WORDS = 16


class _Settled(NamedTuple):
    """A mark that ends a sentence unless quotes or brackets around it close later: what is known of it."""

    at: int
    end: int
    closing: str
    cut: int


class Marks:
    """Decides for one mark: the place where the next sentence starts, or 0."""

    __slots__ = ("_nesting", "_reader", "_rules", "_settled")

    def __init__(self, reader: Reader, nesting: Nesting) -> None:
        self._reader = reader
        self._nesting = nesting
        self._rules = Rules(reader)
        self._settled: _Settled | None = None

    def shift(self, count: int) -> None:
        """The first characters of the held text are gone."""
        if self._settled:
            at, end, closing, cut = self._settled
            self._settled = _Settled(at - count, end - count, closing, cut - count)

    def decide(self, at: int, known: Language) -> tuple[int, int]:
        """Return where to cut (0 for nowhere) and where to go on reading."""
        reader = self._reader
        if self._settled and self._settled.at == at:
            return self._cut_unless_enclosed(*self._settled), self._settled.end
        end = reader.skip(at, _RUN) if reader.text[at] in MARKS else at + 1
        if reader.text[at] == WORD_SPACE:
            end = at + 2
        if known.terminators and reader.peek(end) in known.terminators and reader.peek(end):
            end += 1
        run = reader.text[at:end]
        following = reader.peek(end)
        place = end
        if following in (" ", "\u00a0", "\u202f"):
            sign = reader.peek(end + 1)
            if sign in CARRIES_ON and sign and not self._behind_face(end + 1):
                return 0, end
            if sign == "." and run == ".":
                spaced = self._spaced_dots(at)
                if spaced is not None:
                    return spaced
            elif sign == "»" and self._nesting.awaits(sign):
                place = self._closing(end + 1)
                if not reader.peek(place).isspace():
                    return 0, end
        else:
            place = self._closing(end)
            following = reader.peek(place)
            if not following:
                return 0, place
            if not following.isspace() and following not in _ZERO_WIDTH and not is_emoji(following):
                return self._attached(at, run, end, place, following, known), end
        return self._apart(at, run, end, place, known), end

    def _closing(self, at: int) -> int:
        """Return the place after quotes, brackets, emphasis, closing tags and note numbers that belong to the mark."""
        reader = self._reader
        for _ in range(4):
            end = self._closing_signs(at)
            sign = reader.peek(end)
            if sign and sign in "“‘«‹":
                # German and Danish close with what opens elsewhere; an opening one leans on the word behind it.
                end += 1 if self._nesting.awaits(sign) or not reader.peek(end + 1).isalnum() else 0
            elif sign == "<":
                behind = reader.skip_tag(end)
                # A closing tag, or one that is complete in itself, such as a pause.
                if reader.text[end : end + 2] == "</" or reader.text[behind - 2 : behind] == "/>":
                    end = behind
            elif sign == "[":
                close = reader.skip(end + 1, _NOTE, 13)
                if close > end + 1 and reader.peek(close) == "]":
                    end = close + 1
            elif sign == "【":
                close = reader.skip(end + 1, _SOURCE, 40)
                if reader.peek(close) == "】" and close > end + 1:
                    end = close + 1
            elif sign and sign in "¹²³⁰⁴⁵⁶⁷⁸⁹":
                end = reader.skip(end, _RAISED, 6)
            if end == at:
                break
            at = end
        return at

    def _closing_signs(self, at: int) -> int:
        """Return the place after quotes, brackets and emphasis that close here; emphasis may also open what follows."""
        reader = self._reader
        sign = reader.peek(at)
        if sign in ('"', "'") and not self._nesting.awaits(sign) and reader.peek(at + 1).isalnum():
            return at  # without spaces between sentences it opens the next one
        end = reader.skip(at, _CLOSING, 12)
        last = reader.text[end - 1]
        if end > at and last in "*_~`" and reader.peek(end).isalnum():
            begin = end
            while begin > at and reader.text[begin - 1] == last:
                begin -= 1
            runs = re.findall(f"{re.escape(last)}+", reader.text[reader.start : at])
            if len(runs) % 2 == 0:
                return begin
        return end

    def _spaced_dots(self, at: int) -> tuple[int, int] | None:
        """Handle an ellipsis with spaces, ". . .": four dots behind a word are a period and an ellipsis."""
        reader = self._reader
        end = reader.skip(at, _SPACED_DOTS, 40)
        if end == at + 1 or reader.peek(end).isalnum():
            return None
        dots = (end - at + 1) // 2
        gap = reader.skip_space(end)
        sign = reader.peek(reader.skip_opening(gap))
        if not sign.isupper():
            return 0, end
        attached = not reader.before(at).isspace()
        if dots > 3:
            return (at + 2 if attached else gap), end
        return (gap if attached else 0), end

    def interrupted(self, at: int) -> int:
        """A quotation that breaks off with a dash, ``to--"``, ends a sentence when a capital follows."""
        reader = self._reader
        place = self._closing(at)
        if not reader.peek(place).isspace():
            return 0
        gap = reader.skip_space(place)
        if not reader.peek(reader.skip_opening(gap)).isupper():
            return 0
        return self._cut_unless_enclosed(at, at, reader.text[at:place], gap)

    def _attached(self, at: int, run: str, end: int, place: int, following: str, known: Language) -> int:
        """The text goes on without a space."""
        reader = self._reader
        closing = reader.text[end:place]
        before = reader.before(at)
        caseless = following.isalpha() and not has_case(following)
        strong = (run[-1] in STRONG or run[0] == WORD_SPACE) and not (before.isdigit() and following.isdigit())
        if before.islower() and not before.isascii() and following.isupper() and run == ".":
            return 0 if len(reader.word_before(at)) < 5 or known.behaviour(reader.word_before(at)) else place
        if run[-1] in "!?" and self._space_is_missing(at, place, following, known):
            return self._cut_unless_enclosed(at, end, closing, place)
        plain = script_of(before) in _WITHOUT_SPACES or before in BRACKETS
        if not strong and not (caseless and plain and run[-1] not in ELLIPSES):
            return self._footnote(at, run, place, following, known) if following.isdigit() else 0
        if following in MARKS or following in ",;:、，；：）】」』)":
            return 0
        if run[-1] in ELLIPSES and not self._rules.ends(at, run, closing, place, known):
            return 0
        if closing and self._goes_on_behind(at, closing, place, known):
            return 0
        return self._cut_unless_enclosed(at, end, closing, place)

    def _space_is_missing(self, at: int, place: int, following: str, known: Language) -> bool:
        """Tell whether a question or a call runs into the next sentence: "right away!Following"."""
        if not following.isupper() or not self._reader.peek(place + 1).islower():
            return False
        word = self._reader.word_before(at)
        return len(word) > 2 and word.isalpha() and word.islower() and f"{word}!" not in known.marked_names

    def _apart(self, at: int, run: str, end: int, place: int, known: Language) -> int:
        """White space or an emoji follows."""
        reader = self._reader
        closing = reader.text[end:place]
        gap = reader.skip_space(place)
        breaks = reader.breaks(place, gap)
        sign = reader.peek(gap)
        behind = 0 if breaks or not sign else self._behind_face(gap)
        if behind:
            gap = reader.skip_space(behind)
            breaks = reader.breaks(behind, gap)
            sign = reader.peek(gap)
        if not sign:
            return 0
        if breaks > 1 or (breaks and sign in _LINE_OPENERS):
            return gap
        if sign == "(":
            behind = self._behind_aside(at, gap)
            if behind:
                gap = reader.skip_space(behind)
                if not reader.peek(gap) or reader.breaks(behind, gap) > 1:
                    return gap if reader.peek(gap) else 0
        if not self._rules.ends(at, run, closing, gap, known):
            return gap if breaks and starts_block(reader, gap) else 0
        if closing and self._goes_on_behind(at, closing, gap, known):
            return 0
        return self._cut_unless_enclosed(at, end, closing, gap)

    def _behind_face(self, at: int) -> int:
        """Return the place after emoji or an emoticon that comments on what was said, else 0."""
        reader = self._reader
        sign = reader.peek(at)
        if sign > "\u2000":
            return reader.skip_emoji(at) if is_emoji(sign) else 0
        if sign not in (":", ";", "="):
            return 0
        end = at + 2 if reader.peek(at + 1) in ("-", "'") else at + 1
        if reader.peek(end) not in (")", "(", "D", "P", "p"):
            return 0
        return 0 if reader.peek(end + 1).isalnum() else end + 1

    def _behind_aside(self, at: int, begin: int) -> int:
        """Return the place after a source or an aside that belongs to what it follows, "([a](b))", "(see below)"."""
        reader = self._reader
        first = reader.peek(begin + 1)
        if first != "[" and not (first.islower() and has_case(reader.before(at))):
            return 0
        if numbered_at(reader, begin):
            return 0
        limit = reader.search_end(begin)
        match = _ASIDE.match(reader.text, begin, limit)
        if match:
            return match.end()
        if len(reader.text) < limit and not reader.final:
            raise Waiting(")\n", limit)
        return 0

    def _cut_unless_enclosed(self, at: int, end: int, closing: str, cut: int) -> int:
        # While the answer waits for a closing sign, nothing else is judged again.
        self._settled = _Settled(at, end, closing, cut)
        return 0 if self._nesting.encloses(end, closing) else cut

    def _goes_on_behind(self, at: int, closing: str, after: int, known: Language) -> bool:
        """Tell whether the sentence goes on behind a quotation or a bracket that ended with a mark."""
        if any(sign in BRACKETS for sign in closing) and self._aside(at, closing, after, known):
            return True
        return any(sign in QUOTES for sign in closing) and self._speaker_follows(after, known)

    def _aside(self, at: int, closing: str, after: int, known: Language) -> bool:
        """A bracket inside a sentence goes on behind it; one that is a sentence of its own does not."""
        reader = self._reader
        brackets = [sign for sign in closing if sign in BRACKETS]
        opened = next((item for item in reversed(self._nesting.opened) if item.closers in brackets), None)
        if opened is None:
            return False
        if sum(map(str.isalpha, reader.text[opened.at + 1 : at])) < 2:
            return True
        if not reader.text[reader.start : opened.at].strip():
            return False
        first = reader.skip_opening(after)
        return reader.word_at(first) not in known.starters

    def _speaker_follows(self, after: int, known: Language) -> bool:
        """In scripts without capitals: a particle, or a verb of speaking, right behind the quotation."""
        reader = self._reader
        longest = max(map(len, known.quote_followers), default=0)
        if longest and self._ahead(after, longest).startswith(known.quote_followers):
            return True
        if not known.speech_verbs or has_case(reader.peek(after)):
            return False
        ahead = self._ahead(after, _SPEAKER if known.script in ("Kana", "Han") else _SPEAKER_WORDS, spaces=True)
        for verb in known.speech_verbs:
            place = ahead.find(verb)
            if place >= 0:
                # A colon behind the verb: the speaker of the next quotation.
                return reader.peek(after + place + len(verb)) not in ("：", ":")
        return False

    def _ahead(self, at: int, length: int, spaces: bool = False) -> str:
        """Return the letters that follow, up to some length."""
        reader = self._reader
        end = at
        while end - at < length and (sign := reader.peek(end)):
            if not (sign.isalpha() or (spaces and sign == " ") or unicodedata.category(sign)[0] == "M"):
                break
            end += 1
        return reader.text[at:end]

    def _footnote(self, at: int, run: str, place: int, following: str, known: Language) -> int:
        """Raised note numbers that lost their raising: "a consultation.11 12 Take"."""
        reader = self._reader
        word = reader.word_before(at)
        if run != "." or not (len(word) > 3 and word.isalpha() and word.islower()) or known.behaviour(word):
            return 0
        end = reader.skip(place, _FOOTNOTES, 16)
        return end if reader.text[end - 1] == " " and reader.peek(end).isupper() else 0
