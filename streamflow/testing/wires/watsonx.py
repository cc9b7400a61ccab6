"""IBM watsonx: text generation, and its chat, which is of the chat-completions family."""

from collections.abc import Iterator
from typing import Any

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, ErrorEvent, HttpError, Refusal, Text
from streamflow.testing.wires.openai_chat import ChatWire
from streamflow.testing.wires.wire import Wire, dumps, joined

STOPS = {"end_turn": "eos_token", "max_tokens": "max_tokens", "stop_sequence": "stop_sequence"}
CODES = {400: "invalid_request", 401: "authentication_token_expired", 404: "model_not_supported", 429: "rate_limit"}
_MADE_AT = "2026-01-01T00:00:00.000Z"


class WatsonxWire(Wire):
    """``results`` until one has a stop reason; events are numbered."""

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._number = 0
        self._made = 0

    def begin(self) -> Iterator[bytes]:
        yield self._event(self._results("", "not_finished", self._input()))

    def text(self, delta: str) -> Iterator[bytes]:
        self._made += 1
        yield self._event(self._results(delta, "not_finished", 0))

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        yield self._event(self.refused(HttpError(error.status, error.message, error.kind)), "error")

    def end(self) -> Iterator[bytes]:
        self._made = 0 if self.answer.usage is None else self.answer.usage.output
        yield self._event(self._results("", self.stop_word(STOPS), 0))

    def whole(self) -> Any:
        self._made = 0 if self.answer.usage is None else self.answer.usage.output
        text = joined(self.answer, Text) + joined(self.answer, Refusal)
        return self._results(text, self.stop_word(STOPS), self._input())

    @staticmethod
    def refused(error: HttpError) -> Any:
        message = error.message or f"The request was refused with status {error.status}."
        code = error.kind or CODES.get(error.status, "service_unavailable")
        return {"errors": [{"code": code, "message": message}], "trace": "sim", "status_code": error.status}

    def _input(self) -> int:
        return 0 if self.answer.usage is None else self.answer.usage.input

    def _results(self, text: str, reason: str, sent: int) -> dict[str, Any]:
        result: dict[str, Any] = {"generated_text": text}
        if self.answer.usage is not None:
            result |= {"generated_token_count": self._made, "input_token_count": sent}
        return {"model_id": self.model, "created_at": _MADE_AT, "results": [{**result, "stop_reason": reason}]}

    def _event(self, payload: dict[str, Any], event: str = "message") -> bytes:
        self._number += 1
        return _numbered(self._number, payload, event)


class WatsonxChatWire(ChatWire):
    """Chat completions with numbered events and the errors of watsonx."""

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._number = 0

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        yield self.frame(self.refused(HttpError(error.status, error.message, error.kind)), "error")

    def frame(self, payload: Any, event: str = "message") -> bytes:
        """One event of the stream, with its number."""
        self._number += 1
        return _numbered(self._number, payload, event)

    refused = staticmethod(WatsonxWire.refused)


def _numbered(number: int, payload: Any, event: str) -> bytes:
    return f"id: {number}\nevent: {event}\ndata: ".encode() + dumps(payload) + b"\n\n"
