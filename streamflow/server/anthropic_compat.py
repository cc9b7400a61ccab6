"""Anthropic's messages, spoken by us: requests in, events and messages out. Pure."""

from collections.abc import Callable
from typing import Any

import msgspec

from streamflow.events import BlockComplete, ErrorInfo, Response, StreamCompleted, StreamFailed, StreamStart, Usage
from streamflow.requests.history import call_id
from streamflow.server.parts import Discarded, PartDelta, PartEnd, Parts, PartStart
from streamflow.server.refusals import Refused, status_of

_STOP = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_use",
    "pause": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
CANCELLED = ErrorInfo("StreamflowError", "the answer was stopped before its end", kind="cancelled")


class MessagesBody(msgspec.Struct, frozen=True):
    """What ``POST /v1/messages`` takes. What is not listed here is refused by name, not dropped."""

    messages: list[dict[str, Any]]
    model: str = ""
    max_tokens: int | None = None
    system: str | list[dict[str, Any]] | None = None
    stream: bool = False
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None


IGNORED = frozenset(("metadata", "service_tier"))
# Where the provider behind us is Anthropic it can be asked for these too.
PASSED_ON = frozenset(("thinking", "output_config", "container", "context_management", "mcp_servers", "inference_geo"))
_KNOWN = frozenset(MessagesBody.__struct_fields__) | IGNORED
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def messages_body(raw: dict[str, Any]) -> tuple[MessagesBody, dict[str, Any]]:
    """The request, and the options that only some providers know.

    >>> messages_body({"messages": [], "colour": "red"})
    Traceback (most recent call last):
    streamflow.server.refusals.Refused: unknown field 'colour'
    """
    unknown = [name for name in raw if name not in _KNOWN and name not in PASSED_ON]
    if unknown:
        raise Refused(400, "invalid_request_error", f"unknown field {unknown[0]!r}")
    try:
        body = msgspec.convert({name: value for name, value in raw.items() if name in _KNOWN}, MessagesBody)
    except msgspec.ValidationError as error:
        raise Refused(400, "invalid_request_error", str(error)) from None
    return body, {name: value for name, value in raw.items() if name in PASSED_ON and value is not None}


def asked_messages(body: MessagesBody) -> list[dict[str, Any]]:
    """The conversation, with the instructions in front."""
    if not body.system:
        return body.messages
    return [{"role": "system", "content": body.system}, *body.messages]


def options_of(body: MessagesBody) -> dict[str, Any]:
    """The common options of a request, in our words.

    >>> options_of(MessagesBody([], max_tokens=5, tool_choice={"type": "tool", "name": "f"}))
    {'max_tokens': 5, 'tool_choice': 'f'}
    """
    choice = body.tool_choice or {}
    named = choice.get("name") if choice.get("type") == "tool" else _CHOICES.get(str(choice.get("type")))
    found = {
        "max_tokens": body.max_tokens,
        "temperature": body.temperature,
        "top_p": body.top_p,
        "top_k": body.top_k,
        "stop": body.stop_sequences or None,
        "tool_choice": named,
    }
    return {name: value for name, value in found.items() if value is not None}


class MessageEvents:
    """Events become the events of a message; each is an object whose ``type`` is the name of its event too.

    >>> events = MessageEvents("msg_1", "m")
    >>> [event["type"] for event in events.feed(StreamCompleted())]
    ['message_start', 'message_delta', 'message_stop']
    """

    def __init__(self, id: str, model: str) -> None:
        self._id = id
        self._model = model
        self._parts = Parts(id)
        self._places: dict[int, int] = {}
        self._count = 0
        self._current: int | None = None
        self._waiting: dict[int, list[Any]] = {}
        self._begun = False
        self._usage = Usage()
        self._over = False

    def feed(self, event: Any) -> list[dict[str, Any]]:
        """The events of one event."""
        out: list[dict[str, Any]] = []
        for part in self._parts.feed(event):
            handler = _EVENTS.get(part.__class__)
            if handler is not None and not self._over:
                out += handler(self, part)
        return out

    def _begin(self) -> list[dict[str, Any]]:
        if self._begun:
            return []
        self._begun = True
        message: dict[str, Any] = {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_of(self._usage),
        }
        return [{"type": "message_start", "message": message}]

    def _on_stream_start(self, event: StreamStart) -> list[dict[str, Any]]:
        self._model = event.model or self._model
        return []

    def _on_usage(self, event: Usage) -> list[dict[str, Any]]:
        self._usage = event
        return []

    def _on_start(self, part: PartStart) -> list[dict[str, Any]]:
        if part.server:
            return []
        if self._current is not None:
            # Here blocks come one after the other; a call that overlaps another one waits for its end.
            self._waiting[part.index] = [part]
            return []
        self._current = part.index
        place = self._places[part.index] = self._count
        self._count += 1
        start = {"type": "content_block_start", "index": place, "content_block": _BLOCKS[part.kind](part)}
        return [*self._begin(), start]

    def _on_delta(self, part: PartDelta) -> list[dict[str, Any]]:
        if part.index in self._waiting:
            self._waiting[part.index].append(part)
            return []
        place = self._places.get(part.index)
        if place is None:
            return []
        kind, field = _DELTAS[part.kind]
        return [{"type": "content_block_delta", "index": place, "delta": {"type": kind, field: part.text}}]

    def _on_end(self, part: PartEnd) -> list[dict[str, Any]]:
        if part.index in self._waiting:
            self._waiting[part.index].append(part)
            return []
        place = self._places.pop(part.index, None)
        if place is None:
            return []
        out: list[dict[str, Any]] = []
        if part.kind == "thinking" and (signature := _signature(part.block)):
            delta = {"type": "signature_delta", "signature": signature}
            out.append({"type": "content_block_delta", "index": place, "delta": delta})
        out.append({"type": "content_block_stop", "index": place})
        self._current = None
        while self._waiting and self._current is None:
            for waited in self._waiting.pop(next(iter(self._waiting))):
                out += _EVENTS[waited.__class__](self, waited)
        return out

    def _on_completed(self, event: StreamCompleted) -> list[dict[str, Any]]:
        self._over = True
        if event.stop_reason == "cancelled":
            return [error_body(CANCELLED)]
        delta = {"stop_reason": _STOP.get(event.stop_reason, "end_turn"), "stop_sequence": None}
        end = {"type": "message_delta", "delta": delta, "usage": usage_of(self._usage)}
        return [*self._begin(), end, {"type": "message_stop"}]

    def _on_failed(self, event: StreamFailed) -> list[dict[str, Any]]:
        self._over = True
        return [error_body(event.error)]

    def _on_discarded(self, part: Discarded) -> list[dict[str, Any]]:
        self._over = True
        return [error_body(ErrorInfo("StreamTruncated", "the answer broke off and was begun anew; ask again"))]


def _text_block(part: PartStart) -> dict[str, Any]:
    return {"type": "text", "text": ""}


def _thinking_block(part: PartStart) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "", "signature": ""}


def _tool_block(part: PartStart) -> dict[str, Any]:
    return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}


_BLOCKS = {"text": _text_block, "thinking": _thinking_block, "tool_call": _tool_block}
_DELTAS = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_call": ("input_json_delta", "partial_json"),
}
_EVENTS: dict[type, Callable[[Any, Any], list[dict[str, Any]]]] = {
    StreamStart: MessageEvents._on_stream_start,
    Usage: MessageEvents._on_usage,
    PartStart: MessageEvents._on_start,
    PartDelta: MessageEvents._on_delta,
    PartEnd: MessageEvents._on_end,
    StreamCompleted: MessageEvents._on_completed,
    StreamFailed: MessageEvents._on_failed,
    Discarded: MessageEvents._on_discarded,
}


def _signature(block: BlockComplete) -> str:
    opaque = block.opaque if isinstance(block.opaque, dict) else {}
    return str(opaque.get("signature") or opaque.get("thoughtSignature") or "")


def whole_message(response: Response, id: str, model: str) -> dict[str, Any]:
    """A whole answer.

    >>> whole_message(Response(blocks=[BlockComplete(0, "text", "Hi")]), "msg_1", "m")["content"]
    [{'type': 'text', 'text': 'Hi'}]
    """
    content = [made for block in response.blocks if (made := _whole_block(block, id)) is not None]
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": response.model or model,
        "content": content,
        "stop_reason": _STOP.get(response.stop_reason or "", "end_turn"),
        "stop_sequence": None,
        "usage": usage_of(response.usage or Usage()),
    }


def _whole_block(block: BlockComplete, id: str) -> dict[str, Any] | None:
    if "server" in block.attributes:
        return None
    if block.kind in ("text", "refusal"):
        return {"type": "text", "text": block.content} if block.content else None
    if block.kind == "thinking":
        return {"type": "thinking", "thinking": block.content, "signature": _signature(block)}
    if block.kind == "tool_call" and block.error is None:
        value = block.input if isinstance(block.input, dict) else {}
        return {"type": "tool_use", "id": call_id(block, id), "name": block.tool_name or "", "input": value}
    return None


def usage_of(usage: Usage) -> dict[str, Any]:
    """Token counts in Anthropic's words.

    >>> usage_of(Usage(input_tokens=3))["input_tokens"]
    3
    """
    return {
        "input_tokens": usage.input_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
        "cache_creation_input_tokens": usage.cache_write_tokens or 0,
        "cache_read_input_tokens": usage.cache_read_tokens or 0,
    }


def error_body(error: ErrorInfo | Refused) -> dict[str, Any]:
    """An error in Anthropic's words.

    >>> error_body(ErrorInfo("ProviderError", "slow down", status=429))["error"]["type"]
    'rate_limit_error'
    """
    status = error.status if isinstance(error, Refused) else status_of(error)
    return {"type": "error", "error": {"type": _KINDS.get(status or 0, "api_error"), "message": error.message}}
