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
        """The text ends here; give the rest. The first sentence of a next text leaves at once again."""
        rest, self._waiting = self._waiting, ""
        self._started = False
        return [rest] if rest else []
