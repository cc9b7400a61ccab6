"""OpenAI chat completions and everything compatible with it, text completions included."""

from collections.abc import Callable
from typing import Any

from streamflow.events import Frame, GeneratedImage, Image, Usage
from streamflow.providers.provider import Provider
from streamflow.providers.refusals import provider_error
from streamflow.providers.turn import Turn

STOP_REASONS = {
    "stop": "end_turn",
    "eos": "end_turn",
    "end_turn": "end_turn",
    "length": "max_tokens",
    "model_length": "max_tokens",
    "max_tokens": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
    "insufficient_system_resource": "other",
}

# Fields of a delta that carry no content of their own.
_SILENT_FIELDS = frozenset(
    ("role", "channel", "name", "id", "type", "phase", "content_type", "token_ids", "stop_reason", "status")
)


class OpenAIChat:
    """Reads ``chat.completion.chunk`` payloads, and whole ``chat.completion`` answers."""

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._row = row
        self._choice = choice
        self._finished = False
        self._usage_after_finish = False
        self._whole = False
        self._citations_seen = False
        self._server_calls: dict[Any, bool] = {}

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """Chat payloads have choices."""
        return "choices" in payload

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload."""
        turn = self._turn
        if not turn.started and (payload.get("id") or payload.get("model")):
            turn.begin(payload.get("id"), payload.get("model"))
        choices = payload.get("choices")
        if choices:
            for choice in choices:
                if choice.get("index", 0) == self._choice:
                    self._read_choice(choice)
                else:
                    turn.notice_once("choices", "the provider sends several choices; this stream is one of them")
        usage = payload.get("usage")
        if usage:
            self._read_usage(usage)
        if not payload.keys().isdisjoint(_EXTRA_FIELDS):
            for field, reader in _PAYLOAD_EXTRAS.items():
                if payload.get(field):
                    reader(self, payload[field])
        if choices is None and not usage and "error" not in payload:
            self._read_without_choices(payload, frame)
        if self._whole or (self._finished and _is_whole_completion(payload, frame)):
            turn.complete()

    def _read_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta")
        if delta is None:
            delta = choice.get("message")
            if delta is not None:
                self._whole = True
            else:
                text = choice.get("text")
                if text:
                    self._turn.text(text)
        if delta:
            content = delta.get("content")
            if content and content.__class__ is str and len(delta) == 1:
                self._turn.text(content)
            else:
                self._read_delta(delta)
        reason = choice.get("finish_reason")
        if reason:
            self._finished = True
            self._turn.stop(STOP_REASONS.get(reason, "other"), reason)

    def _read_delta(self, delta: dict[str, Any]) -> None:
        self._read_reasoning(delta)
        content = delta.get("content")
        if content:
            if isinstance(content, str):
                self._turn.text(content)
            else:
                self._read_parts(content)
        for field, value in delta.items():
            if not value or field in _SILENT_FIELDS:
                continue
            reader = _DELTA_FIELDS.get(field)
            if reader is not None:
                reader(self, value)
            elif isinstance(value, str):
                self._turn.notice_once("unknown_field", f"delta.{field}", value)

    def _read_reasoning(self, delta: dict[str, Any]) -> None:
        # The same thought may come under two names; the details then carry what must be sent back.
        details = delta.get("reasoning_details")
        text = delta.get("reasoning_content") or delta.get("reasoning") or delta.get("thinking")
        if isinstance(text, dict):
            text = text.get("content") or text.get("text")
        if not text and details:
            text = "".join(detail.get("text") or detail.get("summary") or "" for detail in details)
        if text or details:
            self._turn.thinking(text or "", list(details) if details else None)

    def _read_parts(self, parts: list[dict[str, Any]]) -> None:
        for part in parts:
            kind = part.get("type")
            if kind == "text":
                if part.get("text"):
                    self._turn.text(part["text"])
            elif kind == "thinking":
                thought = part.get("thinking")
                pieces = thought if isinstance(thought, list) else [{"text": thought}]
                self._turn.thinking("".join(piece.get("text") or "" for piece in pieces))
            elif kind == "reference":
                for reference in part.get("reference_ids", ()):
                    self._turn.cite(title=str(reference))
            else:
                self._turn.notice_once("unknown_part", str(kind), part)

    def _read_tool_calls(self, calls: list[dict[str, Any]]) -> None:
        for call in calls:
            function = call.get("function") or {}
            custom = call.get("custom")
            if custom:
                self._turn.call(call.get("index"), call.get("id"), custom.get("name"), custom.get("input"), "custom")
            else:
                arguments = function.get("arguments")
                if isinstance(arguments, dict):
                    self._turn.whole_call(call.get("id"), function.get("name"), arguments)
                else:
                    self._turn.call(call.get("index"), call.get("id"), function.get("name"), arguments)

    def _read_function_call(self, call: dict[str, Any]) -> None:
        self._turn.call(0, None, call.get("name"), call.get("arguments"))

    def _read_refusal(self, text: str) -> None:
        self._turn.refusal(text)

    def _read_annotations(self, annotations: list[dict[str, Any]]) -> None:
        for annotation in annotations:
            source = annotation.get("url_citation") or annotation
            self._turn.cite(
                url=source.get("url") or "",
                title=source.get("title") or "",
                text=source.get("content") or "",
                start=_offset(source.get("start_index")),
                end=_offset(source.get("end_index")),
            )

    def _read_images(self, images: list[dict[str, Any]]) -> None:
        for image in images:
            url = (image.get("image_url") or {}).get("url") or ""
            self._turn.emit(Image(image_from_url(url)))

    def _read_executed_tools(self, tools: list[dict[str, Any]]) -> None:
        # Groq's compound models send each server tool twice: first without its output, then with it.
        for tool in tools:
            key = tool.get("index", len(self._server_calls))
            name = tool.get("name") or tool.get("type")
            if key not in self._server_calls:
                self._server_calls[key] = False
                self._turn.whole(
                    "tool_call",
                    tool.get("arguments") or "",
                    {"server": tool.get("type") or "tool"},
                    tool_id=str(key),
                    tool_name=name,
                )
            output = tool.get("output")
            if output and not self._server_calls[key]:
                self._server_calls[key] = True
                self._turn.whole(
                    "tool_result",
                    output if isinstance(output, str) else str(output),
                    {"server": f"{tool.get('type') or 'tool'}_result"},
                    tool_id=str(key),
                    tool_name=name,
                )

    def _read_usage(self, usage: dict[str, Any]) -> None:
        if self._finished:
            self._usage_after_finish = True
        self._turn.usage(usage_of(usage))

    def _read_groq(self, extra: dict[str, Any]) -> None:
        if usage := extra.get("usage"):
            self._read_usage(usage)
        if error := extra.get("error"):
            self._read_error(error)

    def _read_citations(self, citations: list[Any]) -> None:
        # Perplexity repeats the whole list in every chunk: the first counts.
        if self._citations_seen:
            return
        self._citations_seen = True
        for citation in citations:
            if isinstance(citation, str):
                self._turn.cite(url=citation)
            else:
                self._turn.cite(url=citation.get("url") or "", title=citation.get("title") or "")

    def _read_error(self, error: Any) -> None:
        raise provider_error(self._turn.provider, error)

    def _read_without_choices(self, payload: dict[str, Any], frame: Frame) -> None:
        value = payload.get("value")
        if value.__class__ is str:  # Writer's text completions say nothing else, not even an end
            self._finished = self._usage_after_finish = True
            self._turn.text(value)
        else:
            self._turn.unknown(str(payload.get("object") or payload.get("type") or ""), payload, frame.event)

    def done(self) -> None:
        """``[DONE]`` ends every stream that sends it."""
        self._turn.complete()

    def may_end(self) -> bool:
        """Whether the vendor's rule allows the bytes to end here."""
        return _MAY_END[self._row.end](self)


def _is_whole_completion(payload: dict[str, Any], frame: Frame) -> bool:
    # A whole text completion has the shape of a last chunk; but it is all of its bytes, without any framing.
    choices = payload.get("choices") or [{}]
    return "text" in choices[0] and frame.end - frame.start <= len(frame.data.encode()) + 1


_MAY_END: dict[str, Callable[[OpenAIChat], bool]] = {
    "done": lambda chat: False,
    "finish": lambda chat: chat._finished,
    "either": lambda chat: chat._finished,
    "usage": lambda chat: chat._finished and chat._usage_after_finish,
}

_DELTA_FIELDS: dict[str, Callable[[OpenAIChat, Any], None]] = {
    "content": lambda chat, value: None,
    "reasoning": lambda chat, value: None,
    "reasoning_content": lambda chat, value: None,
    "reasoning_details": lambda chat, value: None,
    "thinking": lambda chat, value: None,
    "refusal": OpenAIChat._read_refusal,
    "tool_calls": OpenAIChat._read_tool_calls,
    "function_call": OpenAIChat._read_function_call,
    "annotations": OpenAIChat._read_annotations,
    "images": OpenAIChat._read_images,
    "executed_tools": OpenAIChat._read_executed_tools,
}

_PAYLOAD_EXTRAS: dict[str, Callable[[OpenAIChat, Any], None]] = {
    "x_groq": OpenAIChat._read_groq,
    "citations": OpenAIChat._read_citations,
    "error": OpenAIChat._read_error,
}
_EXTRA_FIELDS = frozenset(_PAYLOAD_EXTRAS)


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts of the chat family.

    >>> usage_of({"prompt_tokens": 3, "completion_tokens": 5}).output_tokens
    5
    """
    sent = usage.get("prompt_tokens_details") or usage.get("prompt_token_details") or {}
    made = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
        cache_read_tokens=sent.get("cached_tokens", usage.get("prompt_cache_hit_tokens")),
        reasoning_tokens=made.get("reasoning_tokens", usage.get("reasoning_tokens")),
        raw=usage,
    )


def image_from_url(url: str) -> GeneratedImage:
    """A picture given as a data URL or as an address.

    >>> image_from_url("data:image/png;base64,aGk=").data
    'aGk='
    """
    if url.startswith("data:"):
        head, _, data = url.partition(",")
        return GeneratedImage(head[5:].split(";")[0], data=data)
    return GeneratedImage(url=url)


def _offset(value: Any) -> int:
    return value if isinstance(value, int) else -1
