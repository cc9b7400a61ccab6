"""String members of a JSON object, live: the same as parsing it whole, at every cut."""

import json
import random

import pytest

from streamflow.text.json_fields import JsonFields, JsonString
from tests.support.cuts import at_random, single, two_way


def read(pieces, names=None):
    fields = JsonFields(names)
    values, finals = {}, []
    for piece in pieces:
        for name, text, final in fields.feed(piece):
            values[name] = values.get(name, "") + text
            if final:
                finals.append(name)
    return values, finals, fields


DOCUMENTS = [
    {"path": "/a", "content": 'say " now \\ / \b\f\n\r\t é 😀 \u2028'},
    {"opts": {"path": "/evil", "deep": [{"path": '}"]'}]}, "path": "/a"},
    {"n": 1, "f": -1.5e3, "t": True, "z": None, "list": ["path", "x"], "path": ""},
    {},
    {"": "empty name", "İ": "wide name"},
]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("ascii", [True, False])
def test_members_are_what_the_whole_document_says_at_every_cut(document, ascii):
    text = json.dumps(document, ensure_ascii=ascii, indent=1 if ascii else None)
    expected = {name: value for name, value in document.items() if isinstance(value, str)}
    rng = random.Random(5)
    cuts = [[text], single(text), *two_way(text), *(at_random(text, rng) for _ in range(20))]
    for pieces in cuts:
        values, finals, fields = read(pieces)
        assert values == expected
        assert finals == list(expected)
        assert fields.closed


def test_only_the_names_asked_for_are_read():
    assert read(['{"a": "1", "b": "2"}'], ["b"])[0] == {"b": "2"}


def test_text_is_released_at_once_and_only_half_an_escape_waits():
    fields = JsonFields()
    assert [piece.text for piece in fields.feed('{"c": "abc')] == ["abc"]
    assert fields.feed("\\") == []
    assert fields.feed("u00") == []
    assert [piece.text for piece in fields.feed("e9x")] == ["éx"]
    assert fields.feed("\\ud83d") == []
    assert [piece.text for piece in fields.feed("\\ude00")] == ["😀"]


@pytest.mark.parametrize(
    ("escaped", "expected"),
    [
        (r"\ud83d!", "\ufffd!"),
        (r"\ude00", "\ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd😀"),
        (r"\ud83d\n", "\ufffd\n"),
        (r"\u0000\u0041", "\0A"),
    ],
)
def test_half_pairs_become_the_replacement_character(escaped, expected):
    for pieces in ([escaped + '"'], single(escaped + '"')):
        string = JsonString()
        assert "".join(string.feed(piece, 0)[0] for piece in pieces) == expected
        assert string.closed


@pytest.mark.parametrize(
    "text", ['["a"]', '"a"', '{"a" "b"}', '{a: "b"}', '{"a": "\\x"}', '{"a": "\\u00g0"}', '{"a": "b",}']
)
def test_what_is_no_object_breaks_off(text):
    for pieces in ([text + '{"z": "1"}'], single(text + '{"z": "1"}')):
        values, _, fields = read(pieces)
        assert fields.broken or fields.closed
        assert "z" not in values


def test_what_follows_the_object_is_not_read():
    assert read(['{"a": "1"}', '{"b": "2"}'])[0] == {"a": "1"}


def test_a_member_that_comes_twice_is_reported_twice():
    assert read(['{"a": "1", "a": "2"}'])[1] == ["a", "a"]
