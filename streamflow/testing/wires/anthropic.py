"""Anthropic messages, as the service writes them."""

from collections.abc import Iterator
from typing import Any

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, Cite, ErrorEvent, HttpError, Refusal, Text, Thinking, ToolUse
from streamflow.testing.wires.wire import KIND_OF_STATUS, Call, Wire, call_id, merged, sse

STOPS = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_use",
    "refusal": "refusal",
    "content_filter": "refusal",
    "pause": "pause_turn",
}


class AnthropicWire(Wire):
    """``message_start`` to ``message_stop``; blocks open when their first delta comes."""

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._index = -1
        self._open = ""

    def begin(self) -> Iterator[bytes]:
        message = self._message([], None)
        if self.answer.usage is not None:
            message["usage"] = {**_counts(self.answer), "output_tokens": 1}
        yield self.frame("message_start", message=message)

    def text(self, delta: str) -> Iterator[bytes]:
        yield from self._begin("text", {"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": delta})

    def thinking(self, delta: str) -> Iterator[bytes]:
        yield from self._begin("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        yield self._delta({"type": "thinking_delta", "thinking": delta})

    def sign(self, thought: Thinking) -> Iterator[bytes]:
        if thought.redacted:
            yield from self._begin("redacted", {"type": "redacted_thinking", "data": thought.redacted})
        elif thought.signature:
            yield from self._begin("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            yield self._delta({"type": "signature_delta", "signature": thought.signature})
        yield from self._close()

    def call_begin(self, call: Call) -> Iterator[bytes]:
        block = {"type": "tool_use", "id": call.id, "name": call.use.name, "input": {}}
        yield from self._close()
        yield from self._begin("tool_use", block)
        yield self._delta({"type": "input_json_delta", "partial_json": ""})

    def call_delta(self, call: Call, delta: str) -> Iterator[bytes]:
        yield self._delta({"type": "input_json_delta", "partial_json": delta})

    def call_end(self, call: Call) -> Iterator[bytes]:
        return self._close()

    def cite(self, cite: Cite) -> Iterator[bytes]:
        yield from self._begin("text", {"citations": [], "type": "text", "text": ""})
        yield self._delta({"type": "citations_delta", "citation": _citation(cite)})

    def ping(self) -> Iterator[bytes]:
        yield self.frame("ping")

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        kind = error.kind or KIND_OF_STATUS.get(error.status, "api_error")
        yield self.frame("error", error={"type": kind, "message": error.message})

    def end(self) -> Iterator[bytes]:
        yield from self._close()
        usage = {} if self.answer.usage is None else {"usage": {"output_tokens": self.answer.usage.output}}
        yield self.frame("message_delta", delta={"stop_reason": self.stop_word(STOPS), "stop_sequence": None}, **usage)
        yield self.frame("message_stop")

    def whole(self) -> Any:
        content: list[dict[str, Any]] = []
        calls = 0
        for part in merged(self.answer):
            match part:
                case Text() | Refusal():
                    content.append({"type": "text", "text": part.text})
                case Thinking(redacted=redacted) if redacted:
                    content.append({"type": "redacted_thinking", "data": redacted})
                case Thinking():
                    content.append({"type": "thinking", "thinking": part.text, "signature": part.signature})
                case ToolUse():
                    id = call_id(self.answer, part, calls)
                    content.append({"type": "tool_use", "id": id, "name": part.name, "input": part.value})
                    calls += 1
                case Cite() if content and content[-1]["type"] == "text":
                    content[-1].setdefault("citations", []).append(_citation(part))
        message = self._message(content, self.stop_word(STOPS))
        if self.answer.usage is not None:
            message["usage"] = _counts(self.answer)
        return message

    @staticmethod
    def refused(error: HttpError) -> Any:
        kind = error.kind or KIND_OF_STATUS.get(error.status, "api_error")
        message = error.message or f"The request was refused with status {error.status}."
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_simulated"}

    def frame(self, type: str, **fields: Any) -> bytes:
        """One event of the stream."""
        return sse({"type": type, **fields}, type)

    def _message(self, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
        return {
            "id": f"msg_{self.answer.id}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
        }

    def _begin(self, kind: str, block: dict[str, Any]) -> Iterator[bytes]:
        if self._open != kind:
            yield from self._close()
            self._open = kind
            self._index += 1
            yield self.frame("content_block_start", index=self._index, content_block=block)
            if self._index == 0:
                yield self.frame("ping")

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return self.frame("content_block_delta", index=self._index, delta=delta)

    def _close(self) -> Iterator[bytes]:
        if self._open:
            self._open = ""
            yield self.frame("content_block_stop", index=self._index)


def _counts(answer: Answer) -> dict[str, Any]:
    tokens = answer.usage
    assert tokens is not None
    return {
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": tokens.output,
        "service_tier": "standard",
    }


def _citation(cite: Cite) -> dict[str, Any]:
    return {
        "type": "web_search_result_location",
        "cited_text": cite.text,
        "url": cite.url,
        "title": cite.title,
        "encrypted_index": "c2ltdWxhdGVk",
    }
