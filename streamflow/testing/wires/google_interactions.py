"""Google's Interactions API: steps that start, grow and stop."""

from collections.abc import Iterator
from typing import Any

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, Cite, ErrorEvent, HttpError, Picture, Refusal, Text, Thinking, ToolUse
from streamflow.testing.wires.gemini import GeminiWire
from streamflow.testing.wires.wire import Call, Wire, call_id, calls_of, merged, sse

STOPS = {"max_tokens": "incomplete", "cancelled": "cancelled"}


class InteractionsWire(Wire):
    """``interaction.created`` to ``interaction.completed`` and ``[DONE]``."""

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._index = -1
        self._open = ""

    def begin(self) -> Iterator[bytes]:
        yield _event("interaction.created", interaction=self._interaction("in_progress"))
        yield _event("interaction.status_update", interaction_id=self._id(), status="in_progress")

    def text(self, delta: str) -> Iterator[bytes]:
        yield from self._start("model_output", {})
        yield self._delta(type="text", text=delta)

    def thinking(self, delta: str) -> Iterator[bytes]:
        yield from self._start("thought", {})
        yield self._delta(type="thought_summary", content={"type": "text", "text": delta})

    def sign(self, thought: Thinking) -> Iterator[bytes]:
        if thought.signature:
            yield from self._start("thought", {})
            yield self._delta(type="thought_signature", signature=thought.signature)
        yield from self._stop()

    def call_begin(self, call: Call) -> Iterator[bytes]:
        yield from self._stop()
        yield from self._start("function_call", {"id": call.id, "name": call.use.name, "arguments": {}})

    def call_delta(self, call: Call, delta: str) -> Iterator[bytes]:
        yield self._delta(type="arguments_delta", arguments=delta)

    def call_end(self, call: Call) -> Iterator[bytes]:
        return self._stop()

    def cite(self, cite: Cite) -> Iterator[bytes]:
        yield from self._start("model_output", {})
        yield self._delta(type="text_annotation_delta", annotations=[_annotation(cite)])

    def picture(self, picture: Picture) -> Iterator[bytes]:
        yield from self._start("model_output", {})
        yield self._delta(type="image", mime_type=picture.media_type, data=picture.data)

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        yield _event("error", **GeminiWire.refused(HttpError(error.status, error.message, error.kind)))

    def end(self) -> Iterator[bytes]:
        yield from self._stop()
        yield _event("interaction.completed", interaction=self._interaction(self._status()))
        yield sse(b"[DONE]", "done")

    def whole(self) -> Any:
        steps: list[dict[str, Any]] = []
        calls = 0
        for part in merged(self.answer):
            match part:
                case Text() | Refusal():
                    steps.append({"type": "model_output", "content": [{"type": "text", "text": part.text}]})
                case Thinking():
                    summary = [{"type": "text", "text": part.text}] if part.text else []
                    steps.append({"type": "thought", "summary": summary, "signature": part.signature})
                case ToolUse():
                    id = call_id(self.answer, part, calls)
                    calls += 1
                    steps.append({"type": "function_call", "id": id, "name": part.name, "arguments": part.value})
                case Picture():
                    image = {"type": "image", "mime_type": part.media_type, "data": part.data}
                    steps.append({"type": "model_output", "content": [image]})
                case Cite() if steps and steps[-1]["type"] == "model_output":
                    steps[-1]["content"][-1].setdefault("annotations", []).append(_annotation(part))
        return {**self._interaction(self._status()), "steps": steps}

    refused = staticmethod(GeminiWire.refused)

    def _id(self) -> str:
        return f"interaction-{self.answer.id}"

    def _status(self) -> str:
        usual = "requires_action" if calls_of(self.answer) else "completed"
        return self.answer.raw_stop or STOPS.get(self.answer.stop_reason, usual)

    def _interaction(self, status: str) -> dict[str, Any]:
        body: dict[str, Any] = {"id": self._id(), "status": status, "object": "interaction", "model": self.model}
        tokens = self.answer.usage
        if tokens is not None and status != "in_progress":
            body["usage"] = {
                "total_tokens": tokens.input + tokens.output + tokens.reasoning,
                "total_input_tokens": tokens.input,
                "total_cached_tokens": tokens.cached,
                "total_output_tokens": tokens.output,
                "total_thought_tokens": tokens.reasoning,
            }
        return body

    def _start(self, kind: str, fields: dict[str, Any]) -> Iterator[bytes]:
        if self._open != kind:
            yield from self._stop()
            self._open = kind
            self._index += 1
            yield _event("step.start", index=self._index, step={"type": kind, **fields})

    def _delta(self, **delta: Any) -> bytes:
        return _event("step.delta", index=self._index, delta=delta)

    def _stop(self) -> Iterator[bytes]:
        if self._open:
            self._open = ""
            yield _event("step.stop", index=self._index)


def _event(type: str, **fields: Any) -> bytes:
    return sse({**fields, "event_type": type}, type)


def _annotation(cite: Cite) -> dict[str, Any]:
    place = {"start_index": cite.start, "end_index": cite.end}
    return {"type": "url_citation", "url": cite.url, "title": cite.title, **place}
