"""Which text is code, against a plain reading line by line."""

import itertools
import random
import re

from streamflow.text.code_marks import CodeMarks
from tests.support.cuts import at_random, single

SIGN = re.compile("[`~]")


def protected(pieces):
    """For each character whether it is protected, as a reader of prose sees it."""
    marks = CodeMarks()
    out = []
    for piece in pieces:
        place = 0
        while place < len(piece):
            if marks.inside:
                end = marks.read(piece, place)
                out += [True] * (end - place)
                place = end
                continue
            sign = SIGN.search(piece, place)
            end = len(piece) if sign is None else sign.start()
            out += [False] * (end - place)
            if sign is not None:
                marks.enter(piece, end, piece[:end][-4:])
            place = end
        marks.seen(piece)
    return out


def by_lines(text):
    """The same by the words of the rule: fences are lines, spans end with their line."""
    out = []
    fence = None
    for line in re.findall(r"[^\n\r]*[\n\r]|[^\n\r]+", text):
        body = line.rstrip("\n\r")
        if fence is not None:
            closing = re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*", body)
            out += [True] * len(line)
            fence = None if closing else fence
            continue
        opening = re.match(r" {0,3}(`{3,}|~{3,})", body)
        if opening and (opening[1][0] == "~" or "`" not in body[opening.end() :]):
            out += [True] * len(line)
            fence = opening[1]
            continue
        place = 0
        for run in re.finditer("`+", body):
            if run.start() < place:
                continue
            out += [False] * (run.start() - place)
            closing = next(
                (other for other in re.finditer("`+", body) if other.start() > run.start() and other[0] == run[0]), None
            )
            place = closing.end() if closing else len(body)
            out += [True] * (place - run.start())
        out += [False] * (len(line) - place)
    return out


def check(text, pieces):
    got, expected = protected(pieces), by_lines(text)
    letters = [place for place, character in enumerate(text) if character == "a"]
    assert [got[place] for place in letters] == [expected[place] for place in letters], (text, pieces)


def test_every_short_text_whole_and_character_by_character():
    for characters in itertools.product("`~\n a", repeat=6):
        text = "".join(characters) + "a"
        check(text, [text])
        check(text, single(text))


def test_longer_texts_cut_at_random():
    rng = random.Random(11)
    for _ in range(3000):
        text = "".join(
            rng.choice(["`", "``", "```", "````", "~~~", "~", "\n", "\r\n", " ", "   ", "\t", "a", "ab"])
            for _ in range(20)
        )
        check(text, [text])
        check(text, at_random(text, rng, 6))
