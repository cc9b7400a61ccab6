"""Synthesizers for tests: as slow, as wrong and as talkative as a test needs them."""

import asyncio
from collections.abc import Callable

from streamflow.audio import Wave

RATE = 8000
SECONDS_PER_CHARACTER = 0.05


def tone(seconds: float) -> bytes:
    """A wave file of that length."""
    return Wave(RATE, 1, 2, bytes(2 * round(seconds * RATE))).file()


class Voice:
    """Takes `latency(text)` seconds, then gives a sound whose length follows the text's."""

    def __init__(
        self, latency: Callable[[str], float] = lambda text: 0.0, fails: Callable[[str], bool] = lambda text: False
    ) -> None:
        self._latency = latency
        self._fails = fails
        self.begun: list[str] = []
        self.made: list[str] = []
        self.cancelled: list[str] = []
        self.running = 0
        self.most_running = 0

    async def synthesize(self, text: str) -> bytes:
        self.begun.append(text)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(self._latency(text))
        except asyncio.CancelledError:
            self.cancelled.append(text)
            raise
        finally:
            self.running -= 1
        if self._fails(text):
            raise ConnectionError(f"no voice for {text}")
        self.made.append(text)
        return tone(len(text) * SECONDS_PER_CHARACTER)
