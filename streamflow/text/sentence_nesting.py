"""Quotes, brackets, code spans and formulas that are open at a place of the text."""

import re
from typing import NamedTuple

from streamflow.text.language_data import Language
from streamflow.text.scripts import has_case
from streamflow.text.sentence_reader import REACH, NeedMore, Reader

_CLOSERS: dict[str, str] = {
    "(": ")", "[": "]", "{": "}", "（": "）", "［": "］", "【": "】", "〔": "〕",
    "「": "」", "『": "』", "《": "》", "〈": "〉",
    "“": "”", "„": "“”\"", "«": "»", "‹": "›", "‘": "’", "‚": "‘’", '"': '"', "'": "'", "`": "`", "$": "$",
}  # fmt: skip
_REVERSED = {"»": "«", "›": "‹"}
#: Every sign that may open or close something.
SIGNS = "".join(sorted({*"".join(_CLOSERS), *"".join(_CLOSERS.values())}))
QUOTES = "\"'“”„‘’‚«»‹›「」『』"
BRACKETS = ")]}）］】〕》〉"
_DEPTH = 6
# A closing mark that also serves as an opening one or an apostrophe closes only where it leans on a word.
_PATTERNS: dict[str, str] = {'"': r'(?<=\S)"', "'": r"(?<=\S)'(?!\w)", "’": r"(?<=\S)’(?!\w)", "$": r"(?<=\S)\$"}
_PARAGRAPH = r"\n[ \t\r]*\n"


class Opened(NamedTuple):
    """What is open: the signs that close it, where it was opened."""

    closers: str
    at: int


def _search(closers: str) -> re.Pattern[str]:
    wanted = "|".join(_PATTERNS.get(sign, re.escape(sign)) for sign in closers)
    return re.compile(f"({wanted})|{_PARAGRAPH}")


_SEARCH = {closers: _search(closers) for closers in {*_CLOSERS.values(), *_REVERSED.values()}}


class Nesting:
    """The open signs, from the outermost in.

    >>> reader = Reader()
    >>> reader.text = 'He said "Go. Now." again'
    >>> nesting = Nesting(reader)
    >>> nesting.sign(8, None)
    >>> nesting.encloses(12, "")
    True
    """

    __slots__ = ("_reader", "opened")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.opened: list[Opened] = []

    def sign(self, at: int, language: Language | None) -> None:
        """Take in the sign at a place: it closes what is open, or opens something, or is neither."""
        text = self._reader.text
        sign = text[at]
        before = text[at - 1] if at > self._reader.start else " "
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
            return not before.isspace() and not self._reader.peek(at + 1).isalnum()
        if sign in '"$':
            return not before.isspace() or not self._reader.peek(at + 1).strip()
        return True

    def _opens(self, sign: str, before: str, at: int, language: Language | None) -> str:
        if language and language.reversed_quotes and sign in _REVERSED:
            return _REVERSED[sign]
        closers = _CLOSERS.get(sign, "")
        if not closers:
            return ""
        after = self._reader.peek(at + 1)
        if sign in "\"'‘“`":
            leans = before.isalnum() and (before.isascii() or has_case(before))
            if leans or not after or after.isspace():
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
        return any(self._ends_soon(item.closers, at + len(closing)) for item in left)

    def _ends_soon(self, closers: str, at: int) -> bool:
        text = self._reader.text
        # One character more than the bound, because some signs close only by what follows them.
        match = _SEARCH[closers].search(text, at, at + REACH)
        if match:
            if match.end() >= len(text) and not self._reader.final:
                raise NeedMore
            return bool(match[1])
        if len(text) <= at + REACH and not self._reader.final:
            raise NeedMore
        return False
