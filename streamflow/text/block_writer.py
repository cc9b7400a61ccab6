"""Blocks that were found in text, written as events in the order and shape of native blocks.

A reader of text says what it found (``writer.text(...)``, ``writer.open(...)``, ``writer.close(...)``); the writer
numbers the blocks over the whole flow, counts offsets, and keeps what a partial response needs.
"""

from collections.abc import Callable
from typing import Any

from streamflow.errors import ProtocolError
from streamflow.events import BlockComplete, BlockStart, Chunk, Event, Notice
from streamflow.fold import CUT_CALL, Fold
from streamflow.text.calls import parse_arguments

UNCLOSED_POLICIES = ("keep", "show", "error")


def default_id(index: int) -> str:
    """The id of a call that was given none.

    >>> default_id(3)
    'call_3'
    """
    return f"call_{index}"


class OpenBlock:
    """A block that is being written."""

    __slots__ = ("attributes", "index", "kind", "made_id", "parts", "tool_id", "tool_name", "visible")

    def __init__(self, index: int, kind: str, attributes: dict[str, Any], visible: bool) -> None:
        self.index = index
        self.kind = kind
        self.attributes = attributes
        self.visible = visible
        self.parts: list[str] = []
        self.tool_id: str | None = None
        self.tool_name: str | None = None
        self.made_id = False  # the id was not given in the text


class BlockWriter:
    """Collects events in `out`. Places are positions in the text that is being read now; `base` is where it begins.

    >>> writer = BlockWriter()
    >>> writer.text("Hi ", 0)
    >>> block = writer.open("thinking")
    >>> writer.add(block, "hm", 13)
    >>> writer.close(block)
    >>> [type(event).__name__ for event in writer.take()]
    ['BlockStart', 'Chunk', 'BlockComplete', 'BlockStart', 'Chunk', 'BlockComplete']
    """

    def __init__(self, *, on_unclosed: str = "keep", make_id: Callable[[int], str] = default_id) -> None:
        self.out: list[Event] = []
        self.fold = Fold()
        self.base = 0
        self.next_index = 0
        self.current: OpenBlock | None = None  # the running text block
        self.text_attributes: dict[str, Any] = {}
        self.text_starts: list[tuple[int, int, int]] = []  # where in the turn's text each run of a text block begins
        self._has_gap = False  # something was taken out of the running text
        self.calls = 0  # whole calls that were written in this turn
        self._on_unclosed = on_unclosed
        self._make_id = make_id
        self._open: list[OpenBlock] = []
        self._muted = False
        self._before: tuple[int, list[Event]] = (0, self.out)
        # From a position in the text to its offset in the raw text of the turn, None where that is not known; and the
        # same from later positions on, where text was left out.
        self._shift: int | None = 0
        self._shifts: list[tuple[int, int | None]] = []

    def take(self) -> list[Event]:
        """What happened since the last call."""
        out, self.out = self.out, []
        return out

    def emit(self, event: Event) -> None:
        """Any event, in its place."""
        self.out.append(event)
        if not self._muted:
            self.fold.add(event)

    # -- offsets

    def begin_turn(self) -> None:
        """Text of a new turn: offsets begin again."""
        self.base = 0
        self.calls = 0
        self._shift = 0
        self._shifts.clear()

    def locate(self, position: int, offset: int) -> None:
        """Text from this position of the stream on has that offset in the turn's raw text, -1 for none."""
        shift = offset - position if offset >= 0 else None
        last = self._shifts[-1][1] if self._shifts else self._shift
        if shift != last:
            self._shifts.append((position, shift))

    def offset_of(self, place: int) -> int:
        """The offset in the turn's raw text of a place in the text that is being read; -1 where it has none."""
        position = self.base + place
        while self._shifts and self._shifts[0][0] <= position:
            self._shift = self._shifts.pop(0)[1]
        return -1 if self._shift is None else position + self._shift

    # -- text

    def text(self, text: str, place: int) -> None:
        """Visible text; its block opens with its first character."""
        block = self.current
        if block is None:
            block = self.current = self._begin("text", self.text_attributes, True)
            self.text_starts.append((self.base + place, block.index, 0))
        elif self._has_gap:
            self.text_starts.append((self.base + place, block.index, sum(map(len, block.parts))))
        self._has_gap = False
        self._say(block, text, place, 0)

    def end_text(self, incomplete: bool = False, opaque: Any = None, content: str | None = None) -> None:
        """Close the running text block. Opaque material is never lost: if need be it goes into an empty block."""
        if self.current is None and opaque is not None:
            self.current = self._begin("text", self.text_attributes, True)
        if self.current is not None:
            block, self.current = self.current, None
            self._complete(block, incomplete=incomplete, opaque=opaque, content=content)

    # -- other blocks

    def open(self, kind: str, attributes: dict[str, Any] | None = None, visible: bool = False) -> OpenBlock:
        """Open a block; running text ends before it."""
        self.end_text()
        return self._begin(kind, attributes or {}, visible)

    def _begin(self, kind: str, attributes: dict[str, Any], visible: bool) -> OpenBlock:
        block = OpenBlock(self.next_index, kind, attributes, visible)
        self.next_index += 1
        self._open.append(block)
        self.out.append(BlockStart(block.index, kind, attributes))
        return block

    def open_call(self, name: str, id: str | None, attributes: dict[str, Any] | None = None) -> OpenBlock:
        """Open a tool call: its name, then its id, as native calls have them."""
        block = self.open("tool_call", attributes)
        self.name_call(block, name, id)
        return block

    def name_call(self, block: OpenBlock, name: str, id: str | None) -> None:
        """Say the name and the id of a call that was opened before they were known."""
        block.made_id = not id
        self._name_call(block, name, id or self._make_id(block.index))

    def _name_call(self, block: OpenBlock, name: str | None, id: str | None) -> None:
        if name:
            block.tool_name = name
            self.out.append(Chunk(block.index, block.kind, name, False, 0, "name", None, name, -1))
        if id:
            block.tool_id = id
            self.out.append(Chunk(block.index, block.kind, id, False, 0, "id", id, block.tool_name, -1))

    def open_result(self, id: str | None, name: str | None, failed: bool) -> OpenBlock:
        """Open the result of a tool."""
        block = self.open("tool_result", {"is_error": True} if failed else None)
        self._name_call(block, name, id)
        return block

    def add(self, block: OpenBlock, text: str, place: int, depth: int = 0) -> None:
        """Content of an open block. In a call it is JSON of the arguments; a place of -1 means made, not read."""
        if text:
            self._say(block, text, place, depth)

    def _say(self, block: OpenBlock, text: str, place: int, depth: int) -> None:
        start = -1
        if place >= 0:
            start = self.offset_of(place)
            if self._shifts and (size := self._shifts[0][0] - self.base - place) < len(text):
                # Text was left out in the middle: each side has an offset of its own.
                self._say(block, text[:size], place, depth)
                self._say(block, text[size:], place + size, depth)
                return
        block.parts.append(text)
        part = "input" if block.kind == "tool_call" else None
        self.out.append(
            Chunk(block.index, block.kind, text, block.visible, depth, part, block.tool_id, block.tool_name, start)
        )

    def close(self, block: OpenBlock, raw: str | None = None, error: str | None = None) -> None:
        """A block whose own close was seen. A call's arguments are parsed here, once, unless something is wrong."""
        value: Any = None
        if block.kind == "tool_call":
            if error is None:
                value, error = parse_arguments("".join(block.parts))
            self.calls += error is None
        elif block.kind == "tool_result" and block.attributes.get("is_error"):
            error = "".join(block.parts)
        self._complete(block, input=value, error=error, raw=raw)

    def unclosed(self, block: OpenBlock, raw: str | None = None) -> None:
        """The text ended inside this block: it is incomplete, and the policy says what else happens."""
        if block not in self._open:
            return  # on_unclosed="error" ended it in the middle of the text, and now the failed stream is wound up
        is_call = block.kind == "tool_call"
        self._complete(block, error=CUT_CALL if is_call else None, raw=raw, incomplete=True)
        if self._on_unclosed == "show":
            shown = raw if is_call else "".join(block.parts)
            if shown and not block.visible:
                # Said a second time, so without an offset: each character of the raw text belongs to one chunk.
                text = self._begin("text", {}, True)
                text.parts.append(shown)
                self.out.append(Chunk(text.index, "text", shown, True))
                self._complete(text)
        elif self._on_unclosed == "error":
            what = f"the call of {block.tool_name!r}" if is_call else f"a block of kind {block.kind!r}"
            raise ProtocolError(f"the text ended inside {what}", kind="unclosed_block")

    def _complete(
        self,
        block: OpenBlock,
        *,
        input: Any = None,
        error: str | None = None,
        incomplete: bool = False,
        raw: str | None = None,
        opaque: Any = None,
        content: str | None = None,
    ) -> None:
        self._open.remove(block)
        joined = "".join(block.parts)
        self.emit(
            BlockComplete(
                block.index,
                block.kind,
                content if content == joined and content is not None else joined,  # one copy of the text is enough
                tool_id=block.tool_id,
                tool_name=block.tool_name,
                input=input,
                error=error,
                incomplete=incomplete,
                raw=raw,
                opaque=opaque,
                attributes=block.attributes,
            )
        )

    def notice(self, code: str, message: str, raw: str) -> None:
        """Something was taken out of the text and is told beside it."""
        self._has_gap = True
        self.emit(Notice(code, message, raw))

    def fail(self) -> None:
        """The stream failed: that blocks are unclosed is no fault of their own any more."""
        if self._on_unclosed == "error":
            self._on_unclosed = "keep"

    # -- text before the stream

    def mute(self) -> None:
        """What is read from now on came before the stream: nothing of it is said."""
        self._muted = True
        self._before = (self.next_index, self.out)
        self.out = []

    def unmute(self) -> None:
        """The stream begins: blocks that are open now begin with it, a call with the arguments that it has already."""
        self._muted = False
        self.begin_turn()
        self.next_index, self.out = self._before
        self.current = None
        self._open = [block for block in self._open if block.kind != "text"]
        for block in self._open:
            block.index = self.next_index
            self.next_index += 1
            self.out.append(BlockStart(block.index, block.kind, block.attributes))
            self._name_call(block, block.tool_name, self._make_id(block.index) if block.made_id else block.tool_id)
            before, block.parts = "".join(block.parts), []
            if block.kind == "tool_call":
                self.add(block, before, -1)
