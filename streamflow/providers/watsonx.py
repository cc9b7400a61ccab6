"""IBM watsonx text generation, streamed or whole. Its chat is of the chat-completions family."""

from typing import Any

from streamflow.errors import ProviderError
from streamflow.events import Frame, Usage
from streamflow.providers.provider import Provider
from streamflow.providers.refusals import RETRYABLE_STATUS
from streamflow.providers.turn import Turn

STOP_REASONS = {
    "eos_token": "end_turn",
    "max_tokens": "max_tokens",
    "token_limit": "max_tokens",
    "stop_sequence": "stop_sequence",
    "time_limit": "other",
    "cancelled": "other",
}

_GOES_ON = "not_finished"


class Watsonx:
    """Reads ``results`` until one has a stop reason other than ``not_finished``."""

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._choice = choice
        self._input_tokens: int | None = None

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """Text generation has results, or errors."""
        return "results" in payload or "errors" in payload

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload."""
        turn = self._turn
        if payload.get("errors") or frame.event == "error":
            raise service_error(turn.provider, payload)
        results = payload.get("results")
        if results is None:
            if payload:  # the service closes with an empty object
                turn.unknown(frame.event, payload, frame.event)
            return
        turn.begin(payload.get("id"), payload.get("model_id"))
        for warning in (payload.get("system") or {}).get("warnings") or ():
            turn.notice_once("warning", str(warning.get("message") or warning.get("id") or ""), warning)
        if len(results) > 1:
            turn.notice_once("choices", "the provider sends several results; this stream is one of them")
        if self._choice < len(results):
            self._read_result(results[self._choice])

    def _read_result(self, result: dict[str, Any]) -> None:
        turn = self._turn
        if text := result["generated_text"]:
            turn.text(text)
        if moderations := result.get("moderations"):
            turn.notice("moderations", "", moderations)
        self._read_usage(result)
        reason = result.get("stop_reason")
        if reason and reason.lower() != _GOES_ON:
            if reason.lower() == "error":
                raise ProviderError(
                    f"{turn.provider}: the generation failed", provider=turn.provider, kind=reason, retryable=True
                )
            turn.stop(STOP_REASONS.get(reason.lower(), "other"), reason)
            turn.complete()

    def _read_usage(self, result: dict[str, Any]) -> None:
        # The input is counted in the first event alone; the later ones say 0.
        counted = result.get("input_token_count")
        if counted or self._input_tokens is None:
            self._input_tokens = counted
        usage = {field: value for field, value in result.items() if field.endswith("_token_count")}
        if usage:
            self._turn.usage(
                Usage(self._input_tokens, result.get("generated_token_count"), raw={**usage, **self._whole_count()})
            )

    def _whole_count(self) -> dict[str, int]:
        return {} if self._input_tokens is None else {"input_token_count": self._input_tokens}

    def done(self) -> None:
        """Not part of this protocol."""
        self._turn.notice_once("unknown_event", "[DONE]")

    def may_end(self) -> bool:
        """Only a stop reason ends the text."""
        return False


def service_error(provider: str, payload: dict[str, Any]) -> ProviderError:
    """The typed error for the service's list of errors.

    >>> error = service_error("watsonx", {"errors": [{"code": "busy", "message": "try later"}], "status_code": 503})
    >>> error.status, error.kind, error.retryable
    (503, 'busy', True)
    """
    errors = payload.get("errors") or [payload]
    status = payload.get("status_code") or payload.get("status")
    kind = errors[0].get("code")
    return ProviderError(
        f"{provider}: " + "; ".join(str(error.get("message") or error) for error in errors),
        provider=provider,
        status=status if isinstance(status, int) else None,
        kind=str(kind) if kind else None,
        retryable=status in RETRYABLE_STATUS,
    )
