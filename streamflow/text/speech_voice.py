"""The spoken side of the speech machine: pieces with their spans, waiting white space, inserted pauses.

White space waits until it is known what follows, because a pause belongs before it ("Title.\\n"), a removed
mark swallows it ("capital [1]." is "capital.") and a run of it collapses. What waits is one space or at most two
line feeds, so memory stays constant.
"""

import re

import msgspec

from streamflow.text.spoken import Spoken

SPACES = " \t\r\x0b\x0c"
_CLOSERS = "\"'”’»›)]}）」』】》〉" + SPACES
_TERMINATORS = frozenset(".!?:;,…。！？：；，、．।॥؟؛،۔։።")
_NO_SPACE_BEFORE = frozenset(".,;:!?)]}…。！？：；，、）」』")
_TOKENS = re.compile(rf"\n|[{SPACES}]+|[^{SPACES}\n]+(?: [^{SPACES}\n]+)*")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


class _Space(msgspec.Struct, frozen=True):
    text: str
    start: int
    end: int
    soft: bool  # stands for something removed; never spoken last


def is_cjk(char: str) -> bool:
    """Whether a character belongs to a script that is written without spaces and ends sentences with "。".

    >>> is_cjk("語"), is_cjk("a"), is_cjk("한")
    (True, False, False)
    """
    return char >= "\u3040" and _CJK.match(char) is not None


class Voice:
    """Collects spoken pieces; all offsets are absolute offsets of the raw text.

    >>> voice = Voice()
    >>> voice.plain("Title", 2); voice.newline(7); voice.pause(); voice.plain("Text", 8)
    >>> [(piece.text, piece.start, piece.end) for piece in voice.take()]
    [('Title', 2, 7), ('.', 7, 7), ('\\nText', 7, 12)]
    """

    def __init__(self) -> None:
        self._pieces: list[Spoken] = []
        self._run: list[str] = []  # verbatim text that adjoins, not yet a piece
        self._end = 0
        self._run_start = 0
        self._spoke = False
        self._ended = True
        self._last = ""
        self._space: _Space | None = None
        self._newlines: list[int] = []
        self._cell = False
        self._gap = False

    @property
    def waiting(self) -> int:
        """How many white space characters wait for what follows."""
        return len(self._newlines) + (self._space is not None and not self._space.soft)

    def say(self, text: str, start: int) -> None:
        """Speak text verbatim; it neither begins nor ends with white space."""
        self._release(text[0])
        self._verbatim(text, start)
        self._note(text)

    def plain(self, text: str, start: int) -> None:
        """Speak text verbatim; single spaces at its edges wait."""
        if text[0] in SPACES:
            self.space(text[0], start, start + 1)
            text, start = text[1:], start + 1
            if not text:
                return
        if text[-1] in SPACES:
            if len(text) > 1:
                self.say(text[:-1], start)
            end = start + len(text)
            self.space(text[-1], end - 1, end)
        else:
            self.say(text, start)

    def raw(self, text: str, start: int) -> None:
        """Speak any text verbatim (code, formulas), its white space collapsed as everywhere."""
        for match in _TOKENS.finditer(text):
            token, at = match[0], start + match.start()
            if token == "\n":
                self.newline(at)
            elif token[0] in SPACES:
                self.space(token[0], at, at + 1)
            else:
                self.say(token, at)

    def replace(self, text: str, start: int, end: int) -> None:
        """Speak something else in place of raw[start:end]."""
        self._release(text[0])
        self._close()
        self._pieces.append(Spoken(text, start, end))
        self._end = end
        self._note(text)

    def insert(self, text: str) -> None:
        """Speak something that the raw text does not have, right after the last text."""
        self._close()
        self._pieces.append(Spoken(text, self._end, self._end))

    def space(self, text: str, start: int, end: int) -> None:
        """A space waits, unless white space waits already or nothing was said yet."""
        if self._spoke and not self._newlines and (self._space is None or self._space.soft):
            self._space = _Space(text, start, end, soft=False)

    def separate(self, start: int) -> None:
        """Something between two words was removed: keep them apart."""
        if self._spoke and not self._newlines and self._space is None:
            self._space = _Space(" ", start, start, soft=True)

    def newline(self, start: int) -> None:
        """A line feed waits; it swallows spaces before it, and at most two are spoken in a row."""
        if self._spoke and len(self._newlines) < 2:
            self._space = None
            self._newlines.append(start)

    def gap(self) -> None:
        """Something was removed here: a space before it must not stay in front of punctuation."""
        self._gap = True

    def cell(self) -> None:
        """A table cell ended: a comma is due before the next one."""
        self._cell = not self._ended

    def pause(self) -> None:
        """End the sentence here, unless the text so far ends with a mark of its own."""
        self._cell = False
        if not self._ended:
            self.insert("。" if is_cjk(self._last) else ".")
            self._ended = True

    def finish(self) -> None:
        """Release white space that nothing follows."""
        self._cell = False
        if self._space is not None and self._space.soft:
            self._space = None
        self._release("")

    def take(self) -> list[Spoken]:
        """Hand over the pieces collected so far."""
        self._close()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _release(self, following: str) -> None:
        if self._cell:
            self.insert("、" if is_cjk(self._last) else ",")
            self._cell = False
        if self._newlines:
            for start in self._newlines:
                self._verbatim("\n", start)
            self._newlines.clear()
        elif self._space is not None:
            space, self._space = self._space, None
            if self._gap and following in _NO_SPACE_BEFORE:
                pass
            elif space.end - space.start == 1:
                self._verbatim(space.text, space.start)
            else:
                self._close()
                self._pieces.append(Spoken(space.text, space.start, space.end))
                self._end = space.end
        self._gap = False

    def _verbatim(self, text: str, start: int) -> None:
        if not self._run or start != self._end:
            self._close()
            self._run_start = start
        self._run.append(text)
        self._end = start + len(text)

    def _close(self) -> None:
        if self._run:
            self._pieces.append(Spoken("".join(self._run), self._run_start, self._end))
            self._run.clear()

    def _note(self, text: str) -> None:
        self._spoke = True
        if text[-1] in _CLOSERS:
            text = text.rstrip(_CLOSERS)
        if text:
            self._last = text[-1]
            self._ended = self._last in _TERMINATORS
