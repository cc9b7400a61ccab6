"""The laws, each a function that raises `AssertionError` when an example breaks it."""

import random
import re
from collections.abc import Callable
from typing import Any

import msgspec
from reactivex.subject import Subject as RxSubject

from streamflow.events import (
    TERMINAL,
    BlockComplete,
    Chunk,
    Citation,
    Frame,
    Notice,
    Raw,
    Retrying,
    StreamCompleted,
    StreamStart,
    Usage,
)
from streamflow.testing.laws import nasty_events
from streamflow.testing.laws.blocks import check_blocks, runnable, shown
from streamflow.text.segment_events import SegmentContent, SegmentEnd, SegmentStart
from tests.laws.examples import Source, Subject
from tests.laws.normal import Outcome, brief, drive, normal


def grammar(subject: Subject, source: Source, rng: random.Random) -> None:
    """Blocks open and close once, chunks belong to an open block, nothing comes after the end."""
    if subject.gives == "frames":
        return
    outcome = drive(subject.made(), source.pieces(rng, "random"))
    if not outcome.fault:
        check_items(subject, outcome.items)
        if source.form in ("events", "rounds", "restart") and subject.forwards:
            ends = [item for item in outcome.items if isinstance(item, TERMINAL)]
            assert len(ends) == (2 if source.form == "rounds" else 1), f"{len(ends)} ends"
            assert isinstance(outcome.items[0], StreamStart | Retrying), outcome.items[0]


def check_items(subject: Subject, items: list[Any]) -> None:
    """The grammar of whatever the subject gives."""
    if subject.gives in ("events", "stamped"):
        check_blocks(items)
    else:
        check_segments(items)


def check_segments(items: list[Any]) -> None:
    """The same for segments."""
    opened: set[str] = set()
    seen: list[str] = []
    for item in items:
        if isinstance(item, SegmentStart):
            seen.append(item.segment_id)
            opened.add(item.segment_id)
        elif isinstance(item, SegmentContent):
            assert item.segment_id in opened
            assert item.delta or item.metadata
        elif isinstance(item, SegmentEnd):
            opened.remove(item.segment_id)
    assert not opened, f"never closed: {opened}"
    assert seen == [f"seg_{number}" for number in range(1, len(seen) + 1)]


def conservation(subject: Subject, source: Source, rng: random.Random) -> None:
    """Text that is kept leaves as it came; of text that is split every character is shown, hidden or structure."""
    if source.form not in ("strings", "events"):
        return
    items = source.pieces(rng, "random")
    outcome = drive(subject.made(), items)
    if outcome.fault:
        return
    raw = nasty_events.raw_text(items)
    if subject.same_text:
        assert shown(outcome.items) == raw, f"{shown(outcome.items)!r} is not {raw!r}"
    if all(row.same_text or row.splits for row in subject.rows) and subject.gives != "view":
        check_offsets(outcome.items, raw)
        if sum(row.splits for row in subject.rows) == 1 and source.form == "strings":
            check_coverage(outcome.items, raw)


def check_offsets(items: list[Any], raw: str) -> None:
    """A chunk says where in the model's text it stands."""
    for item in items:
        if isinstance(item, Chunk) and item.part is None and item.start >= 0 and item.kind != "tool_result":
            there = raw[item.start : item.start + len(item.text)]
            assert there == item.text, f"{item.text!r} says {item.start}, where {there!r} is"


_TAG = r"""</?[^\s<>"'][^<>"']*(?:"[^"]*"|'[^']*'|[^<>"'])*>|\[/?[A-Z]+\]"""
_STRUCTURE = re.compile(rf"""(?:\s|{_TAG}|[\[\]{{}},:]|"tool_calls"|"tools"|<\|[a-z]+\|>[^<]*(?=<\||\Z))*""", re.DOTALL)


def check_coverage(items: list[Any], raw: str) -> None:
    """Between the texts and the sources of the other blocks there is nothing but wrappers, white space and strays."""
    covered = [False] * (len(raw) + 1)
    covered[len(raw)] = True
    cursor = 0
    for item in items:
        if isinstance(item, Chunk) and item.kind == "text" and item.start >= 0:
            covered[item.start : item.start + len(item.text)] = [True] * len(item.text)
    blocks = [item for item in items if isinstance(item, BlockComplete) and item.kind != "text"]
    for block in sorted(blocks, key=lambda block: block.index):
        assert block.raw is not None, f"no source: {brief(block)}"
        source = block.raw if block.raw in raw else block.raw.removeprefix("<think>")  # that the template opened
        place = raw.find(source, cursor)
        while place >= 0 and any(covered[place : place + len(source)]):  # the same words as text, before
            place = raw.find(source, place + 1)
        assert place >= 0, f"the source {source!r} is not in the text after {cursor}"
        cursor = place + len(source)
        covered[place:cursor] = [True] * len(source)
    start: int | None = None
    for place, is_covered in enumerate(covered):
        if is_covered and start is not None:
            gap, start = raw[start:place], None
            assert _STRUCTURE.fullmatch(gap), f"lost: {gap!r}"
        elif not is_covered and start is None:
            start = place


def cut_invariance(subject: Subject, source: Source, rng: random.Random) -> None:
    """However the input is cut, the same comes out."""
    whole = _compared(drive(subject.made(), source.pieces(rng, "whole")))
    for how in ("single", "random", "random"):
        pieces = source.pieces(rng, how)
        other = _compared(drive(subject.made(), pieces))
        assert other == whole, f"{how}: {_difference(whole, other)}\n  pieces: {brief(pieces)[:1500]}"


def _compared(outcome: Outcome) -> list[Any]:
    return [*normal(outcome.items), outcome.fault]


def _difference(expected: list[Any], got: list[Any]) -> str:
    for place, (one, other) in enumerate(zip(expected, got, strict=False)):
        if one != other:
            return f"at {place}\n  expected {_full(one, other)}\n  got      {_full(other, one)}"
    more = max(expected, got, key=len)[min(len(expected), len(got)) :]
    return f"{len(expected)} items expected, {len(got)} came: {brief(more)}"


def _full(item: Any, other: Any) -> str:
    return brief(item) if brief(item) != brief(other) else repr(item)


class Alien:
    """Something that no operator knows."""


def pass_through(subject: Subject, source: Source, rng: random.Random) -> None:
    """Facts and foreign items pass at once and change nothing."""
    if not subject.forwards or source.form not in ("strings", "events"):
        return
    items = source.pieces(rng, "random")
    plain = drive(subject.made(), items)
    facts = [Usage(90001), Notice("foreign", "n1"), Raw(Frame(data="foreign")), Retrying(1, 2, "foreign"), Alien()]
    if "stop_sequences" not in subject.names:  # it drops the blocks after the stop, with what cites them
        facts.append(Citation(0, url="foreign"))
    with_facts = list(items)
    first = 1 if source.form == "events" else 0
    last = len(items) - (1 if source.form == "events" else 0)
    for fact in facts:
        with_facts.insert(rng.randint(first, last), fact)
        last += 1
    outcome = drive(subject.made(), with_facts)
    for item, step in zip(with_facts, outcome.steps, strict=False):
        for fact in facts:
            if item is fact:
                # Alone: text that is held may be torn in the middle of a tag.
                assert [_is_fact(one, fact) for one in step] == [True], f"{fact} did not pass alone: {brief(step)}"
    rest = [item for item in outcome.items if not any(_is_fact(item, fact) for fact in facts)]
    got, expected = [*_without_facts(normal(rest)), outcome.fault], _without_facts(_compared(plain))
    assert got == expected, f"changed by facts: {_difference(expected, got)}\n  pieces: {brief(with_facts)[:1500]}"


def _without_facts(items: list[Any]) -> list[Any]:
    """A folded response holds facts; the rest of it must be the same."""
    return [
        msgspec.structs.replace(item, response=msgspec.structs.replace(item.response, usage=None, citations=[]))
        if isinstance(item, StreamCompleted) and item.response is not None
        else item
        for item in items
    ]


def _is_fact(item: Any, fact: Any) -> bool:
    if isinstance(fact, Citation):
        return isinstance(item, Citation) and item.url == fact.url
    return bool(item == fact)


def fresh_state(subject: Subject, source: Source, rng: random.Random) -> None:
    """Each subscription starts anew, and one that was disposed of gets nothing more."""
    operators = subject.made()
    items = source.pieces(rng, "random")
    expected = _compared(drive(operators, items))
    subscribed: RxSubject[Any] = RxSubject()
    observable = subscribed.pipe(*operators)
    early: list[Any] = []
    late: list[Any] = []
    stopped: list[Any] = []
    faults: list[str] = []
    observable.subscribe(early.append, lambda error: None)
    limit = rng.randint(1, 4)

    def take(item: Any) -> None:
        stopped.append(item)
        if len(stopped) >= limit:
            disposable.dispose()

    disposable = observable.subscribe(take, lambda error: stopped.append(error))
    for item in items[: rng.randint(0, len(items))]:
        subscribed.on_next(item)
    assert len(stopped) <= limit
    disposable.dispose()
    count = len(stopped)
    observable.subscribe(late.append, lambda error: faults.append(f"{type(error).__name__}: {error}"))
    for item in items:
        subscribed.on_next(item)
    subscribed.on_completed()
    assert len(stopped) == count, "something came after dispose"
    late = [getattr(item, "event", item) if type(item).__name__ == "Stamped" else item for item in late]
    assert [*normal(late), faults[0] if faults else ""] == expected, "a second subscription saw the first one's state"


def ends(subject: Subject, source: Source, rng: random.Random) -> None:
    """A cut stream never looks finished: nothing runnable, text released, what is open closed as incomplete."""
    if source.form == "restart":
        nothing_void_is_runnable(subject, source, rng)
    if source.form not in ("strings", "events"):
        return
    items = source.pieces(rng, "random")
    if source.cut:
        outcome = drive(subject.made(), items)
        assert not runnable(outcome.items), f"runnable after a cut: {runnable(outcome.items)}"
        return
    if source.form == "events":
        if len(items) < 3:
            return
        items = nasty_events.cut_off(items[:-1], rng.randrange(1, len(items) - 1))
    else:
        items = items[: rng.randint(0, len(items))]
    aborted = drive(subject.made(), items, "error")
    flushed = drive(subject.made(), items)
    if aborted.fault or flushed.fault:
        return
    assert not runnable(aborted.items), f"runnable after an error: {runnable(aborted.items)}"
    if source.form == "events":
        assert not runnable(flushed.items), f"runnable without an end: {runnable(flushed.items)}"
    assert shown(aborted.items) == shown(flushed.items), "an error shows other text than an end"
    check_items(subject, aborted.items)
    if subject.gives == "events":
        incomplete_at = next(
            (place for place, item in enumerate(items) if isinstance(item, BlockComplete) and item.incomplete), None
        )
        if incomplete_at is not None:
            tail = [item for step in aborted.steps[incomplete_at:] for item in step] + aborted.rest
            completes = [item for item in tail if isinstance(item, BlockComplete)]
            # A block that is shown again as text, by the user's own policy, was reported as incomplete before.
            wrong = [item for item in completes[-1:] if item.kind == "text"]
            told = any(item.incomplete for item in completes)
            assert told or not wrong, f"closed by the cut and not incomplete: {brief(wrong)}"


def nothing_void_is_runnable(subject: Subject, source: Source, rng: random.Random) -> None:
    """After `Retrying` with ``discard`` only the calls that came later may be run."""
    items = source.pieces(rng, "random")
    place = next(at for at, item in enumerate(items) if isinstance(item, Retrying) and item.discard)
    later = drive(subject.made(), [items[0], *items[place + 1 :]])
    every = drive(subject.made(), items)
    if not later.fault and not every.fault:
        count, allowed = len(runnable(every.items)), len(runnable(later.items))
        assert count == allowed, f"{count} calls are runnable, {allowed} came after what is void"


LAWS: dict[str, Callable[[Subject, Source, random.Random], None]] = {
    "grammar": grammar,
    "conservation": conservation,
    "cut invariance": cut_invariance,
    "pass-through": pass_through,
    "fresh state": fresh_state,
    "ends": ends,
}
