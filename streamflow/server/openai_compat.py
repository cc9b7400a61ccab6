"""OpenAI's chat completions, spoken by us: requests in, chunks and completions out. Pure."""

from collections.abc import Callable
from typing import Any

import msgspec

from streamflow.events import ErrorInfo, Response, StreamCompleted, StreamFailed, StreamStart, ToolCall, Usage
from streamflow.server.parts import Discarded, PartDelta, Parts, PartStart
from streamflow.server.refusals import Refused, status_of

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "content_filter": "content_filter",
}
CANCELLED = ErrorInfo("StreamflowError", "the answer was stopped before its end", kind="cancelled")
_KINDS = {400: "invalid_request_error", 404: "not_found_error", 429: "rate_limit_error"}


class ChatBody(msgspec.Struct, frozen=True):
    """What ``POST /v1/chat/completions`` takes. What is not listed here is refused by name, not dropped."""

    messages: list[dict[str, Any]]
    model: str = ""
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    n: int | None = None

    @property
    def wants_usage(self) -> bool:
        """True when the stream should end with token counts."""
        return bool((self.stream_options or {}).get("include_usage"))


# Fields that ask for nothing but bookkeeping at OpenAI: harmless to leave out.
IGNORED = frozenset(("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"))
_KNOWN = frozenset(ChatBody.__struct_fields__) | IGNORED
# Where the provider behind us is of the same family it can be asked for these too.
PASSED_ON = frozenset(
    ("frequency_penalty", "presence_penalty", "logit_bias", "response_format", "reasoning_effort", "verbosity",
     "parallel_tool_calls", "prediction", "modalities", "audio", "web_search_options", "logprobs", "top_logprobs")
)  # fmt: skip


def chat_body(raw: dict[str, Any]) -> tuple[ChatBody, dict[str, Any]]:
    """The request, and the options that only some providers know.

    >>> chat_body({"messages": [], "n": 2})
    Traceback (most recent call last):
    streamflow.server.refusals.Refused: n must be 1 here
    """
    unknown = [name for name in raw if name not in _KNOWN and name not in PASSED_ON]
    if unknown:
        raise Refused(400, "invalid_request_error", f"unknown field {unknown[0]!r}")
    try:
        body = msgspec.convert({name: value for name, value in raw.items() if name in _KNOWN}, ChatBody)
    except msgspec.ValidationError as error:
        raise Refused(400, "invalid_request_error", str(error)) from None
    if body.n not in (None, 1):
        raise Refused(400, "invalid_request_error", "n must be 1 here")
    return body, {name: value for name, value in raw.items() if name in PASSED_ON and value is not None}


def options_of(body: ChatBody) -> dict[str, Any]:
    """The common options of a request, in our words.

    >>> options_of(ChatBody([], max_completion_tokens=5, tool_choice={"type": "function", "function": {"name": "f"}}))
    {'max_tokens': 5, 'tool_choice': 'f'}
    """
    choice = body.tool_choice
    if isinstance(choice, dict):
        choice = str((choice.get("function") or choice).get("name") or "")
    found = {
        "max_tokens": body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens,
        "temperature": body.temperature,
        "top_p": body.top_p,
        "stop": body.stop,
        "seed": body.seed,
        "tool_choice": choice,
    }
    return {name: value for name, value in found.items() if value is not None}


class ChatChunks:
    """Events become the chunks of a completion; each is one ``data:`` of the stream, and so is the end mark.

    >>> chunks = ChatChunks("c1", 0, "m")
    >>> [chunk["choices"][0]["finish_reason"] for chunk in chunks.feed(StreamCompleted("max_tokens")) if chunk != DONE]
    ['length']
    """

    def __init__(self, id: str, created: int, model: str, wants_usage: bool = False) -> None:
        self._head = {"id": id, "object": "chat.completion.chunk", "created": created}
        self._model = model
        self._wants_usage = wants_usage
        self._parts = Parts(id)
        self._calls: dict[int, int] = {}
        self._said = False
        self._usage: Usage | None = None
        self._over = False

    def feed(self, event: Any) -> list[Any]:
        """The chunks of one event."""
        out: list[Any] = []
        for part in self._parts.feed(event):
            handler = _CHUNKS.get(part.__class__)
            if handler is not None and not self._over:
                out += handler(self, part)
        return out

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        if not self._said:
            self._said = True
            delta = {"role": "assistant", **delta}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._head, "model": self._model, "choices": [choice]}

    def _on_stream_start(self, event: StreamStart) -> list[Any]:
        self._model = event.model or self._model
        return []

    def _on_start(self, part: PartStart) -> list[Any]:
        if part.kind != "tool_call" or part.server:
            return []
        place = self._calls[part.index] = len(self._calls)
        function = {"name": part.name, "arguments": ""}
        call = {"index": place, "id": part.id, "type": "function", "function": function}
        return [self._chunk({"content": None, "tool_calls": [call]})]

    def _on_delta(self, part: PartDelta) -> list[Any]:
        if part.kind == "text":
            return [self._chunk({"content": part.text})]
        if part.kind == "thinking":
            return [self._chunk({"reasoning_content": part.text})]
        if part.index not in self._calls:
            return []
        call = {"index": self._calls[part.index], "function": {"arguments": part.text}}
        return [self._chunk({"tool_calls": [call]})]

    def _on_usage(self, event: Usage) -> list[Any]:
        self._usage = event
        return []

    def _on_completed(self, event: StreamCompleted) -> list[Any]:
        self._over = True
        if event.stop_reason == "cancelled":
            return [error_body(CANCELLED)]
        reason = "tool_calls" if self._calls and event.stop_reason == "end_turn" else _finish(event.stop_reason)
        out: list[Any] = [self._chunk({}, reason)]
        if self._wants_usage:
            out.append({**self._head, "model": self._model, "choices": [], "usage": usage_of(self._usage)})
        return [*out, DONE]

    def _on_failed(self, event: StreamFailed) -> list[Any]:
        # No end mark: what was cut must not look finished.
        self._over = True
        return [error_body(event.error)]

    def _on_discarded(self, part: Discarded) -> list[Any]:
        self._over = True
        return [error_body(ErrorInfo("StreamTruncated", "the answer broke off and was begun anew; ask again"))]


DONE = "[DONE]"
_CHUNKS: dict[type, Callable[[Any, Any], list[Any]]] = {
    StreamStart: ChatChunks._on_stream_start,
    PartStart: ChatChunks._on_start,
    PartDelta: ChatChunks._on_delta,
    Usage: ChatChunks._on_usage,
    StreamCompleted: ChatChunks._on_completed,
    StreamFailed: ChatChunks._on_failed,
    Discarded: ChatChunks._on_discarded,
}


def completion(response: Response, id: str, created: int, model: str) -> dict[str, Any]:
    """A whole answer.

    >>> completion(Response(text="Hi", stop_reason="end_turn"), "c", 0, "m")["choices"][0]["message"]["content"]
    'Hi'
    """
    calls = [_call(call, place, id) for place, call in enumerate(response.tool_calls)]
    content = (response.text or None) if calls else response.text
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": response.refusal or None}
    if response.thinking:
        message["reasoning_content"] = response.thinking
    if calls:
        message["tool_calls"] = calls
    reason = "tool_calls" if calls else _finish(response.stop_reason or "")
    return {
        "id": id,
        "object": "chat.completion",
        "created": created,
        "model": response.model or model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": usage_of(response.usage),
    }


def _call(call: ToolCall, place: int, id: str) -> dict[str, Any]:
    arguments = call.raw or msgspec.json.encode(call.arguments).decode()
    return {
        "id": call.id or f"call_{id}_{place}",
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _finish(reason: str) -> str:
    return _FINISH.get(reason, "stop")


def usage_of(usage: Usage | None) -> dict[str, Any]:
    """Token counts in OpenAI's words.

    >>> usage_of(Usage(input_tokens=3, output_tokens=4))["total_tokens"]
    7
    """
    counts = usage or Usage()
    prompt, said = counts.input_tokens or 0, counts.output_tokens or 0
    return {
        "prompt_tokens": prompt,
        "completion_tokens": said,
        "total_tokens": prompt + said,
        "prompt_tokens_details": {"cached_tokens": counts.cache_read_tokens or 0},
        "completion_tokens_details": {"reasoning_tokens": counts.reasoning_tokens or 0},
    }


def error_body(error: ErrorInfo | Refused) -> dict[str, Any]:
    """An error in OpenAI's words.

    >>> error_body(ErrorInfo("ProviderError", "slow down", status=429))["error"]["type"]
    'rate_limit_error'
    """
    status = error.status if isinstance(error, Refused) else status_of(error)
    kind = _KINDS.get(status or 0, "api_error")
    code = error.kind if isinstance(error, Refused) else error.kind or error.type
    return {"error": {"message": error.message, "type": kind, "param": None, "code": code}}
