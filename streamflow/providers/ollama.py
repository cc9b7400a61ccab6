"""Ollama's own API: chat and generate, one JSON line per event."""

from typing import Any

from streamflow.errors import ProviderError
from streamflow.events import Frame, GeneratedImage, Image, Usage
from streamflow.providers.json_text import json_text
from streamflow.providers.provider import Provider
from streamflow.providers.refusals import RETRYABLE_STATUS
from streamflow.providers.turn import Turn

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "load": "end_turn", "unload": "end_turn"}

# Fields of the last line that are no counts.
_CONTENT = frozenset(
    ("model", "created_at", "message", "response", "thinking", "done", "done_reason", "context", "image")
)


class Ollama:
    """Reads lines until the one with ``done: true``. A whole answer is such a line."""

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._called = False

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """Every line says whether it is the last."""
        return "done" in payload or isinstance(payload.get("error"), str)

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one line."""
        turn = self._turn
        if payload.get("error"):
            raise line_error(turn.provider, payload)
        if not turn.started:
            turn.begin(None, payload.get("model"))
        message = payload.get("message")
        if isinstance(message, dict):
            self._read_message(message, message.get("content"))
        elif "response" in payload:
            self._read_message(payload, payload["response"])
        elif "done" not in payload:
            turn.unknown(", ".join(sorted(payload)), payload, frame.event)
        if image := payload.get("image"):
            turn.emit(Image(GeneratedImage(data=image)))
        if payload.get("done"):
            self._end(payload)

    def _read_message(self, message: dict[str, Any], text: str | None) -> None:
        turn = self._turn
        if thought := message.get("thinking"):
            turn.thinking(thought)
        if text:
            turn.text(text)
        for call in message.get("tool_calls") or ():
            function = call["function"]
            arguments = function.get("arguments")
            self._called = True
            turn.whole_call(
                call.get("id"),
                function["name"],
                arguments if isinstance(arguments, str) else json_text(arguments or {}),
            )
        for image in message.get("images") or ():
            turn.emit(Image(GeneratedImage(data=image)))

    def _end(self, payload: dict[str, Any]) -> None:
        turn = self._turn
        counts = {field: value for field, value in payload.items() if field not in _CONTENT}
        if counts:
            turn.usage(Usage(payload.get("prompt_eval_count"), payload.get("eval_count"), raw=counts))
        reason = payload.get("done_reason")
        if reason:
            # "stop" is also how a turn ends that calls tools.
            stop = "tool_use" if self._called and reason == "stop" else STOP_REASONS.get(reason, "other")
            turn.stop(stop, reason)
        turn.complete()

    def done(self) -> None:
        """Not part of this protocol."""
        self._turn.notice_once("unknown_event", "[DONE]")

    def may_end(self) -> bool:
        """Only ``done: true`` ends an answer."""
        return False


def line_error(provider: str, payload: dict[str, Any]) -> ProviderError:
    """The typed error for an ``error`` line.

    >>> line_error("ollama", {"error": "model not found"}).message
    'ollama: model not found'
    """
    error = payload["error"]
    message = error.get("message") if isinstance(error, dict) else error
    status = payload.get("status_code")
    return ProviderError(
        f"{provider}: {message}",
        provider=provider,
        status=status,
        retryable=status in RETRYABLE_STATUS,
    )
