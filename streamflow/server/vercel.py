"""The UI message stream of Vercel's AI SDK (version 1), spoken by us: UI messages in, stream parts out. Pure."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from streamflow.events import Citation, ErrorInfo, Image, Notice, StreamCompleted, StreamFailed, Usage
from streamflow.requests.history import INTERRUPTED
from streamflow.server.parts import Discarded, PartDelta, PartEnd, Parts, PartStart, ToolResult
from streamflow.server.refusals import Refused

HEADER = {"x-vercel-ai-ui-message-stream": "v1"}
DONE = "[DONE]"
# The client ends with an error at a reason that it does not know.
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool-calls",
    "refusal": "content-filter",
    "content_filter": "content-filter",
}
_PART_TYPES = {"text": "text", "thinking": "reasoning"}


class UIMessageStream:
    """Events become stream parts. Everything that was begun is ended before the end, and ``[DONE]`` is the last word.

    >>> stream = UIMessageStream("m1")
    >>> [part["type"] for part in stream.feed(StreamCompleted("end_turn")) if part != DONE]
    ['start', 'start-step', 'finish-step', 'finish']
    """

    def __init__(self, message_id: str) -> None:
        self._message_id = message_id
        self._parts = Parts(message_id)
        self._open: dict[int, str] = {}
        self._calls: set[str] = set()
        self._sources = 0
        self._begun = False
        self._over = False

    def feed(self, event: Any) -> list[Any]:
        """The parts of one event."""
        out: list[Any] = []
        for part in self._parts.feed(event):
            handler = _HANDLERS.get(part.__class__)
            if handler is not None and not self._over:
                out += handler(self, part)
        return out

    def _begin(self) -> list[Any]:
        if self._begun:
            return []
        self._begun = True
        return [{"type": "start", "messageId": self._message_id}, {"type": "start-step"}]

    def _close(self) -> list[Any]:
        """Parts that are open end, so that none lies across the end of a step."""
        ends = [{"type": f"{kind}-end", "id": str(index)} for index, kind in self._open.items()]
        self._open.clear()
        return ends

    def _on_start(self, part: PartStart) -> list[Any]:
        if part.kind == "tool_call":
            self._calls.add(part.id)
            made: dict[str, Any] = {"type": "tool-input-start", "toolCallId": part.id, "toolName": part.name}
            return [*self._begin(), {**made, "providerExecuted": True} if part.server else made]
        kind = self._open[part.index] = _PART_TYPES[part.kind]
        return [*self._begin(), {"type": f"{kind}-start", "id": str(part.index)}]

    def _on_delta(self, part: PartDelta) -> list[Any]:
        if part.kind == "tool_call":
            return [{"type": "tool-input-delta", "toolCallId": part.id, "inputTextDelta": part.text}]
        return [{"type": f"{_PART_TYPES[part.kind]}-delta", "id": str(part.index), "delta": part.text}]

    def _on_end(self, part: PartEnd) -> list[Any]:
        if part.kind != "tool_call":
            kind = self._open.pop(part.index)
            return [{"type": f"{kind}-end", "id": str(part.index)}]
        block = part.block
        made: dict[str, Any] = {"toolCallId": part.id, "toolName": part.name}
        if part.server:
            made["providerExecuted"] = True
        if block.error is not None:
            return [{"type": "tool-input-error", **made, "input": block.content, "errorText": block.error}]
        return [{"type": "tool-input-available", **made, "input": block.input}]

    def _on_result(self, part: ToolResult) -> list[Any]:
        if part.id not in self._calls:
            return []  # the client fails at a result whose call it has not seen
        more = {"providerExecuted": True} if part.server else {}
        if part.error is not None:
            return [{"type": "tool-output-error", "toolCallId": part.id, "errorText": part.error, **more}]
        return [{"type": "tool-output-available", "toolCallId": part.id, "output": part.content, **more}]

    def _on_citation(self, event: Citation) -> list[Any]:
        if not event.url:
            return []
        self._sources += 1
        source = {"type": "source-url", "sourceId": f"source-{self._sources}", "url": event.url}
        return [*self._begin(), {**source, "title": event.title} if event.title else source]

    def _on_image(self, event: Image) -> list[Any]:
        image = event.image
        address = f"data:{image.media_type};base64,{image.data}" if image.data else image.url
        return [*self._begin(), {"type": "file", "mediaType": image.media_type, "url": address}] if address else []

    def _on_usage(self, event: Usage) -> list[Any]:
        counts = {name: value for name in _COUNTS if (value := getattr(event, name)) is not None}
        return [*self._begin(), {"type": "message-metadata", "messageMetadata": {"usage": counts}}]

    def _on_notice(self, event: Notice) -> list[Any]:
        data = {"code": event.code, "message": event.message}
        return [*self._begin(), {"type": "data-notice", "data": data, "transient": True}]

    def _on_completed(self, event: StreamCompleted) -> list[Any]:
        self._over = True
        closed = [*self._begin(), *self._close()]
        if event.stop_reason == "cancelled":
            return [*closed, {"type": "abort", "reason": event.raw_stop_reason or "stopped"}, DONE]
        reason = _FINISH.get(event.stop_reason, "other")
        return [*closed, {"type": "finish-step"}, {"type": "finish", "finishReason": reason}, DONE]

    def _on_failed(self, event: StreamFailed) -> list[Any]:
        return self._fail(event.error)

    def _on_discarded(self, part: Discarded) -> list[Any]:
        return self._fail(ErrorInfo("StreamTruncated", "the answer broke off and was begun anew; ask again"))

    def _fail(self, error: ErrorInfo) -> list[Any]:
        self._over = True
        return [*self._begin(), *self._close(), {"type": "error", "errorText": error.message}, DONE]


_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_HANDLERS: dict[type, Callable[[Any, Any], list[Any]]] = {
    PartStart: UIMessageStream._on_start,
    PartDelta: UIMessageStream._on_delta,
    PartEnd: UIMessageStream._on_end,
    ToolResult: UIMessageStream._on_result,
    Citation: UIMessageStream._on_citation,
    Image: UIMessageStream._on_image,
    Usage: UIMessageStream._on_usage,
    Notice: UIMessageStream._on_notice,
    StreamCompleted: UIMessageStream._on_completed,
    StreamFailed: UIMessageStream._on_failed,
    Discarded: UIMessageStream._on_discarded,
}


class UIChatBody(msgspec.Struct, frozen=True):
    """What ``POST /api/chat`` takes; a client may add fields of its own."""

    messages: list[dict[str, Any]]
    id: str = ""
    trigger: str = "submit-message"
    model: str | None = None
    provider: str | None = None
    tools: list[dict[str, Any]] = []


def conversation(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """UI messages as messages of ours; a message of the assistant with results becomes two or more.

    >>> conversation([{"role": "user", "parts": [{"type": "text", "text": "hi"}]}])
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'hi'}]}]
    """
    said: list[dict[str, Any]] = []
    for message in messages:
        role, parts = message.get("role"), message.get("parts")
        if role not in ("system", "user", "assistant") or not isinstance(parts, list):
            raise Refused(400, "bad_request", "a UI message has a role and parts")
        said += _turns(str(role), [part for part in parts if isinstance(part, dict)])
    return said


def _turns(role: str, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    content: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []

    def settle() -> None:
        if content:
            turns.append({"role": role, "content": list(content)})
        turns.extend({"role": "tool", "content": [result]} for result in results)
        content.clear()
        results.clear()

    for part in parts:
        kind = str(part.get("type"))
        if kind == "step-start":
            settle()
        elif kind.startswith("tool-") or kind == "dynamic-tool":
            call, result = _tool(kind, part)
            if call is not None:
                content.append(call)
                results.append(result)  # calls side by side: their results follow all of them
        else:
            if results:
                settle()
            content += _CONTENT[kind](part) if kind in _CONTENT else []
    settle()
    return turns


def _tool(kind: str, part: dict[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    state = part.get("state")
    if state == "input-streaming" or part.get("providerExecuted"):
        return None, {}
    name = str(part.get("toolName") or kind.removeprefix("tool-"))
    tool_id = str(part.get("toolCallId"))
    value = part.get("input")
    call = {"type": "tool_call", "id": tool_id, "name": name, "input": value if isinstance(value, dict) else {}}
    result: dict[str, Any] = {"type": "tool_result", "tool_id": tool_id, "tool_name": name}
    if state == "output-available":
        output = part.get("output")
        words = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        return call, {**result, "content": words}
    # A call that was never answered must not be left alone: providers refuse such a history.
    return call, {**result, "content": str(part.get("errorText") or INTERRUPTED), "is_error": True}


def _text(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": str(part.get("text", ""))}] if part.get("text") else []


def _file(part: dict[str, Any]) -> list[dict[str, Any]]:
    url, media_type = str(part.get("url", "")), str(part.get("mediaType", ""))
    if media_type.startswith("image/"):
        return [{"type": "image_url", "image_url": {"url": url}}]
    return [{"type": "file", "file": {"file_data": url, "filename": part.get("filename")}}]


# Thoughts are not sent back: their signatures are not part of a UI message.
_CONTENT: dict[str, Callable[[dict[str, Any]], list[dict[str, Any]]]] = {"text": _text, "file": _file}
