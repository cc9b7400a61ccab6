"""The laws of an operator, each a function that raises `AssertionError` when an example breaks it."""

import random
import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from reactivex.subject import Subject

from streamflow.errors import StreamflowError
from streamflow.events import (
    METADATA,
    TERMINAL,
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Frame,
    Notice,
    Raw,
    Retrying,
    Stamped,
    StreamCompleted,
    StreamStart,
    Usage,
)
from streamflow.testing.laws import nasty_events
from streamflow.testing.laws.blocks import check_blocks, runnable, shown
from streamflow.testing.laws.outcome import Outcome, brief, normal
from streamflow.testing.laws.trial import Example, Trial

Law = Callable[[Trial, Example, random.Random], None]


def grammar(trial: Trial, example: Example, rng: random.Random) -> None:
    """Every block opens and ends once, chunks belong to an open block, nothing comes after the end."""
    outcome = trial.run(example.pieces(rng, "random"))
    _no_crash(outcome)
    if trial.gives != "events" or trial.takes == "bytes" or outcome.fault:
        return
    check_blocks(outcome.items)
    if trial.takes == "events" and trial.forwards:
        ends = [item for item in outcome.items if isinstance(item, TERMINAL)]
        assert len(ends) == 1, f"the stream has {len(ends)} ends"
        first = outcome.items[0]
        assert isinstance(first, StreamStart | Retrying), f"the first event is {brief(first)}"


def _no_crash(outcome: Outcome) -> None:
    error = outcome.error
    assert error is None or isinstance(error, StreamflowError), f"it raised {outcome.fault}"


def conservation(trial: Trial, example: Example, rng: random.Random) -> None:
    """No character is lost, added or moved: text leaves as it came, or becomes a block that says where it was."""
    items = example.pieces(rng, "random")
    outcome = trial.run(items)
    if outcome.fault or trial.takes == "bytes" or trial.text == "changed":
        return
    raw = nasty_events.raw_text(items)
    if trial.text == "same":
        left = shown(outcome.items)
        assert left == raw, _lost(raw, left)
    else:
        _check_split(trial, outcome.items, raw)


def _lost(raw: str, left: str) -> str:
    if raw.startswith(left):
        return f"the end is missing: {raw[len(left) :]!r} never left. Does flush() release what is held?"
    place = next((at for at, (one, other) in enumerate(zip(raw, left, strict=False)) if one != other), len(raw))
    return f"{raw!r} went in, {left!r} came out; they differ from character {place} on"


def _check_split(trial: Trial, items: list[Any], raw: str) -> None:
    covered = [False] * len(raw)
    for item in items:
        if isinstance(item, Chunk) and item.part is None and item.start >= 0 and item.kind != "tool_result":
            there = raw[item.start : item.start + len(item.text)]
            assert there == item.text, f"{item.text!r} says that it was at {item.start}, where {there!r} is"
            covered[item.start : item.start + len(item.text)] = [True] * len(item.text)
        elif isinstance(item, BlockComplete) and item.raw and (place := raw.find(item.raw)) >= 0:
            covered[place : place + len(item.raw)] = [True] * len(item.raw)
    rest = "".join(character if not known else "\0" for character, known in zip(raw, covered, strict=True))
    for marker in sorted(trial.markers, key=len, reverse=True):
        rest = rest.replace(marker, "\0")
    lost = re.sub(r"[\0\s]+", "\0", rest).strip("\0")
    assert not lost, f"{lost.split(chr(0))[0]!r} of {raw!r} is in no block and is no marker"


def cut_invariance(trial: Trial, example: Example, rng: random.Random) -> None:
    """However the input is cut, the same comes out."""
    whole = _compared(trial, trial.run(example.pieces(rng, "whole")))
    for how in ("single", "random", "random"):
        pieces = example.pieces(rng, how)
        other = _compared(trial, trial.run(pieces))
        assert other == whole, f"cut into {_texts(pieces)}\n{_difference(whole, other)}"


def _texts(pieces: list[Any]) -> str:
    texts = [getattr(item, "text", item) for item in pieces if isinstance(item, str | bytes | Chunk)]
    return repr(texts)[:400]


def _compared(trial: Trial, outcome: Outcome) -> list[Any]:
    # Strings made of text are pieces of it; strings made of bytes are items, such as lines.
    return [*normal(outcome.items, join_strings=trial.takes != "bytes"), outcome.fault]


def _difference(expected: list[Any], got: list[Any]) -> str:
    for one, other in zip(expected, got, strict=False):
        if one != other:
            show = brief if brief(one) != brief(other) else repr
            return f"expected {show(one)}\ngot      {show(other)}"
    more = max(expected, got, key=len)[min(len(expected), len(got)) :]
    return f"expected {len(expected)} items, got {len(got)}; the difference is {brief(more)}"


_ANYTHING = (" ", "\n", "a", "A", "0", ".", ">", "]", "}", '"', "'", "`", "/", "<")


def earliest_release(trial: Trial, example: Example, rng: random.Random) -> None:
    """Text is held only while some continuation could make it part of a marker."""
    if trial.takes == "bytes" or trial.gives != "events":
        return
    text = nasty_events.raw_text(example.items)
    text = text[: rng.randint(0, len(text))]
    outcome = _run_text(trial, text)
    out = _characters(item for step in outcome.steps for item in step)
    at_end = _characters(outcome.items)
    held = [entry[-1] for entry in at_end[len(out) :] if entry[0] == "character"]
    if outcome.fault or not held or out != at_end[: len(out)]:
        return
    tail = "".join(held)
    if text.endswith(tail) and any(marker.startswith(tail) and marker != tail for marker in trial.markers):
        return
    for rest in _continuations(trial, text):
        other = _characters(_run_text(trial, text + rest).items)
        if other[: len(out) + 1] != at_end[: len(out) + 1]:
            return
    raise AssertionError(
        f"after {text!r} it holds {tail!r}, and nothing that could follow makes a difference.\n"
        "Tell check_operator with markers= what your operator looks for, if that is why."
    )


def _run_text(trial: Trial, text: str) -> Outcome:
    """The text fed, and then the end; the steps are those before the end of its block."""
    if trial.takes == "strings":
        return trial.run([text] if text else [])
    return trial.run([StreamStart("m", "model", "test"), BlockStart(0, "text"), *_chunks(text)])


def _chunks(text: str) -> list[Any]:
    return [Chunk(0, "text", text, start=0)] if text else []


def _continuations(trial: Trial, text: str) -> Iterable[str]:
    for marker in trial.markers:
        for size in range(len(marker)):
            if text.endswith(marker[:size]):
                yield marker[size:]
    yield from _ANYTHING


def _characters(items: Iterable[Any]) -> list[tuple[Any, ...]]:
    """What came out, character by character, so that the size of chunks does not matter."""
    out: list[tuple[Any, ...]] = []
    for item in items:
        if isinstance(item, str):
            out += [("character", "", "", character) for character in item]
        elif isinstance(item, Chunk):
            out += [("character", item.index, item.kind, character) for character in item.text]
        elif isinstance(item, BlockStart):
            out.append(("start", item.index, item.kind))
        elif isinstance(item, BlockComplete):
            out.append(("complete", item.index))
    return out


class Foreign:
    """Something that no operator knows."""

    def __repr__(self) -> str:
        return "<an object of a class that the operator does not know>"


def pass_through(trial: Trial, example: Example, rng: random.Random) -> None:
    """What an operator does not own passes at once, and changes nothing."""
    if not trial.forwards or trial.takes == "bytes":
        return
    items = example.pieces(rng, "random")
    facts: list[Any] = [Usage(90001), Notice("foreign", "n1"), Raw(Frame(data="foreign")), Retrying(1, 2, "foreign")]
    facts += [Citation(0, url="foreign"), Foreign()]
    edge = 1 if trial.takes == "events" else 0
    mixed = list(items)
    for fact in facts:
        mixed.insert(rng.randint(edge, len(mixed) - edge), fact)
    outcome = trial.run(mixed)
    for item, step in zip(mixed, outcome.steps, strict=False):
        for fact in facts:
            if item is fact:
                passed = [_is_fact(one, fact) for one in step]
                assert passed == [True], f"{brief(fact)} went in, and {brief(step)} came out"
    rest = [item for item in outcome.items if not any(_is_fact(item, fact) for fact in facts)]
    got = [*_without_facts(normal(rest)), outcome.fault]
    expected = _without_facts(_compared(trial, trial.run(items)))
    assert got == expected, f"facts in between change what comes out\n{_difference(expected, got)}"


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


def order(trial: Trial, example: Example, rng: random.Random) -> None:
    """What is passed on comes in the order in which it went in, and once; only facts may overtake."""
    items = [item for item in example.pieces(rng, "random") if not isinstance(item, str | bytes)]
    if trial.takes != "events":
        return
    places = {id(item): place for place, item in enumerate(items) if not isinstance(item, METADATA)}
    last = -1
    for item in trial.run(items).items:
        place = places.get(id(item))
        if place is not None:
            assert place != last, f"{brief(item)} came twice"
            assert place > last, f"{brief(item)} came after {brief(items[last])}, which it preceded"
            last = place


def fresh_state(trial: Trial, example: Example, rng: random.Random) -> None:
    """Each subscription starts anew, also while others are under way."""
    items = example.pieces(rng, "random")
    expected = _compared(trial, trial.run(items))
    assert _compared(trial, trial.run(items)) == expected, "a second run gives something else than the first"
    source: Subject[Any] = Subject()
    observable = source.pipe(trial.operator)
    late: list[Any] = []
    faults: list[str] = []
    observable.subscribe(lambda item: None, lambda error: None)
    for item in items[: rng.randint(0, len(items))]:
        source.on_next(item)
    observable.subscribe(late.append, lambda error: faults.append(f"{type(error).__name__}: {error}"))
    for item in items:
        source.on_next(item)
    source.on_completed()
    plain = [item.event if isinstance(item, Stamped) else item for item in late]
    got = [*normal(plain, join_strings=trial.takes != "bytes"), faults[0] if faults else ""]
    assert got == expected, f"a second subscription sees the state of the first\n{_difference(expected, got)}"


def disposal(trial: Trial, example: Example, rng: random.Random) -> None:
    """After dispose nothing is delivered, and the source is left."""
    items = example.pieces(rng, "random")
    source: Subject[Any] = Subject()
    seen: list[Any] = []
    subscription = source.pipe(trial.operator).subscribe(seen.append, seen.append, lambda: seen.append("completed"))
    place = rng.randint(0, len(items))
    for item in items[:place]:
        source.on_next(item)
    count = len(seen)
    subscription.dispose()
    assert len(seen) == count, f"{brief(seen[count:])} came during dispose"
    listens = bool(source.observers)
    for item in items[place:]:
        source.on_next(item)
    source.on_completed()
    assert len(seen) == count, f"{brief(seen[count:])} came after dispose"
    assert not listens, "after dispose it still listens to its source"


def ends(trial: Trial, example: Example, rng: random.Random) -> None:
    """A cut stream never looks finished: nothing runnable, text released, what is open ended as incomplete."""
    if trial.takes == "bytes":
        return
    items = example.pieces(rng, "random")
    if example.is_cut:
        calls = runnable(trial.run(items).items)
        assert not calls, f"the stream was cut, and this could be run: {brief(calls)}"
        return
    if trial.takes == "events":
        if len(items) < 3:
            return
        items = nasty_events.cut_off(items[:-1], rng.randrange(1, len(items) - 1))
    else:
        items = items[: rng.randint(0, len(items))]
    aborted, flushed = trial.run(items, "error"), trial.run(items)
    if aborted.fault or flushed.fault:
        return
    calls = runnable(aborted.items)
    assert not calls, f"the stream failed, and this could be run: {brief(calls)}"
    if trial.takes == "events":
        calls = runnable(flushed.items)
        assert not calls, f"the stream has no end, and this could be run: {brief(calls)}"
    left, expected = shown(aborted.items), shown(flushed.items)
    assert left == expected, f"the stream failed and showed {left!r}; it ended and showed {expected!r}. See abort()"
    if trial.gives == "events":
        check_blocks(aborted.items)


LAWS: dict[str, Law] = {
    "grammar": grammar,
    "conservation": conservation,
    "cut invariance": cut_invariance,
    "earliest release": earliest_release,
    "pass-through": pass_through,
    "order": order,
    "fresh state": fresh_state,
    "disposal": disposal,
    "ends": ends,
}
"""The laws by name."""
