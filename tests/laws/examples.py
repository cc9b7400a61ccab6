"""One example: an operator or a chain of three, an input that can be cut anywhere, and the laws that must hold.

Everything is drawn from one seed, so that ``python -m tests.laws --seed N`` repeats an example exactly.
"""

import random
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from streamflow.errors import StreamTruncated
from streamflow.events import StreamCompleted, StreamFailed
from streamflow.testing.laws import nasty_events, nasty_text
from tests.laws import nasty_bytes
from tests.laws.normal import drive
from tests.laws.table import Row, present


@cache
def _made(make: Callable[[], Any]) -> Any:
    return make()


class Subject(NamedTuple):
    """What is tested: the names and how to make fresh operators."""

    names: tuple[str, ...]
    makes: tuple[Callable[[], Any], ...]
    rows: tuple[Row, ...]

    def made(self) -> list[Any]:
        """The operators. They are used again and again: what they keep between runs would be found out."""
        return [_made(make) for make in self.makes]

    @property
    def takes(self) -> str:
        return self.rows[0].takes

    @property
    def gives(self) -> str:
        return self.rows[-1].gives

    @property
    def forwards(self) -> bool:
        return all(row.forwards for row in self.rows)

    @property
    def same_text(self) -> bool:
        return all(row.same_text for row in self.rows)


class Source(NamedTuple):
    """The input. ``cut``: it ends too early.

    ``form`` is bytes, frames, strings, events, rounds (two turns) or restart (what came before is void).
    """

    form: str
    items: list[Any]
    cut: bool

    def pieces(self, rng: random.Random, how: str) -> list[Any]:
        if self.form == "bytes":
            return list(nasty_bytes.recut_bytes(self.items[0], rng, how))
        if self.form == "frames":
            return self.items
        return nasty_events.recut(self.items, rng, how)


def alone(name: str, rng: random.Random) -> Subject:
    """One operator, made in one of its ways."""
    row = present()[name]
    return Subject((name,), (rng.choice(row.makes),), (row,))


def chain(rng: random.Random) -> Subject:
    """Three operators: over events in any order, what gives a view last; or all the way from bytes."""
    rows = {name: row for name, row in present().items() if row.takes == "events"}
    if rng.random() < 0.15:
        names = ("sse_decode", "normalize_provider", rng.choice(list(rows)))
    else:
        first, second = rng.sample([name for name, row in rows.items() if row.gives == "events"], 2)
        names = (first, second, rng.choice([name for name in rows if name not in (first, second)]))
    chosen = tuple(present()[name] for name in names)
    return Subject(names, tuple(rng.choice(row.makes) for row in chosen), chosen)


def source(subject: Subject, rng: random.Random) -> Source:
    """An input that the subject takes."""
    if subject.takes == "bytes":
        body = subject.rows[0].body
        assert body is not None
        return Source("bytes", [body(rng)], False)
    if subject.takes == "frames":
        decoder = present()["sse_decode"].makes[0]()
        return Source("frames", drive([decoder], [nasty_bytes.sse(rng)]).items, False)
    roll = rng.random()
    if roll < 0.35:
        return Source("strings", nasty_text.tokens(rng), False)
    if roll < 0.6:
        return Source("events", nasty_events.text_answer(nasty_text.text(rng)), False)
    if roll < 0.63:
        return Source("restart", nasty_events.restarted(rng), False)
    if roll < 0.69:
        return Source("rounds", nasty_events.rounds(rng), False)
    items = nasty_events.stream(rng)
    end = items[-1]
    return Source("events", items, isinstance(end, StreamFailed) or end.stop_reason == "cancelled")


def smaller(items: list[Any]) -> list[list[Any]]:
    """Inputs a little smaller than this one, for finding the least that still fails; strings only."""
    out = [items[:place] + items[place + 1 :] for place in range(len(items))]
    for place, item in enumerate(items):
        if isinstance(item, str) and len(item) > 1:
            out += [[*items[:place], item[:at] + item[at + 1 :], *items[place + 1 :]] for at in range(len(item))]
    return out


CUT = StreamTruncated("cut")
PROPER_END = StreamCompleted("end_turn", "stop")
