"""Sentences out of a text that is still coming: exact, the same at every cutting, in linear time.

One pass over the places that could matter (marks, line breaks, quotes, brackets, list signs). The handler of a place
answers where to cut, or to go on, or raises ``NeedMore`` while some continuation could still change the answer, which
it may do only within `REACH` characters. Nothing is decided from what happens to be in the buffer.
"""

import re
from collections.abc import Callable
from functools import cache

from streamflow.errors import UsageError
from streamflow.text.language_data import Language, language
from streamflow.text.language_guess import LanguageGuess
from streamflow.text.scripts import sign_boundary
from streamflow.text.sentence_lines import ITEM_SIGNS, Marker, Wrapping, marker_at, numbered_at, starts_block
from streamflow.text.sentence_marks import Marks
from streamflow.text.sentence_nesting import QUOTES, SIGNS, Nesting
from streamflow.text.sentence_reader import NEWLINES, NeedMore, Reader
from streamflow.text.sentence_rules import MARKS

__all__ = ["FIRST_CLAUSE", "SentenceBatcher", "SentenceCutter"]

#: The least length of a clause that may be spoken first.
FIRST_CLAUSE = 24

_CLAUSE_MARKS = ",;:،؛、，；：၊፣፤"
_WIDE_CLAUSE_MARKS = "、，；："
_CLAUSES = re.compile(r"[,;:،؛—–၊፣፤](?=\s)|[、，；：]")
_SPACE = re.compile(r"\s")
_LINE_BREAK = re.compile(f"[{NEWLINES}]")
_FORMULA_PLACES = re.compile(r"[$\\\n]")
_INLINE_MARKER = re.compile(r"(?:^|\s)(\(?[^\W_]{1,4}[.)]?)$")

Handler = Callable[[int], tuple[int, int]]


@cache
def _places(extra: str) -> re.Pattern[str]:
    signs = "".join(sorted({*MARKS, *NEWLINES, *ITEM_SIGNS, *SIGNS, "\\", *extra} - set("'’")))
    # An apostrophe inside a word is no place to look at.
    return re.compile(rf"[{re.escape(signs)}]|(?<!\w)['’]|['’](?!\w)")


class SentenceCutter:
    """Cuts a growing text into sentences that keep their white space: joined they are the text.

    >>> cutter = SentenceCutter("en")
    >>> cutter.feed("Dr. Smith paid $3.50. Th") + cutter.feed("en he left.") + cutter.flush()
    ['Dr. Smith paid $3.50. ', 'Then he left.']
    """

    def __init__(
        self, language: str = "auto", max_chars: int = 400, clause_marks: bool = False, first: str = "sentence"
    ) -> None:
        self._fixed = None if language == "auto" else _language(language)
        if max_chars < 1:
            raise UsageError(f"max_chars={max_chars}: allowed are 1 and more")
        if first not in ("sentence", "clause"):
            raise UsageError(f"first={first!r}: allowed are 'sentence', 'clause'")
        self._max = max_chars
        self._clause_marks = clause_marks
        self._first = first
        self._guess = LanguageGuess()
        self._known = self._fixed or _language("en")
        handlers: dict[str, Handler] = dict.fromkeys(SIGNS, self._sign)
        handlers |= dict.fromkeys(MARKS + ":;،؛", self._mark)
        handlers |= dict.fromkeys(ITEM_SIGNS, self._bullet)
        handlers |= dict.fromkeys(NEWLINES, self._line_break)
        handlers |= {"\\": self._backslash, "$": self._dollar, "`": self._backtick}
        self._handlers = handlers
        self._begin()

    def _begin(self) -> None:
        self._reader = Reader()
        self._first_clause = self._first == "clause"
        self._nesting = Nesting(self._reader)
        self._marks = Marks(self._reader, self._nesting)
        self._wrapping = Wrapping()
        self._position = 0
        self._line = 0
        self._guessed = 0
        self._opening = True
        self._new_line = True
        self._whole_line = False
        self._fence = ""
        self._formula = ""
        self._marker: Marker | None = None

    def feed(self, text: str) -> list[str]:
        """Read more text; give the sentences that are decided by it."""
        self._reader.text += text
        return self._advance()

    def flush(self) -> list[str]:
        """The text ends here; give the rest. A next text may follow."""
        self._reader.final = True
        pieces = self._advance()
        if self._reader.text:
            pieces.append(self._reader.text)
        self._begin()
        return pieces

    @property
    def pending(self) -> str:
        """The text that waits for what follows."""
        return self._reader.text

    def _advance(self) -> list[str]:
        pieces: list[str] = []
        reader = self._reader
        text = reader.text
        size = len(text)
        find = self._pattern()
        try:
            while True:
                limit = reader.start + self._max
                if self._opening:
                    self._open()
                    find = self._pattern()
                match = find.search(text, self._position)
                at = match.start() if match else size
                if at >= limit and size > limit:
                    pieces.append(self._cut_by_force(limit))
                    find = self._pattern()
                    continue
                self._position = at
                if not match:
                    break
                cut, after = self._handle(at)
                if not cut:
                    self._position = after
                    find = self._pattern()
                elif cut > limit and len(text[reader.start : cut].rstrip()) > self._max:
                    pieces.append(self._cut_by_force(limit))
                else:
                    pieces.append(self._cut(cut))
        except NeedMore:
            pass
        if reader.start:
            self._drop(reader.start)
        return pieces

    def _pattern(self) -> re.Pattern[str]:
        if self._fence:
            return _LINE_BREAK
        if self._formula:
            return _FORMULA_PLACES
        extra = _CLAUSE_MARKS if self._first_clause else ""
        if self._fixed is None:
            extra += ":;،؛" if self._clause_marks else ":;"
        else:
            extra += "".join(self._fixed.terminators)
            if self._clause_marks:
                extra += "".join(self._fixed.clause_terminators)
        return _places(extra)

    def _handle(self, at: int) -> tuple[int, int]:
        sign = self._reader.text[at]
        if self._fence:
            return self._fenced_line_break(at)
        if self._formula:
            return self._in_formula(at)
        if self._first_clause and sign in _CLAUSE_MARKS:
            cut = self._clause(at)
            if cut:
                return cut, cut
        handler = self._handlers.get(sign)
        return handler(at) if handler else (0, at + 1)

    def _cut(self, cut: int) -> str:
        reader = self._reader
        piece = reader.text[reader.start : cut]
        tail = piece[len(piece.rstrip()) :]
        self._new_line = any(sign in NEWLINES for sign in tail)
        reader.start = self._position = cut
        self._opening = True
        self._first_clause = self._whole_line = False
        self._fence = self._formula = ""
        self._marker = None
        self._nesting.opened.clear()
        if self._new_line:
            self._line = cut
            self._wrapping = Wrapping()
        return piece

    def _cut_by_force(self, limit: int) -> str:
        """Cut an overlong sentence at its last clause mark, else at a space, else between two visible signs."""
        reader = self._reader
        window = reader.text[reader.start : limit]
        size = len(window)
        cut = 0
        if self._fence:
            cut = window.rstrip().rfind("\n") + 1
        if not cut:
            cut = max((match.end() for match in _CLAUSES.finditer(window) if match.end() > size // 4), default=0)
        if not cut:
            cut = max((match.end() for match in _SPACE.finditer(window) if window[: match.end()].strip()), default=0)
        place = reader.start + cut if cut else sign_boundary(reader.text, limit, reader.start)
        while place < limit and reader.text[place].isspace():
            place += 1
        piece = reader.text[reader.start : place]
        reader.start = place
        # Up to the limit everything was read as formula; how far beyond depends on what has come.
        self._position = limit if self._formula else max(self._position, place)
        self._first_clause = False
        self._marker = None
        self._formula = ""
        self._nesting.opened.clear()
        return piece

    def _drop(self, count: int) -> None:
        reader = self._reader
        reader.text = reader.text[count:]
        reader.start = 0
        self._position -= count
        self._line -= count
        self._guessed -= count
        self._nesting.shift(count)
        if self._marker:
            self._marker = self._marker._replace(end=self._marker.end - count)

    def _open(self) -> None:
        """Look at the first signs of a sentence: a list marker, and at the start of a line the kind of the line."""
        reader = self._reader
        at = reader.skip_space(reader.start)
        if self._new_line:
            for _ in range(4):
                if reader.peek(at) != ">":
                    break
                at = reader.skip_space(at + 1)
            sign = reader.peek(at)
            if sign in ("`", "~") and reader.peek(at + 1) == sign and reader.peek(at + 2) == sign:
                self._fence = sign * 3
                self._position = at + 3
                self._opening = False
                return
            self._whole_line = sign == "|" or (sign == "#" and starts_block(reader, at))
        self._marker = marker_at(reader, at)
        self._position = max(self._position, self._marker.end if self._marker else at)
        self._opening = False

    def _language(self, at: int) -> Language:
        if self._fixed is None:
            self._known = self._guess.at(self._reader.text, max(self._guessed, 0), at)
            self._guessed = at
            return self._known
        return self._fixed

    def _mark(self, at: int) -> tuple[int, int]:
        if self._whole_line:
            return 0, at + 1
        sign = self._reader.text[at]
        known = self._language(at)
        if sign in known.not_terminators:
            return 0, at + 1
        if sign not in MARKS and sign not in known.terminators:
            if not (self._clause_marks and sign in known.clause_terminators):
                return 0, at + 1
            return (self._behind_clause(at), at + 1)
        if sign == "." and self._marker:
            cut = self._next_item(at)
            if cut:
                return cut, cut
        return self._marks.decide(at, known)

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

    def _clause(self, at: int) -> int:
        reader = self._reader
        if len(reader.text[reader.start : at + 1].strip()) < FIRST_CLAUSE:
            return 0
        if reader.text[at] in _WIDE_CLAUSE_MARKS:
            return at + 1 if reader.peek(at + 1) else 0
        return self._behind_space(at + 1)

    def _next_item(self, at: int) -> int:
        """The next marker of a list that runs on in one line: the sentence ends before it."""
        reader = self._reader
        if not self._marker or at < self._marker.end:
            return 0
        begin = max(reader.start, at - 6)
        found = _INLINE_MARKER.search(reader.text, begin, at)
        if not found or found.start(1) < self._marker.end:
            return 0
        place = found.start(1)
        marker = numbered_at(reader, place)
        if marker is None or not marker.follows(self._marker):
            return 0
        if marker.value.isdecimal() or marker.value == "a":
            # "Go on with step 2. Then ..." is no list.
            words = reader.words_before(place)
            before = words[-2] if len(words) > 1 else ""
            return 0 if before.lower() in self._known.reference_nouns else place
        return place

    def _sign(self, at: int) -> tuple[int, int]:
        if self._whole_line:
            return 0, at + 1
        text = self._reader.text
        if self._marker and text[at] == ")":
            cut = self._next_item(at)
            if cut:
                return cut, cut
        if self._nesting.opened and text[at] in QUOTES and text[at - 1 : at] in ("-", "–", "—"):
            cut = self._marks.interrupted(at)
            if cut:
                return cut, cut
        self._nesting.sign(at, self._known)
        return 0, at + 1

    def _bullet(self, at: int) -> tuple[int, int]:
        """A list that runs on in one line: a sentence that starts with such a sign ends before the next one."""
        reader = self._reader
        text = reader.text
        lead = text[reader.start : reader.start + 80].lstrip()[:1]
        listed = lead == text[at] if text[at] == "·" else lead in ITEM_SIGNS
        if lead and listed and text[at - 1 : at].isspace() and text[reader.start : at].strip():
            return at, at
        return 0, at + 1

    def _line_break(self, at: int) -> tuple[int, int]:
        reader = self._reader
        gap = reader.skip_space(at)
        if not reader.peek(gap):
            return 0, gap
        known = self._language(at)
        if self._whole_line or reader.breaks(at, gap) > 1 or starts_block(reader, gap):
            return gap, gap
        if self._wrapping.goes_on(reader, self._line, at, gap, known):
            self._line = gap
            return 0, gap
        return gap, gap

    def _fenced_line_break(self, at: int) -> tuple[int, int]:
        """Inside fenced code only the closing fence ends the piece."""
        reader = self._reader
        begin = at + 1
        while begin - at < 12 and reader.peek(begin) in (" ", "\t", ">"):
            begin += 1
        for offset, sign in enumerate(self._fence):
            if reader.peek(begin + offset) != sign:
                return 0, at + 1
        end = begin + len(self._fence)
        while end - begin < 16 and reader.peek(end) == self._fence[0]:
            end += 1
        while end - begin < 32 and reader.peek(end) in (" ", "\t"):
            end += 1
        sign = reader.peek(end)
        if sign and sign not in NEWLINES:
            return 0, at + 1
        gap = reader.skip_space(end)
        return (gap, gap) if reader.peek(gap) else (0, gap)

    def _dollar(self, at: int) -> tuple[int, int]:
        if not self._whole_line and self._reader.peek(at + 1) == "$":
            self._formula = "$$"
            return 0, at + 2
        return self._sign(at)

    def _backslash(self, at: int) -> tuple[int, int]:
        sign = self._reader.peek(at + 1)
        if not self._whole_line and sign in ("[", "("):
            self._formula = "\\]" if sign == "[" else "\\)"
        return 0, at + 2 if sign else at + 1

    def _in_formula(self, at: int) -> tuple[int, int]:
        reader = self._reader
        sign = reader.text[at]
        if sign == "\n":
            gap = reader.skip_space(at)
            if reader.breaks(at, gap) > 1:
                self._formula = ""
                return 0, at
            return 0, at + 1
        if sign == self._formula[0] and reader.peek(at + 1) == self._formula[1]:
            self._formula = ""
            return 0, at + 2
        return 0, at + 2 if sign == "\\" and reader.peek(at + 1) else at + 1

    def _backtick(self, at: int) -> tuple[int, int]:
        reader = self._reader
        end = at + 1
        while end - at < 8 and reader.peek(end) == "`":
            end += 1
        if end - at == 1:
            return self._sign(at)
        return 0, end


def _language(code: str) -> Language:
    return language(code)


class SentenceBatcher:
    """Joins short sentences, so that a voice gets pieces worth speaking; the first leaves at once.

    Pieces are joined until the total, without the white space around it, is longer than ``min_chars``, and never
    beyond ``max_chars``. White space alone waits for the next piece.

    >>> batcher = SentenceBatcher(min_chars=12)
    >>> batcher.add("Yes. "), batcher.add("It is. "), batcher.add("I am sure. ")
    (['Yes. '], [], ['It is. I am sure. '])
    """

    def __init__(self, min_chars: int = 60, max_chars: int = 400) -> None:
        if min_chars < 0:
            raise UsageError(f"min_chars={min_chars}: allowed are 0 and more")
        self._min = min_chars
        self._max = max_chars
        self._waiting = ""
        self._started = False

    def add(self, piece: str) -> list[str]:
        """Take a sentence; give what is long enough."""
        ready: list[str] = []
        if self._waiting.strip() and len((self._waiting + piece).strip()) > self._max:
            ready.append(self._waiting)
            self._waiting = ""
        self._waiting += piece
        length = len(self._waiting.strip())
        if length > self._min or (length and not self._started):
            self._started = True
            ready.append(self._waiting)
            self._waiting = ""
        return ready

    def flush(self) -> list[str]:
        """The text ends here; give the rest."""
        rest, self._waiting = self._waiting, ""
        self._started = False
        return [rest] if rest else []
