"""Interleaved timing: every contender runs in every round, so that a noisy machine is noisy for all."""

import gc
import statistics
import time
from collections.abc import Callable

import msgspec

ROUNDS = 5


class Timing(msgspec.Struct, frozen=True):
    """Microseconds an event: the median of the rounds, the least and the most."""

    median: float
    least: float
    most: float


class Row(msgspec.Struct, frozen=True):
    """One figure of one contender, and the bar that it must meet, if it has one."""

    measure: str
    contender: str
    value: float
    bar: str = ""
    met: bool = True
    spread: str = ""


def at_least(measure: str, contender: str, value: float, bar: float, spread: str = "") -> Row:
    """A figure that must not be smaller than its bar."""
    return Row(measure, contender, value, f">= {bar:g}", value >= bar, spread)


def at_most(measure: str, contender: str, value: float, bar: float, spread: str = "") -> Row:
    """A figure that must not be larger than its bar."""
    return Row(measure, contender, value, f"<= {bar:g}", value <= bar, spread)


def interleaved(contenders: dict[str, Callable[[], object]], events: int, rounds: int = ROUNDS) -> dict[str, Timing]:
    """Process time an event for each contender, in `rounds` interleaved rounds after one to warm up."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, contender in contenders.items():
            gc.collect()
            begun = time.process_time()
            contender()
            if number:
                samples[name].append((time.process_time() - begun) / events * 1e6)
    return {name: Timing(statistics.median(taken), min(taken), max(taken)) for name, taken in samples.items()}
