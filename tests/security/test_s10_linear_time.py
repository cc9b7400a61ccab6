"""S10: no text of a model takes more than linear time, in any operator."""

import contextlib
import importlib
import pkgutil
import random
import re
import re._constants as codes
import re._parser as regex_parser
import time

import pytest

import streamflow as sf
from tests.laws.table import present

OPERATORS = [
    pytest.param(make, id=f"{name}-{place}")
    for name, row in present().items()
    if row.takes == "events"
    for place, make in enumerate(row.makes)
]
# What each of our readers would have to look at again and again, if it did.
RUNS = [
    "x", " ", "\n", "<", "</", "<a ", "`", "[[", "{", '\\"', "(", "*", ".", "Mr. ", "&", "4111 ",
]  # fmt: skip
BEGINNINGS = ["", "[a](", '[a](b "', "|a|\n", "```", "<thinking>", '{"name": "f", "arguments": ', "$$", '<a href="']
MOST = 2.3
MEASURABLE_S = 0.004  # below that the clock is not worth anything, and the text not worth a worry


def cost(make, pieces: list[str]) -> float:
    operator = make()
    begin = time.process_time()
    with contextlib.suppress(sf.StreamflowError):  # refusing a text is as good as reading it
        sf.run(pieces, operator)
    return time.process_time() - begin


def ratio(make, text: str, piece: int) -> float:
    """How much longer the text takes than its first half; the least of some tries, since others use this machine."""
    pieces = [text[at : at + piece] for at in range(0, len(text), piece)]
    half = pieces[: len(pieces) // 2] if len(pieces) > 1 else [text[: len(text) // 2]]
    least = 99.0
    for _ in range(5):
        whole_s = cost(make, pieces)
        if whole_s < MEASURABLE_S:
            return 0.0
        least = min(least, whole_s / max(cost(make, half), 1e-9))
        if least <= MOST:
            break
    return least


@pytest.mark.parametrize("make", OPERATORS)
def test_s10_twice_a_run_takes_twice_the_time(make):
    for place, run in enumerate(RUNS):
        text = BEGINNINGS[place % len(BEGINNINGS)] + run * (100_000 // len(run))
        assert ratio(make, text, len(text)) <= MOST, (run, text[:20])


@pytest.mark.parametrize("make", OPERATORS)
@pytest.mark.parametrize(("size", "piece"), [(1_000_000, 1_000_000), (120_000, 40)], ids=["1 MB", "pieces"])
def test_s10_a_million_characters_of_everything_are_linear(make, size, piece):
    rng = random.Random(10)
    words = [*RUNS, *BEGINNINGS]
    text = "".join(rng.choice(words) * rng.choice((1, 2, 50)) for _ in range(size // 10))[:size]
    assert ratio(make, text, piece) <= MOST


def test_s10_the_measure_finds_a_quadratic_operator():
    def again_and_again():
        from streamflow.stage import lift

        class Joined:
            def __init__(self) -> None:
                self.text = ""

            def feed(self, item):
                self.text += item
                return [str(self.text.count("never"))]

            def flush(self):
                return []

            def abort(self, error):
                return []

        return lift(Joined, "joined")

    assert ratio(again_and_again, "x" * 150_000, 60) > MOST


# Repeats inside repeats, each read by a human: what separates the rounds cannot be part of them.
READ = {"_STRING", "_WORD", "DESTINATION", "DESTINATION_BEGUN", "BARE_DELIMITER", "_TOKENS"}


def nested(parsed, depth: int = 0) -> int:
    """How many repeats without bound are inside each other."""
    worst = depth
    for code, value in parsed:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            worst = max(worst, nested(value[2], depth + (value[1] == codes.MAXREPEAT)))
        elif code is codes.SUBPATTERN:
            worst = max(worst, nested(value[3], depth))
        elif code is codes.BRANCH:
            worst = max([worst, *(nested(branch, depth) for branch in value[1])])
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            worst = max(worst, nested(value[1], depth))
    return worst


def test_s10_no_expression_repeats_a_repeat():
    assert nested(regex_parser.parse(r"(a+)+b")) == 2
    found = set()
    for layer in ("text", "operators", "wire", "providers"):
        package = importlib.import_module(f"streamflow.{layer}")
        for module in pkgutil.iter_modules(package.__path__):
            loaded = importlib.import_module(f"streamflow.{layer}.{module.name}")
            for name, value in vars(loaded).items():
                if isinstance(value, re.Pattern):
                    flags = value.flags & ~re.UNICODE if isinstance(value.pattern, bytes) else value.flags
                    if nested(regex_parser.parse(value.pattern, flags)) > 1:
                        found.add(name)
    assert found <= READ, f"read these, and prove that they cannot backtrack: {found - READ}"
