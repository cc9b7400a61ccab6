"""Google's Interactions API: steps (in older streams: contents) that start, grow and stop."""

from collections.abc import Callable
from typing import Any

from streamflow.events import Frame, GeneratedImage, Image, Usage
from streamflow.providers.gemini import character_span, google_error
from streamflow.providers.gemini_arguments import json_text
from streamflow.providers.provider import Provider
from streamflow.providers.turn import Block, Turn

# An interaction that ran to its end may still ask for function calls: the turn itself knows.
STOP_REASONS = {
    "completed": "",
    "requires_action": "tool_use",
    "incomplete": "max_tokens",
    "cancelled": "cancelled",
}

_UNFINISHED = frozenset(("incomplete", "cancelled"))
_RUNNING = frozenset(("in_progress", "queued"))


class _Step:
    """A step that has not stopped."""

    __slots__ = ("block", "kind", "signature", "value")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.block: Block | None = None
        self.signature = ""
        self.value: Any = None  # arguments or result that came as a value; written when the step stops


class GoogleInteractions:
    """Reads interaction events by ``event_type``, and whole interactions."""

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._steps: dict[Any, _Step] = {}
        self._saw_steps = False

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """Events name their type; a whole interaction names its object."""
        return "event_type" in payload or payload.get("object") == "interaction"

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload."""
        kind = payload.get("event_type")
        if kind is None and "status" in payload and frame.event not in _EVENTS:
            self._read_interaction(payload)
            return
        kind = kind or (frame.event if frame.event != "message" else "error" if "error" in payload else "")
        reader = _EVENTS.get(kind)
        if reader is not None:
            reader(self, payload)
        else:
            self._turn.unknown(kind, payload, frame.event)

    # -- the interaction

    def _read_created(self, payload: dict[str, Any]) -> None:
        self._begin(payload["interaction"])

    def _begin(self, interaction: dict[str, Any]) -> None:
        self._turn.begin(interaction.get("id"), interaction.get("model") or interaction.get("agent"))

    def _read_status(self, payload: dict[str, Any]) -> None:
        """The status that counts comes with the end."""

    def _read_completed(self, payload: dict[str, Any]) -> None:
        self._read_interaction(payload["interaction"])

    def _read_interaction(self, interaction: dict[str, Any]) -> None:
        self._begin(interaction)
        if not self._saw_steps:
            for index, step in enumerate(interaction.get("steps") or interaction.get("outputs") or ()):
                self._start(index, step)
                self._stop(index)
        if usage := interaction.get("usage"):
            self._turn.usage(usage_of(usage))
        status = interaction.get("status") or "completed"
        if status == "failed" or interaction.get("error"):
            raise google_error(self._turn.provider, interaction.get("error") or {"message": "the interaction failed"})
        if status in _RUNNING:
            return
        for index in list(self._steps):
            self._stop(index, incomplete=status in _UNFINISHED)
        self._turn.stop(STOP_REASONS.get(status, "other"), status)
        self._turn.complete()

    def _read_error(self, payload: dict[str, Any]) -> None:
        raise google_error(self._turn.provider, payload.get("error") or payload)

    # -- steps

    def _read_start(self, payload: dict[str, Any]) -> None:
        self._start(payload["index"], payload.get("step") or payload["content"])

    def _start(self, index: Any, body: dict[str, Any]) -> None:
        self._saw_steps = True
        if index in self._steps:
            self._stop(index)
        kind = body["type"]
        step = self._steps[index] = _Step(kind)
        if kind == "model_output":
            for content in body.get("content") or ():
                self._grow(step, content)
        elif kind == "user_input":
            del self._steps[index]  # what the client itself said
        else:
            self._grow(step, body)

    def _read_delta(self, payload: dict[str, Any]) -> None:
        index = payload["index"]
        delta = payload["delta"]
        if index not in self._steps:
            self._saw_steps = True
            self._steps[index] = _Step(delta["type"])
        self._grow(self._steps[index], delta)

    def _read_stop(self, payload: dict[str, Any]) -> None:
        self._stop(payload["index"])

    def _stop(self, index: Any, incomplete: bool = False) -> None:
        step = self._steps.pop(index, None)
        if step is None or step.block is None:
            return
        block = step.block
        if step.value is not None and not block.parts and not incomplete:
            self._turn.add(block, step.value if isinstance(step.value, str) else json_text(step.value))
        self._turn.close(block, incomplete)

    def _grow(self, step: _Step, body: dict[str, Any]) -> None:
        kind = body["type"]
        reader = _CONTENTS.get(kind)
        if reader is not None:
            reader(self, step, body)
        elif kind.endswith(("_call", "_result")):
            self._read_server_tool(step, body)
        else:
            self._turn.notice_once("unknown_part", kind, body)

    # -- what a step holds

    def _block(self, step: _Step, kind: str, body: dict[str, Any] | None = None) -> Block:
        """The step's block, begun when the first of its content comes."""
        if step.block is not None and step.block.kind != kind:
            self._turn.close(step.block)
            step.block = None
        if step.block is None:
            body = body or {}
            server = {} if kind in ("text", "thinking") or body["type"] == "function_call" else {"server": body["type"]}
            step.block = self._turn.open(kind, server, body.get("id") or body.get("call_id"), body.get("name"))
        return step.block

    def _sign(self, step: _Step, signature: str | None) -> None:
        if signature and step.block is not None and signature != step.signature:
            step.signature += signature
            step.block.opaque = {"signature": step.signature}

    def _read_text(self, step: _Step, body: dict[str, Any]) -> None:
        if text := body.get("text"):
            self._turn.add(self._block(step, "text"), text)
        if body.get("annotations"):
            self._read_annotations(step, body)

    def _read_thought(self, step: _Step, body: dict[str, Any]) -> None:
        block = self._block(step, "thinking")
        for item in body.get("summary") or ():
            self._turn.add(block, item.get("text") or "")
        self._sign(step, body.get("signature"))

    def _read_thought_summary(self, step: _Step, body: dict[str, Any]) -> None:
        content = body.get("content") or {}
        if content.get("text"):
            self._turn.add(self._block(step, "thinking"), content["text"])
        elif content:
            self._turn.notice_once("unknown_part", f"thought_summary.{content.get('type')}", body)

    def _read_thought_signature(self, step: _Step, body: dict[str, Any]) -> None:
        if step.block is None:
            self._block(step, "thinking")
        self._sign(step, body.get("signature"))

    def _read_function_call(self, step: _Step, body: dict[str, Any]) -> None:
        if body.get("name") or step.block is not None:
            self._block(step, "tool_call", body)
        if body.get("arguments") is not None:
            step.value = body["arguments"]
        self._sign(step, body.get("signature"))

    def _read_arguments(self, step: _Step, body: dict[str, Any]) -> None:
        self._turn.add(self._block(step, "tool_call", {"type": step.kind}), body.get("arguments") or "")

    def _read_server_tool(self, step: _Step, body: dict[str, Any]) -> None:
        kind = "tool_call" if body["type"].endswith("_call") else "tool_result"
        self._block(step, kind, body)
        value = body.get("arguments") if kind == "tool_call" else body.get("result")
        if value is not None:
            step.value = value
        self._sign(step, body.get("signature"))

    def _read_annotations(self, step: _Step, body: dict[str, Any]) -> None:
        block = self._block(step, "text")
        said = "".join(block.parts)
        for note in body.get("annotations") or ():
            start, end = -1, -1
            if note.get("end_index") is not None:
                start, end = character_span(said, note.get("start_index") or 0, note["end_index"])
            self._turn.cite(
                index=block.index,
                url=note.get("url") or note.get("document_uri") or note.get("source") or "",
                title=note.get("title") or note.get("file_name") or note.get("name") or "",
                text=said[start:end] if start >= 0 else "",
                start=start,
                end=end,
            )

    def _read_image(self, step: _Step, body: dict[str, Any]) -> None:
        if step.block is not None:
            self._turn.close(step.block)
            step.block = None
        if body.get("data") or body.get("uri"):
            media_type = body.get("mime_type") or "image/png"
            self._turn.emit(Image(GeneratedImage(media_type, data=body.get("data"), url=body.get("uri"))))

    def _read_media(self, step: _Step, body: dict[str, Any]) -> None:
        self._turn.notice(body["type"], body.get("mime_type") or "", body)

    def done(self) -> None:
        """``[DONE]`` follows the end; without that end it is none."""

    def may_end(self) -> bool:
        """Only the completed interaction is an end."""
        return False


_EVENTS: dict[str, Callable[[GoogleInteractions, dict[str, Any]], None]] = {
    "interaction.created": GoogleInteractions._read_created,
    "interaction.start": GoogleInteractions._read_created,
    "interaction.status_update": GoogleInteractions._read_status,
    "interaction.in_progress": GoogleInteractions._read_status,
    "interaction.requires_action": GoogleInteractions._read_status,
    "interaction.completed": GoogleInteractions._read_completed,
    "interaction.complete": GoogleInteractions._read_completed,
    "step.start": GoogleInteractions._read_start,
    "step.delta": GoogleInteractions._read_delta,
    "step.stop": GoogleInteractions._read_stop,
    "content.start": GoogleInteractions._read_start,
    "content.delta": GoogleInteractions._read_delta,
    "content.stop": GoogleInteractions._read_stop,
    "error": GoogleInteractions._read_error,
}

_CONTENTS: dict[str, Callable[[GoogleInteractions, _Step, dict[str, Any]], None]] = {
    "text": GoogleInteractions._read_text,
    "text_annotation": GoogleInteractions._read_annotations,
    "text_annotation_delta": GoogleInteractions._read_annotations,
    "thought": GoogleInteractions._read_thought,
    "thought_summary": GoogleInteractions._read_thought_summary,
    "thought_signature": GoogleInteractions._read_thought_signature,
    "function_call": GoogleInteractions._read_function_call,
    "arguments_delta": GoogleInteractions._read_arguments,
    "image": GoogleInteractions._read_image,
    "audio": GoogleInteractions._read_media,
    "video": GoogleInteractions._read_media,
    "document": GoogleInteractions._read_media,
}


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts of an interaction; thoughts are counted beside the output.

    >>> usage_of({"total_input_tokens": 3, "total_thought_tokens": 7}).reasoning_tokens
    7
    """
    return Usage(
        input_tokens=usage.get("total_input_tokens"),
        output_tokens=usage.get("total_output_tokens"),
        cache_read_tokens=usage.get("total_cached_tokens"),
        reasoning_tokens=usage.get("total_thought_tokens"),
        raw=usage,
    )
