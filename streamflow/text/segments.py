"""Events of blocks to segments: one start, pure content, one end each, numbered in the order of their starts.

The body of a file, a patch or a command is shown alone, whether it came between tags or as an argument of a call; the
start of a call waits until what it must say (the path) is known. What the end of the stream closed is incomplete, and
so is a call whose arguments are not whole: nothing that reads segments can take half a call for a whole one.
"""

import json
from collections.abc import Mapping
from typing import Any

from streamflow.events import TERMINAL, BlockComplete, BlockStart, Chunk, Retrying, StreamCompleted
from streamflow.text.json_fields import JsonFields
from streamflow.text.segment_body import SegmentBody
from streamflow.text.segment_events import SegmentContent, SegmentEnd, SegmentStart
from streamflow.text.segment_syntax import SegmentSyntax

Segment = SegmentStart | SegmentContent | SegmentEnd

SEGMENT_TYPES = {"thinking": "reasoning"}
"""Kinds of blocks whose segment type has another name."""

MAX_DEFERRED = 1 << 20
"""Characters of a body that wait for the path; beyond them the segment starts without it."""


class _Ids:
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"{self._prefix}{self._count}"


class _OpenSegment:
    """A segment whose content is the content of its block."""

    def __init__(self, ids: _Ids, segment_type: str, metadata: dict[str, Any]) -> None:
        self._ids = ids
        self.segment_type = segment_type
        self.metadata = metadata
        self.id = ""

    def begin(self) -> list[Segment]:
        self.id = self._ids.next()
        return [SegmentStart(self.id, self.segment_type, {"metadata": dict(self.metadata)})]

    def add(self, chunk: Chunk) -> list[Segment]:
        return self._content(chunk.text)

    def close(self, complete: BlockComplete | None) -> list[Segment]:
        whole = complete is not None and not complete.incomplete and complete.error is None
        return [self._end(whole)]

    def _content(self, text: str) -> list[Segment]:
        return [SegmentContent(self.id, {"delta": text})] if text else []

    def _end(self, whole: bool) -> Segment:
        return SegmentEnd(self.id, {} if whole else {"incomplete": True})

    def _late(self, metadata: dict[str, Any]) -> list[Segment]:
        return [SegmentContent(self.id, {"delta": "", "metadata": metadata})] if metadata else []


class _OpenCall(_OpenSegment):
    """A call by name: it starts when its arguments begin, because until then the name may go on."""

    def __init__(
        self, ids: _Ids, attributes: dict[str, Any], syntaxes: Mapping[str, SegmentSyntax], tool_ids: bool
    ) -> None:
        super().__init__(ids, "tool_call", attributes)
        self._syntaxes = syntaxes
        self._tool_ids = tool_ids
        self._name = ""
        self._tool_id: str | None = None
        self._body: _Body | None = None

    def begin(self) -> list[Segment]:
        return []

    def add(self, chunk: Chunk) -> list[Segment]:
        self._name = chunk.tool_name or self._name
        self._tool_id = chunk.tool_id or self._tool_id
        if chunk.part == "name" and not chunk.tool_name:
            self._name += chunk.text
        if chunk.part in ("name", "id"):
            return []
        out = self._name_is_known()
        if self._body is None:
            return out + self._content(chunk.text)
        return out + self._show(self._body.feed(chunk.text))

    def close(self, complete: BlockComplete | None) -> list[Segment]:
        started = self._name
        if complete is not None:
            self._name = complete.tool_name or self._name
            self._tool_id = complete.tool_id or self._tool_id
        out = self._name_is_known()
        whole = complete is not None and not complete.incomplete and complete.error is None
        if self._body is None:
            late = {"tool_name": self._name} if self._name != started and started else {}
            return [*out, *self._late(late), self._end(whole)]
        value = complete.input if complete is not None else None
        arguments = value if isinstance(value, dict) else {}
        out += self._show(self._body.finish(arguments, whole))
        if not self.id:
            out += self._begin_body(self._body)
        # Arguments beside the body are known for certain only now.
        known = {*self.metadata, self._body.syntax.body}
        late = {name: argument for name, argument in arguments.items() if name not in known} if whole else {}
        return [*out, *self._late(late), self._end(whole and self._body.came and not self._body.repeats)]

    def _name_is_known(self) -> list[Segment]:
        if self.id or self._body is not None:
            return []
        if self._tool_ids and self._tool_id:
            self.metadata = {"tool_id": self._tool_id, **self.metadata}
        syntax = None if self.metadata.get("call") == "custom" else self._syntaxes.get(self._name.lower())
        if syntax is None or "server" in self.metadata:
            if self._name:
                self.metadata = {"tool_name": self._name, **self.metadata}
            return super().begin()
        self.segment_type = syntax.segment_type
        self._body = _Body(syntax)
        return [] if syntax.after else super().begin()

    def _show(self, content: str) -> list[Segment]:
        body = self._body
        assert body is not None
        if self.id:
            return self._content(content)
        if content:
            body.waiting.append(content)
            body.waiting_size += len(content)
        if not body.start_is_known and body.waiting_size <= MAX_DEFERRED:
            return []
        return self._begin_body(body)

    def _begin_body(self, body: "_Body") -> list[Segment]:
        self.metadata = {**body.known_values(), **self.metadata}
        waiting = "".join(body.waiting)
        body.waiting.clear()
        return [*super().begin(), *self._content(waiting)]


class _Body:
    """The body of a call, read out of its JSON arguments as they arrive."""

    def __init__(self, syntax: SegmentSyntax) -> None:
        self.syntax = syntax
        self.values: dict[str, str] = {}
        self.waiting: list[str] = []
        self.waiting_size = 0
        self.came = False
        self.repeats = False  # an argument came twice: what was shown is not what a parser of the whole would take
        self._fields = JsonFields((*syntax.after, syntax.body))
        self._partial: dict[str, list[str]] = {}
        self._content = SegmentBody(syntax.markers)
        self._closed = False

    @property
    def start_is_known(self) -> bool:
        return len(self.values) == len(self.syntax.after)

    def known_values(self) -> dict[str, str]:
        """What the start can say; a value that was cut is better than none, its segment is incomplete."""
        return {**self.values, **{name: "".join(parts) for name, parts in self._partial.items()}}

    def feed(self, text: str) -> str:
        """Content that is certain."""
        out: list[str] = []
        for piece in self._fields.feed(text):
            if piece.name in self.values or (self._closed and piece.name == self.syntax.body):
                self.repeats = True
            elif piece.name != self.syntax.body:
                self._partial.setdefault(piece.name, []).append(piece.text)
                if piece.final:
                    self.values[piece.name] = "".join(self._partial.pop(piece.name))
            else:
                out.append(self._content.feed(piece.text))
                if piece.final:
                    self.came = self._closed = True
                    out.append(self._content.flush(closed=True))
        return "".join(out)

    def finish(self, arguments: dict[str, Any], whole: bool) -> str:
        """The rest of the content. A body that is no text is shown as its JSON."""
        if self._closed:
            return ""
        rest = self._content.flush(closed=False)
        value = arguments.get(self.syntax.body)
        if whole and value is not None and not self.came:
            self.came = True
            return rest + (value if isinstance(value, str) else _json(value))
        return rest


def _json(value: Any) -> str:
    # Not orjson: it refuses integers beyond 64 bits.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class SegmentView:
    """The stage: events of blocks, or plain strings, to segments; everything else passes.

    >>> view = SegmentView({})
    >>> [event.type for event in [*view.feed("Hi"), *view.feed(" there"), *view.flush()]]
    ['SEGMENT_START', 'SEGMENT_CONTENT', 'SEGMENT_CONTENT', 'SEGMENT_END']
    """

    def __init__(self, syntaxes: Mapping[str, SegmentSyntax], *, prefix: str = "seg_", tool_ids: bool = False) -> None:
        self._ids = _Ids(prefix)
        self._by_tool = {row.tool_name.lower(): row for row in syntaxes.values()}
        self._tool_ids = tool_ids
        self._open: dict[int, _OpenSegment] = {}
        self._plain: _OpenSegment | None = None  # the text of strings that came without events

    def feed(self, item: Any) -> list[Any]:
        """Take an event or a string."""
        kind = item.__class__
        if kind is Chunk:
            segment = self._open.get(item.index)
            if segment is not None:
                return segment.add(item)
            out = self._begin(item.index, item.kind, {})
            return out + self._open[item.index].add(item)
        if kind is str:
            return self._string(item)
        if kind is BlockStart:
            return self._begin(item.index, item.kind, item.attributes)
        if kind is BlockComplete:
            return self._complete(item)
        if kind in TERMINAL or (kind is Retrying and item.discard):
            return [*self._end_plain(whole=kind is StreamCompleted), *self._close_all(), item]
        return [item]

    def flush(self) -> list[Any]:
        """Strings end here as they should; a block that is still open was cut."""
        return [*self._end_plain(whole=True), *self._close_all()]

    def abort(self, error: BaseException) -> list[Any]:
        """What is open is incomplete."""
        return [*self._end_plain(whole=False), *self._close_all()]

    def _begin(self, index: int, kind: str, attributes: dict[str, Any]) -> list[Any]:
        out = self._end_plain(whole=True)
        if (before := self._open.pop(index, None)) is not None:
            out += before.close(None)
        if kind == "tool_call":
            segment: _OpenSegment = _OpenCall(self._ids, dict(attributes), self._by_tool, self._tool_ids)
        else:
            segment = _OpenSegment(self._ids, SEGMENT_TYPES.get(kind, kind), dict(attributes))
        self._open[index] = segment
        return out + segment.begin()

    def _complete(self, complete: BlockComplete) -> list[Any]:
        segment = self._open.pop(complete.index, None)
        if segment is not None:
            return segment.close(complete)
        # A block that came at once, without its start and chunks.
        out = self._begin(complete.index, complete.kind, complete.attributes)
        if complete.content:
            out += self._open[complete.index].add(_whole_chunk(complete))
        return out + self._open.pop(complete.index).close(complete)

    def _string(self, text: str) -> list[Any]:
        out: list[Any] = []
        if self._plain is None and text:
            self._plain = _OpenSegment(self._ids, "text", {})
            out += self._plain.begin()
        return out if self._plain is None else out + self._plain.add(Chunk(-1, "text", text))

    def _end_plain(self, whole: bool) -> list[Any]:
        segment, self._plain = self._plain, None
        return [] if segment is None else segment.close(BlockComplete(-1, "text", incomplete=not whole))

    def _close_all(self) -> list[Any]:
        out: list[Any] = []
        for segment in self._open.values():
            out += segment.close(None)
        self._open.clear()
        return out


def _whole_chunk(complete: BlockComplete) -> Chunk:
    part = "input" if complete.kind == "tool_call" else None
    return Chunk(complete.index, complete.kind, complete.content, False, 0, part, complete.tool_id, complete.tool_name)
