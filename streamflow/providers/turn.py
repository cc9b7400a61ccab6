"""One model turn in the making: the bookkeeping that every dialect shares.

A dialect says what happened (``turn.text("Hel")``, ``turn.call(...)``, ``turn.complete()``); the turn opens and closes
blocks, counts offsets, joins torn surrogate pairs, parses arguments once and keeps what a partial response needs.
"""

from typing import Any

import orjson

from streamflow.errors import StreamflowError
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    Event,
    Notice,
    Response,
    StreamCompleted,
    StreamStart,
    Usage,
)
from streamflow.fold import CUT_CALL, Fold
from streamflow.providers.refusals import refusal_in
from streamflow.text.calls import CallBook, OpenCall, parse_arguments


class Block:
    """An open block."""

    __slots__ = (
        "attributes", "call", "index", "kind", "opaque", "part", "parts", "tool_id", "tool_name", "torn", "visible"
    )  # fmt: skip

    def __init__(self, index: int, kind: str, attributes: dict[str, Any]) -> None:
        self.index = index
        self.kind = kind
        self.visible = kind == "text"
        self.part = "input" if kind == "tool_call" else None
        self.attributes = attributes
        self.parts: list[str] = []
        self.tool_id: str | None = None
        self.tool_name: str | None = None
        self.opaque: Any = None
        self.call: OpenCall | None = None
        self.torn = ""  # the first half of a surrogate pair whose second half has not come


class Turn:
    """Collects the events of one turn in `out`; dialects call its methods in the order of the wire.

    >>> turn = Turn("openai")
    >>> turn.text("Hel"); turn.text("lo"); turn.stop("end_turn", "stop"); turn.complete()
    >>> [type(event).__name__ for event in turn.take()]
    ['StreamStart', 'BlockStart', 'Chunk', 'Chunk', 'BlockComplete', 'StreamCompleted']
    """

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.out: list[Event] = []
        self.started = False
        self.ended = False
        self.unknown_events = 0
        self.has_torn_text = False  # set when a payload held a lone surrogate: from then on text is checked
        self.stop_reason: str | None = None
        self.raw_stop_reason: str | None = None
        self._fold = Fold()
        self._next_index = 0
        self._offset = 0
        self._current: Block | None = None
        self._open: list[Block] = []
        self._book = CallBook()
        self._call_blocks: dict[OpenCall, Block] = {}
        self._usage: Usage | None = None
        self._noticed: set[str] = set()
        self._early: list[Event] = []  # what was noticed before the start, which must be the first event
        self._refused = False
        self._called = False

    # -- the turn itself

    def begin(self, id: object = None, model: object = None) -> None:
        """Emit the start, once."""
        if not self.started:
            self.started = True
            self._emit(StreamStart(str(id or ""), str(model or ""), self.provider))
            for event in self._early:
                self._emit(event)
            self._early.clear()

    def take(self) -> list[Event]:
        """What happened since the last call."""
        out, self.out = self.out, []
        return out

    def stop(self, stop_reason: str, raw: str | None) -> None:
        """The provider said why it stopped; the turn goes on until `complete`."""
        self.stop_reason = stop_reason
        self.raw_stop_reason = raw

    def complete(self) -> None:
        """The provider's end marker was seen."""
        if self.ended:
            return
        self.begin()
        self._close_all()
        reason = self.stop_reason or ("tool_use" if self._called else "end_turn")
        if reason == "end_turn" and self._refused:
            reason = "refusal"
        self._emit(StreamCompleted(reason, self.raw_stop_reason))
        self.ended = True

    def abort(self) -> None:
        """The stream failed: close what is open as incomplete."""
        if not self.ended:
            if self._early:
                self.begin()
            self._close_all(incomplete=True)
            self.ended = True

    def partial(self, error: BaseException | None = None) -> Response:
        """What came so far."""
        return self._fold.response(error if isinstance(error, StreamflowError) else None)

    @property
    def emitted(self) -> bool:
        """True once anything left the turn."""
        return self._fold.emitted

    def _emit(self, event: Event) -> None:
        self.out.append(event)
        self._fold.add(event)

    # -- running text

    def text(self, text: str) -> None:
        """Visible text of the answer."""
        block = self._current
        if block is None or block.kind != "text":
            block = self._switch("text")
        if text.__class__ is not str:
            raise TypeError(f"{type(text).__name__} instead of text")
        if self.has_torn_text:
            text = self._mend(block, text)
            if not text:
                return
        block.parts.append(text)
        self.out.append(Chunk(block.index, "text", text, True, 0, None, None, None, self._offset))
        self._offset += len(text)

    def thinking(self, text: str, opaque: Any = None) -> None:
        """Thought, with whatever must be sent back with it. Lists of opaque material add up."""
        block = self._current
        if block is None or block.kind != "thinking":
            block = self._switch("thinking")
        if text:
            self.add(block, text)
        if opaque is not None:
            if isinstance(opaque, list) and isinstance(block.opaque, list):
                block.opaque += opaque
            else:
                block.opaque = opaque

    def refusal(self, text: str) -> None:
        """The model's own words of refusal."""
        self._refused = True
        block = self._current
        if block is None or block.kind != "refusal":
            block = self._switch("refusal")
        self.add(block, text)

    def pause_text(self) -> None:
        """Close the running text or thinking block, if any."""
        if self._current is not None:
            block, self._current = self._current, None
            self.close(block)

    def _switch(self, kind: str) -> Block:
        self.pause_text()
        self._current = block = self.open(kind)
        return block

    @property
    def current_index(self) -> int:
        """The index of the running block, or of the last one."""
        return self._current.index if self._current is not None else max(0, self._next_index - 1)

    # -- blocks in general

    def open(
        self,
        kind: str,
        attributes: dict[str, Any] | None = None,
        tool_id: str | None = None,
        tool_name: str | None = None,
    ) -> Block:
        """Open a block that the dialect closes itself."""
        self.begin()
        block = Block(self._next_index, kind, attributes or {})
        self._next_index += 1
        self._open.append(block)
        self.out.append(BlockStart(block.index, kind, block.attributes))
        if tool_name:
            self._name(block, tool_name)
        if tool_id:
            self._identify(block, tool_id)
        return block

    def add(self, block: Block, text: str) -> None:
        """Content of an open block."""
        if text.__class__ is not str:
            raise TypeError(f"{type(text).__name__} instead of text")
        if self.has_torn_text:
            text = self._mend(block, text)
        if not text:
            return
        block.parts.append(text)
        start = -1
        visible = block.visible
        if visible:
            start = self._offset
            self._offset = start + len(text)
        self.out.append(
            Chunk(block.index, block.kind, text, visible, 0, block.part, block.tool_id, block.tool_name, start)
        )

    def close(self, block: Block, incomplete: bool = False) -> None:
        """Close a block; a tool call's arguments are parsed here, once."""
        if block not in self._open:
            return
        self._open.remove(block)
        if block is self._current:
            self._current = None
        if block.torn:
            block.torn = ""
            self._say_replacement(block)
        content = "".join(block.parts)
        value: Any = None
        error: str | None = None
        raw: str | None = None
        if block.kind == "tool_call":
            raw = content
            if incomplete:
                error = CUT_CALL
            elif block.attributes.get("call") == "custom":
                value = content
            else:
                value, error = parse_arguments(content)
                self._called = self._called or "server" not in block.attributes
        self._emit(
            BlockComplete(
                block.index,
                block.kind,
                content,
                tool_id=block.tool_id,
                tool_name=block.tool_name,
                input=value,
                error=error,
                incomplete=incomplete,
                raw=raw,
                opaque=block.opaque,
                attributes=block.attributes,
            )
        )

    def whole(
        self,
        kind: str,
        content: str,
        attributes: dict[str, Any] | None = None,
        tool_id: str | None = None,
        tool_name: str | None = None,
        opaque: Any = None,
    ) -> Block:
        """A block that arrived at once: start, one chunk, complete."""
        self.pause_text()
        block = self.open(kind, attributes, tool_id, tool_name)
        self.add(block, content)
        block.opaque = opaque
        self.close(block)
        return block

    def _close_all(self, incomplete: bool = False) -> None:
        for block in list(self._open):
            self.close(block, incomplete)

    # -- tool calls

    def call(
        self,
        index: int | None,
        id: str | None,
        name: str | None,
        arguments: str | None,
        kind: str = "function",
    ) -> Block:
        """A fragment of a client's tool call, in whatever shape the provider sends it."""
        call, is_new = self._book.route(index, id, name, arguments, kind)
        if is_new:
            self.pause_text()
            block = self.open("tool_call", {"call": kind} if kind != "function" else None)
            block.call = call
            self._call_blocks[call] = block
        block = self._call_blocks[call]
        if name and (new := call.add_name(name)):
            self._name(block, new)
        if (call.id or id) and block.tool_id is None:
            self._identify(block, str(call.id or id))
        if arguments:
            call.parts.append(arguments)
            self.add(block, arguments)
        return block

    def whole_call(self, id: str | None, name: str | None, arguments: Any, opaque: Any = None) -> Block:
        """A call that arrived at once, its arguments as a value."""
        text = arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()
        return self.whole("tool_call", text, tool_id=id, tool_name=name, opaque=opaque)

    def _name(self, block: Block, name: str) -> None:
        block.tool_name = (block.tool_name or "") + name
        self.out.append(
            Chunk(block.index, block.kind, name, False, 0, "name", block.tool_id, block.tool_name, -1)
        )

    def _identify(self, block: Block, id: str) -> None:
        block.tool_id = id
        self.out.append(Chunk(block.index, block.kind, id, False, 0, "id", id, block.tool_name, -1))

    # -- facts about the turn

    def usage(self, usage: Usage) -> None:
        """Totals so far; a later message may leave out what an earlier one said."""
        before = self._usage
        if before is not None:
            usage = Usage(
                *(
                    getattr(before, field) if (new := getattr(usage, field)) is None else new
                    for field in Usage.__struct_fields__
                )
            )
        if usage != before:
            self.begin()
            self._usage = usage
            self._emit(usage)

    def cite(self, **fields: Any) -> None:
        """A citation in the running block."""
        self.begin()
        self._emit(Citation(fields.pop("index", self.current_index), **fields))

    def emit(self, event: Event) -> None:
        """Any other event, in its place."""
        self.begin()
        self._emit(event)

    def notice(self, code: str, message: str = "", raw: Any = None) -> None:
        """Something worth knowing."""
        self.remark(Notice(code, message, raw))

    def remark(self, event: Event) -> None:
        """Something about the stream that may come before it has begun."""
        if self.started:
            self._emit(event)
        else:
            self._early.append(event)

    def notice_once(self, code: str, message: str = "", raw: Any = None) -> None:
        """The same, but only the first time that this message comes."""
        if (key := f"{code}:{message}") not in self._noticed:
            self._noticed.add(key)
            self.notice(code, message, raw)

    def unknown(self, name: str, payload: dict[str, Any], event: str = "") -> None:
        """An event that the dialect does not know: an error body is raised as such, anything else is a notice."""
        if (refusal := refusal_in(self.provider, payload, event)) is not None:
            raise refusal
        self.unknown_events += 1
        self.notice_once("unknown_event", name, payload)

    # -- torn surrogate pairs

    def _mend(self, block: Block, text: str) -> str:
        text = block.torn + text
        block.torn = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            block.torn = text[-1]
            text = text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _say_replacement(self, block: Block) -> None:
        careful, self.has_torn_text = self.has_torn_text, False
        self.add(block, "\ufffd")
        self.has_torn_text = careful
