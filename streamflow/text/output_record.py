"""What an operator gave out: its open blocks, to be closed when the stream is cut, and the answer so far."""

from typing import Any

import msgspec

from streamflow.errors import StreamflowError
from streamflow.events import BlockComplete, BlockStart, Chunk, Response, StreamCompleted, StreamFailed
from streamflow.fold import CUT_CALL, Fold, with_response


class _Block:
    __slots__ = ("attributes", "kind", "parts", "started", "tool_id", "tool_name")

    def __init__(self, kind: str, attributes: dict[str, Any], started: bool) -> None:
        self.kind = kind
        self.attributes = attributes
        self.started = started
        self.parts: list[str] = []
        self.tool_id: str | None = None
        self.tool_name: str | None = None


class OutputRecord:
    """Told of every event that leaves an operator which changes blocks.

    >>> record = OutputRecord()
    >>> record.add(BlockStart(0, "text")); record.add(Chunk(0, "text", "Hel"))
    >>> record.content(0), record.cut()[0].incomplete, record.cut()
    ('Hel', True, [])
    """

    __slots__ = ("_blocks", "_fold")

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._fold = Fold()

    def add(self, event: object) -> None:
        """An event leaves."""
        kind = event.__class__
        if kind is Chunk:
            self._on_chunk(event)  # type: ignore[arg-type]
            return
        if isinstance(event, BlockStart):
            self._blocks[event.index] = _Block(event.kind, event.attributes, started=True)
        else:
            if isinstance(event, BlockComplete):
                self._blocks.pop(event.index, None)
            self._fold.add(event)

    def _on_chunk(self, chunk: Chunk) -> None:
        block = self._blocks.get(chunk.index)
        if block is None:
            block = self._blocks[chunk.index] = _Block(chunk.kind, {}, started=False)
        if chunk.part is None or chunk.part == "input":
            block.parts.append(chunk.text)
        if chunk.tool_id is not None:
            block.tool_id = chunk.tool_id
        if chunk.tool_name is not None:
            block.tool_name = chunk.tool_name

    def content(self, index: int) -> str:
        """What an open block holds so far."""
        block = self._blocks.get(index)
        return "".join(block.parts) if block is not None else ""

    def close(self, index: int, incomplete: bool = False) -> list[BlockComplete]:
        """Close an open block as it stands; nothing when it never began."""
        block = self._blocks.pop(index, None)
        if block is None or not block.started:
            return []
        event = BlockComplete(
            index,
            block.kind,
            "".join(block.parts),
            tool_id=block.tool_id,
            tool_name=block.tool_name,
            error=CUT_CALL if incomplete and block.kind == "tool_call" else None,
            incomplete=incomplete,
            attributes=block.attributes,
        )
        self._fold.add(event)
        return [event]

    def cut(self) -> list[BlockComplete]:
        """Close all blocks that began and did not end, as incomplete."""
        return [event for index in sorted(self._blocks) for event in self.close(index, incomplete=True)]

    def end(self, event: StreamCompleted | StreamFailed) -> StreamCompleted | StreamFailed:
        """The stream ends. An answer that was folded before this operator is folded again from what really left."""
        if isinstance(event, StreamCompleted):
            if event.response is not None:
                return with_response(event, self._fold)
            self._fold.add(event)
            return event
        self._fold.add(event)
        if event.partial is not None:
            return msgspec.structs.replace(event, partial=self._fold.response())
        return event

    def forget(self) -> None:
        """What left so far is thrown away by everyone."""
        self._blocks.clear()
        self._fold = Fold()

    def partial(self, error: BaseException) -> Response:
        """The answer so far, for an error."""
        return self._fold.response(error if isinstance(error, StreamflowError) else None)

    @property
    def emitted(self) -> bool:
        """True once the stream has begun."""
        return self._fold.emitted
