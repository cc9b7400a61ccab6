"""The golden cases that lie beside the project, one character at a time."""

import json
from pathlib import Path

import pytest

from streamflow.text.sentences import SentenceCutter

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "sentences.json"
pytestmark = pytest.mark.skipif(not GOLDEN.exists(), reason="the golden cases are not beside the project")


def cases(**wanted):
    for language, entries in json.loads(GOLDEN.read_text()).items():
        for entry in entries:
            if entry["preserving"] and not entry["pdf"] and all(entry[key] == value for key, value in wanted.items()):
                yield language, entry


def streamed(text, language, **options):
    cutter = SentenceCutter(language, **options)
    pieces = [piece for sign in text for piece in cutter.feed(sign)] + cutter.flush()
    assert "".join(pieces) == text
    return pieces


def plain(pieces):
    return ["".join(piece.split()) for piece in pieces if piece.strip()]


def missed(**options):
    wanted = options.pop("wanted", {})
    auto = options.pop("auto", False)
    results = [
        (plain(streamed(entry["text"], "auto" if auto else language, **options)), plain(entry["expected"]))
        for language, entry in cases(**wanted)
    ]
    return [result for result in results if result[0] != result[1]], len(results)


def test_every_english_golden_rule_holds():
    wrong, count = missed(wanted={"language": "en", "golden": True})
    assert count >= 27
    assert wrong == []


def test_nearly_all_golden_cases_are_right():
    wrong, count = missed()
    assert count == 285
    assert len(wrong) / count <= 0.03, wrong


def test_clause_marks_add_the_arabic_ones():
    wrong, _ = missed(wanted={"language": "ar"}, clause_marks=True)
    assert wrong == []


def test_the_language_need_not_be_given():
    wrong, count = missed(auto=True)
    assert len(wrong) / count <= 0.05, wrong
