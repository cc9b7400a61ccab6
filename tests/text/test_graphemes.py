"""Signs as a reader sees them (UAX #29)."""

import pytest

from streamflow.text.graphemes import graphemes, may_go_on

CASES = [
    ["a", "b"],
    ["\r\n", "\n"],
    ["e\u0301", "x"],
    ["👨‍👩‍👧‍👦", "!"],
    ["👍🏽", "👍"],
    ["🇫🇷", "🇮🇹", "🇪"],
    ["1️⃣", "2"],
    ["क्षि", "क"],
    ["한", "국"],
    ["\u1100\u1161\u11a8", "\u1100"],
    ["が", "か\u3099"],
    ["ก", "กำ"],
    ["🏴\U000e0067\U000e0062\U000e007f", "a"],
    ["❤️", "❤"],
    ["\u200b", "a"],
    ["a\u200d", "b"],
]


@pytest.mark.parametrize("signs", CASES, ids=ascii)
def test_a_text_falls_into_its_signs(signs):
    assert graphemes("".join(signs)) == signs


def test_nothing_is_lost_and_nothing_is_empty():
    text = "".join(sign for signs in CASES for sign in signs)
    assert "".join(graphemes(text)) == text
    assert graphemes("") == []


@pytest.mark.parametrize(("text", "answer"), [("👩", True), ("a", False), ("é", False), ("क्", True), ("🇫🇷🇮", True)])
def test_what_looks_unfinished(text, answer):
    assert may_go_on(text) is answer
