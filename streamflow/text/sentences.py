"""Sentences out of a text that is still coming: exact, the same at every cutting, in linear time.

One pass over the places that could matter (marks, line breaks, quotes, brackets, list signs). The handler of a place
answers where to cut, or to go on, or raises ``NeedMore`` while some continuation could still change the answer, which
it may do only within `REACH` characters. Nothing is decided from what happens to be in the buffer.
"""

import re
from collections.abc import Callable
from functools import cache

from streamflow.errors import UsageError
from streamflow.text.language_data import Language
from streamflow.text.language_data import language as language_named
from streamflow.text.language_guess import LanguageGuess
from streamflow.text.sentence_batches import SentenceBatcher
from streamflow.text.sentence_lengths import CLAUSE_MARKS, WIDE_CLAUSE_MARKS, forced_cut
from streamflow.text.sentence_lines import (
    ITEM_SIGNS,
    Line,
    Marker,
    Wrapping,
    fence_end,
    marker_at,
    next_item,
    starts_block,
)
from streamflow.text.sentence_marks import Marks
from streamflow.text.sentence_nesting import CASED, QUOTES, SIGNS, Nesting
from streamflow.text.sentence_reader import NEWLINES, REACH, NeedMore, Reader, Waiting
from streamflow.text.sentence_rules import MARKS, WORD_SPACE

__all__ = ["FIRST_CLAUSE", "SentenceBatcher", "SentenceCutter"]

#: The least length of a clause that may be spoken first.
FIRST_CLAUSE = 24

_LINE_BREAK = re.compile(f"[{NEWLINES}]")
_FORMULA_PLACES = re.compile(r"[$\\\n]")

# Where to cut, 0 for nowhere, and where to go on reading.
Answer = tuple[int, int]
Handler = Callable[[int], Answer]


@cache
def _places(extra: str) -> re.Pattern[str]:
    signs = "".join(sorted({*MARKS, *NEWLINES, *ITEM_SIGNS, *SIGNS, WORD_SPACE, "\\", *extra} - set("'’")))
    # An apostrophe inside a word is no place to look at.
    return re.compile(rf"[{re.escape(signs)}]|(?<!\w)['’]|['’](?!{CASED})")


class SentenceCutter:
    """Cuts a growing text into sentences that keep their white space: joined they are the text.

    >>> cutter = SentenceCutter("en")
    >>> cutter.feed("Dr. Smith paid $3.50. Th") + cutter.feed("en he left.") + cutter.flush()
    ['Dr. Smith paid $3.50. ', 'Then he left.']
    """

    def __init__(
        self, language: str = "auto", max_chars: int = 400, clause_marks: bool = False, first: str = "sentence"
    ) -> None:
        self._fixed = None if language == "auto" else language_named(language)
        if max_chars < 1:
            raise UsageError(f"max_chars={max_chars}: allowed are 1 and more")
        if first not in ("sentence", "clause"):
            raise UsageError(f"first={first!r}: allowed are 'sentence', 'clause'")
        self._max = max_chars
        self._clause_marks = clause_marks
        self._first = first
        self._guess = LanguageGuess()
        self._known = self._fixed or language_named("en")
        extra = self._language_signs()
        text: dict[str, Handler] = dict.fromkeys(SIGNS, self._sign)
        text |= dict.fromkeys(MARKS + extra, self._mark)
        text |= dict.fromkeys(ITEM_SIGNS, self._bullet)
        text |= dict.fromkeys(NEWLINES, self._line_break)
        text |= {WORD_SPACE: self._word_space, "\\": self._backslash, "$": self._dollar, "`": self._backtick}
        self._text_handlers = text
        # What to look for and who answers, for each kind of text.
        self._modes: dict[str, tuple[re.Pattern[str], dict[str, Handler]]] = {
            "text": (_places(extra), text),
            "clause": (_places(extra + CLAUSE_MARKS), text | dict.fromkeys(CLAUSE_MARKS, self._clause_mark)),
            "code": (_LINE_BREAK, dict.fromkeys(NEWLINES, self._line_break_in_code)),
            "formula": (_FORMULA_PLACES, dict.fromkeys("$\\\n", self._in_formula)),
        }
        self._begin()

    def _language_signs(self) -> str:
        """The marks that end sentences in one language only."""
        if self._fixed is None:
            return ":;،؛" if self._clause_marks else ":;\u037e"
        signs = self._fixed.terminators | (self._fixed.clause_terminators if self._clause_marks else frozenset())
        return "".join(sorted(signs))

    def _begin(self) -> None:
        self._reader = Reader()
        self._nesting = Nesting(self._reader)
        self._marks = Marks(self._reader, self._nesting)
        self._wrapping = Wrapping()
        self._position = 0
        self._line = 0
        self._guessed = 0
        self._opening = True
        self._new_line = True
        self._whole_line = False
        self._closing = ""
        self._marker: Marker | None = None
        self._awaited: frozenset[str] = frozenset()
        self._until = 0
        self._plain_mode = "clause" if self._first == "clause" else "text"
        self._enter(self._plain_mode)

    def _enter(self, mode: str, closing: str = "") -> None:
        self._mode = mode
        self._closing = closing
        self._pattern, self._handlers = self._modes[mode]

    def feed(self, text: str) -> list[str]:
        """Read more text; give the sentences that are decided by it."""
        reader = self._reader
        reader.text += text
        if self._until:
            if len(reader.text) < self._until and self._awaited.isdisjoint(text):
                return []
            self._until = 0
        return self._advance()

    def flush(self) -> list[str]:
        """The text ends here; give the rest. A next text may follow."""
        self._reader.final = True
        pieces = self._advance()
        if self.pending:
            pieces.append(self.pending)
        self._begin()
        return pieces

    @property
    def pending(self) -> str:
        """The text that waits for what follows."""
        return self._reader.text[self._reader.start :]

    def _advance(self) -> list[str]:
        pieces: list[str] = []
        reader = self._reader
        text = reader.text
        size = len(text)
        try:
            while True:
                if self._opening:
                    self._open()
                limit = reader.start + self._max
                # No farther than the cut by force, or a long read without marks would be searched again for each.
                match = self._pattern.search(text, self._position, limit + 1)
                at = match.start() if match else size
                if at >= limit and size > limit:
                    pieces.append(self._cut_by_force(limit))
                    continue
                self._position = at
                if not match:
                    break
                reader.bound = at + REACH
                cut, after = self._handlers[text[at]](at)
                if not cut:
                    self._position = after
                elif cut > limit and len(text[reader.start : cut].rstrip()) > self._max:
                    pieces.append(self._cut_by_force(limit))
                else:
                    pieces.append(self._cut(cut))
        except NeedMore as need:
            if isinstance(need, Waiting):
                # Not the exception itself: its frames would keep the one before it alive, and so on.
                self._awaited, self._until = need.signs, need.until
        if reader.start > 1:
            # One character stays, because some signs mean something else behind a letter.
            self._drop(reader.start - 1)
        return pieces

    def _cut(self, cut: int) -> str:
        reader = self._reader
        piece = reader.text[reader.start : cut]
        tail = piece[len(piece.rstrip()) :]
        self._new_line = any(sign in NEWLINES for sign in tail)
        reader.start = self._position = cut
        self._guessed = max(self._guessed, cut)
        self._opening = True
        self._whole_line = False
        self._marker = None
        self._nesting.opened.clear()
        self._plain_mode = "text"
        self._enter("text")
        if self._new_line:
            self._line = cut
            self._wrapping = Wrapping()
        return piece

    def _cut_by_force(self, limit: int) -> str:
        reader = self._reader
        place = forced_cut(reader.text, reader.start, limit, lines=self._mode == "code")
        piece = reader.text[reader.start : place]
        reader.start = place
        if place > self._guessed:
            self._language(place)
        # Up to the limit everything was read as formula; how far beyond depends on what has come.
        self._position = limit if self._mode == "formula" else max(self._position, place)
        self._plain_mode = "text"
        if self._mode != "code":
            self._enter("text")
        self._marker = None
        self._nesting.opened.clear()
        return piece

    def _drop(self, count: int) -> None:
        reader = self._reader
        reader.text = reader.text[count:]
        reader.start = 1
        self._position -= count
        self._line -= count
        self._guessed -= count
        self._nesting.shift(count)
        self._marks.shift(count)
        if self._marker:
            self._marker = self._marker._replace(end=self._marker.end - count)
        if self._until:
            self._until -= count

    def _open(self) -> None:
        """Look at the first signs of a sentence: a list marker, and at the start of a line the kind of the line."""
        reader = self._reader
        reader.bound = reader.start + REACH
        at = reader.skip_space(reader.start)
        if self._new_line:
            for _ in range(4):
                if reader.peek(at) != ">":
                    break
                at = reader.skip_space(at + 1)
            sign = reader.peek(at)
            if sign in ("`", "~") and reader.peek(at + 1) == sign and reader.peek(at + 2) == sign:
                self._enter("code", sign * 3)
                self._position = at + 3
                self._opening = False
                return
            self._whole_line = sign == "|" or (sign == "#" and starts_block(reader, at))
        self._marker = marker_at(reader, at)
        if self._marker is None and reader.peek(at) in ("*", "_"):
            self._marker = marker_at(reader, reader.skip_emphasis(at))
        self._position = max(self._position, self._marker.end if self._marker else at)
        self._opening = False

    def _language(self, at: int) -> Language:
        if self._fixed is None:
            self._known = self._guess.at(self._reader.text, self._guessed, at)
            self._guessed = max(self._guessed, at)
            return self._known
        return self._fixed

    def _mark(self, at: int) -> Answer:
        if self._whole_line:
            return 0, at + 1
        sign = self._reader.text[at]
        known = self._language(at)
        if sign in known.not_terminators:
            return 0, at + 1
        if sign not in MARKS and sign not in known.terminators:
            if not (self._clause_marks and sign in known.clause_terminators):
                return 0, at + 1
            return self._behind_clause(at), at + 1
        if sign == "." and self._marker:
            cut = next_item(self._reader, at, self._marker, known.reference_nouns)
            if cut:
                return cut, cut
        return self._marks.decide(at, known)

    def _word_space(self, at: int) -> Answer:
        if self._whole_line or self._reader.peek(at + 1) != WORD_SPACE:
            return 0, at + 1
        return self._marks.decide(at, self._language(at))

    def _behind_clause(self, at: int) -> int:
        """A comma that only sets one word apart belongs to a list of words: no end."""
        reader = self._reader
        gap = self._behind_space(at + 1)
        if gap and reader.text[at] in "،؛":
            word = reader.word_at(gap)
            if word and reader.peek(gap + len(word)) == reader.text[at]:
                return 0
        return gap

    def _behind_space(self, at: int) -> int:
        reader = self._reader
        if not reader.peek(at).isspace():
            return 0
        gap = reader.skip_space(at)
        return gap if reader.peek(gap) else 0

    def _clause_mark(self, at: int) -> Answer:
        """The first clause of a text may leave before its sentence is whole."""
        reader = self._reader
        sign = reader.text[at]
        if len(reader.text[reader.start : at + 1].strip()) >= FIRST_CLAUSE:
            if sign in WIDE_CLAUSE_MARKS:
                cut = at + 1 if reader.peek(at + 1) else 0
            else:
                cut = self._behind_space(at + 1)
            if cut:
                return cut, cut
        handler = self._text_handlers.get(sign)
        return handler(at) if handler else (0, at + 1)

    def _sign(self, at: int) -> Answer:
        if self._whole_line:
            return 0, at + 1
        text = self._reader.text
        if self._marker and text[at] == ")":
            cut = next_item(self._reader, at, self._marker, self._known.reference_nouns)
            if cut:
                return cut, cut
        if self._nesting.opened and text[at] in QUOTES and text[at - 1 : at] in ("-", "–", "—"):
            cut = self._marks.interrupted(at)
            if cut:
                return cut, cut
        self._nesting.sign(at, self._known)
        return 0, at + 1

    def _bullet(self, at: int) -> Answer:
        """A list that runs on in one line: a sentence that starts with such a sign ends before the next one."""
        reader = self._reader
        text = reader.text
        lead = text[reader.start : reader.start + 80].lstrip()[:1]
        listed = lead == text[at] if text[at] == "·" else lead in ITEM_SIGNS
        if lead and listed and text[at - 1 : at].isspace() and text[reader.start : at].strip():
            return at, at
        return 0, at + 1

    def _line_break(self, at: int) -> Answer:
        reader = self._reader
        gap = reader.skip_space(at)
        if not reader.peek(gap):
            return 0, gap
        known = self._language(at)
        if self._whole_line or reader.breaks(at, gap) > 1:
            return gap, gap
        line = Line(self._line, at, gap, self._marker is not None)
        if not self._wrapping.goes_on(reader, line, known) or starts_block(reader, gap):
            return gap, gap
        self._line = gap
        return 0, gap

    def _line_break_in_code(self, at: int) -> Answer:
        """Inside fenced code only the closing fence ends the piece."""
        end = fence_end(self._reader, at, self._closing)
        if not end:
            return 0, at + 1
        gap = self._reader.skip_space(end)
        return (gap, gap) if self._reader.peek(gap) else (0, gap)

    def _dollar(self, at: int) -> Answer:
        if not self._whole_line and self._reader.peek(at + 1) == "$":
            self._enter("formula", "$$")
            return 0, at + 2
        return self._sign(at)

    def _backslash(self, at: int) -> Answer:
        sign = self._reader.peek(at + 1)
        if not self._whole_line and sign in ("[", "("):
            self._enter("formula", "\\]" if sign == "[" else "\\)")
        return 0, at + 2 if sign else at + 1

    def _in_formula(self, at: int) -> Answer:
        reader = self._reader
        sign = reader.text[at]
        if sign == "\n":
            gap = reader.skip_space(at)
            if reader.breaks(at, gap) > 1:
                self._enter(self._plain_mode)
                return 0, at
            return 0, at + 1
        if sign == self._closing[0] and reader.peek(at + 1) == self._closing[1]:
            self._enter(self._plain_mode)
            return 0, at + 2
        return 0, at + 2 if sign == "\\" and reader.peek(at + 1) else at + 1

    def _backtick(self, at: int) -> Answer:
        end = at + 1
        while end - at < 8 and self._reader.peek(end) == "`":
            end += 1
        return self._sign(at) if end - at == 1 else (0, end)
