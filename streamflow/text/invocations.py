"""Segments to invocations of tools, by the rows of the syntax registry.

A segment of a registered type gives its tool the body and the metadata as arguments; a ``tool_call`` has its arguments
as JSON. An invocation is runnable only when its segment closed properly, its arguments are whole, and the turn ended
as it should.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from streamflow.events import Retrying, StreamCompleted, StreamFailed, StreamStart
from streamflow.fold import CUT_CALL
from streamflow.text.calls import parse_arguments
from streamflow.text.segment_events import Invocation, SegmentContent, SegmentEnd, SegmentStart
from streamflow.text.segment_syntax import SegmentSyntax, typed_arguments

CUT_SEGMENT = "the call is not complete; it must not be run"


class _OpenInvocation:
    """A segment that calls a tool and has not ended."""

    __slots__ = ("metadata", "parts", "segment_id", "syntax")

    def __init__(self, start: SegmentStart, syntax: SegmentSyntax | None) -> None:
        self.segment_id = start.segment_id
        self.metadata = dict(start.metadata)
        self.syntax = syntax
        self.parts: list[str] = []

    def add(self, content: SegmentContent) -> None:
        self.parts.append(content.delta)
        self.metadata.update(content.metadata)

    def close(self, incomplete: bool) -> Invocation:
        metadata = dict(self.metadata)
        tool_id = metadata.pop("tool_id", None)
        body = "".join(self.parts)
        arguments: Any
        if self.syntax is not None:
            name = self.syntax.tool_name
            arguments, error = _syntax_arguments(self.syntax, metadata, body)
        else:
            name = str(metadata.get("tool_name") or "")
            arguments, error = (body, None) if metadata.get("call") == "custom" else _json_arguments(body)
            if error is None and not name:
                error = "the call names no tool"
        if incomplete:
            error = error or CUT_SEGMENT
        return Invocation(self.segment_id, name, arguments, incomplete, error, tool_id)


def _syntax_arguments(syntax: SegmentSyntax, metadata: dict[str, Any], body: str) -> tuple[dict[str, Any], str | None]:
    arguments, error = typed_arguments(syntax, {**metadata, syntax.body: body})
    missing = [name for name in syntax.after if name not in arguments]
    if missing:
        error = f"{syntax.tool_name} needs {', '.join(missing)}"
    return arguments, error


def _json_arguments(body: str) -> tuple[Any, str | None]:
    arguments, error = parse_arguments(body)
    if error is None and not isinstance(arguments, dict):
        error = f"the arguments are not a JSON object but {type(arguments).__name__}"
    return arguments, error


class InvocationBook:
    """The stage: passes everything on and adds the invocations of a turn before its end.

    >>> book = InvocationBook({})
    >>> for event in (SegmentStart("seg_1", "tool_call", {"metadata": {"tool_name": "f"}}), SegmentEnd("seg_1")):
    ...     _ = book.feed(event)
    >>> book.feed(StreamCompleted("tool_use"))[0].arguments
    {}
    """

    def __init__(self, syntaxes: Mapping[str, SegmentSyntax], early: bool = False) -> None:
        self._syntaxes = syntaxes
        self._early = early
        self._open: dict[str, _OpenInvocation] = {}
        self._closed: list[Invocation] = []
        self._started = False

    def feed(self, item: Any) -> list[Any]:
        """Pass on; at the end of a turn the invocations come first."""
        kind = item.__class__
        if kind is SegmentContent:
            if (segment := self._open.get(item.segment_id)) is not None:
                segment.add(item)
        elif kind is SegmentEnd:
            return [item, *self._end(item)]
        elif kind is SegmentStart:
            self._start(item)
        elif kind is StreamStart:
            self._started = True
        elif kind is StreamCompleted or kind is StreamFailed:
            self._started = False
            return [*self._take(kind is StreamCompleted and item.stop_reason != "cancelled"), item]
        elif kind is Retrying and item.discard:
            self._open.clear()
            self._closed.clear()
        return [item]

    def flush(self) -> list[Any]:
        """Without a start there was no turn to be cut: the end of plain text is its end."""
        return self._take(whole=not self._started)

    def abort(self, error: BaseException) -> list[Any]:
        """Everything is reported, nothing is runnable."""
        return self._take(whole=False)

    def _start(self, start: SegmentStart) -> None:
        syntax = self._syntaxes.get(start.segment_type)
        if (syntax is not None or start.segment_type == "tool_call") and "server" not in start.metadata:
            self._open[start.segment_id] = _OpenInvocation(start, syntax)

    def _end(self, end: SegmentEnd) -> list[Invocation]:
        segment = self._open.pop(end.segment_id, None)
        if segment is None:
            return []
        invocation = segment.close(end.incomplete)
        if self._early:
            return [invocation]
        self._closed.append(invocation)
        return []

    def _take(self, whole: bool) -> list[Invocation]:
        for segment in self._open.values():
            self._closed.append(segment.close(incomplete=True))
        self._open.clear()
        closed, self._closed = self._closed, []
        return closed if whole else [_unrunnable(invocation) for invocation in closed]


def _unrunnable(invocation: Invocation) -> Invocation:
    return msgspec.structs.replace(invocation, incomplete=True, error=invocation.error or CUT_CALL)
