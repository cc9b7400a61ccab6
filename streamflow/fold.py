"""The one fold from events to a `Response`."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from streamflow.errors import error_from_info
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    GeneratedImage,
    Image,
    Response,
    Retrying,
    ServerTool,
    Stamped,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    ToolCall,
    Usage,
)

CUT_CALL = "the stream ended before the turn was complete; this call must not be run"


class _OpenBlock:
    """A block whose completion has not come yet."""

    __slots__ = ("attributes", "kind", "parts", "tool_id", "tool_name")

    def __init__(self, kind: str, attributes: dict[str, Any]) -> None:
        self.kind = kind
        self.attributes = attributes
        self.parts: list[str] = []
        self.tool_id: str | None = None
        self.tool_name: str | None = None

    def completed(self, index: int) -> BlockComplete:
        return BlockComplete(
            index,
            self.kind,
            "".join(self.parts),
            tool_id=self.tool_id,
            tool_name=self.tool_name,
            error=CUT_CALL if self.kind == "tool_call" else None,
            incomplete=True,
            attributes=self.attributes,
        )


class Fold:
    """Adds up events; `response` may be asked for at any moment.

    >>> fold = Fold()
    >>> for event in (BlockStart(0, "text"), Chunk(0, "text", "Hel"), Chunk(0, "text", "lo")):
    ...     fold.add(event)
    >>> fold.response().text, fold.response().complete
    ('Hello', False)
    """

    def __init__(self) -> None:
        self._start = StreamStart()
        self._blocks: list[BlockComplete] = []
        self._open: dict[int, _OpenBlock] = {}
        self._citations: list[Citation] = []
        self._images: list[GeneratedImage] = []
        self._image_places: list[int] = []
        self._usage: Usage | None = None
        self._completed: StreamCompleted | None = None
        self._failed: StreamFailed | None = None
        self.emitted = False

    def add(self, event: object) -> None:
        """Take one event in; what is no event of ours is ignored."""
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def add_all(self, events: Iterable[object]) -> None:
        """Take in events that came together, most of which are text."""
        find = self._open.get
        for event in events:
            if event.__class__ is Chunk and event.part is None and (block := find(event.index)) is not None:
                block.parts.append(event.text)
            else:
                self.add(event)
                find = self._open.get  # a new attempt begins with no blocks

    def _on_start(self, event: StreamStart) -> None:
        self.emitted = True
        if not self._start.id:
            self._start = event

    def _on_block_start(self, event: BlockStart) -> None:
        self._open[event.index] = _OpenBlock(event.kind, event.attributes)

    def _on_chunk(self, event: Chunk) -> None:
        block = self._open.get(event.index)
        if block is None:
            block = self._open[event.index] = _OpenBlock(event.kind, {})
        part = event.part
        if part is None:
            block.parts.append(event.text)
            return
        if part == "input":
            block.parts.append(event.text)
        block.tool_id = event.tool_id or block.tool_id
        block.tool_name = event.tool_name or block.tool_name

    def _on_block_complete(self, event: BlockComplete) -> None:
        self._open.pop(event.index, None)
        self._blocks.append(event)

    def _on_citation(self, event: Citation) -> None:
        self._citations.append(event)

    def _on_image(self, event: Image) -> None:
        self._images.append(event.image)
        self._image_places.append(len(self._blocks))

    def _on_usage(self, event: Usage) -> None:
        self._usage = event

    def _on_completed(self, event: StreamCompleted) -> None:
        self._completed = event

    def _on_failed(self, event: StreamFailed) -> None:
        self._failed = event

    def _on_retrying(self, event: Retrying) -> None:
        if event.discard:
            self._blocks = []
            self._open = {}
            self._citations = []
            self._images = []
            self._image_places = []

    def _on_stamped(self, event: Stamped) -> None:
        self.add(event.event)

    def open_blocks(self) -> list[BlockComplete]:
        """What would close the blocks that are open now, as incomplete."""
        return [block.completed(index) for index, block in self._open.items()]

    def response(self, error: Any = None) -> Response:
        """The answer so far; complete only when the end was seen and nothing failed."""
        if error is None and self._failed is not None:
            error = error_from_info(self._failed.error)
        end = self._completed
        complete = end is not None and error is None and end.stop_reason != "cancelled"
        blocks = self._blocks + self.open_blocks()
        blocks.sort(key=lambda block: block.index)
        return Response(
            text=_joined(blocks, "text"),
            thinking=_joined(blocks, "thinking"),
            refusal=_joined(blocks, "refusal"),
            tool_calls=[call_of(block, complete) for block in blocks if is_client_call(block)],
            server_tools=[_server_tool(block) for block in blocks if "server" in block.attributes],
            blocks=blocks,
            citations=list(self._citations),
            images=list(self._images),
            image_places=list(self._image_places),
            usage=self._usage,
            stop_reason=end.stop_reason if end else None,
            raw_stop_reason=end.raw_stop_reason if end else None,
            model=self._start.model,
            id=self._start.id,
            complete=complete,
            error=error,
        )


_HANDLERS: dict[type, Callable[[Fold, Any], None]] = {
    StreamStart: Fold._on_start,
    BlockStart: Fold._on_block_start,
    Chunk: Fold._on_chunk,
    BlockComplete: Fold._on_block_complete,
    Citation: Fold._on_citation,
    Image: Fold._on_image,
    Usage: Fold._on_usage,
    StreamCompleted: Fold._on_completed,
    StreamFailed: Fold._on_failed,
    Stamped: Fold._on_stamped,
    Retrying: Fold._on_retrying,
}


def _joined(blocks: list[BlockComplete], kind: str) -> str:
    return "".join(block.content for block in blocks if block.kind == kind)


def is_client_call(block: BlockComplete) -> bool:
    """True for a tool call that the client is asked to run.

    >>> is_client_call(BlockComplete(0, "tool_call")), is_client_call(BlockComplete(0, "text"))
    (True, False)
    """
    return block.kind == "tool_call" and "server" not in block.attributes


def call_of(block: BlockComplete, turn_ended: bool = True) -> ToolCall:
    """The call that a completed block holds; not runnable unless the turn ended properly.

    >>> call_of(BlockComplete(0, "tool_call", tool_id="c", tool_name="f", input={})).runnable
    True
    """
    error = block.error
    if error is None and (block.incomplete or not turn_ended):
        error = CUT_CALL
    return ToolCall(
        id=block.tool_id or "",
        name=block.tool_name or "",
        arguments=block.input,
        raw=block.content if block.raw is None else block.raw,
        error=error,
        kind=str(block.attributes.get("call", "function")),
    )


def _server_tool(block: BlockComplete) -> ServerTool:
    return ServerTool(
        str(block.attributes["server"]), block.tool_id, block.tool_name, block.content, block.input
    )


def collect(events: Iterable[Any]) -> Response:
    """Fold events into one `Response`.

    >>> collect([BlockComplete(0, "text", "Hi"), StreamCompleted("end_turn", "stop")]).complete
    True
    """
    fold = Fold()
    fold.add_all(events)
    return fold.response()


def with_response(end: StreamCompleted, fold: Fold) -> StreamCompleted:
    """The same end with the folded response inside.

    >>> with_response(StreamCompleted(), Fold()).response.text
    ''
    """
    fold.add(end)
    return msgspec.structs.replace(end, response=fold.response())
