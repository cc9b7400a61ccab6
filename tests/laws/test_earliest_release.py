"""Earliest release, proven on small alphabets: what is out after a piece is exactly what every continuation agrees on.

For each text up to a length all its continuations up to a horizon are run to their ends. What they have in common is
certain; what is not certain must be held, and what is certain must be out. The markers are short enough for the
horizon to show every way in which a held tail can still become structure.
"""

import itertools
import os
import re
from typing import Any, NamedTuple

import pytest

from streamflow import operators as ops
from streamflow.events import BlockComplete, BlockStart, Chunk
from streamflow.stage import lift
from streamflow.text.tags import Tag
from tests.laws.normal import drive

DEEP = int(os.environ.get("STREAMFLOW_FUZZ", "0")) > 2000


class Case(NamedTuple):
    """An operator, the alphabet, how long texts are, how far continuations look."""

    name: str
    make: Any
    alphabet: str
    length: int
    horizon: int
    marker: str = r"(?!)"  # what leaves whole, in a chunk of its own
    before: str = ""  # what all texts begin with


T, U = Tag("t"), Tag("tu")
CASES = [
    Case("stop_sequences", lambda: ops.stop_sequences(["aba", "bb"]), "abc", 5, 3),
    Case("stop_sequences", lambda: ops.stop_sequences(["aab", "aac"]), "abc", 5, 3),
    Case("redact", lambda: ops.redact(["aba", "bc"]), "abc", 5, 3),
    Case("redact", lambda: ops.redact(["ab[cd]"], ""), "abcd", 4, 3),
    Case("marker_filter", lambda: ops.marker_filter(), "<｜x>", 4, 4),
    Case("tag_holdback", lambda: ops.tag_holdback(["t"]), "<t/> ", 4, 3, r"<t(\s[^<>]*)?/?>|</t\s*>"),
    Case("tag_holdback", lambda: ops.tag_holdback(["t"]), " ='/>", 4, 2, r"</?t(\s[^>']*('[^']*'[^>']*)*)?/?>", "x<t"),
    Case("tag_holdback", lambda: ops.tag_holdback(["|ab", "|b|"]), "|ab", 5, 3, r"\|ab|\|b\|"),
    Case("xml_block_split", lambda: ops.xml_block_split(tables=(T,), code="ignore"), "<t/>", 4, 3),
    Case("xml_block_split", lambda: ops.xml_block_split(tables=(T, U), code="ignore"), "<tu/>", 3, 3),
    Case("xml_block_split", lambda: ops.xml_block_split(tables=(T,), code="ignore"), " ='/>", 4, 2, before="x<t"),
    Case("xml_block_split", lambda: ops.xml_block_split(tables=(T,)), "<t>`/", 3, 3),
    Case("xml_block_split", lambda: ops.xml_block_split(tables=(T,)), "<t>`\n", 3, 3, before="``"),
    Case("xml_block_split", lambda: ops.xml_block_split(tables=(Tag("[T]", kind="t", close="[/]"),)), "[T]/", 4, 3),
]
PRESENT = [case for case in CASES if case.name in ops.__all__]


def tokens(items: list[Any], marker: str) -> list[Any]:
    """What came out, character by character, so that the size of chunks does not matter."""
    out: list[Any] = []
    for item in items:
        if isinstance(item, str):
            out += [item] if re.fullmatch(marker, item) else list(item)
        elif isinstance(item, Chunk):
            out += [(item.index, item.kind, item.visible, item.part, character) for character in item.text]
        elif isinstance(item, BlockStart):
            out.append(("start", item.index, item.kind))
        elif isinstance(item, BlockComplete):
            out.append(("complete", item.index, item.incomplete, item.error))
        else:
            out.append(item)
    return out


def common(one: list[Any], other: list[Any]) -> list[Any]:
    """The common beginning."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return one[:place]
    return min(one, other, key=len)


@pytest.mark.parametrize("case", PRESENT, ids=lambda case: f"{case.name}-{case.alphabet}")
def test_what_is_out_is_what_is_certain(case):
    operator = case.make()
    length = case.length + (1 if DEEP else 0)
    longest = length + case.horizon
    certain: dict[str, list[Any]] = {}
    for size in range(longest, -1, -1):
        for characters in itertools.product(case.alphabet, repeat=size):
            text = case.before + "".join(characters)
            outcome = drive([operator], [text] if text else [])
            agreed = tokens(outcome.items, case.marker)
            if size < longest:
                for character in case.alphabet:
                    agreed = common(agreed, certain.pop(text + character))
            certain[text] = agreed
            if size <= length:
                out = tokens([item for step in outcome.steps for item in step], case.marker)
                assert out == agreed, f"after {text!r}: out {out}, certain {agreed}"


def test_an_operator_that_waits_without_need_is_found():
    class Late:
        def __init__(self):
            self.held = ""

        def feed(self, text):
            text = self.held + text
            self.held = text[-1:]
            return [text[:-1]]

        def flush(self):
            return [self.held]

        def abort(self, error):
            return self.flush()

    with pytest.raises(AssertionError, match="certain"):
        test_what_is_out_is_what_is_certain(Case("late", lambda: lift(Late, "late"), "ab", 2, 1))


NS = "antml" + ":"
STRUCTURES = {
    "sentinel_split": [
        '[[SEG_START {"type":"run_bash"}]]ls[[SEG_END]]',
        '[[SEG_START {"type": "write_file", "path": "/]]"}]]x[[SEG_END]]',
    ],
    "json_tool_split": [
        '{"tool": {"function": "f", "parameters": {"a": "}"}}}',
        '{ "function" : {"name": "g", "arguments": "{}"} }',
        '{"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}',
        '[{"name": "f", "args": {}}]',
        '{"name": "f", "arguments": {"x": [1, {"y": "]"}]}}',
    ],
    "xml_block_split": [
        "</thinking>",
        "<thinking>hm</thinking>",
        f"<{NS}thinking a='b>c' d=\"e\">hm</{NS}thinking >",
        "[THINK]hm[/THINK]",
        '<function_calls><invoke name="f"><parameter name="x">1</parameter></invoke></function_calls>',
        '<tool name="f"><arguments><arg name="q">v</arg></arguments></tool>',
        '<write_file path="/a">z</write_file>',
        '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>',
    ],
}
MAKE = {
    "sentinel_split": lambda: ops.sentinel_split(),
    "json_tool_split": lambda: ops.json_tool_split("any"),
    "xml_block_split": lambda: ops.xml_block_split(("thinking", "function_calls", "tool", "files", "tool_call")),
}
NOISE = ("", "x", " ", "<", "[", "{", "]", "}", ">", "`", "\n", "İ")


@pytest.mark.parametrize("name", STRUCTURES)
def test_text_is_held_only_while_a_continuation_makes_it_structure(name):
    operator = MAKE[name]()
    every = STRUCTURES[name]
    begun = [whole[:size] for whole in every for size in range(len(whole))]
    late = []
    for text in sorted({f"a {start}{noise}" for start in begun for noise in NOISE}):
        outcome = drive([operator], [text])
        out = tokens([item for step in outcome.steps for item in step], "(?!)")
        at_end = tokens(outcome.items, "(?!)")
        held = [token for token in at_end[len(out) :] if token[0] not in ("start", "complete")]
        if held:
            ends = (tokens(drive([operator], [text, rest]).items, "(?!)") for rest in continuations(text, every))
            if all(end[: len(out) + 1] == at_end[: len(out) + 1] for end in ends):
                late.append(text)
    assert set(late) <= {"a [[SEG_START {}"}  # one character late: a header without a type


CLOSERS = (
    *(">", "/>", '">', "'>", ' name="f">', '" name="f">', ' path="/a">', "]]", "SEG_END]]", "[SEG_END]]", '"}]]'),
    *('"type":"run_bash"}]]', ',"type":"run_bash"}]]', ':0,"type":"run_bash"}]]', '":0,"type":"run_bash"}]]'),
    *('","type":"run_bash"}]]', 'f", "args": {}}]', '"f", "args": {}}]', 'f", "arguments": {}}', '"function": "f"}}'),
    *(', "arguments": {}}}', ', "parameters": {}}}', ', "function": "f", "parameters": {}}'),
    *(
        "![CDATA[[1]]]></parameter></invoke>",
        "![CDATA[[1]]]></arg></tool>",
        '],"type":"run_bash"}]]',
        '},"type":"run_bash"}]]',
    ),
)


def continuations(text: str, structures: list[str]) -> list[str]:
    """What may follow to make structure of the end of a text; white space may stand where tokens meet."""
    rest = {
        after
        for whole in structures
        for size in range(1, len(whole))
        for ending in (text, text.rstrip())
        if ending.endswith(whole[:size].rstrip())
        for after in (whole[size:], whole[size:].lstrip(" "))
    }
    for whole in structures:
        rest |= {tag[size:] for tag in re.findall(r"</[^>]*>|\[/\w+\]", whole) for size in range(len(tag))}
    return [*CLOSERS, *sorted(rest)]
