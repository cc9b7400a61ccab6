"""The OpenAI Responses API: items that grow part by part, each event naming the place that it belongs to.

An item is found by its ``output_index``: some gateways give it a new id in every event. What an event ``*.done``, a
finished item or the final response says again is compared with what came before it: text that was never sent as a
delta is not lost, text that was is not doubled.
"""

from collections.abc import Callable
from typing import Any

from streamflow.errors import ProviderError
from streamflow.events import Frame, ImagePreview, Usage
from streamflow.providers.provider import Provider
from streamflow.providers.refusals import provider_error
from streamflow.providers.responses_items import Items
from streamflow.providers.turn import Turn

INCOMPLETE_REASONS = {
    "max_output_tokens": "max_tokens",
    "max_tokens": "max_tokens",
    "content_filter": "content_filter",
}


class OpenAIResponses:
    """Reads ``response.*`` events, and whole answers (``"object": "response"``)."""

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._items = Items(turn)

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """Events are named ``response.something`` or ``error``; a whole answer says that it is a response."""
        kind = payload.get("type")
        return payload.get("object") == "response" or (
            isinstance(kind, str) and (kind == "error" or kind.startswith("response."))
        )

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload."""
        kind = payload.get("type")
        if kind == "response.output_text.delta":  # nearly all events are of this kind
            self._items.at(payload, "message").grow(payload.get("content_index", 0), "text", payload["delta"])
            return
        reader = _READERS.get(kind) if kind is not None else None
        if reader is not None:
            reader(self, payload)
        elif payload.get("object") == "response":
            self._read_whole(payload)
        elif payload.get("error") or frame.event == "error":
            self._read_error(payload)
        elif kind not in _PROGRESS:
            self._turn.unknown(str(kind), payload, frame.event)

    # -- the response as a whole

    def _read_begin(self, payload: dict[str, Any]) -> None:
        response = payload["response"]
        self._turn.begin(response.get("id"), response.get("model"))

    def _read_end(self, payload: dict[str, Any]) -> None:
        response = payload["response"]
        self._end(response, payload["type"].removeprefix("response."))

    def _read_whole(self, response: dict[str, Any]) -> None:
        status = response.get("status") or "completed"
        self._turn.begin(response.get("id"), response.get("model"))
        if status in _END_STATES:
            self._end(response, status)
        else:
            # A background answer that was fetched too early: it has no end yet.
            self._turn.notice_once("not_finished", f"the response is {status}", response)

    def _end(self, response: dict[str, Any], status: str) -> None:
        turn = self._turn
        turn.begin(response.get("id"), response.get("model"))
        said = response.get("status")
        if said in _END_STATES:
            status = said
        self._items.settle_all(response.get("output") or (), cut=status != "completed")
        if usage := response.get("usage"):
            turn.usage(usage_of(usage))
        if status == "failed":
            raise self._failure(response.get("error"))
        if status == "incomplete":
            reason = (response.get("incomplete_details") or {}).get("reason") or status
            turn.stop(INCOMPLETE_REASONS.get(reason, "other"), reason)
        elif status == "completed":
            turn.stop(self._items.stop_reason(), status)
        else:
            turn.stop("cancelled" if status == "cancelled" else "other", status)
        turn.complete()

    def _read_error(self, payload: dict[str, Any]) -> None:
        error = payload.get("error")
        if not isinstance(error, dict):
            # The flat form: the word "error" in `type` is the name of the event, not the kind of the error.
            error = {key: value for key, value in payload.items() if key != "type"}
        raise self._failure(error)

    def _failure(self, error: Any) -> ProviderError:
        return provider_error(self._turn.provider, error or {"message": "the response failed"})

    # -- items

    def _read_item_added(self, payload: dict[str, Any]) -> None:
        self._items.of(payload, begins=True).begin(payload["item"])

    def _read_item_done(self, payload: dict[str, Any]) -> None:
        self._items.of(payload, begins=False).finish(payload["item"])

    def _read_part_done(self, payload: dict[str, Any]) -> None:
        part = payload["part"]
        kind = "reasoning" if part.get("type") == "reasoning_text" else "message"
        self._items.at(payload, kind).settle_part(payload.get("content_index", 0), part)

    def _read_refusal_delta(self, payload: dict[str, Any]) -> None:
        self._items.at(payload, "message").grow(payload.get("content_index", 0), "refusal", payload["delta"])

    def _read_text_done(self, payload: dict[str, Any]) -> None:
        self._items.at(payload, "message").settle(payload.get("content_index", 0), "text", payload["text"])

    def _read_refusal_done(self, payload: dict[str, Any]) -> None:
        self._items.at(payload, "message").settle(payload.get("content_index", 0), "refusal", payload["refusal"])

    def _read_reasoning_delta(self, payload: dict[str, Any]) -> None:
        delta = payload["delta"]
        text = delta if isinstance(delta, str) else delta["text"]
        self._items.at(payload, "reasoning").grow(_thought_key(payload), "thinking", text)

    def _read_reasoning_done(self, payload: dict[str, Any]) -> None:
        part = payload.get("part") or payload
        self._items.at(payload, "reasoning").settle(_thought_key(payload), "thinking", part["text"])

    def _read_annotation(self, payload: dict[str, Any]) -> None:
        item = self._items.at(payload, "message")
        item.cite(payload.get("content_index", 0), payload["annotation"], payload.get("annotation_index"))

    # -- tools

    def _read_call_delta(self, payload: dict[str, Any]) -> None:
        self._items.at(payload, _CALL_OF[payload["type"]]).grow_call(payload["delta"])

    def _read_call_done(self, payload: dict[str, Any]) -> None:
        item = self._items.at(payload, _CALL_OF[payload["type"]])
        text = payload.get("arguments") if "arguments" in payload else payload.get("input")
        item.settle_call(text, payload.get("call_id"), payload.get("name"))

    def _read_server_delta(self, payload: dict[str, Any]) -> None:
        kind, field = _SERVER_FIELDS[payload["type"]]
        self._items.at(payload, kind).grow_field(field, payload["delta"])

    def _read_partial_image(self, payload: dict[str, Any]) -> None:
        item = self._items.at(payload, "image_generation_call")
        self._turn.emit(ImagePreview(item.image(payload, payload["partial_image_b64"], payload.get("item_id"))))

    def done(self) -> None:
        """Some gateways close with ``[DONE]``; the end of the response itself has come before it."""

    def may_end(self) -> bool:
        """The end is always an event."""
        return False


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts of the Responses API.

    >>> usage_of({"input_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}}).reasoning_tokens
    2
    """
    sent = usage.get("input_tokens_details") or {}
    made = usage.get("output_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cache_read_tokens=sent.get("cached_tokens"),
        cache_write_tokens=sent.get("cache_write_tokens"),
        reasoning_tokens=made.get("reasoning_tokens"),
        raw=usage,
    )


def _thought_key(payload: dict[str, Any]) -> Any:
    summary = payload.get("summary_index")
    return payload.get("content_index", 0) if summary is None else ("summary", summary)


_END_STATES = ("completed", "incomplete", "failed", "cancelled")

_CALL_OF = {
    "response.function_call_arguments.delta": "function_call",
    "response.function_call_arguments.done": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.custom_tool_call_input.done": "custom_tool_call",
}

_SERVER_FIELDS = {
    "response.code_interpreter_call_code.delta": ("code_interpreter_call", "code"),
    "response.mcp_call_arguments.delta": ("mcp_call", "arguments"),
    "response.mcp_call.arguments_delta": ("mcp_call", "arguments"),
}

_READERS: dict[str, Callable[[OpenAIResponses, dict[str, Any]], None]] = {
    "response.created": OpenAIResponses._read_begin,
    "response.queued": OpenAIResponses._read_begin,
    "response.in_progress": OpenAIResponses._read_begin,
    "response.completed": OpenAIResponses._read_end,
    "response.done": OpenAIResponses._read_end,
    "response.incomplete": OpenAIResponses._read_end,
    "response.cancelled": OpenAIResponses._read_end,
    "response.failed": OpenAIResponses._read_end,
    "error": OpenAIResponses._read_error,
    "response.error": OpenAIResponses._read_error,
    "response.output_item.added": OpenAIResponses._read_item_added,
    "response.output_item.done": OpenAIResponses._read_item_done,
    "response.content_part.done": OpenAIResponses._read_part_done,
    "response.output_text.done": OpenAIResponses._read_text_done,
    "response.output_text.annotation.added": OpenAIResponses._read_annotation,
    "response.output_text_annotation.added": OpenAIResponses._read_annotation,
    "response.refusal.delta": OpenAIResponses._read_refusal_delta,
    "response.refusal.done": OpenAIResponses._read_refusal_done,
    "response.reasoning_text.delta": OpenAIResponses._read_reasoning_delta,
    "response.reasoning_text.done": OpenAIResponses._read_reasoning_done,
    "response.reasoning_summary_text.delta": OpenAIResponses._read_reasoning_delta,
    "response.reasoning_summary_text.done": OpenAIResponses._read_reasoning_done,
    "response.reasoning_summary_part.done": OpenAIResponses._read_reasoning_done,
    "response.image_generation_call.partial_image": OpenAIResponses._read_partial_image,
    **{
        kind: OpenAIResponses._read_call_delta if kind.endswith(".delta") else OpenAIResponses._read_call_done
        for kind in _CALL_OF
    },
    **dict.fromkeys(_SERVER_FIELDS, OpenAIResponses._read_server_delta),
}

# Steps on the way: what they tell is told again, whole, by the item's end.
_PROGRESS = frozenset(
    (
        "keepalive",
        "ping",
        "response.content_part.added",
        "response.reasoning_summary_part.added",
        "response.code_interpreter_call_code.done",
        "response.mcp_call_arguments.done",
        "response.mcp_call.arguments_done",
        "response.shell_call_command.added",
        "response.shell_call_command.delta",
        "response.shell_call_command.done",
        "response.shell_call_output_content.delta",
        "response.shell_call_output_content.done",
        "response.apply_patch_call_operation_diff.delta",
        "response.apply_patch_call_operation_diff.done",
        *(
            f"response.{tool}.{state}"
            for tool in (
                "web_search_call",
                "file_search_call",
                "code_interpreter_call",
                "image_generation_call",
                "mcp_call",
                "mcp_list_tools",
                "computer_call",
                "local_shell_call",
                "shell_call",
                "apply_patch_call",
                "tool_search_call",
            )
            for state in (
                "in_progress",
                "searching",
                "interpreting",
                "generating",
                "completed",
                "incomplete",
                "failed",
            )
        ),
    )
)
