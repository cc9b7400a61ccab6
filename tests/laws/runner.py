"""Runs examples, and makes a failing one small enough to read."""

import random
from typing import NamedTuple

from streamflow.testing.laws import nasty_events
from tests.laws.examples import Source, Subject, alone, chain, smaller, source
from tests.laws.laws import LAWS
from tests.laws.normal import brief
from tests.laws.table import KNOWN_OPEN, present


class Violation(NamedTuple):
    """A broken law, with what repeats it."""

    seed: str
    law: str
    names: tuple[str, ...]
    source: Source
    reason: str

    def __str__(self) -> str:
        where = f"{self.law} broken by {' -> '.join(self.names)}"
        return f"{where}\n  seed {self.seed}\n  input {brief(self.source.items)}\n  {self.reason}"


def example(seed: str, name: str | None = None) -> Violation | None:
    """Draw an example of one operator, or of a chain, and try every law on it."""
    rng = random.Random(seed)
    subject = chain(rng) if name is None else alone(name, rng)
    drawn = source(subject, rng)
    for law in LAWS:
        if any((law, part) in KNOWN_OPEN for part in subject.names):
            continue
        reason = broken(law, subject, drawn, seed)
        if reason:
            return least(Violation(seed, law, subject.names, drawn, reason), subject)
    return None


def broken(law: str, subject: Subject, drawn: Source, seed: str) -> str:
    """Why the law is broken, or nothing."""
    try:
        LAWS[law](subject, drawn, random.Random(f"{seed}/{law}"))
    except AssertionError as error:
        return str(error) or "assertion"
    except Exception as error:  # a crash breaks every law
        return f"{type(error).__name__}: {error}"
    return ""


def least(violation: Violation, subject: Subject) -> Violation:
    """Leave out tokens and characters as long as the law stays broken."""
    make_smaller = {"strings": smaller, "events": nasty_events.smaller}.get(violation.source.form)
    if make_smaller is None:
        return violation
    tries = 0
    found = True
    while found and tries < 3000:
        found = False
        for items in make_smaller(violation.source.items):
            tries += 1
            candidate = violation.source._replace(items=items)
            reason = broken(violation.law, subject, candidate, violation.seed)
            if reason:
                violation = violation._replace(source=candidate, reason=reason)
                found = True
                break
    return violation


def names() -> list[str]:
    """Every operator that has a row."""
    return sorted(present())
