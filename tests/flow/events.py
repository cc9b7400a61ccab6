"""Streams to share."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart, Usage


def answer(words: int) -> list[Any]:
    """A text of so many words, as events."""
    texts = [f"word{number} " for number in range(words)]
    return [
        StreamStart("id", "model", "test"),
        BlockStart(0, "text"),
        *(Chunk(0, "text", text, start=sum(map(len, texts[:place]))) for place, text in enumerate(texts[:50])),
        *(Chunk(0, "text", text) for text in texts[50:]),
        BlockComplete(0, "text", "".join(texts)),
        Usage(1, words),
        StreamCompleted("end_turn"),
    ]


def text_of(words: int) -> str:
    return "".join(f"word{number} " for number in range(words))


class Pulled:
    """An async source that can wait; it knows how far it was read and whether it was closed."""

    def __init__(self, events: list[Any], *, pause_s: float = 0.0, error: Exception | None = None) -> None:
        self.events = events
        self.pause_s = pause_s
        self.error = error
        self.taken = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            for event in self.events:
                await asyncio.sleep(self.pause_s)
                self.taken += 1
                yield event
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True
