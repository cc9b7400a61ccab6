"""The holdback core against a brute-force oracle: at every instant it holds the longest live candidate, no more."""

import functools
import itertools
import random
import re

import pytest

from streamflow.text.holdback import Candidate, Holdback, tag_markers
from tests.support.splits import cuttings

# The oracle knows whole markers only, by patterns of its own; whether a text may still become one it finds by trying.
BLANK = "[ ]"
ATTRIBUTE = f"{BLANK}*[^ \"'<>/=]+(?:{BLANK}*={BLANK}*(?:\"[^\"]*\"|'[^']*'))?"
WHOLE_TAG = re.compile(f"<a(?:{BLANK}(?:{ATTRIBUTE})*|(?=[/>])){BLANK}*/?>|</a{BLANK}*>")
LITERAL = "[a]"


def is_whole(text):
    return text == LITERAL or WHOLE_TAG.fullmatch(text) is not None


class Oracle:
    def __init__(self, alphabet, reach):
        self.alphabet = alphabet
        self.reach = reach
        self.is_live = functools.cache(self._is_live)

    def _is_live(self, text, reach=None):
        reach = self.reach if reach is None else reach
        return any(
            is_whole(text + character) or (reach > 1 and self._is_live(text + character, reach - 1))
            for character in self.alphabet
        )

    def held(self, text):
        start = 0
        while start < len(text):
            end = next((end for end in range(start + 1, len(text) + 1) if is_whole(text[start:end])), None)
            dies = next((end for end in range(start, len(text)) if not self.is_live(text[start : end + 1])), None)
            if end is not None and (dies is None or end - 1 <= dies):
                start = end
            elif dies is None:
                return text[start:]
            else:
                start = dies if text[dies] == "<" and dies > start else start + 1
        return ""


@pytest.mark.parametrize(
    ("alphabet", "length", "reach"),
    [("<a/> ", 7, 2), ('<ax="', 6, 3), ("<a x'=", 6, 3), ("[a]<", 7, 2), ('<a x>="', 6, 3)],
)
def test_exactly_the_longest_live_candidate_is_held(alphabet, length, reach):
    oracle = Oracle(alphabet + (">" if ">" not in alphabet else ""), reach)
    markers = tag_markers(["a", LITERAL])

    for characters in itertools.product(alphabet, repeat=length):
        machine = Holdback(markers)
        text, out = "", []
        for character in characters:
            text += character
            out += machine.feed(character)
        assert machine.held == oracle.held(text), text
        assert "".join(out) + machine.held == text


def test_every_prefix_holds_what_the_oracle_says():
    alphabet = "<a/> x=\"'[]>"
    oracle = Oracle(alphabet, 3)
    rng = random.Random(5)
    markers = tag_markers(["a", LITERAL])
    for _ in range(400):
        machine = Holdback(markers)
        text = ""
        for _ in range(14):
            text += rng.choice("<<<aa  x=\"'/>[]=")
            machine.feed(text[-1])
            assert machine.held == oracle.held(text), text


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a<think>b", ["a", "<think>", "b"]),
        ("<think a='>' b>c", ["<think a='>' b>", "c"]),
        ("</think\n>x", ["</think\n>", "x"]),
        ("<think/>x", ["<think/>", "x"]),
        ("<<think>", ["<", "<think>"]),
        ("<thinker>", ["<thinker>"]),
        ("<think a=1>", ["<think a=1>"]),
        ("<think 'a'>", ["<think 'a'>"]),
        ("</think a>", ["</think a>"]),
        ("<think / >", ["<think / >"]),
        ('<think a="<think>', ['<think a="', "<think>"]),
        ("<THINK>", ["<THINK>"]),
        ("x<|eot|><|eot|", ["x", "<|eot|>", "<|eot|"]),
    ],
)
def test_pieces_are_the_same_at_every_cut(text, pieces):
    for cut in cuttings(text):
        machine = Holdback(tag_markers(["think", "<|eot|>"]))
        out = [""]
        for piece in [piece for part in cut for piece in machine.feed(part)] + machine.flush():
            if is_marker(piece) or is_marker(out[-1]) or not out[-1]:
                out.append(piece)
            else:
                out[-1] += piece
        assert out[1:] == pieces


def is_marker(piece):
    found = tag_markers(["think", "<|eot|>"]).search(piece, 0, final=True)
    return found is not None and (found.start, found.end) == (0, len(piece))


def test_names_without_regard_to_case_never_change_lengths():
    machine = Holdback(tag_markers(["think"], case_sensitive=False))
    assert machine.feed("İİ<THINK>İ</Think>") == ["İİ", "<THINK>", "İ", "</Think>"]
    assert machine.feed("<thinK>") == ["<thinK>"]  # the Kelvin sign is no k


def test_a_tag_is_bounded():
    for limit in (8, 20):
        for length in range(30):
            text = f"<think {'x' * length}>"
            for pieces in ([text], list(text)):
                machine = Holdback(tag_markers(["think"], max_tag=limit))
                out = []
                for piece in pieces:
                    out += machine.feed(piece)
                    assert len(machine.held) < limit
                assert (text in out and len(out) == 1) == (len(text) <= limit or len(pieces) == 1)
                assert "".join(out) + machine.held == text


def test_text_without_a_candidate_is_never_held():
    machine = Holdback(tag_markers(["think"]))
    for piece in ("plain", " a > b", "\n\n", "İ\u2028", "]]"):
        assert machine.feed(piece) == [piece]
        assert machine.held == ""


def test_attributes_are_read_in_either_quote():
    found = tag_markers(["t"]).search("<t a=\"it's\" b='>' c d = \"\" a='2'>", 0)
    assert found.attributes == {"a": "it's", "b": ">", "c": "", "d": ""}


def test_a_candidate_is_read_once():
    markers = tag_markers(["t"])
    text = '<t a="' + "x" * 1000
    candidate = markers.search(text, 0)
    assert isinstance(candidate, Candidate)
    assert candidate.read == len(text)
    assert markers.search(text + '">', 0, candidate).end == len(text) + 2
