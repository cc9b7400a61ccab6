"""`check_operator`: hold an operator to the laws, and say in words what it breaks."""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from streamflow.errors import UsageError
from streamflow.testing.laws.laws import LAWS
from streamflow.testing.laws.outcome import brief
from streamflow.testing.laws.trial import GIVES, TAKES, TEXTS, Example, Trial, check_words, drawn, smaller

_TRIES = 1500  # to make a failing example smaller


class Violation(NamedTuple):
    """A broken law: the least input that was found to break it, and what happened."""

    law: str
    example: Example
    reason: str
    seed: str

    def __str__(self) -> str:
        lines = [f"{self.law}: {LAWS[self.law].__doc__}", f"  input    {brief(self.example.items)[:1000]}"]
        lines += [f"  {line}" for line in self.reason.splitlines()]
        return "\n".join(lines)


class OperatorReport(NamedTuple):
    """What `check_operator` found: how often each law was tried, and one violation of each that is broken."""

    name: str
    examples: int
    seed: int
    laws: tuple[str, ...]
    violations: tuple[Violation, ...]

    @property
    def ok(self) -> bool:
        """True when no law was broken."""
        return not self.violations

    @property
    def broken(self) -> list[str]:
        """The names of the broken laws."""
        return [violation.law for violation in self.violations]

    def __str__(self) -> str:
        total = len(self.laws)
        verdict = f"keeps all {total} laws" if self.ok else f"breaks {len(self.violations)} of {total} laws"
        lines = [f"{self.name} {verdict} ({self.examples} examples, seed {self.seed})"]
        width = max(map(len, self.laws), default=0)
        for law in self.laws:
            lines.append(f"  {law:<{width}}  {'BROKEN' if law in self.broken else 'kept'}")
        for violation in self.violations:
            lines += ["", str(violation)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


class LawsBroken(AssertionError):
    """Raised by `check_operator`; ``report`` says which laws, and with which input."""

    def __init__(self, report: OperatorReport) -> None:
        super().__init__(str(report))
        self.report = report


def check_operator(
    make_operator: Callable[[], Any],
    *,
    takes: str = "events",
    gives: str = "events",
    text: str = "same",
    forwards: bool = True,
    markers: Iterable[str] = (),
    inputs: Iterable[Any] = (),
    laws: Iterable[str] | None = None,
    examples: int = 200,
    seed: int = 0,
    raises: bool = True,
) -> OperatorReport:
    """Judge an operator, of streamflow or of reactivex, by the laws that all of ours keep.

    ``make_operator`` makes it, without arguments. What it promises:

    - ``takes``: ``events``, plain ``strings``, or ``bytes`` (then give some ``inputs``);
    - ``gives``: ``events`` (the grammar of blocks holds, text passes as it is decided), or ``other`` items;
    - ``text``: the visible text leaves the ``same``, is ``split`` into blocks, or is ``changed`` on purpose;
    - ``forwards``: what it does not own passes at once;
    - ``markers``: what it looks for in text. They are mixed into the examples, whole, begun and damaged, and text may
      be held while it could become one.

    ``inputs`` are examples of your own: texts, bytes, or lists of items. A broken law raises `LawsBroken`, an
    `AssertionError` that shows the least input that was found; with ``raises=False`` the report is returned.

    >>> from streamflow.operators import tag_holdback
    >>> print(check_operator(lambda: tag_holdback(["note"]), markers=["<note>"], examples=20))
    tag_holdback keeps all 9 laws (20 examples, seed 0)
      grammar           kept
      conservation      kept
      cut invariance    kept
      earliest release  kept
      pass-through      kept
      order             kept
      fresh state       kept
      disposal          kept
      ends              kept
    """
    check_words(takes=(takes, TAKES), gives=(gives, GIVES), text=(text, TEXTS))
    chosen = tuple(LAWS if laws is None else laws)
    for law in chosen:
        check_words(laws=(law, tuple(LAWS)))
    own = list(inputs)
    if takes == "bytes" and not own:
        raise UsageError("check_operator(takes='bytes') needs inputs=: some bodies that the operator reads")
    operator = make_operator()
    if not callable(operator):
        raise UsageError(
            f"make_operator gave {operator!r}, which is no operator; it should be a function that makes one"
        )
    trial = Trial(operator, takes, gives, text, forwards, tuple(markers))
    found = _violations(trial, chosen, own, examples, seed)
    name = getattr(operator, "name", None) or getattr(make_operator, "__name__", "operator")
    report = OperatorReport(str(name), examples, seed, chosen, tuple(found[law] for law in chosen if law in found))
    if raises and not report.ok:
        raise LawsBroken(report)
    return report


def _violations(
    trial: Trial, laws: tuple[str, ...], inputs: Sequence[Any], examples: int, seed: int
) -> dict[str, Violation]:
    found: dict[str, Violation] = {}
    for number in range(examples):
        name = f"{seed}:{number}"
        example = drawn(trial, inputs, random.Random(name))
        for law in laws:
            if law not in found and (reason := _broken(law, trial, example, name)):
                found[law] = _least(Violation(law, example, reason, name), trial)
    return found


def _broken(law: str, trial: Trial, example: Example, seed: str) -> str:
    """Why the law is broken, or nothing. A crash breaks every law."""
    try:
        LAWS[law](trial, example, random.Random(f"{seed}/{law}"))
    except AssertionError as error:
        return str(error) or "an assertion inside the operator failed"
    except Exception as error:
        return f"it raised {type(error).__name__}: {error}"
    return ""


def _broken_somehow(law: str, trial: Trial, example: Example, seed: str) -> tuple[str, str]:
    """The same with some other cuts: a shorter text has its breaking cut elsewhere."""
    for other in (seed, *(f"{seed}+{number}" for number in range(5))):
        if reason := _broken(law, trial, example, other):
            return other, reason
    return seed, ""


def _least(violation: Violation, trial: Trial) -> Violation:
    """Leave out what can be left out while the law stays broken."""
    tries = 0
    found = True
    while found and tries < _TRIES:
        found = False
        for candidate in smaller(violation.example):
            tries += 1
            seed, reason = _broken_somehow(violation.law, trial, candidate, violation.seed)
            if reason:
                violation = violation._replace(example=candidate, reason=reason, seed=seed)
                found = True
                break
            if tries >= _TRIES:
                break
    return violation
