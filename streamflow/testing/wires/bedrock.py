"""Amazon Bedrock: the binary event streams of ConverseStream and InvokeModel, with their checksums."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, Cite, ErrorEvent, HttpError, Picture, Refusal, Text, Thinking, ToolUse
from streamflow.testing.wires.anthropic import AnthropicWire
from streamflow.testing.wires.wire import Call, Wire, call_id, dumps, merged
from streamflow.wire.eventstream import encode_message

STOPS = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "content_filter": "content_filtered",
    "refusal": "guardrail_intervened",
    "malformed_call": "malformed_tool_use",
}

EXCEPTIONS = {
    400: "validationException",
    403: "accessDeniedException",
    404: "resourceNotFoundException",
    408: "modelTimeoutException",
    424: "modelStreamErrorException",
    429: "throttlingException",
    500: "internalServerException",
    503: "serviceUnavailableException",
    529: "serviceUnavailableException",
}

_METRICS = "amazon-bedrock-invocationMetrics"


class BedrockWire(Wire):
    """``messageStart`` to ``metadata``. Text and thought have no start of their own, as with the service."""

    content_type = "application/vnd.amazon.eventstream"

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._index = -1
        self._open = ""

    def begin(self) -> Iterator[bytes]:
        yield _event("messageStart", {"role": "assistant"})

    def text(self, delta: str) -> Iterator[bytes]:
        yield from self._turn_to("text")
        yield self._delta({"text": delta})

    def thinking(self, delta: str) -> Iterator[bytes]:
        yield from self._turn_to("thinking")
        yield self._delta({"reasoningContent": {"text": delta}})

    def sign(self, thought: Thinking) -> Iterator[bytes]:
        for field, value in (("signature", thought.signature), ("redactedContent", thought.redacted)):
            if value:
                yield from self._turn_to("thinking")
                yield self._delta({"reasoningContent": {field: value}})
        yield from self._close()

    def call_begin(self, call: Call) -> Iterator[bytes]:
        yield from self._close()
        yield from self._turn_to("tool")
        yield self._start({"toolUse": {"toolUseId": call.id, "name": call.use.name}})

    def call_delta(self, call: Call, delta: str) -> Iterator[bytes]:
        yield self._delta({"toolUse": {"input": delta}})

    def call_end(self, call: Call) -> Iterator[bytes]:
        return self._close()

    def cite(self, cite: Cite) -> Iterator[bytes]:
        yield from self._turn_to("text")
        yield self._delta({"citation": _citation(cite)})

    def picture(self, picture: Picture) -> Iterator[bytes]:
        yield from self._close()
        yield from self._turn_to("image")
        yield self._start({"image": {"format": picture.media_type.partition("/")[2]}})
        yield self._delta({"image": {"source": {"bytes": picture.data}}})
        yield from self._close()

    def ping(self) -> Iterator[bytes]:
        # There are no pings; text without a character is what the service sends when it has nothing to say.
        yield _event("contentBlockDelta", {"contentBlockIndex": max(0, self._index), "delta": {"text": ""}})

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        kind = error.kind or EXCEPTIONS.get(error.status, "internalServerException")
        headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
        yield encode_message(headers, dumps({"message": error.message}))

    def end(self) -> Iterator[bytes]:
        yield from self._close()
        yield _event("messageStop", {"stopReason": self.stop_word(STOPS)})
        if self.answer.usage is not None:
            yield _event("metadata", {"usage": self._counts(), "metrics": {"latencyMs": 1}})

    def whole(self) -> Any:
        content: list[dict[str, Any]] = []
        calls = 0
        for part in merged(self.answer):
            match part:
                case Text() | Refusal():
                    content.append({"text": part.text})
                case Thinking(redacted=redacted) if redacted:
                    content.append({"reasoningContent": {"redactedContent": redacted}})
                case Thinking():
                    thought = {"text": part.text, "signature": part.signature}
                    content.append({"reasoningContent": {"reasoningText": thought}})
                case ToolUse():
                    id = call_id(self.answer, part, calls)
                    calls += 1
                    content.append({"toolUse": {"toolUseId": id, "name": part.name, "input": part.value}})
                case Picture():
                    form = part.media_type.partition("/")[2]
                    content.append({"image": {"format": form, "source": {"bytes": part.data}}})
                case Cite() if content and "text" in content[-1]:
                    cited = {"content": [content[-1]], "citations": [_citation(part)]}
                    content[-1] = {"citationsContent": cited}
                case Cite() if content and "citationsContent" in content[-1]:
                    content[-1]["citationsContent"]["citations"].append(_citation(part))
        body: dict[str, Any] = {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": self.stop_word(STOPS),
            "metrics": {"latencyMs": 1},
        }
        if self.answer.usage is not None:
            body["usage"] = self._counts()
        return body

    @staticmethod
    def refused(error: HttpError) -> Any:
        return {"message": error.message or f"The request was refused with status {error.status}."}

    @staticmethod
    def refused_headers(error: HttpError) -> dict[str, str]:
        kind = error.kind or EXCEPTIONS.get(error.status, "internalServerException")
        return {"x-amzn-errortype": kind[:1].upper() + kind[1:]}

    def _counts(self) -> dict[str, int]:
        tokens = self.answer.usage
        assert tokens is not None
        return {
            "inputTokens": tokens.input,
            "outputTokens": tokens.output,
            "totalTokens": tokens.input + tokens.output,
            "cacheReadInputTokens": tokens.cached,
        }

    def _turn_to(self, kind: str) -> Iterator[bytes]:
        if self._open != kind:
            yield from self._close()
            self._open = kind
            self._index += 1

    def _start(self, start: dict[str, Any]) -> bytes:
        return _event("contentBlockStart", {"contentBlockIndex": self._index, "start": start})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("contentBlockDelta", {"contentBlockIndex": self._index, "delta": delta})

    def _close(self) -> Iterator[bytes]:
        if self._open:
            self._open = ""
            yield _event("contentBlockStop", {"contentBlockIndex": self._index})


class BedrockInvokeWire(AnthropicWire):
    """InvokeModelWithResponseStream for Anthropic's models: their own events, each in a chunk."""

    content_type = "application/vnd.amazon.eventstream"

    def frame(self, type: str, **fields: Any) -> bytes:
        """One event, wrapped; the last one carries the service's own counts."""
        if type == "message_stop" and self.answer.usage is not None:
            tokens = self.answer.usage
            fields[_METRICS] = {"inputTokenCount": tokens.input, "outputTokenCount": tokens.output}
        inner = b64encode(dumps({"type": type, **fields})).decode()
        return _event("chunk", {"bytes": inner})

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        return BedrockWire(self.answer, self.ask).error(error)

    def ping(self) -> Iterator[bytes]:
        yield self.frame("ping")

    refused = staticmethod(BedrockWire.refused)
    refused_headers = staticmethod(BedrockWire.refused_headers)


def _event(type: str, payload: dict[str, Any]) -> bytes:
    headers = {":event-type": type, ":content-type": "application/json", ":message-type": "event"}
    return encode_message(headers, dumps({**payload, "p": "abcdef"}))


def _citation(cite: Cite) -> dict[str, Any]:
    return {"title": cite.title, "sourceContent": [{"text": cite.text}], "location": {"web": {"url": cite.url}}}
