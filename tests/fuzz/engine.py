"""Coverage-guided fuzzing: inputs that reach something new are kept and changed further."""

import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import streamflow
from tests.fuzz.coverage import Coverage
from tests.fuzz.targets import MOST_BYTES, Target

PROJECT = Path(streamflow.__file__).parent

# What a blind change of bytes would hardly ever write.
WORDS = tuple(
    word.encode()
    for word in (
        "data: ", "data:", "event: ", "id: ", "retry: 9", ": x", "\n\n", "\r\n\r\n", "\r", "\n", "[DONE]", "\ufeff",
        "{", "}", "[", "]", ",", ":", '"', "\\", "\\u", "\\ud83d", "\\ude00", "null", "true", "-1", "1e999", "{}", "[]",
        '{"a":1}', '"choices":[', '"delta":', '"content":', '"tool_calls":', '"index":', '"error":', '"type":', '"id":',
        '"usage":', '"finish_reason":"stop"', '"message"', '"function"', '"arguments":"{', '"name":', '"text":',
        "<thinking>", "</thinking>", "<think", "</", "/>", "<", ">", "<tool>", "<run_bash>", "<write_file path='a'>",
        "[[SEG_START", "]]", "[[SEG_END]]", "```", "`", "~~~", "<tool_call>", "</tool_call>", "<!--", "-->",
        ". ", "! ", "? ", "...", "Dr. ", "e.g. ", "3.5", "1. ", "- ", "* ", "| ", "**", "_", "(", ")", "“", "”", "’",
        "。", "！", "؟", "।", "é", "e\u0301", "😀", "👩‍👧", "🇮🇹", "\u200d", "\u2028", "\u00a0", "\t", "$", "\\(", "http://x.y",
        "&amp;", "&#", "# ", "---", "\0", "\0\0\0", "\x7f",
    )
)  # fmt: skip


class Finding(NamedTuple):
    """An input that a target could not stand, as small as it got."""

    target: str
    data: bytes
    reason: str

    def __str__(self) -> str:
        return f"{self.target}: {self.reason}\n  input {self.data!r}"


class Campaign:
    """One target, its growing corpus, and the random numbers that make it repeatable."""

    def __init__(
        self, name: str, target: Target, corpus: Iterable[bytes], *, seed: int = 0, folder: Path = PROJECT
    ) -> None:
        self.name = name
        self.corpus: list[bytes] = []
        self.kept: list[bytes] = []
        """Inputs that reached something which the ones before them had not."""
        self.findings: list[Finding] = []
        self.executions = 0
        self._target = target
        self._rng = random.Random(f"{name}:{seed}")
        self.coverage = Coverage(folder)
        for data in corpus:
            self.corpus.append(data)
            self.try_out(data)

    def run(self, executions: int = 0, seconds: float = 0.0, most_findings: int = 3) -> list[Finding]:
        """Try so many inputs, or for so long."""
        until = time.monotonic() + seconds
        last = self.executions + executions
        while self.executions < last if executions else time.monotonic() < until:
            data = self._changed()
            if self.try_out(data):
                self.corpus.append(data)
            if len(self.findings) >= most_findings:
                break
        return self.findings

    def try_out(self, data: bytes) -> bool:
        """Run the target; whether it reached something new."""
        self.executions += 1
        self.coverage.new.clear()
        with self.coverage.watching():
            reason = failure(self._target, data)
        if reason:
            small = smallest(data, lambda smaller: failure(self._target, smaller) != "")
            self.findings.append(Finding(self.name, small, failure(self._target, small)))
        elif self.coverage.new:
            self.kept.append(data)
            return True
        return False

    def _changed(self) -> bytes:
        rng = self._rng
        # What came last reached something new most lately.
        place = max(rng.randrange(len(self.corpus)), rng.randrange(len(self.corpus)))
        data = bytearray(self.corpus[place])
        for _ in range(1 << rng.randrange(4)):
            rng.choice(_CHANGES)(data, rng, self.corpus)
        return bytes(data[:MOST_BYTES])


def failure(target: Target, data: bytes) -> str:
    """What went wrong, or nothing."""
    try:
        target(data)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:600]
    return ""


def smallest(data: bytes, fails: Callable[[bytes], bool], tries: int = 2000) -> bytes:
    """Leave out runs of bytes as long as it still fails."""
    size = max(1, len(data) // 2)
    while size and tries > 0:
        at = 0
        while at < len(data) and tries > 0:
            tries -= 1
            shorter = data[:at] + data[at + size :]
            if fails(shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data


def _spot(data: bytearray, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 1, 2, 4, 16, 64)))


def _word(data: bytearray, rng: random.Random, corpus: list[bytes]) -> None:
    start, end = _spot(data, rng)
    data[start : rng.choice((start, end))] = rng.choice(WORDS)


def _byte(data: bytearray, rng: random.Random, corpus: list[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _bit(data: bytearray, rng: random.Random, corpus: list[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _drop(data: bytearray, rng: random.Random, corpus: list[bytes]) -> None:
    start, end = _spot(data, rng)
    del data[start:end]


def _repeat(data: bytearray, rng: random.Random, corpus: list[bytes]) -> None:
    start, end = _spot(data, rng)
    data[start:start] = data[start:end] * rng.choice((1, 1, 2, 8))


def _splice(data: bytearray, rng: random.Random, corpus: list[bytes]) -> None:
    other = bytearray(rng.choice(corpus))
    start, end = _spot(other, rng)
    at = rng.randrange(len(data) + 1)
    data[at : rng.choice((at, len(data)))] = other[start : rng.choice((end, len(other)))]


_CHANGES = (_word, _word, _word, _byte, _bit, _drop, _drop, _repeat, _splice, _splice)
