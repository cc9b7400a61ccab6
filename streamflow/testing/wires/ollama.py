"""Ollama's own API: one JSON line for each event, of chat and of generate."""

from collections.abc import Iterator
from typing import Any

from streamflow.testing.script import ErrorEvent, HttpError, Picture, Refusal, Text, Thinking
from streamflow.testing.wires.wire import Call, Wire, calls_of, dumps, joined

STOPS = {"end_turn": "stop", "tool_use": "stop", "stop_sequence": "stop", "max_tokens": "length"}
_MADE_AT = "2026-01-01T00:00:00Z"


class OllamaWire(Wire):
    """Lines with a ``message`` until the one that is ``done``."""

    content_type = "application/x-ndjson"

    def text(self, delta: str) -> Iterator[bytes]:
        yield self._line(content=delta)

    def thinking(self, delta: str) -> Iterator[bytes]:
        yield self._line(content="", thinking=delta)

    def call_end(self, call: Call) -> Iterator[bytes]:
        yield self._line(content="", tool_calls=[_call(call)])

    def picture(self, picture: Picture) -> Iterator[bytes]:
        yield self._line(content="", images=[picture.data])

    def ping(self) -> Iterator[bytes]:
        yield b"\n"

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        yield dumps({"error": error.message, "status_code": error.status}) + b"\n"

    def end(self) -> Iterator[bytes]:
        yield dumps(self._last(content="")) + b"\n"

    def whole(self) -> Any:
        said: dict[str, Any] = {"content": joined(self.answer, Text) + joined(self.answer, Refusal)}
        if thought := joined(self.answer, Thinking):
            said["thinking"] = thought
        if calls := calls_of(self.answer):
            said["tool_calls"] = [_call(call) for call in calls]
        if images := [part.data for part in self.answer.parts if isinstance(part, Picture)]:
            said["images"] = images
        return self._last(**said)

    @staticmethod
    def refused(error: HttpError) -> Any:
        return {"error": error.message or f"the request was refused with status {error.status}"}

    def _said(self, **message: Any) -> dict[str, Any]:
        return {"message": {"role": "assistant", **message}}

    def _line(self, **message: Any) -> bytes:
        head = {"model": self.model, "created_at": _MADE_AT}
        return dumps({**head, **self._said(**message), "done": False}) + b"\n"

    def _last(self, **message: Any) -> dict[str, Any]:
        body = {"model": self.model, "created_at": _MADE_AT, **self._said(**message)}
        body |= {"done": True, "done_reason": self.stop_word(STOPS)}
        if self.answer.usage is not None:
            counts = {"prompt_eval_count": self.answer.usage.input, "eval_count": self.answer.usage.output}
            body |= {"total_duration": 1000, "load_duration": 10, **counts, "eval_duration": 900}
        return body


class OllamaGenerateWire(OllamaWire):
    """Lines with a ``response`` instead: plain text generation."""

    def _said(self, **message: Any) -> dict[str, Any]:
        said = {key: value for key, value in message.items() if key == "thinking"}
        return {"response": message["content"], **said}

    def call_end(self, call: Call) -> Iterator[bytes]:
        return iter(())


def _call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "function": {"index": call.number, "name": call.use.name, "arguments": call.use.value}}
