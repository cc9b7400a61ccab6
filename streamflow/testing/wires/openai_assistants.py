"""OpenAI assistants: the events of a run. The name of the event is its only type."""

from collections.abc import Iterator
from typing import Any

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, Cite, ErrorEvent, HttpError
from streamflow.testing.wires.openai_chat import ChatWire
from streamflow.testing.wires.wire import CREATED, Call, Wire, calls_of, sse

INCOMPLETE = {"max_tokens": "max_completion_tokens", "content_filter": "content_filter"}


class AssistantsWire(Wire):
    """``thread.run.created`` to ``done``. A run that is not streamed is told as it is at its end."""

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._pieces: list[str] = []
        self._notes: list[dict[str, Any]] = []
        self._has_message = False
        self._has_calls = False

    def begin(self) -> Iterator[bytes]:
        yield sse(self._run("queued"), "thread.run.created")
        yield sse(self._run("queued"), "thread.run.queued")
        yield sse(self._run("in_progress"), "thread.run.in_progress")

    def text(self, delta: str) -> Iterator[bytes]:
        self._pieces.append(delta)
        yield from self._message_delta({"value": delta})

    def cite(self, cite: Cite) -> Iterator[bytes]:
        note = {
            "type": "file_citation",
            "text": cite.text,
            "start_index": cite.start,
            "end_index": cite.end,
            "file_citation": {"file_id": cite.title or cite.url, "quote": cite.text},
        }
        self._notes.append(note)
        yield from self._message_delta({"annotations": [{"index": len(self._notes) - 1, **note}]})

    def _message_delta(self, text: dict[str, Any]) -> Iterator[bytes]:
        if not self._has_message:
            self._has_message = True
            yield sse(self._step("message_creation", "in_progress"), "thread.run.step.created")
            yield sse(self._message("in_progress"), "thread.message.created")
            yield sse(self._message("in_progress"), "thread.message.in_progress")
        content = [{"index": 0, "type": "text", "text": text}]
        body = {"id": self._id("msg"), "object": "thread.message.delta", "delta": {"content": content}}
        yield sse(body, "thread.message.delta")

    def call_begin(self, call: Call) -> Iterator[bytes]:
        yield from self._end_message()
        if not self._has_calls:
            self._has_calls = True
            yield sse(self._step("tool_calls", "in_progress"), "thread.run.step.created")
            yield sse(self._step("tool_calls", "in_progress"), "thread.run.step.in_progress")
        named = {"id": call.id, "function": {"name": call.use.name, "arguments": "", "output": None}}
        yield self._step_delta(call, named)

    def call_delta(self, call: Call, delta: str) -> Iterator[bytes]:
        yield self._step_delta(call, {"function": {"arguments": delta}})

    def _step_delta(self, call: Call, fields: dict[str, Any]) -> bytes:
        details = {"type": "tool_calls", "tool_calls": [{"index": call.number, "type": "function", **fields}]}
        body = {"id": self._id("step"), "object": "thread.run.step.delta", "delta": {"step_details": details}}
        return sse(body, "thread.run.step.delta")

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        body = ChatWire.refused(HttpError(error.status, error.message, error.kind))["error"]
        yield sse({**body, "status_code": error.status}, "error")

    def end(self) -> Iterator[bytes]:
        yield from self._end_message()
        status = self._status()
        yield sse(self._run(status), f"thread.run.{status}")
        yield sse(b"[DONE]", "done")

    def _end_message(self) -> Iterator[bytes]:
        if self._has_message:
            self._has_message = False
            yield sse(self._message("completed"), "thread.message.completed")
            yield sse(self._step("message_creation", "completed"), "thread.run.step.completed")

    def whole(self) -> Any:
        return self._run(self._status())

    refused = staticmethod(ChatWire.refused)

    def _status(self) -> str:
        if self.answer.stop_reason in INCOMPLETE:
            return "incomplete"
        return "requires_action" if calls_of(self.answer) else "completed"

    def _id(self, kind: str) -> str:
        return f"{kind}_{self.answer.id}"

    def _run(self, status: str) -> dict[str, Any]:
        tokens = self.answer.usage if status in ("completed", "incomplete") else None
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.use.name, "arguments": call.use.json}}
            for call in calls_of(self.answer)
        ]
        action = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": calls}}
        return {
            "id": self._id("run"),
            "object": "thread.run",
            "created_at": CREATED,
            "assistant_id": "asst_simulated",
            "thread_id": "thread_simulated",
            "status": status,
            "required_action": action if status == "requires_action" else None,
            "last_error": None,
            "incomplete_details": {"reason": INCOMPLETE[self.answer.stop_reason]} if status == "incomplete" else None,
            "model": self.model,
            "instructions": "",
            "tools": [],
            "metadata": {},
            "usage": None
            if tokens is None
            else {
                "prompt_tokens": tokens.input,
                "completion_tokens": tokens.output,
                "total_tokens": tokens.input + tokens.output,
                "prompt_token_details": {"cached_tokens": tokens.cached},
                "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
            },
        }

    def _message(self, status: str) -> dict[str, Any]:
        text = {"value": "".join(self._pieces), "annotations": self._notes}
        return {
            "id": self._id("msg"),
            "object": "thread.message",
            "created_at": CREATED,
            "assistant_id": "asst_simulated",
            "thread_id": "thread_simulated",
            "run_id": self._id("run"),
            "status": status,
            "role": "assistant",
            "content": [{"type": "text", "text": text}] if status == "completed" else [],
            "attachments": [],
            "metadata": {},
        }

    def _step(self, kind: str, status: str) -> dict[str, Any]:
        details: Any = {"message_id": self._id("msg")} if kind == "message_creation" else []
        return {
            "id": self._id("step"),
            "object": "thread.run.step",
            "created_at": CREATED,
            "run_id": self._id("run"),
            "assistant_id": "asst_simulated",
            "thread_id": "thread_simulated",
            "type": kind,
            "status": status,
            "step_details": {"type": kind, kind: details},
            "usage": None,
        }
