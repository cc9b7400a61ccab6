"""The blocks that are open at some place in a stream, so that an operator can close them when the stream is cut."""

from typing import Any

from streamflow.events import BlockComplete, BlockStart, Chunk
from streamflow.fold import CUT_CALL


class _Block:
    __slots__ = ("attributes", "kind", "parts", "started", "tool_id", "tool_name")

    def __init__(self, kind: str, attributes: dict[str, Any], started: bool) -> None:
        self.kind = kind
        self.attributes = attributes
        self.started = started
        self.parts: list[str] = []
        self.tool_id: str | None = None
        self.tool_name: str | None = None


class OpenBlocks:
    """Keeps what an operator gave out: which blocks began and what they hold so far.

    >>> blocks = OpenBlocks()
    >>> blocks.start(BlockStart(0, "text")); blocks.add(Chunk(0, "text", "Hel"))
    >>> blocks.content(0), blocks.cut()[0].incomplete, blocks.cut()
    ('Hel', True, [])
    """

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}

    def __contains__(self, index: int) -> bool:
        return index in self._blocks

    def start(self, event: BlockStart) -> None:
        """A block begins."""
        self._blocks[event.index] = _Block(event.kind, event.attributes, started=True)

    def add(self, chunk: Chunk) -> None:
        """A block has more content."""
        block = self._blocks.get(chunk.index)
        if block is None:
            block = self._blocks[chunk.index] = _Block(chunk.kind, {}, started=False)
        if chunk.part in (None, "input"):
            block.parts.append(chunk.text)
        if chunk.tool_id is not None:
            block.tool_id = chunk.tool_id
        if chunk.tool_name is not None:
            block.tool_name = chunk.tool_name

    def content(self, index: int) -> str:
        """What a block holds so far."""
        block = self._blocks.get(index)
        return "".join(block.parts) if block is not None else ""

    def close(self, index: int) -> None:
        """A block is complete."""
        self._blocks.pop(index, None)

    def completion(self, index: int, incomplete: bool = False) -> BlockComplete:
        """The end of an open block as it stands; closes it."""
        block = self._blocks.pop(index)
        return BlockComplete(
            index,
            block.kind,
            "".join(block.parts),
            tool_id=block.tool_id,
            tool_name=block.tool_name,
            error=CUT_CALL if incomplete and block.kind == "tool_call" else None,
            incomplete=incomplete,
            attributes=block.attributes,
        )

    def cut(self) -> list[BlockComplete]:
        """Close all blocks that began and did not end, as incomplete."""
        begun = [index for index, block in self._blocks.items() if block.started]
        closed = [self.completion(index, incomplete=True) for index in sorted(begun)]
        self._blocks.clear()
        return closed
