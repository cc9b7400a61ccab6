"""Interleaved timing: every contender runs in every round, so that a noisy machine is noisy for all."""

import gc
import statistics
import time
from collections.abc import Callable

import msgspec

ROUNDS = 5
LEAST_S = 0.03


class Timing(msgspec.Struct, frozen=True):
    """Microseconds an event in each round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> str:
        """The least and the most."""
        return f"{min(self.rounds):.2f}-{max(self.rounds):.2f}"

    def over(self, other: "Timing") -> "Timing":
        """How many times the other one, round by round: in each the machine was equally busy for both."""
        return Timing(tuple(one / two for one, two in zip(self.rounds, other.rounds, strict=True)))


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
        if number == 1:
            # What the contenders have loaded is no load for each other: the collector leaves it alone from here on.
            gc.collect()
            gc.freeze()
        for name, contender in contenders.items():
            gc.collect()
            repeats, used = 0, 0.0
            # The quick ones run until the clock can tell.
            while used < LEAST_S:
                begun = time.process_time()
                contender()
                used += time.process_time() - begun
                repeats += 1
            if number:
                samples[name].append(used / repeats / events * 1e6)
    gc.unfreeze()
    return {name: Timing(tuple(taken)) for name, taken in samples.items()}
