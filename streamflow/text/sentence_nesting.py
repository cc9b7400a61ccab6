"""Quotes, brackets, code spans and formulas that are open at a place of the text."""

import re
from typing import NamedTuple

from streamflow.text.language_data import Language
from streamflow.text.scripts import has_case
from streamflow.text.sentence_reader import NeedMore, Reader, Waiting

_CLOSERS: dict[str, str] = {
    "(": ")", "[": "]", "{": "}", "（": "）", "［": "］", "【": "】", "〔": "〕",
    "「": "」", "『": "』", "《": "》", "〈": "〉",
    "“": "”", "„": "“”\"", "«": "»", "‹": "›", "‘": "’", "‚": "‘’", '"': '"', "'": "'", "`": "`'", "$": "$",
}  # fmt: skip
_REVERSED = {"»": "«", "›": "‹"}
#: Every sign that may open or close something.
SIGNS = "".join(sorted({*"".join(_CLOSERS), *"".join(_CLOSERS.values())}))
#: Quotes that close wherever they stand right behind a mark.
CLOSING_QUOTES = "\"'”’»›」』"
QUOTES = "\"'“”„‘’‚«»‹›「」『』"
BRACKETS = ")]}）］】〕》〉"
_DEPTH = 6
#: A letter or digit of a script in which none leans on a closing quote, as a regular expression.
CASED = r"(?![぀-鿿가-힣])\w"
# A closing mark that also serves as an opening one or an apostrophe closes only where it leans on a word.
_PATTERNS: dict[str, str] = {
    "`": r"(?<=\S)`",
    '"': r'(?<=\S)"',
    "'": rf"(?<=\S)'(?!{CASED})",
    "’": rf"(?<=\S)’(?!{CASED})",
    "$": r"(?<=\S)\$",
}
_PARAGRAPH = r"\n[ \t\r]{0,8}\n"
_PARAGRAPH_SIZE = 10


class Opened(NamedTuple):
    """What is open: the signs that close it, where it was opened."""

    closers: str
    at: int


def _search(closers: str) -> re.Pattern[str]:
    wanted = "|".join(_PATTERNS.get(sign, re.escape(sign)) for sign in closers)
    return re.compile(f"({wanted})|{_PARAGRAPH}")


_SEARCH = {closers: _search(closers) for closers in {*_CLOSERS.values(), *_REVERSED.values()}}


class _Searched(NamedTuple):
    """A search that was made: from where, up to where nothing was found, where something was, whether it closes."""

    begin: int
    end: int
    found: int = -1
    closes: bool = False


class Nesting:
    """The open signs, from the outermost in.

    >>> reader = Reader()
    >>> reader.text = 'He said "Go. Now." again'
    >>> nesting = Nesting(reader)
    >>> nesting.sign(8, None)
    >>> nesting.encloses(12, "")
    True
    """

    __slots__ = ("_reader", "_searched", "opened")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._searched: dict[str, _Searched] = {}
        self.opened: list[Opened] = []

    def sign(self, at: int, language: Language | None) -> None:
        """Take in the sign at a place: it closes what is open, or opens something, or is neither."""
        text = self._reader.text
        sign = text[at]
        if len(self.opened) == _DEPTH and sign in "([{（":
            return
        before = self._reader.before(at)
        for depth in range(len(self.opened) - 1, -1, -1):
            if sign in self.opened[depth].closers and self._closes(sign, before, at):
                del self.opened[depth:]
                return
        closers = self._opens(sign, before, at, language)
        if closers and len(self.opened) < _DEPTH:
            if self.opened and self.opened[-1].closers == closers and sign in "\"'":
                self.opened.pop()
            self.opened.append(Opened(closers, at))

    def _closes(self, sign: str, before: str, at: int) -> bool:
        if sign in "'’":
            after = self._reader.peek(at + 1)
            # In Korean and Japanese a particle leans on the closing quote.
            return not before.isspace() and not (after.isdigit() or has_case(after))
        if sign in '"$':
            return not before.isspace() or not self._reader.peek(at + 1).strip()
        return True

    def _opens(self, sign: str, before: str, at: int, language: Language | None) -> str:
        if sign in _REVERSED:
            return _REVERSED[sign] if not before.isalnum() and self._reader.peek(at + 1).isalnum() else ""
        closers = _CLOSERS.get(sign, "")
        if not closers:
            return ""
        after = self._reader.peek(at + 1)
        if sign in "\"'‘“`":
            leans = before.isalnum() and (before.isascii() or has_case(before))
            if leans or not after or after.isspace() or after == sign:
                return ""
        if sign == "'" or sign == "‘":
            if after.isdigit() or before.isalnum():
                return ""
            if language and self._reader.word_at(at + 1).lower() in language.elisions:
                return ""
        if sign == "$":
            # "$5" is a price; a formula starts with a letter or a command.
            return closers if after.isalpha() or after in ("\\", "{", "(") else ""
        if sign == "(" and before in ":;=" and (not after or after.isspace()):
            return ""
        return closers

    def shift(self, count: int) -> None:
        """The first characters of the held text are gone."""
        if self.opened:
            self.opened = [Opened(item.closers, item.at - count) for item in self.opened]
        if self._searched:
            self._searched = {
                closers: _Searched(made.begin - count, made.end - count, made.found - count, made.closes)
                for closers, made in self._searched.items()
                if made.end > count
            }

    def awaits(self, sign: str) -> bool:
        """Tell whether something is open that this sign closes."""
        return any(sign in item.closers for item in self.opened)

    def encloses(self, at: int, closing: str) -> bool:
        """Tell whether a place is inside something that really closes soon, past the signs ``closing`` right there."""
        if not self.opened:
            return False
        left = list(self.opened)
        for sign in closing:
            for depth in range(len(left) - 1, -1, -1):
                if sign in left[depth].closers:
                    del left[depth:]
                    break
        open_ended = ""
        for item in left:
            ends = self._ends_soon(item.closers, at + len(closing))
            if ends:
                return True
            if ends is None:
                open_ended += item.closers
        if open_ended:
            raise Waiting(open_ended + "\n", self._reader.search_end(at + len(closing)))
        return False

    def _ends_soon(self, closers: str, at: int) -> bool | None:
        """Tell whether one of the signs closes within reach, None while that is not decided."""
        text = self._reader.text
        begin = at
        made = self._searched.get(closers)
        if made and made.begin <= at:
            if made.found >= at:
                return made.closes
            # What was read in vain is not read again, so that many marks in one quotation cost no more than one.
            begin = max(at, made.end - _PARAGRAPH_SIZE)
        limit = self._reader.search_end(at)
        match = _SEARCH[closers].search(text, begin, limit)
        if match:
            if len(text) <= match.end() < limit and not self._reader.final:
                raise NeedMore  # some signs close only by what follows them
            closes = bool(match[1])
            self._searched[closers] = _Searched(at, match.end(), match.start(), closes)
            return closes
        end = min(limit, len(text))
        self._searched[closers] = _Searched(at, end)
        if len(text) < limit and not self._reader.final:
            return None
        return False
