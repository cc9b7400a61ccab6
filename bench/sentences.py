"""Sentences while the text is coming, beside the peers: delay, speed, growth, and how many cases are right.

A segmenter that is not made for streams is run again over what it has not given away yet, at every token; all but its
last sentence leave. That is how such segmenters are used for voices.
"""

import statistics
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import pysbd
import sentencex

from streamflow.text.sentences import SentenceCutter

try:
    from stream2sentence import generate_sentences
except ImportError:  # not part of every environment; its rows are left out then
    generate_sentences = None

CASES = Path(__file__).parents[1] / "tests" / "text" / "sentence_cases"
TOKEN = 4
ROUNDS = 3
PROSE = (
    "The old bridge, built in 1932 by J. R. Hall, crosses the river at its narrowest point. It cost $3.5 million, "
    'i.e. more than anyone had planned. "It changed the town," the mayor said in an interview. Was it worth it? '
    "Most people think so! Dr. Lee, who has lived here since 1978, remembers the ferry (it ran twice a day). Trains "
    "cross at 9 a.m. and 5 p.m. on weekdays. See https://example.com/bridge.html for version 2.1 of the timetable. "
)
CHINESE = "今天天气很好，我们去公园吧。你想去吗？公园里有很多花！孩子们在玩，老人们在聊天。我们走了很久，晚上回家吃饭。"
ADVERSARIAL = {
    "dots": ".",
    "quotes": '"',
    "apostrophes": "'",
    "brackets": "(",
    "no marks": "lorem ipsum ",
    "one word": "x",
}

# Takes pieces, gives for each piece the sentences that leave with it; the last entry is what the end releases.
Streamed = Iterator[list[str]]
Contender = Callable[[Iterable[str]], Streamed]


class Row(msgspec.Struct, frozen=True):
    """One measurement of one contender, and the bar if it has one."""

    measure: str
    contender: str
    value: float
    bar: str = ""
    met: bool = True


def ours(language: str) -> Contender:
    """The sentence cutter."""

    def run(pieces: Iterable[str]) -> Streamed:
        cutter = SentenceCutter(language)
        for piece in pieces:
            yield cutter.feed(piece)
        yield cutter.flush()

    return run


def repeated(segment: Callable[[str], list[str]]) -> Contender:
    """A segmenter of whole texts, run again at every piece."""

    def run(pieces: Iterable[str]) -> Streamed:
        held = ""
        for piece in pieces:
            held += piece
            *ready, rest = segment(held) or [""]
            if ready:
                held = rest
            yield ready
        yield [held]

    return run


def pysbd_peer(language: str) -> Contender:
    """pysbd, text preserving."""
    segmenter = pysbd.Segmenter(language=language, clean=False)
    return repeated(lambda text: list(segmenter.segment(text)))


def sentencex_peer(language: str) -> Contender:
    """sentencex."""
    return repeated(lambda text: list(sentencex.segment(language, text)))


def stream2sentence_peer(language: str) -> Contender:
    """stream2sentence, which pulls: what it gives is counted to the piece that it has pulled last."""

    def run(pieces: Iterable[str]) -> Streamed:
        out: list[list[str]] = []

        def source() -> Iterator[str]:
            for piece in pieces:
                out.append([])
                yield piece

        for sentence in generate_sentences(source(), minimum_sentence_length=1, language=language):
            out[-1].append(sentence)
        return iter([*out, []])

    return run


def peers(language: str) -> dict[str, Contender]:
    """The peers that are installed."""
    found = {"pysbd, re-run": pysbd_peer(language), "sentencex, re-run": sentencex_peer(language)}
    return found | ({"stream2sentence": stream2sentence_peer(language)} if generate_sentences else {})


def delays(run: Contender, text: str) -> list[int]:
    """Characters between the end of a sentence and the moment it leaves, one character at a time."""
    waited = []
    end = 0
    for place, ready in enumerate(run(text), 1):
        for sentence in ready:
            found = text.find(sentence.strip(), end)
            end = found + len(sentence.strip())
            if place <= len(text):
                waited.append(place - end)
    return sorted(waited)


def delay_rows() -> list[Row]:
    """The median and the 95th percentile of the delay."""
    rows = []
    for name, text, language, bars in (("Latin", PROSE * 4, "en", (2, 4)), ("Chinese", CHINESE * 4, "zh", (1, 1))):
        for contender, run in {"streamflow": ours(language), **peers(language)}.items():
            waited = delays(run, text)
            for share, bar in zip((50, 95), bars, strict=True):
                value = waited[min(len(waited) - 1, len(waited) * share // 100)]
                measure = f"delay in characters, {name}, p{share}"
                rows.append(_judged(measure, contender, value, f"<= {bar}", value <= bar))
    return rows


def microseconds(run: Contender, text: str, rounds: int = ROUNDS) -> float:
    """Process time a token of four characters, the median of some rounds."""
    tokens = [text[place : place + TOKEN] for place in range(0, len(text), TOKEN)]
    taken = []
    for _ in range(rounds):
        begun = time.process_time()
        for _ready in run(tokens):
            pass
        taken.append((time.process_time() - begun) / len(tokens) * 1e6)
    return statistics.median(taken)


def _long(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def speed_rows() -> list[Row]:
    """Time a token, on prose beside the peers, and on what is hard."""
    prose = _long(PROSE, 2000)
    run = ours("en")
    microseconds(run, prose)
    rows = []
    for contender, other in {"streamflow": run, "streamflow, auto": ours("auto"), **peers("en")}.items():
        value = microseconds(other, prose)
        rows.append(_judged("us a token, 2k of prose", contender, value, "<= 5", value <= 5))
    for name, unit in ADVERSARIAL.items():
        value = microseconds(run, _long(unit, 20_000))
        rows.append(Row(f"us a token, 20k of {name}", "streamflow", value, "<= 5", value <= 5))
    return rows


def growth_rows() -> list[Row]:
    """How the time a token grows from 2k to 2M characters."""
    rows = []
    for name, unit in {"prose": PROSE, "open quotes": '"a. B ', **ADVERSARIAL}.items():
        run = ours("en")
        small = min(microseconds(run, _long(unit, 2000), 20) for _ in range(3))
        large = microseconds(run, _long(unit, 2_000_000 if name == "prose" else 200_000), 1)
        size = "2M" if name == "prose" else "200k"
        rows.append(
            Row(f"time a token at {size} / at 2k, {name}", "streamflow", large / small, "<= 1.2", large <= small * 1.2)
        )
    return rows


def case_rows() -> list[Row]:
    """The share of our English cases that are right one character at a time, and that change with the cutting."""
    cases = [
        case["sentences"]
        for path in sorted(CASES.glob("*.toml"))
        for case in tomllib.loads(path.read_text("utf-8"))["case"]
        if case.get("language", path.stem) == "en"
    ]
    rows = []
    for contender, run in {"streamflow": ours("en"), **peers("en")}.items():
        right = variant = 0
        for sentences in cases:
            text = "".join(sentences)
            single, whole = (_stripped(run(pieces)) for pieces in (text, [text]))
            right += single == [sentence.strip() for sentence in sentences]
            variant += single != whole
        share = 100 * right / len(cases)
        rows.append(_judged(f"% of {len(cases)} English cases right", contender, share, ">= 97", share >= 97))
        rows.append(_judged("cases that change with the cutting", contender, variant, "0", variant == 0))
    return rows


def _judged(measure: str, contender: str, value: float, bar: str, met: bool) -> Row:
    """A row; only ours have a bar."""
    return (
        Row(measure, contender, value, bar, met)
        if contender.startswith("streamflow")
        else Row(measure, contender, value)
    )


def _stripped(streamed: Streamed) -> list[str]:
    return [sentence.strip() for ready in streamed for sentence in ready if sentence.strip()]


def rows() -> list[Row]:
    """All measurements."""
    return [*delay_rows(), *speed_rows(), *growth_rows(), *case_rows()]


def main() -> None:
    """Print the rows as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table("measure", "contender", "value", "bar")
    measured = rows()
    for row in measured:
        verdict = f"{row.bar} {'met' if row.met else 'MISSED'}" if row.bar else ""
        table.add_row(row.measure, row.contender, f"{row.value:.2f}", verdict)
    Console().print(table)
    raise SystemExit(0 if all(row.met for row in measured) else 1)


if __name__ == "__main__":
    main()
