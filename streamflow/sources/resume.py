"""Stops that were none: a stop sequence inside a block that the model opened is text of that block.

The name of a participant stops the model from speaking for others. Inside a thought or the arguments of a call it may
be a quotation; then the answer so far, with the stop's text, goes to the provider again, which goes on from there.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from streamflow.conversation import open_block
from streamflow.events import BlockComplete, BlockStart, Chunk, Notice, Retrying, StreamCompleted, StreamStart, Usage
from streamflow.requests.blocks import TextBlock
from streamflow.requests.messages import Message
from streamflow.requests.prefill import CALLS_END
from streamflow.sources.context import StreamContext
from streamflow.sources.derived import DerivedRun
from streamflow.sources.live import LiveIterator, LiveStream
from streamflow.sources.run import Run, Stats
from streamflow.stage import Operator

MIN_PROGRESS = 16
SAME_STOPS = 3
WARN_AT_ROUND = 5
MAX_ROUNDS = 24

_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")

Ask = Callable[[str], LiveStream]


def resumed(
    ask: Ask, blocks: Operator[Any, Any], context: StreamContext | None, *, opened: bool = False
) -> LiveStream:
    """The stream of ``ask("")``; while it stops inside an open block, that of ``ask(text so far)`` goes on with it.

    ``blocks`` reads the tags in the text; ``opened`` says that the request opened a block itself. Three stops of one
    kind with less than 16 characters between them end the stream with ``no_progress``; the fifth round is noted, and
    after 24 the stream ends with ``round_limit``.

    >>> from streamflow.operators import xml_block_split
    >>> resumed(lambda text: LiveStream(lambda operators, context: None), xml_block_split(), None)
    LiveStream(xml_block_split())
    """

    def start(operators: Sequence[Operator[Any, Any]], context: StreamContext) -> Run:
        return cast("Run", DerivedRun(_Resumed(ask, blocks, opened), operators, context))

    return LiveStream(start, context, [blocks])


def continued(messages: list[Message], text: str) -> list[Message]:
    """The messages with what the model has said since, for it to go on with.

    >>> [message.text for message in continued([Message.user("hi"), Message.assistant("Well")], ", hel")]
    ['hi', 'Well, hel']
    """
    if messages[-1].role != "assistant":
        return [*messages, Message.assistant(text)]
    last = messages[-1]
    return [*messages[:-1], last.model_copy(update={"content": [*last.content, TextBlock(text=text)]})]


class _Resumed:
    """The events of one answer after the other, as those of one."""

    def __init__(self, ask: Ask, blocks: Operator[Any, Any], opened: bool) -> None:
        self._ask = ask
        self._blocks = blocks
        self._opened = opened
        self._stream = ask("")
        self._events: LiveIterator | None = aiter(self._stream)
        self._texts: list[str] = []
        self._since = 0  # characters since the last stop
        self._round = 0
        self._last_stop = ""
        self._same_stops = 0
        self._stop: Notice | None = None
        self._closing: BlockComplete | None = None
        self._first_text = 0  # where the text block begins that goes on over several answers
        self._base = 0
        self._next_index = 0
        self._offset = 0
        self._spent: Usage | None = None
        self._usage: Usage | None = None

    async def next_events(self) -> list[Any]:
        if self._events is None:
            raise StopAsyncIteration
        event = await anext(self._events)
        handler = _HANDLERS.get(event.__class__)
        return [event] if handler is None else handler(self, event)

    def dispose(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            events.dispose()

    @property
    def stats(self) -> Stats:
        return self._stream.stats or Stats()

    def _passed(self, *events: Any) -> list[Any]:
        """The events, after what was held back for the case that the block goes on."""
        held = [event for event in (self._closing, self._stop) if event is not None]
        self._stop = self._closing = None
        return [*held, *events]

    def _on_start(self, event: StreamStart) -> list[Any]:
        return [] if self._round else [event]

    def _on_retrying(self, event: Retrying) -> list[Any]:
        if not self._round:
            return [event]
        return [msgspec.structs.replace(event, discard=False)]  # what the answers before said stands

    def _on_block_start(self, event: BlockStart) -> list[Any]:
        if event.kind == "text" and self._closing is not None and self._round:
            self._base, self._closing = self._closing.index - event.index, None
            return []
        out = self._passed()
        placed = msgspec.structs.replace(event, index=event.index + self._base)
        self._next_index = max(self._next_index, placed.index + 1)
        if event.kind == "text":
            self._first_text = len(self._texts)
        return [*out, placed]

    def _on_chunk(self, event: Chunk) -> list[Any]:
        start = event.start + self._offset if event.start >= 0 else event.start
        if event.kind == "text":
            self._said(event.text)
        return [msgspec.structs.replace(event, index=event.index + self._base, start=start)]

    def _said(self, text: str) -> None:
        self._texts.append(text)
        self._since += len(text)

    def _on_block_complete(self, event: BlockComplete) -> list[Any]:
        out = self._passed()
        placed = msgspec.structs.replace(event, index=event.index + self._base)
        if event.kind != "text":
            return [*out, placed]
        self._closing = self._whole(placed)
        return out

    def _whole(self, block: BlockComplete) -> BlockComplete:
        if not self._round:
            return block
        return msgspec.structs.replace(block, content="".join(self._texts[self._first_text :]))

    def _on_usage(self, event: Usage) -> list[Any]:
        before = self._spent
        if before is not None:
            sums = {name: _sum(getattr(before, name), getattr(event, name)) for name in _COUNTS}
            event = msgspec.structs.replace(event, **sums)
        self._usage = event
        return [event]

    def _on_notice(self, event: Notice) -> list[Any]:
        if event.code != "stop" or not isinstance(event.raw, str):
            return [event]
        self._stop = event
        return []

    def _on_completed(self, end: StreamCompleted) -> list[Any]:
        stop = self._stop.raw if self._stop is not None else ""
        if end.stop_reason != "stop_sequence" or not stop or self._closing is None or not self._is_false(stop):
            return self._passed(end)
        self._same_stops = self._same_stops + 1 if stop == self._last_stop and self._since < MIN_PROGRESS else 1
        self._last_stop = stop
        if self._same_stops >= SAME_STOPS:
            return self._passed(msgspec.structs.replace(end, stop_reason="no_progress"))
        if self._round >= MAX_ROUNDS:
            return self._passed(msgspec.structs.replace(end, stop_reason="round_limit"))
        return self._go_on(stop)

    def _is_false(self, stop: str) -> bool:
        kind = open_block(self._blocks, "".join(self._texts), opened=self._opened)
        # The end of the calls is left out by the provider, as it was told to, and ends them all the same.
        return kind is not None and (kind != "tool_call" or stop != CALLS_END)

    def _go_on(self, stop: str) -> list[Any]:
        assert self._closing is not None
        self._round += 1
        self._stop = None
        place = sum(map(len, self._texts))
        self._said(stop)
        self._closing = self._whole(self._closing)
        self._since = 0
        self._offset = place + len(stop)
        self._base = self._next_index
        self._spent = self._usage
        self._stream = self._ask("".join(self._texts))
        self._events = aiter(self._stream)
        out: list[Any] = [Chunk(self._closing.index, "text", stop, start=place)]
        if self._round == WARN_AT_ROUND:
            out.append(Notice("resumed", f"{self._round} stops inside open blocks were none so far", stop))
        return out


def _sum(before: int | None, now: int | None) -> int | None:
    if before is None or now is None:
        return before if now is None else now
    return before + now


_HANDLERS: dict[type, Callable[[_Resumed, Any], list[Any]]] = {
    StreamStart: _Resumed._on_start,
    Retrying: _Resumed._on_retrying,
    BlockStart: _Resumed._on_block_start,
    Chunk: _Resumed._on_chunk,
    BlockComplete: _Resumed._on_block_complete,
    Usage: _Resumed._on_usage,
    Notice: _Resumed._on_notice,
    StreamCompleted: _Resumed._on_completed,
}
