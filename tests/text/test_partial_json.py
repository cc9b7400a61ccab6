"""Documents read piece by piece: the view only grows, ends as what `json` says, and each character is read once."""

import json
import random
import time

import pytest

from streamflow.text.partial_json import BEGIN, END, MAX_DEPTH, TEXT, PartialJson
from streamflow.views import ArgumentsView
from tests.support.turns import all_cuts

DOCUMENTS = [
    '{"path": "a.py", "content": "x = \\"1\\"\\n\\u00e9\\ud83d\\ude00\\b\\f\\/\\\\"}',
    '{"a": [1, -2.5e3, [], {}, [[true], null]], "b": {"c": {"d": false}}, "e": ""}',
    ' [ {"x": 1} , "y" , 0 ] ',
    '"only text"',
    "-12.5",
    "true",
    "{}",
    '{"\\u006bey": "v", "": {"": 1}}',
    '{"big": 123456789012345678901234567890, "small": 1E-2}',
]


def known_of(pieces):
    reader = PartialJson()
    known = [one for piece in pieces for one in reader.feed(piece)] + reader.flush()
    return reader, known


def view_of(known):
    view = ArgumentsView()
    for what, path, value in known:
        if what == TEXT:
            view.append(path, value)
        elif what != END:
            view.set(path, value)
    return view.value


def joined(known):
    out = []
    for one in known:
        if out and one.what == out[-1].what == TEXT and one.path == out[-1].path:
            out[-1] = out[-1]._replace(value=out[-1].value + one.value)
        else:
            out.append(one)
    return out


@pytest.mark.parametrize("text", DOCUMENTS)
def test_every_cutting_says_the_same_and_ends_as_the_value(text):
    expected = joined(known_of([text])[1])
    assert view_of(expected) == json.loads(text)
    for pieces in all_cuts(text):
        reader, known = known_of(pieces)
        assert joined(known) == expected
        assert reader.closed
        assert not reader.broken


def grows(before, after):
    """Nothing of `before` is missing from `after`."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(key in after and grows(before[key], after[key]) for key in before)
    if isinstance(before, list):
        return (
            isinstance(after, list) and len(after) >= len(before) and all(map(grows, before, after[: len(before)]))
        )
    if isinstance(before, str):
        return isinstance(after, str) and after.startswith(before)
    return before == after


@pytest.mark.parametrize("text", [*DOCUMENTS, '{"a": 1, "a": {"b": 2}, "c": "x', '{"a": {"x": 1}, "a": 2, "c": 3}'])
def test_nothing_shown_disappears(text):
    reader = PartialJson()
    view = ArgumentsView()
    shown = None
    for char in text:
        for what, path, value in reader.feed(char):
            if what == TEXT:
                view.append(path, value)
            elif what != END:
                view.set(path, value)
        assert shown is None or grows(shown, view.value), (shown, view.value)
        shown = view.value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x\\u12', {"a": "x"}),
        ('{"a": "x\\ud83d', {"a": "x"}),
        ('{"a": 1.', {}),
        ('{"a": -', {}),
        ('{"a": 12', {}),
        ('{"a": tru', {}),
        ('{"a": "', {"a": ""}),
        ('{"a', {}),
        ('{"a":', {}),
        ('{"a": [', {"a": []}),
        ('{"a": [1, "b', {"a": [1, "b"]}),
        ("", None),
    ],
)
def test_what_is_not_certain_is_not_shown(text, shown):
    reader = PartialJson()
    assert view_of(reader.feed(text)) == shown
    assert not reader.broken


@pytest.mark.parametrize(
    "text",
    ['{"a" 1}', "{a: 1}", '{"a": 1,}', '{"a": tru}', '{"a": 01}', '{"a": NaN}', '{"a": "\\x"}', "{} x", "@", "[1 2]"],
)
def test_what_is_no_json_ends_the_reading(text):
    for pieces in all_cuts(text):
        reader, known = known_of(pieces)
        assert reader.broken
        assert joined(known) == joined(known_of([text])[1])
        assert reader.feed('"more"') == []


def test_half_a_surrogate_pair_becomes_the_replacement_character():
    assert view_of(known_of(['{"a": "\\ud83dx\\udc00"}'])[1]) == {"a": "�x�"}


def test_nesting_has_a_bound():
    reader = PartialJson()
    assert len([one for one in reader.feed("[" * 2000) if one.what == BEGIN]) == MAX_DEPTH
    assert reader.broken


def test_random_documents_agree_with_json():
    rng = random.Random(3)

    def value(depth):
        kind = rng.randrange(7 if depth else 5)
        if kind == 0:
            return "".join(rng.choice('ab"\\\n é😀/\u2028') for _ in range(rng.randrange(6)))
        if kind < 5:
            return [rng.randrange(-99, 99), rng.random(), True, None][kind - 1]
        if kind == 5:
            return [value(depth - 1) for _ in range(rng.randrange(4))]
        return {f"k{number}": value(depth - 1) for number in range(rng.randrange(4))}

    for _ in range(100):
        document = value(3)
        text = json.dumps(document, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
        size = rng.randrange(1, 7)
        pieces = [text[place : place + size] for place in range(0, len(text), size)]
        assert view_of(known_of(pieces)[1]) == document


def test_cost_grows_with_the_text_and_no_faster():
    def cost(size):
        text = json.dumps({"path": "a", "content": "line \n" * (size // 7)})
        best = 9.9
        for _ in range(5):
            reader = PartialJson()
            begin = time.process_time()
            for place in range(0, len(text), 8):
                reader.feed(text[place : place + 8])
            best = min(best, time.process_time() - begin)
        return best

    cost(1000)
    assert cost(100_000) < 0.5
    assert cost(200_000) < 2.5 * cost(100_000) + 0.005
