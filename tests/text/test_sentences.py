import gc
import os
import random
import time
import tomllib
from pathlib import Path

import pytest

from streamflow.errors import UsageError
from streamflow.text.sentence_reader import REACH
from streamflow.text.sentences import SentenceCutter
from tests.support.cuts import at_random, single, two_way

CASES = Path(__file__).parent / "sentence_cases"
FUZZ = int(os.environ.get("STREAMFLOW_FUZZ", "20000"))


def cut(pieces, language="en", **options):
    cutter = SentenceCutter(language, **options)
    return [sentence for piece in pieces for sentence in cutter.feed(piece)] + cutter.flush()


# Fuzz: texts made of everything that some rule looks at.
PARTS = [
    "a", "I ", "The ", "he ", "Dr", "st", "e.g", "1", "23", ". ", ".", "...", "! ", "? ", "\n",
    "\n\n", "\r\n", " ", '"', "'", "“", "”", "’", "(", ")", "[", "]", "`", "```", "~~~", "$", "$$",
    "- ", "* ", "1. ", "a) ", "(b) ", "。", "！", "「", "」", "（", "）", "你好", "です", "한국", "🎉", "</b>",
    "<b>", "<", ">", "**", "_", "#", "## ", " | ", ",", "; ", ": ", "،", "؟ ", "।", "։", "።",
    "U.S.", "p.m. ", "etc. ", "  ", "\t", "\\(", "\\)", "\\[", "\\]", "—", "--", "•", "①", "»", "«",
    "„", "…", ". . .", "[1]", "【4†a】", "\u200b", "\u202a", "é", "Ж", "no. ", "said ", "Yahoo!",
    "x" * 40, " " * 90, "." * 50, "e\u0301", "👩\u200d👩\u200d👧", "12. ", "Juni",
]  # fmt: skip


def fuzz_options(rng):
    return {
        "language": rng.choice(["auto", "en", "de", "fr", "ja", "el", "hy", "zh", "ar", "ko", "kk"]),
        "max_chars": rng.choice([400, 400, 60, 7, 1]),
        "clause_marks": rng.random() < 0.2,
        "first": rng.choice(["sentence", "clause"]),
    }


def test_no_cutting_changes_the_sentences_and_joined_they_are_the_text():
    rng = random.Random(20)
    cuts = 0
    while cuts < FUZZ:
        text = "".join(rng.choice(PARTS) for _ in range(rng.randrange(1, 50)))
        options = fuzz_options(rng)
        whole = cut([text], **options)
        assert "".join(whole) == text
        for pieces in (single(text), at_random(text, rng), at_random(text, rng, 3)):
            assert cut(pieces, **options) == whole, (options, pieces)
            cuts += len(pieces)


def damaged(text, rng):
    """The same with some characters lost and some signs put in."""
    signs = list(text)
    for _ in range(rng.randrange(6)):
        place = rng.randrange(len(signs) + 1)
        if rng.random() < 0.5:
            del signs[place : place + rng.randrange(1, 6)]
        else:
            signs.insert(place, rng.choice(PARTS))
    return "".join(signs)


def test_no_cutting_changes_the_sentences_of_damaged_prose():
    rng = random.Random(21)
    sentences = [sentence for path in case_files() for case in load(path) for sentence in case["sentences"]]
    cuts = 0
    while cuts < FUZZ:
        text = damaged("".join(rng.choice(sentences) for _ in range(rng.randrange(1, 14))), rng)
        options = fuzz_options(rng)
        whole = cut([text], **options)
        assert "".join(whole) == text
        for size in (1, 4, 7):
            pieces = [text[place : place + size] for place in range(0, len(text), size)]
            assert cut(pieces, **options) == whole, (options, text)
            cuts += len(pieces)


def test_every_two_way_cut_gives_the_same():
    text = 'He said "Go. Now!" (twice). 1. **Set up.** See https://a.b/?c=d. 🎉 Done… \n\n- Dr. A. B. Lee. 你好。再见！'
    whole = cut([text], "auto")
    assert len(whole) > 5
    for pieces in two_way(text):
        assert cut(pieces, "auto") == whole


@pytest.mark.parametrize("sign", ["'", "’", '"', "`", "$", "(", "*", "-", "1. "])
@pytest.mark.parametrize("before", ["x", " ", "我", "1", "—"])
def test_a_forced_cut_hides_nothing_from_the_next_sentence(before, sign):
    text = before * 20 + sign + "a. Bcd c" + sign + " Z. Y"
    for size in range(18, 24):
        assert cut(single(text), max_chars=size) == cut([text], max_chars=size)


def test_no_sentence_is_longer_than_allowed():
    rng = random.Random(3)
    for _ in range(300):
        text = "".join(rng.choice(PARTS) for _ in range(60))
        size = rng.choice([5, 30, 100])
        assert max(len(piece.strip()) for piece in cut([text], max_chars=size)) <= size


def test_what_is_held_is_bounded():
    rng = random.Random(8)
    cutter = SentenceCutter("auto")
    for _ in range(3000):
        cutter.feed(rng.choice(PARTS))
        assert len(cutter.pending) <= 400 + REACH + 100


@pytest.mark.parametrize("unit", ["a ", "lorem ipsum, dolor ", "x", "ไทย", "我们", "1", "e\u0301", "👨‍👩‍👧"])
def test_text_without_marks_is_cut_at_the_best_place(unit):
    text = unit * 900
    pieces = cut([text])
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 400
    if "," in unit:
        assert all(piece.endswith(", ") for piece in pieces[:-1])
    elif " " in unit:
        assert all(piece.endswith(" ") for piece in pieces[:-1])
    elif len(unit) > 1 and unit != "我们":
        assert all(len(piece) % len(unit) == 0 for piece in pieces) or unit == "ไทย"


def test_a_forced_cut_never_falls_into_a_number():
    text = "word " * 10 + "123456 " * 3
    for size in range(20, 60):
        assert all(piece.strip("word 123456") == "" for piece in cut([text], max_chars=size))
        assert "123456".join("" for _ in range(4)) == "".join(
            word for piece in cut([text], max_chars=size) for word in piece.split() if word.isdigit()
        )


def case_files():
    return sorted(CASES.glob("*.toml"))


def load(path):
    return tomllib.loads(path.read_text("utf-8"))["case"]


def test_there_are_enough_cases():
    assert sum(len(load(path)) for path in case_files()) >= 150


@pytest.mark.parametrize("path", case_files(), ids=lambda path: path.stem)
def test_the_cases_are_cut_as_a_reader_would(path):
    for case in load(path):
        text = "".join(case["sentences"])
        assert cut(single(text), case.get("language", path.stem)) == case["sentences"]


def test_nearly_all_cases_are_right_without_the_language():
    cases = [case["sentences"] for path in case_files() for case in load(path)]
    right = sum(cut(single("".join(sentences)), "auto") == sentences for sentences in cases)
    assert right / len(cases) >= 0.97


def delays(text, language):
    cutter = SentenceCutter(language)
    waited = []
    end = 0
    for place, sign in enumerate(text, 1):
        for piece in cutter.feed(sign):
            waited.append(place - (end + len(piece.rstrip())))
            end += len(piece)
    return sorted(waited)


LATIN = (
    "The bridge opened in 1932. It was built by J. R. Hall and cost $3.5 million, i.e. more than planned! "
    'Was it worth it? Most people think so. "It changed the town," the mayor said. Trains cross it twice a day. '
    "On Sundays the road is closed (except for bicycles). Visitors come from all over the country. "
    "The view is splendid. "
)
CHINESE = "今天天气很好，我们去公园吧。你想去吗？公园里有很多花！孩子们在玩，老人们在聊天。我们走了很久。晚上回家吃饭。"


@pytest.mark.parametrize(("text", "language", "median", "most"), [(LATIN, "en", 2, 4), (CHINESE, "zh", 1, 1)])
def test_a_sentence_leaves_soon_after_its_end(text, language, median, most):
    waited = delays(text * 5, language)
    assert waited[len(waited) // 2] <= median
    assert waited[int(len(waited) * 0.95)] <= most
    assert waited[-1] <= REACH


@pytest.mark.parametrize(
    "unit", ['He said "go. Then he (left. A [b. C $x. ', ". ", "!", ". . ", '."', "a.\n", "1. ", "! (see x "]
)
def test_no_sentence_is_held_longer_than_the_reach(unit):
    assert max(delays(unit * 100, "en"), default=0) <= REACH


def test_no_sentence_of_any_text_is_held_longer_than_the_reach():
    rng = random.Random(4)
    for _ in range(200):
        text = "".join(rng.choice(PARTS) for _ in range(80))
        cutter = SentenceCutter(fuzz_options(rng)["language"], max_chars=100_000)
        given = 0
        for place, sign in enumerate(text, 1):
            for piece in cutter.feed(sign):
                given += len(piece)
                assert place - given <= REACH


@pytest.mark.parametrize("unit", [". ", ".", '"', "(", "' ", "x", "\n", "“a. B ", "[1", "$x. ", "🎉! "])
def test_time_grows_with_the_text_alone(unit):
    def seconds(size):
        text = (unit * size)[:size]
        begun = time.process_time()
        cut([text[place : place + 4] for place in range(0, size, 4)])
        return time.process_time() - begun

    seconds(2000)
    small = min(seconds(4000) for _ in range(3))
    large = min(seconds(16000) for _ in range(2))
    assert large / small < 4 * 2.3  # quadratic time would take 16 times as long


@pytest.mark.parametrize("unit", ["“a. B ", "$x. ", "word. ", '"a. B '])
def test_nothing_piles_up_while_sentences_wait(unit):
    cutter = SentenceCutter("en")
    counts = []
    for _ in range(3):
        for place in range(0, len(unit) * 400, 4):
            cutter.feed((unit * 401)[place : place + 4])
        gc.collect()
        counts.append(len(gc.get_objects()))
    assert counts[2] - counts[1] < 200


def test_a_first_clause_needs_some_length():
    pieces = cut(["Well, after a long walk in the park, we went home. Then, at last, we slept."], first="clause")
    assert pieces == ["Well, after a long walk in the park, ", "we went home. ", "Then, at last, we slept."]


@pytest.mark.parametrize(
    ("options", "named"), [({"language": "xx"}, "xx"), ({"max_chars": 0}, "max_chars"), ({"first": "word"}, "first")]
)
def test_wrong_options_are_told(options, named):
    with pytest.raises(UsageError, match=named):
        SentenceCutter(**options)
