"""OpenAI assistants: runs of a thread. The SSE event name is the only type; the payload is the object it speaks of."""

from collections.abc import Callable
from typing import Any

from streamflow.errors import ProviderError
from streamflow.events import Frame, GeneratedImage, Image
from streamflow.providers.openai_chat import usage_of
from streamflow.providers.provider import Provider
from streamflow.providers.refusals import provider_error
from streamflow.providers.responses_items import Item
from streamflow.providers.turn import Turn

INCOMPLETE_REASONS = {
    "max_completion_tokens": "max_tokens",
    "max_prompt_tokens": "max_tokens",
    "content_filter": "content_filter",
}

_MESSAGE_ENDS = {"completed": "end_turn", "incomplete": "other"}
_IMAGE_PARTS = ("image_file", "image_url")


class OpenAIAssistants:
    """Reads ``thread.*`` events; a run or a message fetched whole is read by its ``object``."""

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._messages: dict[str, Item] = {}
        self._tools: dict[tuple[str, int], Item] = {}
        self._images: set[tuple[str, int]] = set()
        self._whole = False

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """Events and objects of threads are named ``thread.something``."""
        return frame.event.startswith("thread.") or str(payload.get("object", "")).startswith("thread")

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload."""
        event = frame.event
        if event == "message":
            event = self._event_of_whole(payload)
        reader = _READERS.get(event)
        if reader is not None:
            reader(self, payload)
        elif event not in _PROGRESS:
            self._turn.unknown(event, payload, event)
        if self._whole and self._turn.stop_reason is not None:
            self._turn.complete()

    def _event_of_whole(self, payload: dict[str, Any]) -> str:
        kind = str(payload.get("object"))
        if kind not in ("thread.run", "thread.message"):
            return kind
        self._whole = True
        status = payload.get("status") or "completed"
        if kind == "thread.message":
            self._turn.begin(payload.get("id"))
            if status in _MESSAGE_ENDS:
                self._turn.stop(_MESSAGE_ENDS[status], status)
        return f"{kind}.{status}"

    # -- the run

    def _read_run(self, run: dict[str, Any]) -> None:
        self._turn.begin(run.get("id"), run.get("model"))
        if usage := run.get("usage"):
            self._turn.usage(usage_of(usage))

    def _read_run_completed(self, run: dict[str, Any]) -> None:
        self._read_run(run)
        self._close_all(cut=False)
        refused = any(message.refused for message in self._messages.values())
        self._turn.stop("refusal" if refused else "end_turn", "completed")

    def _read_run_incomplete(self, run: dict[str, Any]) -> None:
        self._read_run(run)
        self._close_all(cut=True)
        reason = (run.get("incomplete_details") or {}).get("reason") or "incomplete"
        self._turn.stop(INCOMPLETE_REASONS.get(reason, "other"), reason)

    def _read_run_cancelled(self, run: dict[str, Any]) -> None:
        self._read_run(run)
        self._close_all(cut=True)
        self._turn.stop("cancelled", "cancelled")

    def _read_run_failed(self, run: dict[str, Any]) -> None:
        self._read_run(run)
        raise self._failure(run)

    def _failure(self, run: dict[str, Any]) -> ProviderError:
        status = run.get("status") or "failed"
        error = run.get("last_error") or {"code": status, "message": f"the run has {status}"}
        return provider_error(self._turn.provider, error)

    def _read_requires_action(self, run: dict[str, Any]) -> None:
        self._read_run(run)
        streamed = {item.call_id: item for item in self._tools.values() if item.kind == "function_call"}
        for call in run["required_action"]["submit_tool_outputs"]["tool_calls"]:
            item = streamed.get(call["id"])
            if item is None:
                item = self._tools[(call["id"], 0)] = Item(self._turn, "function_call", call["id"])
            item.finish(_tool_of(call))
        self._close_all(cut=False)
        self._turn.stop("tool_use", "requires_action")

    def _close_all(self, cut: bool) -> None:
        for item in (*self._messages.values(), *self._tools.values()):
            if not item.done:
                item.close(cut)

    # -- messages

    def _message(self, id: str) -> Item:
        item = self._messages.get(id)
        if item is None:
            item = self._messages[id] = Item(self._turn, "message", id)
        return item

    def _read_message_delta(self, payload: dict[str, Any]) -> None:
        id = payload["id"]
        item = self._message(id)
        for part in payload["delta"].get("content") or ():
            key, kind = part["index"], part["type"]
            if kind == "text":
                text = part.get("text") or {}
                item.grow(key, "text", text.get("value") or "")
                for annotation in text.get("annotations") or ():
                    item.cite(key, annotation, annotation.get("index"))
            elif kind == "refusal":
                item.grow(key, "refusal", part.get("refusal") or "")
            else:
                self._read_other_part(id, key, part)

    def _read_message_whole(self, message: dict[str, Any]) -> None:
        id = message["id"]
        item = self._message(id)
        for key, part in enumerate(message.get("content") or ()):
            if part["type"] == "text":
                text = part["text"]
                item.settle(key, "text", text["value"])
                for position, annotation in enumerate(text.get("annotations") or ()):
                    item.cite(key, annotation, position)
            elif part["type"] == "refusal":
                item.settle(key, "refusal", part["refusal"])
            else:
                self._read_other_part(id, key, part)
        item.close(message.get("status") == "incomplete")

    def _read_other_part(self, id: str, key: int, part: dict[str, Any]) -> None:
        kind = part["type"]
        if kind not in _IMAGE_PARTS:
            self._turn.notice_once("unknown_part", kind, part)
        elif (id, key) not in self._images:
            self._images.add((id, key))
            source = part[kind]
            self._turn.emit(Image(GeneratedImage(id=source.get("file_id"), url=source.get("url"), generation=source)))

    # -- steps

    def _tool(self, step: str, key: int, wire: dict[str, Any]) -> Item:
        item = self._tools.get((step, key))
        if item is None:
            item = self._tools[(step, key)] = Item(self._turn, wire["type"], wire.get("id"))
            item.begin(wire)
        return item

    def _read_step_delta(self, payload: dict[str, Any]) -> None:
        details = payload["delta"].get("step_details") or {}
        for call in details.get("tool_calls") or ():
            wire = _tool_of(call)
            item = self._tool(payload["id"], call["index"], wire)
            if item.kind == "function_call":
                item.begin(wire)
                item.grow_call(wire.get("arguments") or "")
            elif item.kind == "code_interpreter":
                item.grow_field("input", wire.get("input") or "")

    def _read_step_completed(self, step: dict[str, Any]) -> None:
        cut = step.get("status") not in (None, "completed")
        for key, call in enumerate(step["step_details"].get("tool_calls") or ()):
            wire = _tool_of(call)
            if wire["type"] == "function_call" and (step["id"], key) not in self._tools:
                continue  # answered by the client before this stream began
            self._tool(step["id"], key, wire).finish(wire, cut)

    def done(self) -> None:
        """``event: done`` ends every stream of a run."""
        self._turn.complete()

    def may_end(self) -> bool:
        """The end is always an event."""
        return False


def _tool_of(call: dict[str, Any]) -> dict[str, Any]:
    """A call of a step as a flat item: what is specific to its type lies under the type's name."""
    kind = call["type"]
    details = call.get(kind) or {}
    if kind == "function":
        return {
            "type": "function_call",
            "call_id": call.get("id"),
            "name": details.get("name"),
            "arguments": details.get("arguments"),
        }
    return {"type": kind, "id": call.get("id"), **details}


_READERS: dict[str, Callable[[OpenAIAssistants, dict[str, Any]], None]] = {
    "thread.run.created": OpenAIAssistants._read_run,
    "thread.run.queued": OpenAIAssistants._read_run,
    "thread.run.in_progress": OpenAIAssistants._read_run,
    "thread.run.cancelling": OpenAIAssistants._read_run,
    "thread.run.requires_action": OpenAIAssistants._read_requires_action,
    "thread.run.completed": OpenAIAssistants._read_run_completed,
    "thread.run.incomplete": OpenAIAssistants._read_run_incomplete,
    "thread.run.cancelled": OpenAIAssistants._read_run_cancelled,
    "thread.run.failed": OpenAIAssistants._read_run_failed,
    "thread.run.expired": OpenAIAssistants._read_run_failed,
    "thread.run.step.delta": OpenAIAssistants._read_step_delta,
    "thread.run.step.completed": OpenAIAssistants._read_step_completed,
    "thread.run.step.failed": OpenAIAssistants._read_step_completed,
    "thread.run.step.cancelled": OpenAIAssistants._read_step_completed,
    "thread.run.step.expired": OpenAIAssistants._read_step_completed,
    "thread.message.delta": OpenAIAssistants._read_message_delta,
    "thread.message.completed": OpenAIAssistants._read_message_whole,
    "thread.message.incomplete": OpenAIAssistants._read_message_whole,
}

# What these tell is told again by the events above.
_PROGRESS = frozenset(
    (
        "thread.created",
        "thread.run.step.created",
        "thread.run.step.in_progress",
        "thread.message.created",
        "thread.message.in_progress",
        "done",
    )
)
