"""Blocks and calls: throughput of plain text, cost of a token, and growth with the size of nasty input."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.measure import Row, at_least, at_most
from bench.wires import openai_events
from streamflow.events import BlockComplete, BlockStart, Chunk
from streamflow.operators import (
    block_split,
    json_tool_split,
    normalize_provider,
    partial_json,
    sentinel_split,
    sse_decode,
    tool_accumulate,
    visible_filter,
    xml_block_split,
)
from streamflow.stage import Chain, Operator

PLAIN = "The old bridge crosses the river at its narrowest point, and people like it; nobody knows why.\n"
ROUNDS = 5
SIZE = 40_000

# Inputs that tempt a parser to look again at what it has seen.
NASTY = {
    "open tag": "<thinking a=\"" + "x" * 16,
    "angle brackets": "<",
    "backticks": "`",
    "dots": ".",
    "braces": "{",
    "backslashes": '{"tool": "' + "\\\\" * 4,
    "white space": " ",
    "quotes": '<thinking a="b',
    "half markers": "[[SEG_STAR",
}
SPLITTERS: dict[str, Callable[[], Operator[Any, Any]]] = {
    "xml_block_split": xml_block_split,
    "sentinel_split": sentinel_split,
    "json_tool_split": lambda: json_tool_split(profile="any"),
    "block_split": lambda: block_split(strategies=["xml", "sentinel", "json"]),
}


def _seconds(operators: Sequence[Operator[Any, Any]], items: Sequence[Any], rounds: int = ROUNDS) -> float:
    taken = []
    for _ in range(rounds):
        chain = Chain([operator.make_stage() for operator in operators])
        feed = chain.feed
        begun = time.process_time()
        for item in items:
            feed(item)
        chain.finish()
        taken.append(time.process_time() - begun)
    return statistics.median(taken)


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def rows() -> list[Row]:
    """All measurements."""
    return [*_plain(), *_growth(), *_pipeline(), *_arguments()]


def _plain() -> list[Row]:
    text = PLAIN * (10_000_000 // len(PLAIN))
    fast = len(text) / 1e6 / _seconds([xml_block_split()], _pieces(text, 16384), 3)
    tokens = _pieces(text[:400_000], 4)
    each = 1e6 * _seconds([xml_block_split()], tokens) / len(tokens)
    return [
        at_least("10 MB of plain text in 16 KiB pieces: MB/s", "xml_block_split", fast, 100),
        at_most("plain text in 4-character tokens: us a token", "xml_block_split", each, 1.0),
    ]


def _growth() -> list[Row]:
    found = []
    for name, make in SPLITTERS.items():
        worst, unit_of_worst = 0.0, ""
        for unit_name, unit in NASTY.items():
            once, twice = (_pieces(unit * (size // len(unit)), 4) for size in (SIZE, 2 * SIZE))
            ratio = statistics.median(_seconds([make()], twice, 1) / _seconds([make()], once, 1) for _ in range(5))
            if ratio > worst:
                worst, unit_of_worst = ratio, unit_name
        found.append(at_most(f"nasty input of n and 2n, the worst ({unit_of_worst}): time ratio", name, worst, 2.3))
    return found


def _pipeline() -> list[Row]:
    def each(count: int) -> float:
        events = openai_events(count)
        chain = [sse_decode(), normalize_provider("openai"), xml_block_split(), tool_accumulate(), visible_filter()]
        return _seconds(chain, events, 1) / count

    ratios = [each(100_000) / statistics.median(each(1000) for _ in range(9)) for _ in range(5)]
    return [_ratio("default pipeline: us a token at 100k tokens / at 1k", "streamflow", ratios, 1.1)]


def _arguments() -> list[Row]:
    found = []
    for name, chain in (
        ("tool_accumulate", [tool_accumulate()]),
        ("partial_json", [partial_json()]),
    ):

        def each(count: int, chain: list[Operator[Any, Any]] = chain) -> float:
            parts = ['{"text": "', *["word " for _ in range(count)], '"}']
            events: list[Any] = [BlockStart(0, "tool_call")]
            events += [Chunk(0, "tool_call", part, False, 0, "input", "c", "f") for part in parts]
            events.append(BlockComplete(0, "tool_call", "".join(parts), tool_id="c", tool_name="f"))
            return _seconds(chain, events, 1) / count

        ratios = [each(50_000) / statistics.median(each(1000) for _ in range(9)) for _ in range(5)]
        found.append(_ratio("tool arguments: us a delta at 50k deltas / at 1k", name, ratios, 1.1))
        ratios = [2 * each(200_000) / each(100_000) for _ in range(3)]
        found.append(_ratio("tool arguments of 500 kB and 1 MB: time ratio", name, ratios, 2.3))
    return found


def _ratio(measure: str, contender: str, ratios: list[float], bar: float) -> Row:
    spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
    return at_most(measure, contender, statistics.median(ratios), bar, spread)
