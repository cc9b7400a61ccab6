import re
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from streamflow.errors import UsageError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Retrying,
    Sentence,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    ToolCallsReady,
)
from streamflow.operators.timed import Clock, lift_timed
from streamflow.stage import Operator, lift
from streamflow.text.sentences import SentenceBatcher, SentenceCutter
from streamflow.text.spoken import Spoken

_ENDS_TEXT = (StreamStart, StreamCompleted, StreamFailed, ToolCallsReady)
# A text block that ends like this ended with a sentence.
_FINISHED = re.compile(r"[.!?…。！？؟۔।။።։]['\"”’»)\]」』）*_`]{0,8}\s*\Z")


def _token() -> str:
    return f"{time.time():.3f}_{secrets.token_hex(2)}"


class SentenceSegment:
    """Visible text becomes sentences with their spans; everything else passes."""

    takes, gives = "events", "events"

    def __init__(
        self, make_cutter: Callable[[], tuple[SentenceCutter, SentenceBatcher]], ids: Callable[[], str]
    ) -> None:
        self._make_cutter = make_cutter
        self._ids = ids
        self._begin()

    def _begin(self) -> None:
        """A new message: nothing is held, counting starts anew."""
        self._cutter, self._batcher = self._make_cutter()
        self._index = 0
        self._token = ""
        self._raw = 0
        self._begin_text()

    def _begin_text(self) -> None:
        self._read = 0
        self._told = 0
        self._spans: deque[tuple[int, Spoken]] = deque()  # (characters before it, piece), not yet told

    def feed(self, item: Any) -> list[Any]:
        """Cut visible text, pass on the rest."""
        kind = item.__class__
        if kind is Chunk:
            if item.visible and item.part is None and item.kind != "tool_call":
                start = item.start if item.start >= 0 else self._raw
                return self._take(item.text, start, start + len(item.text))
            return [*self.flush(), item] if item.kind == "tool_call" else [item]
        if kind is str:
            return self._take(item, self._raw, self._raw + len(item))
        if kind is Spoken:
            return self._take(item.text, item.start, item.end)
        if kind is Retrying:
            if item.discard:
                self._begin()
            return [item]
        if self._ends_text(item):
            out = [*self.flush(), item]
            if kind is StreamStart:
                self._begin()
            return out
        return [item]

    def _ends_text(self, item: Any) -> bool:
        """Text blocks may follow each other in mid-sentence (a citation is a block); other blocks end the text."""
        if isinstance(item, BlockStart):
            return item.kind != "text"
        if isinstance(item, BlockComplete):
            return item.kind != "text" or bool(_FINISHED.search(self._cutter.pending))
        return isinstance(item, _ENDS_TEXT)

    def flush(self) -> list[Any]:
        """Tell the rest, the last one as final."""
        return self._rest(final=True)

    def _rest(self, final: bool) -> list[Any]:
        pieces = [batch for piece in self._cutter.flush() for batch in self._batcher.add(piece)]
        pieces += self._batcher.flush()
        while pieces and not pieces[-1].strip():
            last = pieces.pop()
            if pieces:
                pieces[-1] += last
        out = [self._sentence(piece, final and number == len(pieces) - 1) for number, piece in enumerate(pieces)]
        self._begin_text()
        return out

    def abort(self, error: BaseException) -> list[Any]:
        """Tell what is held: it was shown, so it may be heard."""
        return self.flush()

    def _take(self, text: str, start: int, end: int) -> list[Any]:
        self._raw = end
        if not text:
            return []
        self._spans.append((self._read, Spoken(text, start, end)))
        self._read += len(text)
        pieces = self._cutter.feed(text)
        if not pieces:
            return []
        return [self._sentence(batch, False) for piece in pieces for batch in self._batcher.add(piece)]

    def _sentence(self, text: str, final: bool) -> Sentence:
        self._token = self._token or self._ids()
        start = self._raw_at(self._told, 1)
        self._told += len(text)
        end = self._raw_at(self._told, 0)
        self._index += 1
        return Sentence(self._index - 1, text, start, end, f"seq{self._index}_{self._token}", final)

    def _raw_at(self, count: int, ahead: int) -> int:
        """The raw offset before a character (``ahead=1``), or behind the one before it (``ahead=0``)."""
        spans = self._spans
        while len(spans) > 1 and spans[1][0] < count + ahead:
            spans.popleft()
        first, piece = spans[0]
        return piece.at(count - first)


class IdleSentenceSegment(SentenceSegment):
    """The same, but a finished-looking sentence is told when no text has come for some time."""

    def __init__(
        self,
        make_cutter: Callable[[], tuple[SentenceCutter, SentenceBatcher]],
        ids: Callable[[], str],
        idle_s: float,
        clock: Clock,
    ) -> None:
        super().__init__(make_cutter, ids)
        self._idle_s = idle_s
        self._clock = clock
        self.due_s: float | None = None

    def feed(self, item: Any) -> list[Any]:
        """Cut visible text, pass on the rest; the time of waiting starts anew."""
        out = super().feed(item)
        self.due_s = self._clock() + self._idle_s if self._told < self._read else None
        return out

    def wake(self) -> list[Any]:
        """No text came for so long: what looks finished is told."""
        self.due_s = None
        pending = self._cutter.pending
        return self._rest(final=False) if not pending or _FINISHED.search(pending) else []

    def end(self) -> list[Any]:
        """The source completed."""
        self.due_s = None
        return self.flush()


def sentence_segment(
    language: str = "auto",
    min_chars: int = 60,
    first: str = "sentence",
    max_chars: int = 400,
    idle_s: float | None = None,
    clause_marks: bool = False,
    ids: Callable[[], str] | None = None,
) -> Operator[Any, Any]:
    """Visible text as sentences for a voice: `Sentence(index, text, start, end, id, final)`.

    ```
    text  --"Dr. Jo"--"nes left. H"---"e did."--|
    out   ------------Sentence(0)-------------Sentence(1)--|
    ```

    Takes chunks, plain strings and what `speakable` emits; other events pass in order. Joined, the sentences are the
    text, and they are the same however it was cut. ``language`` is ``"auto"`` or a code such as ``"de"``. Sentences of
    at most ``min_chars`` characters are joined with the next ones, but the first leaves at once: as a whole, or with
    ``first="clause"`` up to its first clause mark behind 24 characters. A sentence longer than ``max_chars`` is cut at
    a clause mark, else at a space. ``clause_marks=True`` also cuts Arabic and Persian at colons and clause commas.
    ``idle_s`` releases a finished-looking sentence when no text comes for so long; then the cuts depend on time. A tool
    call, another kind of block and the end of the stream release what is held, ``final`` on the last of it.
    ``ids`` makes the token of a message's ids, ``seq1_<token>``, ``seq2_<token>``; by default time and random hex.

    >>> import streamflow as sf
    >>> out = sf.run(["Dr. Jones left. H", "e came back at 3.30."], sentence_segment("en", min_chars=0))
    >>> [(sentence.text, sentence.start, sentence.end) for sentence in out]
    [('Dr. Jones left. ', 0, 16), ('He came back at 3.30.', 16, 37)]
    """

    def make_cutter() -> tuple[SentenceCutter, SentenceBatcher]:
        return SentenceCutter(language, max_chars, clause_marks, first), SentenceBatcher(min_chars, max_chars)

    make_cutter()  # wrong options are told here, not when the first text comes
    make_token = ids or _token
    if idle_s is None:
        return lift(lambda: SentenceSegment(make_cutter, make_token), "sentence_segment")
    if idle_s <= 0:
        raise UsageError(f"idle_s={idle_s}: allowed are None and seconds above 0")
    wait = idle_s
    return lift_timed(lambda clock: IdleSentenceSegment(make_cutter, make_token, wait, clock), "sentence_segment")
