"""Joining two texts of which the second may begin by repeating the end of the first."""

import re

MAX_OVERLAP = 1000
_WORD_STARTS = re.compile(r"(?<!\S)\S")
_SHORT = 3  # a shorter piece of a word says nothing: "This is a" and "apple" have nothing in common


class Overlap:
    """Takes the repetition out of the second text, as it arrives.

    Text is held only while it may still be a repetition; what is decided leaves at once. A repetition begins with a
    word of the first text and reaches to its end, also when that end is half a word.

    >>> overlap = Overlap("The quick brown fo")
    >>> overlap.feed("quick bro") + overlap.feed("wn fox jumps") + overlap.flush()
    'x jumps'
    """

    def __init__(self, before: str, limit: int = MAX_OVERLAP) -> None:
        tail = before[-limit:]
        self._tail = tail
        self._ends_in_space = tail != tail.rstrip()
        core = tail.rstrip()
        # Word starts, the longest possible repetition first. A word that the limit cuts has no known start.
        cut = len(before) > limit and not before[-limit - 1 : -limit].isspace()
        self._cores = [core[match.start() :] for match in _WORD_STARTS.finditer(core) if match.start() or not cut]
        self._held: list[str] = []
        self._open = list(self._cores)
        self._strip = False
        self.trimmed = 0
        """How many characters of the second text were a repetition."""
        self.decided = not self._cores

    def feed(self, text: str) -> str:
        """Take a piece of the second text; what of it can be said now."""
        if self.decided:
            return self._stripped(text)
        self._held.append(text)
        return self._settled(final=False)

    def flush(self) -> str:
        """The second text ended: the rest."""
        return "" if self.decided else self._settled(final=True)

    def _stripped(self, text: str) -> str:
        if not self._strip:
            return text
        rest = text.lstrip()
        self._strip = not rest
        self.trimmed += len(text) - len(rest)
        return rest

    def _settled(self, final: bool) -> str:
        held = "".join(self._held)
        self._held = [held]
        body = held.lstrip()
        if not body and not final:
            return ""
        self._open = [core for core in self._open if core.startswith(body) or body.startswith(core)]
        is_new_word = body != held and not self._ends_in_space
        for core in self._open:
            if len(body) < len(core):
                if final:
                    continue
                return ""  # a longer repetition is still possible
            if core == body and not final and not _is_certain(core):
                return ""  # the next character tells whether this is the whole word
            if _is_repetition(core, body[len(core) :], is_new_word):
                return self._released(held, len(held) - len(body) + len(core))
        return self._released(held, 0)

    def _released(self, held: str, size: int) -> str:
        self.decided = True
        self._held = []
        self.trimmed = size
        self._strip = size > 0 and self._ends_in_space
        if not size and self._tail.endswith(" ") and held.startswith(" "):
            self.trimmed = 1  # both sides brought the space between them
            return held[1:]
        return self._stripped(held[size:])


def _is_certain(core: str) -> bool:
    return len(core.split()) > 1


def _is_repetition(core: str, rest: str, is_new_word: bool) -> bool:
    inside_word = bool(rest) and rest[0].isalnum() and core[-1].isalnum()
    if not inside_word or _is_certain(core):
        return True
    return len(core) >= _SHORT and not is_new_word
