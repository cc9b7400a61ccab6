"""Cohere's chat, version 2."""

from collections.abc import Iterator
from typing import Any

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, Cite, ErrorEvent, HttpError, Text, Thinking
from streamflow.testing.wires.wire import Call, Wire, calls_of, merged, sse

STOPS = {
    "end_turn": "COMPLETE",
    "tool_use": "TOOL_CALL",
    "max_tokens": "MAX_TOKENS",
    "stop_sequence": "STOP_SEQUENCE",
    "content_filter": "ERROR_TOXIC",
    "refusal": "ERROR_TOXIC",
}


class CohereWire(Wire):
    """``message-start`` to ``message-end`` and ``[DONE]``."""

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._index = -1
        self._open = ""
        self._cited = 0

    def begin(self) -> Iterator[bytes]:
        message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        yield sse({"id": self._id(), "type": "message-start", "delta": {"message": message}}, "message-start")

    def text(self, delta: str) -> Iterator[bytes]:
        return self._content("text", delta)

    def thinking(self, delta: str) -> Iterator[bytes]:
        return self._content("thinking", delta)

    def sign(self, thought: Thinking) -> Iterator[bytes]:
        return self._close()  # the service signs nothing

    def call_begin(self, call: Call) -> Iterator[bytes]:
        yield from self._close()
        yield _event("tool-call-start", call.number, tool_calls=_call(call, ""))

    def call_delta(self, call: Call, delta: str) -> Iterator[bytes]:
        yield _event("tool-call-delta", call.number, tool_calls={"function": {"arguments": delta}})

    def call_end(self, call: Call) -> Iterator[bytes]:
        yield sse({"type": "tool-call-end", "index": call.number}, "tool-call-end")

    def cite(self, cite: Cite) -> Iterator[bytes]:
        number = self._cited
        self._cited += 1
        yield _event("citation-start", number, citations=_citation(cite, number, max(0, self._index)))
        yield sse({"type": "citation-end", "index": number}, "citation-end")

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        delta = {"error": error.message, "finish_reason": "ERROR"}
        yield sse({"type": "message-end", "id": self._id(), "delta": delta}, "message-end")

    def end(self) -> Iterator[bytes]:
        yield from self._close()
        delta: dict[str, Any] = {"finish_reason": self.stop_word(STOPS)}
        if self.answer.usage is not None:
            delta["usage"] = self._counts()
        yield sse({"type": "message-end", "delta": delta}, "message-end")
        yield sse(b"[DONE]")

    def whole(self) -> Any:
        content: list[dict[str, Any]] = []
        citations: list[dict[str, Any]] = []
        for part in merged(self.answer):
            match part:
                case Text() | Thinking():
                    kind = "text" if isinstance(part, Text) else "thinking"
                    content.append({"type": kind, kind: part.text})
                case Cite():
                    citations.append(_citation(part, len(citations), max(0, len(content) - 1)))
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if calls := calls_of(self.answer):
            message["tool_calls"] = [_call(call, call.use.json) for call in calls]
        if citations:
            message["citations"] = citations
        body = {"id": self._id(), "finish_reason": self.stop_word(STOPS), "message": message}
        if self.answer.usage is not None:
            body["usage"] = self._counts()
        return body

    @staticmethod
    def refused(error: HttpError) -> Any:
        return {"id": "sim", "message": error.message or f"The request was refused with status {error.status}."}

    def _id(self) -> str:
        return f"sim-{self.answer.id}"

    def _counts(self) -> dict[str, Any]:
        tokens = self.answer.usage
        assert tokens is not None
        counts = {"input_tokens": tokens.input, "output_tokens": tokens.output}
        return {"billed_units": counts, "tokens": counts, "cached_tokens": tokens.cached}

    def _content(self, kind: str, delta: str) -> Iterator[bytes]:
        if self._open != kind:
            yield from self._close()
            self._open = kind
            self._index += 1
            yield _event("content-start", self._index, content={"type": kind, kind: ""})
        yield _event("content-delta", self._index, content={kind: delta})

    def _close(self) -> Iterator[bytes]:
        if self._open:
            self._open = ""
            yield sse({"type": "content-end", "index": self._index}, "content-end")


def _event(type: str, index: int, **message: Any) -> bytes:
    return sse({"type": type, "index": index, "delta": {"message": message}}, type)


def _call(call: Call, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.use.name, "arguments": arguments}}


def _citation(cite: Cite, number: int, content_index: int) -> dict[str, Any]:
    document = {"id": f"doc:{number}", "title": cite.title, "url": cite.url}
    return {
        "start": cite.start,
        "end": cite.end,
        "text": cite.text,
        "sources": [{"type": "document", "id": f"doc:{number}", "document": document}],
        "content_index": content_index,
        "type": "TEXT_CONTENT",
    }
