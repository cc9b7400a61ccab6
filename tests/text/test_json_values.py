"""JSON that passes by: where values end, what a frame says, at every cut."""

import json

import pytest

from streamflow.text.json_values import ARGUMENTS, BAD, END, MORE, CallFrame, ObjectReader, PassingValue
from tests.support.splits import cuttings


@pytest.mark.parametrize(
    "document",
    ['{"a": [1, {"b": "}"}]}', '"a\\"b"', '"\\\\"', "[]", "null", "-1.5e+3", "true", '[["]"]]', '"\\u00e9"', "0"],
)
def test_the_end_of_a_value_is_found(document):
    json.loads(document)
    for pieces in cuttings(document + " rest"):
        value = PassingValue()
        passed, held = "", ""
        for piece in pieces:
            end, status = value.follow(held + piece, 0)
            passed, held = passed + (held + piece)[:end], (held + piece)[end:]
            if status == END:
                break
            assert status == MORE
        assert passed == document


@pytest.mark.parametrize("text", ["x", "nul1 ", "01 ", "1.e ", "tru,", "--", "[<", '{"a": <'])
def test_what_is_no_value(text):
    assert PassingValue().follow(text, 0)[1] == BAD


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('"a": 1}', END),
        ("}", END),
        (' "a" : {"b": "}"} , "c": null }', END),
        ('"a": 1', MORE),
        ('"a', MORE),
        ('"a" "b"', BAD),
        ('"a": 1,}', BAD),
        (",", BAD),
        ('"a": 1 2', BAD),
        ("a: 1", BAD),
    ],
)
def test_objects(text, status):
    for pieces in cuttings(text):
        reader, held, got = ObjectReader(), "", MORE
        for piece in pieces:
            if got == MORE:
                place, got = reader.read(held + piece, 0)
                held = (held + piece)[place:]
        assert got == status, pieces


@pytest.mark.parametrize(
    ("text", "name", "id", "early"),
    [
        ('"name": "f", "arguments": ', "f", None, None),
        ('"id": "1", "type": "function", "function": {"name": "f", "parameters": ', "f", "1", None),
        ('"tool": "f", "args": ', "f", None, None),
        ('"tool": {"function": {"name": "f"}, "input": ', "f", None, None),
        ('"arguments": {"a": "}"}, "name": "f"', "f", None, '{"a": "}"}'),
    ],
)
def test_frames_of_calls(text, name, id, early):
    for pieces in cuttings(text + "{}"):
        frame, held, status = CallFrame(strict=True), "", MORE
        for piece in pieces:
            if status == MORE:
                place, status = frame.read(held + piece, 0)
                held = (held + piece)[place:]
        assert status == ARGUMENTS
        assert (frame.name, frame.id, frame.early) == (name, id, early)
