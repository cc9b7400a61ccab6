"""A trial: an operator, what it promises, and the inputs on which it is tried. All drawn from one seed."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from streamflow.errors import UsageError
from streamflow.events import StreamCompleted, StreamFailed
from streamflow.testing.cuts import at_random, single
from streamflow.testing.laws import nasty_events, nasty_text
from streamflow.testing.laws.outcome import Outcome, drive

TAKES = ("events", "strings", "bytes")
GIVES = ("events", "other")
TEXTS = ("same", "split", "changed")


class Trial(NamedTuple):
    """What is tried, and what it says of itself; the words are those of `check_operator`."""

    operator: Any
    takes: str
    gives: str
    text: str
    forwards: bool
    markers: tuple[str, ...]

    def run(self, items: Sequence[Any], end: str = "complete") -> Outcome:
        """Feed the items step by step to a fresh subscription."""
        return drive([self.operator], items, end)


class Example(NamedTuple):
    """An input: items that can be cut anywhere. ``is_cut`` says that the stream ends too early."""

    items: list[Any]
    is_cut: bool = False

    def pieces(self, rng: random.Random, how: str) -> list[Any]:
        """The same input in other pieces: ``whole``, ``single`` or ``random``."""
        if self.items and all(isinstance(item, bytes) for item in self.items):
            data = b"".join(self.items)
            return {"whole": [data], "single": single(data)}.get(how) or at_random(data, rng)
        return nasty_events.recut(self.items, rng, how)


def drawn(trial: Trial, inputs: Sequence[Any], rng: random.Random) -> Example:
    """An example for a trial: one of the user's own inputs now and then, else a nasty one."""
    if inputs and (trial.takes == "bytes" or rng.random() < 0.3):
        return _own(rng.choice(inputs), trial.takes)
    tokens = _with_markers(nasty_text.tokens(rng), trial.markers, rng)
    if trial.takes == "strings":
        return Example(list(tokens))
    if rng.random() < 0.45:
        return Example(nasty_events.text_answer("".join(tokens)))
    items = nasty_events.stream(rng)
    end = items[-1]
    is_cut = isinstance(end, StreamFailed) or (isinstance(end, StreamCompleted) and end.stop_reason == "cancelled")
    return Example(items, is_cut)


def _own(given: Any, takes: str) -> Example:
    if isinstance(given, str) and takes == "events":
        return Example(nasty_events.text_answer(given))
    return Example([given] if isinstance(given, str | bytes) else list(given))


def _with_markers(tokens: list[str], markers: tuple[str, ...], rng: random.Random) -> list[str]:
    """The tokens with the operator's own markers among them: whole, begun, damaged, one inside the other."""
    out = list(tokens)
    for _ in range(rng.randint(1, 4) if markers else 0):
        marker = rng.choice(markers)
        size = rng.randint(0, len(marker))
        form = rng.choice((marker, marker, marker[:size], marker[:size] + marker, nasty_text.mutated(marker, rng)))
        out.insert(rng.randint(0, len(out)), form)
    return out


def smaller(example: Example) -> list[Example]:
    """Examples a little smaller than this one, for finding the least that still fails."""
    items = example.items
    if items and all(isinstance(item, str | bytes) for item in items):
        fewer = [items[:place] + items[place + 1 :] for place in range(len(items))]
        for place, item in enumerate(items):
            size = len(item)
            spans = [(0, size // 2), (size // 2, size), *((at, at + 1) for at in range(size))] if size > 1 else []
            fewer += [[*items[:place], item[:start] + item[end:], *items[place + 1 :]] for start, end in spans]
        return [example._replace(items=candidate) for candidate in fewer]
    return [example._replace(items=candidate) for candidate in nasty_events.smaller(items)]


def check_words(**options: tuple[Any, tuple[str, ...]]) -> None:
    """Each option must be one of its words."""
    for name, (value, allowed) in options.items():
        if value not in allowed:
            raise UsageError(f"check_operator({name}={value!r}): choose one of {', '.join(map(repr, allowed))}")
