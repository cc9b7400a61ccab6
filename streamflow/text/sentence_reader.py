"""Reading ahead and back in the text that the sentence cutter holds.

Every look ahead goes through this class. Where the text has not come yet it raises ``NeedMore``, so no rule can decide
from what happens to be in the buffer: that is what makes the cutter's answer independent of how the stream was cut.
"""

import re

from streamflow.text.scripts import EMOJI_CLASS

#: The furthest that any rule looks past a mark: a hard bound on how long a finished sentence can be held.
REACH = 240
#: Longest run of white space, marks or emoji that is read as one.
RUN = 160
#: Longest word that is read around a mark; longer ones are no abbreviations.
WORD = 24
#: Longest tag that may stand between two sentences.
TAG = 80

NEWLINES = "\n\r\x0b\x0c\x85\u2028\u2029"
INVISIBLE = "\u200b\u200c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
OPENING = "\"'“‘„‚«‹»›([{（［【〔「『《〈¿¡*_~`" + INVISIBLE

_SPACES = re.compile(r"[\s\u200b\ufeff]*")
_LETTERS = re.compile(r"[^\W\d_]*")
_BREAK = re.compile(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_LAST_PART = re.compile(r"[/'’(–—]|(?<=\.)-")
_EMOJI = re.compile(f"[{EMOJI_CLASS}]*")
_OPENING = re.compile(f"[{re.escape(OPENING)}]*")
_TAG_TAIL = re.compile(r"[^<>\n]*")
#: What may stand around a word without belonging to it.
AROUND = OPENING + "”’)]}）」』》"


class NeedMore(Exception):
    """The answer depends on text that has not arrived."""


class Waiting(NeedMore):
    """The same, when only these signs can change the answer, or so much text that none of them matters any more."""

    def __init__(self, signs: str, until: int) -> None:
        super().__init__()
        self.signs = frozenset(signs)
        self.until = until


class Reader:
    """The held text, the start of the open sentence, and whether the text is complete.

    Nothing is read from the bound on: there the text seems to end, however much of it has come.

    >>> reader = Reader()
    >>> reader.text = "See p. 5"
    >>> reader.word_before(5), reader.skip_space(6)
    ('p', 7)
    """

    __slots__ = ("bound", "final", "start", "text")

    def __init__(self) -> None:
        self.text = ""
        self.start = 0
        self.bound = REACH
        self.final = False

    def peek(self, at: int) -> str:
        """Return the character at a place, "" after the end of a complete text and from the bound on."""
        if at >= self.bound:
            return ""
        if at < len(self.text):
            return self.text[at]
        if self.final:
            return ""
        raise NeedMore

    def search_end(self, at: int) -> int:
        """Return how far a search that starts at a place may read."""
        return max(at, min(at + REACH, self.bound))

    def before(self, at: int) -> str:
        """Return the character before a place, " " at the start of the open sentence."""
        return self.text[at - 1] if at > self.start else " "

    def skip(self, at: int, pattern: re.Pattern[str], reach: int = RUN) -> int:
        """Return the end of a match that starts at a place, reading at most ``reach`` characters."""
        limit = min(at + reach, self.bound)
        match = pattern.match(self.text, at, limit)
        end = match.end() if match else at
        if end >= len(self.text) and end < limit and not self.final:
            raise NeedMore
        return end

    def skip_space(self, at: int) -> int:
        """Return the first place after white space."""
        return self.skip(at, _SPACES)

    def skip_emoji(self, at: int) -> int:
        """Return the first place after a run of emoji."""
        return self.skip(at, _EMOJI, 40)

    def skip_tag(self, at: int) -> int:
        """Return the place after the HTML or SSML tag that starts here, or ``at`` when none does."""
        if self.peek(at) != "<":
            return at
        first = self.peek(at + 1)
        if first == "/":
            first = self.peek(at + 2)
        if not first.isalpha():
            return at
        end = self.skip(at + 1, _TAG_TAIL, TAG)
        return end + 1 if self.text[end : end + 1] == ">" else at

    def skip_opening(self, at: int) -> int:
        """Return the first place after quotes, brackets, emphasis and tags that open what follows."""
        for _ in range(4):
            end = self.skip(at, _OPENING, 12)
            at = self.skip_tag(end)
            if at == end:
                break
        return at

    def skip_emphasis(self, at: int) -> int:
        """Return the first place after the stars or underscores that open emphasis."""
        end = at
        while end - at < 3 and (sign := self.peek(end)) and sign in "*_":
            end += 1
        return end

    def word_at(self, at: int) -> str:
        """Return the letters that start at a place."""
        return self.text[at : self.skip(at, _LETTERS, WORD)]

    def breaks(self, begin: int, end: int) -> int:
        """Count the line breaks between two places."""
        if end - begin == 1:
            return 1 if self.text[begin] in NEWLINES else 0
        return len(_BREAK.findall(self.text, begin, end))

    def words_before(self, at: int) -> list[str]:
        """Return the last words of the open sentence before a place; the last is "" after white space."""
        text = self.text[max(self.start, at - 2 * WORD) : at]
        words = text.split()
        if not text or text[-1].isspace():
            words.append("")
        return words

    def word_before(self, at: int) -> str:
        """Return the word right before a place, without quotes and brackets around it."""
        return self.words_before(at)[-1].strip(AROUND)


def last_part(word: str) -> str:
    """Return what follows the last slash or apostrophe of a word, or a hyphen behind a period ("Dipl.-Ing").

    >>> last_part("l'Ing")
    'Ing'
    """
    return _LAST_PART.split(word)[-1]
