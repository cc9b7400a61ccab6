"""AG-UI 1.0, spoken by us: a run's input in, its events out. Pure.

Its client checks every step: the run is started first, everything is closed before it is finished, nothing follows,
and an optional field that has no value is absent, never null.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from streamflow.events import Citation, ErrorInfo, Notice, StreamCompleted, StreamFailed, StreamStart, Usage
from streamflow.server.parts import Discarded, PartDelta, PartEnd, Parts, PartStart, ToolResult


class RunInput(msgspec.Struct, frozen=True, rename="camel"):
    """What ``POST /agui`` takes."""

    thread_id: str
    run_id: str
    messages: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []
    context: list[dict[str, Any]] = []
    state: Any = None
    forwarded_props: Any = None


class RunEvents:
    """Events become the events of a run.

    >>> run = RunEvents("t", "r")
    >>> [event["type"] for event in run.feed(StreamCompleted())]
    ['RUN_STARTED', 'RUN_FINISHED']
    """

    def __init__(self, thread_id: str, run_id: str) -> None:
        self._run = {"threadId": thread_id, "runId": run_id}
        self._run_id = run_id
        self._parts = Parts(run_id)
        self._begun = False
        self._over = False
        self._model = ""
        self._provider = ""
        self._usage: Usage | None = None
        self._open: dict[int, list[dict[str, Any]]] = {}  # what closes each open part

    def feed(self, event: Any) -> list[dict[str, Any]]:
        """The events of one event."""
        out: list[dict[str, Any]] = []
        for part in self._parts.feed(event):
            handler = _HANDLERS.get(part.__class__)
            if handler is not None and not self._over:
                out += handler(self, part)
        return out

    def begin(self) -> list[dict[str, Any]]:
        """The run is started, once."""
        if self._begun:
            return []
        self._begun = True
        return [{"type": "RUN_STARTED", **self._run}]

    def _message(self, index: int) -> str:
        return f"{self._run_id}-{index}"

    def _on_stream_start(self, event: StreamStart) -> list[dict[str, Any]]:
        self._model, self._provider = event.model, event.provider
        return self.begin()

    def _on_start(self, part: PartStart) -> list[dict[str, Any]]:
        message = {"messageId": self._message(part.index)}
        if part.kind == "text":
            self._open[part.index] = [{"type": "TEXT_MESSAGE_END", **message}]
            return [*self.begin(), {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"}]
        if part.kind == "thinking":
            ends = [{"type": "REASONING_MESSAGE_END", **message}, {"type": "REASONING_END", **message}]
            self._open[part.index] = ends
            start = {"type": "REASONING_MESSAGE_START", **message, "role": "reasoning"}
            return [*self.begin(), {"type": "REASONING_START", **message}, start]
        self._open[part.index] = [{"type": "TOOL_CALL_END", "toolCallId": part.id}]
        call = {"type": "TOOL_CALL_START", "toolCallId": part.id, "toolCallName": part.name}
        return [*self.begin(), call]

    def _on_delta(self, part: PartDelta) -> list[dict[str, Any]]:
        if not part.text:
            return []  # the client refuses an empty delta
        if part.kind == "tool_call":
            return [{"type": "TOOL_CALL_ARGS", "toolCallId": part.id, "delta": part.text}]
        kind = "TEXT_MESSAGE_CONTENT" if part.kind == "text" else "REASONING_MESSAGE_CONTENT"
        return [{"type": kind, "messageId": self._message(part.index), "delta": part.text}]

    def _on_end(self, part: PartEnd) -> list[dict[str, Any]]:
        return self._open.pop(part.index, [])

    def _on_result(self, part: ToolResult) -> list[dict[str, Any]]:
        result = {"toolCallId": part.id, "content": part.content, "role": "tool"}
        return [*self.begin(), {"type": "TOOL_CALL_RESULT", "messageId": f"{part.id}-result", **result}]

    def _on_citation(self, event: Citation) -> list[dict[str, Any]]:
        value = {"url": event.url, "title": event.title, "text": event.text}
        return [*self.begin(), {"type": "CUSTOM", "name": "citation", "value": value}]

    def _on_notice(self, event: Notice) -> list[dict[str, Any]]:
        return [
            *self.begin(),
            {"type": "CUSTOM", "name": "notice", "value": {"code": event.code, "message": event.message}},
        ]

    def _on_usage(self, event: Usage) -> list[dict[str, Any]]:
        self._usage = event
        return []

    def _close(self) -> list[dict[str, Any]]:
        ends = [end for ends in self._open.values() for end in ends]
        self._open.clear()
        return ends

    def _on_completed(self, event: StreamCompleted) -> list[dict[str, Any]]:
        self._over = True
        outcome = {"type": "cancelled" if event.stop_reason == "cancelled" else "success"}
        finished: dict[str, Any] = {"type": "RUN_FINISHED", **self._run, "outcome": outcome}
        return [*self.begin(), *self._close(), {**finished, **self._counts()}]

    def _on_failed(self, event: StreamFailed) -> list[dict[str, Any]]:
        return self._fail(event.error)

    def _on_discarded(self, part: Discarded) -> list[dict[str, Any]]:
        return self._fail(ErrorInfo("StreamTruncated", "the answer broke off and was begun anew; ask again"))

    def _fail(self, error: ErrorInfo) -> list[dict[str, Any]]:
        self._over = True
        failed = {"type": "RUN_ERROR", "message": error.message, "code": error.kind or error.type}
        return [*self.begin(), *self._close(), {**failed, **self._counts()}]

    def _counts(self) -> dict[str, Any]:
        usage = self._usage
        if usage is None:
            return {}
        counts = {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "model": self._model or None,
            "provider": self._provider or None,
        }
        return {"usage": [{name: value for name, value in counts.items() if value is not None}]}


_HANDLERS: dict[type, Callable[[Any, Any], list[dict[str, Any]]]] = {
    StreamStart: RunEvents._on_stream_start,
    PartStart: RunEvents._on_start,
    PartDelta: RunEvents._on_delta,
    PartEnd: RunEvents._on_end,
    ToolResult: RunEvents._on_result,
    Citation: RunEvents._on_citation,
    Notice: RunEvents._on_notice,
    Usage: RunEvents._on_usage,
    StreamCompleted: RunEvents._on_completed,
    StreamFailed: RunEvents._on_failed,
    Discarded: RunEvents._on_discarded,
}


def conversation(run: RunInput) -> list[dict[str, Any]]:
    """The messages of a run; what the application says about its context goes in front.

    >>> conversation(RunInput("t", "r", [{"id": "1", "role": "user", "content": "hi"}]))
    [{'role': 'user', 'content': 'hi'}]
    """
    said: list[dict[str, Any]] = []
    notes = [f"{note.get('description', '')}: {note.get('value', '')}" for note in run.context]
    if notes:
        said.append({"role": "system", "content": "\n".join(notes)})
    return [*said, *_messages(run.messages)]


_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))


def _messages(messages: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for message in messages:
        role = message.get("role")
        if role not in _ROLES:
            continue  # thoughts and activities are for the screen
        made: dict[str, Any] = {"role": role, "content": _content(message.get("content"))}
        if message.get("toolCalls"):
            made["tool_calls"] = message["toolCalls"]
        if role == "tool":
            result: dict[str, Any] = {"type": "tool_result", "tool_id": str(message.get("toolCallId"))}
            result |= {"content": made["content"] or "", "is_error": bool(message.get("error"))}
            made = {"role": "tool", "content": [result]}
        yield made


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [_part(part) if isinstance(part, dict) else part for part in content]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    source = part.get("source")
    if not isinstance(source, dict):
        return part
    media_type = source.get("mimeType") or source.get("mediaType")
    if source.get("type") == "data":
        source = {"type": "base64", "media_type": media_type, "data": source.get("value")}
    elif source.get("type") == "url":
        source = {"type": "url", "url": source.get("value"), "media_type": media_type}
    return {"type": part.get("type"), "source": source}


def tool_definitions(run: RunInput) -> list[dict[str, Any]]:
    """The tools of the application.

    >>> tool_definitions(RunInput("t", "r", tools=[{"name": "f", "description": "", "parameters": {}}]))[0]["name"]
    'f'
    """
    empty = {"type": "object", "properties": {}}
    return [
        {
            "name": str(tool.get("name", "")),
            "description": str(tool.get("description", "")),
            "parameters": tool.get("parameters") or empty,
        }
        for tool in run.tools
    ]
