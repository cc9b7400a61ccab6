"""Gemini and Vertex: ``generateContent``, streamed as server-sent events or as one JSON array."""

from collections.abc import Iterator
from typing import Any

import msgspec

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, Cite, ErrorEvent, HttpError, Picture, Refusal, Text, Thinking, ToolUse
from streamflow.testing.wires.wire import Call, Wire, dumps, merged, sse

STOPS = {
    "end_turn": "STOP",
    "tool_use": "STOP",
    "stop_sequence": "STOP",
    "max_tokens": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "refusal": "PROHIBITED_CONTENT",
    "malformed_call": "MALFORMED_FUNCTION_CALL",
    "other": "OTHER",
}

STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}


class GeminiWire(Wire):
    """Chunks of a ``GenerateContentResponse``; the connection's end is the end."""

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._in_array = ask.array
        self._count = 0
        if ask.array:
            self.content_type = "application/json; charset=UTF-8"

    def text(self, delta: str) -> Iterator[bytes]:
        yield self._parts({"text": delta})

    def thinking(self, delta: str) -> Iterator[bytes]:
        yield self._parts({"text": delta, "thought": True})

    def sign(self, thought: Thinking) -> Iterator[bytes]:
        if thought.signature:
            yield self._parts({"text": "", "thought": True, "thoughtSignature": thought.signature})

    def call_end(self, call: Call) -> Iterator[bytes]:
        yield self._parts(_call(call.use))

    def cite(self, cite: Cite) -> Iterator[bytes]:
        yield self._frame({"candidates": [{"index": 0, "groundingMetadata": _grounding([cite])}]})

    def picture(self, picture: Picture) -> Iterator[bytes]:
        yield self._parts({"inlineData": {"mimeType": picture.media_type, "data": picture.data}})

    def ping(self) -> Iterator[bytes]:
        yield b"\n" if self._in_array else b": keep-alive\r\n\r\n"

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        yield self._written(self.refused(HttpError(error.status, error.message, error.kind)))
        if self._in_array:
            yield b"\n]"

    def end(self) -> Iterator[bytes]:
        content = {"parts": [{"text": ""}], "role": "model"}
        candidate = {"content": content, "finishReason": self.stop_word(STOPS), "index": 0}
        yield self._frame({"candidates": [candidate]}, last=True)
        if self._in_array:
            yield b"\n]"

    def whole(self) -> Any:
        parts: list[dict[str, Any]] = []
        cites = []
        for part in merged(self.answer):
            match part:
                case Text() | Refusal():
                    parts.append({"text": part.text})
                case Thinking():
                    signature = {"thoughtSignature": part.signature} if part.signature else {}
                    parts.append({"text": part.text, "thought": True, **signature})
                case ToolUse():
                    parts.append(_call(part))
                case Picture():
                    parts.append({"inlineData": {"mimeType": part.media_type, "data": part.data}})
                case Cite():
                    cites.append(part)
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        candidate["finishReason"] = self.stop_word(STOPS)
        if cites:
            candidate["groundingMetadata"] = _grounding(cites)
        return self._body({"candidates": [candidate]}, last=True)

    @staticmethod
    def refused(error: HttpError) -> Any:
        message = error.message or f"The request was refused with status {error.status}."
        status = error.kind or STATUS_NAMES.get(error.status, "UNKNOWN")
        return {"error": {"code": error.status, "message": message, "status": status}}

    def _parts(self, *parts: dict[str, Any]) -> bytes:
        return self._frame({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}]})

    def _frame(self, body: dict[str, Any], last: bool = False) -> bytes:
        return self._written(self._body(body, last))

    def _body(self, body: dict[str, Any], last: bool) -> dict[str, Any]:
        tokens = self.answer.usage
        if tokens is not None:
            counts = {"promptTokenCount": tokens.input, "totalTokenCount": tokens.input}
            if last:
                counts["candidatesTokenCount"] = tokens.output
                counts["totalTokenCount"] += tokens.output + tokens.reasoning
                if tokens.reasoning:
                    counts["thoughtsTokenCount"] = tokens.reasoning
                if tokens.cached:
                    counts["cachedContentTokenCount"] = tokens.cached
            body["usageMetadata"] = counts
        return {**body, "modelVersion": self.model, "responseId": f"sim{self.answer.id}"}

    def _written(self, body: dict[str, Any]) -> bytes:
        self._count += 1
        if not self._in_array:
            return sse(body, newline=b"\r\n")
        lead = b"[" if self._count == 1 else b"\n,\r\n"
        return lead + msgspec.json.format(dumps(body), indent=2)


def _call(use: ToolUse) -> dict[str, Any]:
    # The service gives ids to few calls: only those that the script names have one.
    named = {"id": use.id} if use.id else {}
    return {"functionCall": {**named, "name": use.name, "args": use.value}}


def _grounding(cites: list[Cite]) -> dict[str, Any]:
    supports = [
        {
            "segment": {"startIndex": cite.start, "endIndex": cite.end, "text": cite.text},
            "groundingChunkIndices": [place],
        }
        for place, cite in enumerate(cites)
    ]
    chunks = [{"web": {"uri": cite.url, "title": cite.title}} for cite in cites]
    return {"groundingChunks": chunks, "groundingSupports": supports}
