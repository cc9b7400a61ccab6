"""Ends for streams that have none: what is open is closed, and the failure is said."""

from collections.abc import Iterable
from typing import Any

from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    ErrorInfo,
    Notice,
    Response,
    Stamped,
    StreamFailed,
    StreamStart,
)
from streamflow.fold import Fold

PRODUCER_LOST = ErrorInfo(
    "StreamTruncated", "the producer of this stream was lost", retryable=True, kind="producer_lost"
)


def closing_events(past: Iterable[Stamped], error: ErrorInfo) -> list[Any]:
    """What ends a stream after its past: the completions of open blocks, then the failure with what was said so far.

    >>> past = [Stamped(0, 0.0, BlockStart(0, "text")), Stamped(1, 0.0, Chunk(0, "text", "Hel"))]
    >>> block, failed = closing_events(past, PRODUCER_LOST)
    >>> block.content, block.incomplete, failed.error.kind, failed.partial.text
    ('Hel', True, 'producer_lost', 'Hel')
    """
    fold = Fold()
    for stamped in past:
        event = stamped.event
        if event.__class__ is Notice and event.code == "reset" and isinstance(event.raw, Response):
            for earlier in _as_events(event.raw):
                fold.add(earlier)
        else:
            fold.add(event)
    closing: list[Any] = list(fold.open_blocks())
    for block in closing:
        fold.add(block)
    fold.add(StreamFailed(error))
    return [*closing, StreamFailed(error, fold.response())]


def _as_events(snapshot: Response) -> Iterable[Any]:
    """Events that make the same answer."""
    yield StreamStart(snapshot.id, snapshot.model)
    for block in snapshot.blocks:
        yield from _block_events(block)
    yield from snapshot.citations
    if snapshot.usage is not None:
        yield snapshot.usage


def _block_events(block: BlockComplete) -> Iterable[Any]:
    yield BlockStart(block.index, block.kind, block.attributes)
    if not block.incomplete:
        yield block
    elif block.kind == "tool_call":
        yield Chunk(
            block.index, block.kind, block.content, part="input", tool_id=block.tool_id, tool_name=block.tool_name
        )
    else:
        yield Chunk(block.index, block.kind, block.content)
