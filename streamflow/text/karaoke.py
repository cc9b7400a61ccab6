"""Which word is said when, and where it stands in the raw text.

A synthesizer says how long a sentence takes, not when each of its words comes. Words are placed by their share of the
sentence's characters: an estimate that is exact at the ends of every sentence, and about a word off in between.
"""

import re
from bisect import bisect_left, bisect_right

import msgspec

from streamflow.events import Sentence
from streamflow.text.speech import SpeechText

_GAP = "\0"  # stands for raw text that was never shown to us, such as a hidden block
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CJK}]|(?:(?![{_CJK}])\w)+(?:[-'’.,:/@](?![{_CJK}])\w+)*")
_AFTER_WORD = re.compile(r"[*_~`.,;:!?…\"'”’»。！？，、）」』]+")
_TOLERANCE_S = 1e-6


class SpokenWord(msgspec.Struct, frozen=True, gc=False):
    """A word: its span in the raw text, and from when to when it is said, in seconds of the turn's audio.

    >>> SpokenWord("Hi", 0, 2, 0.0, 0.4, 0).end_s
    0.4
    """

    text: str
    start: int
    end: int
    begin_s: float
    end_s: float
    index: int


class _Places:
    """Finds the words of a sentence, one after the other, in its stretch of the raw text: first in what of it can be
    said, so that a word is not found in a tag or in the target of a link, then in all of it.
    """

    def __init__(self, raw: str, start: int, end: int) -> None:
        self._raw = raw
        self._end = end
        self._cursor = start
        speech = SpeechText(code="read", latex="read", emoji="say")
        self._pieces = [*speech.feed(raw[start:end]), *speech.flush()]
        self._base = start
        self._starts: list[int] = []
        length = 0
        for piece in self._pieces:
            self._starts.append(length)
            length += len(piece.text)
        self._said = "".join(piece.text for piece in self._pieces)
        self._said_cursor = 0

    def find(self, word: str) -> tuple[int, int]:
        """The span of the next word; an empty one where it is said but not written so (an entity, "code omitted")."""
        found = self._said.find(word, self._said_cursor)
        if found >= 0:
            start, end = self._raw_at(found, 1), self._raw_at(found + len(word), 0)
            self._said_cursor = found + len(word)
        else:
            start = self._raw.find(word, self._cursor, self._end)
            end = start + len(word)
        if start < self._cursor:
            return self._cursor, self._cursor
        self._cursor = end
        return start, end

    def _raw_at(self, offset: int, ahead: int) -> int:
        """The raw offset before a character of what is said (``ahead=1``), or behind the one before it (0)."""
        place = bisect_left(self._starts, offset + ahead) - 1
        return self._base + self._pieces[place].at(offset - self._starts[place])


class Karaoke:
    """The words of one turn in time and in the raw text.

    >>> karaoke = Karaoke()
    >>> karaoke.add_text("Say **it** now. Then go.")
    >>> karaoke.add(Sentence(0, "Say it now. ", 0, 16), 1.0); karaoke.add(Sentence(1, "Then go.", 16, 24), 1.0)
    >>> karaoke.heard(0.6), karaoke.heard(1.0), karaoke.word_at(1.2).text
    ('Say **it**', 'Say **it** now.', 'Then')
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._has_text = False
        self._words: list[SpokenWord] = []
        self._begins: list[float] = []
        self._ends: list[float] = []
        self._last_of_sentence: dict[int, int] = {}  # place in `_words` -> where its sentence ends in the raw text
        self._cursor = 0
        self.duration_s = 0.0

    @property
    def raw(self) -> str:
        """The raw text so far."""
        return self._joined().replace(_GAP, "")

    @property
    def words(self) -> list[SpokenWord]:
        """All words so far, in order."""
        return list(self._words)

    def add_text(self, text: str, start: int = -1) -> None:
        """Raw text came; `start` is its offset, where it is known."""
        self._has_text = True
        self._append(text, start)

    def add(self, sentence: Sentence, duration_s: float) -> None:
        """A sentence is said after those before it, and takes that long."""
        start, end = self._span(sentence)
        raw = self._joined()
        text = sentence.text.strip()
        share = duration_s / len(text) if text else 0.0
        cursor = max(start, self._cursor)
        begun = self.duration_s
        places = _Places(raw, cursor, end)
        for match in _WORD.finditer(text):
            at, word_end = places.find(match[0])
            cursor = word_end
            begin_s, end_s = begun + share * match.start(), begun + share * match.end()
            self._words.append(SpokenWord(match[0], at, word_end, begin_s, end_s, sentence.index))
            self._begins.append(begin_s)
            self._ends.append(end_s)
        self.duration_s = begun + duration_s
        self._cursor = max(cursor, end)
        if self._words:
            self._last_of_sentence[len(self._words) - 1] = self._cursor

    def word_at(self, t_s: float) -> SpokenWord | None:
        """The word that is said at that time; between two words the one before, before the first none."""
        place = bisect_right(self._begins, t_s + _TOLERANCE_S) - 1
        return self._words[place] if place >= 0 else None

    def heard(self, played_s: float) -> str:
        """The raw text up to the last word that was heard whole."""
        count = bisect_right(self._ends, played_s + _TOLERANCE_S)
        if not count:
            return ""
        raw = self._joined()
        end = self._last_of_sentence.get(count - 1)
        if end is None:
            end = self._words[count - 1].end
            if marks := _AFTER_WORD.match(raw, end):
                end = marks.end()
        return raw[:end].replace(_GAP, "").rstrip()

    def _span(self, sentence: Sentence) -> tuple[int, int]:
        """Where the sentence stands in the raw text; without raw text, the sentences themselves are taken as it."""
        if self._has_text:
            end = sentence.end if sentence.end >= 0 else self._length
            return max(0, sentence.start), end
        is_verbatim = sentence.end - sentence.start == len(sentence.text)
        start = sentence.start if is_verbatim and sentence.start >= self._length else self._length
        self._append(sentence.text, start)
        return start, self._length

    def _append(self, text: str, start: int) -> None:
        if start > self._length:
            self._parts.append(_GAP * (start - self._length))
            self._length = start
        self._parts.append(text)
        self._length += len(text)

    def _joined(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""
