"""Short sentences joined, so that a voice gets pieces worth speaking."""

from streamflow.errors import UsageError


class SentenceBatcher:
    """Joins short sentences; the first leaves at once.

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
        self._waiting: list[str] = []
        self._length = 0  # of what waits, without the white space around it
        self._gap = 0  # white space behind that
        self._started = False

    def add(self, piece: str) -> list[str]:
        """Take a sentence; give what is long enough."""
        ready: list[str] = []
        if self._length and self._joined(piece) > self._max:
            ready.append(self._leave())
        # Counted, not measured: white space without end waits too, and must not be looked at again for each piece.
        length = self._joined(piece)
        self._gap = len(piece) - len(piece.rstrip()) if piece.strip() else self._gap + len(piece)
        self._waiting.append(piece)
        self._length = length
        if length > self._min or (length and not self._started):
            self._started = True
            ready.append(self._leave())
        return ready

    def _joined(self, piece: str) -> int:
        """The length of what waits together with one more piece."""
        size = len(piece.strip())
        if not self._length or not size:
            return self._length or size
        return self._length + self._gap + len(piece.rstrip())

    def _leave(self) -> str:
        text = "".join(self._waiting)
        self._waiting.clear()
        self._length = self._gap = 0
        return text

    def flush(self) -> list[str]:
        """The text ends here; give the rest. The first sentence of a next text leaves at once again."""
        rest = self._leave()
        self._started = False
        return [rest] if rest else []
