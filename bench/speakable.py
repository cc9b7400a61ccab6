"""Markdown to what a voice says: time a token, and how it grows with text that tempts a parser to look again."""

from collections.abc import Callable
from functools import partial

from bench.measure import Row, at_most, interleaved
from streamflow.operators import speakable
from streamflow.stage import Chain

TOKEN = 4
MARKDOWN = (
    "# The bridge\n\nIt was **built** in 1932, see [the history](https://example.org/bridge) or `bridge.txt`.\n\n"
    "- It cost *3.5 million*.\n- Trains cross at 9 a.m.\n\n| year | cost |\n|---|---|\n| 1932 | 3.5 |\n\n"
)
NASTY = {"open brackets": "[", "stars": "*", "backticks": "`", "open tags": "<b ", "pipes": "|a", "plain": "word "}


def _fed(tokens: list[str]) -> None:
    chain = Chain([speakable().make_stage()])
    for token in tokens:
        chain.feed(token)
    chain.finish()


def _tokens(unit: str, size: int) -> list[str]:
    text = (unit * (size // len(unit) + 1))[:size]
    return [text[at : at + TOKEN] for at in range(0, size, TOKEN)]


def rows() -> list[Row]:
    """Time a token, and its growth."""
    found = []
    for name, unit in {"markdown": MARKDOWN, **NASTY}.items():
        sizes = {size: _tokens(unit, size) for size in (10_000, 20_000)}
        runs: dict[str, Callable[[], object]] = {
            str(size): partial(_fed, tokens) for size, tokens in sizes.items()
        }
        timings = interleaved(runs, 1, 3)
        growth = timings["20000"].over(timings["10000"])
        each = timings["20000"].median / len(sizes[20_000])
        found.append(Row(f"speakable, 20k of {name}: us a 4-character token", "streamflow", each))
        found.append(
            at_most(f"speakable, {name} of n and 2n: time ratio", "streamflow", growth.median, 2.3, growth.spread)
        )
    return found
