"""The OpenAI Responses API: numbered events about items, each said again whole at its end."""

from collections.abc import Iterator
from typing import Any

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, Cite, ErrorEvent, HttpError, Picture, Refusal, Text, Thinking, ToolUse
from streamflow.testing.wires.openai_chat import ChatWire
from streamflow.testing.wires.wire import CREATED, Call, Wire, call_id, merged, sse

INCOMPLETE = {"max_tokens": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesWire(Wire):
    """``response.created`` to ``response.completed``. The items are collected, because the end repeats them."""

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._number = 0
        self._output: list[dict[str, Any]] = []
        self._part: dict[str, Any] | None = None  # the open part of the open message
        self._pieces: list[str] = []  # what came of the open part, thought or call; joined when it closes

    # -- the stream

    def begin(self) -> Iterator[bytes]:
        yield self._event("response.created", response=self._response("in_progress"))
        yield self._event("response.in_progress", response=self._response("in_progress"))

    def text(self, delta: str) -> Iterator[bytes]:
        yield from self._begin_part("output_text", {"text": "", "annotations": [], "logprobs": []})
        self._pieces.append(delta)
        yield self._event("response.output_text.delta", **self._place(), delta=delta, logprobs=[])

    def refusal(self, delta: str) -> Iterator[bytes]:
        yield from self._begin_part("refusal", {"refusal": ""})
        self._pieces.append(delta)
        yield self._event("response.refusal.delta", **self._place(), delta=delta)

    def thinking(self, delta: str) -> Iterator[bytes]:
        if not self._is_open("reasoning"):
            yield from self._close()
            yield from self._add({"id": self._item_id("rs"), "type": "reasoning", "summary": []})
            part = {"type": "summary_text", "text": ""}
            self._output[-1]["summary"].append(part)
            yield self._event("response.reasoning_summary_part.added", **self._thought(), part=dict(part))
        self._pieces.append(delta)
        yield self._event("response.reasoning_summary_text.delta", **self._thought(), delta=delta)

    def sign(self, thought: Thinking) -> Iterator[bytes]:
        secret = thought.signature or thought.redacted
        if not self._is_open("reasoning"):
            if not secret:
                return
            yield from self._close()
            yield from self._add({"id": self._item_id("rs"), "type": "reasoning", "summary": []})
        if secret:
            self._output[-1]["encrypted_content"] = secret
        yield from self._close()

    def call_begin(self, call: Call) -> Iterator[bytes]:
        yield from self._close()
        yield from self._add(
            {
                "id": self._item_id("fc"),
                "type": "function_call",
                "status": "in_progress",
                "arguments": "",
                "call_id": call.id,
                "name": call.use.name,
            }
        )

    def call_delta(self, call: Call, delta: str) -> Iterator[bytes]:
        self._pieces.append(delta)
        yield self._event("response.function_call_arguments.delta", **self._item_place(), delta=delta)

    def call_end(self, call: Call) -> Iterator[bytes]:
        return self._close()

    def cite(self, cite: Cite) -> Iterator[bytes]:
        yield from self._begin_part("output_text", {"text": "", "annotations": [], "logprobs": []})
        assert self._part is not None
        notes = self._part["annotations"]
        notes.append(_annotation(cite))
        yield self._event(
            "response.output_text.annotation.added",
            **self._place(),
            annotation_index=len(notes) - 1,
            annotation=notes[-1],
        )

    def picture(self, picture: Picture) -> Iterator[bytes]:
        yield from self._close()
        yield from self._add({"id": self._item_id("ig"), "type": "image_generation_call", "status": "in_progress"})
        for state in ("in_progress", "generating", "completed"):
            yield self._event(f"response.image_generation_call.{state}", **self._item_place())
        self._output[-1].update(result=picture.data, output_format=picture.media_type.partition("/")[2])
        yield from self._close()

    def ping(self) -> Iterator[bytes]:
        yield self._event("keepalive")

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        body = ChatWire.refused(HttpError(error.status, error.message, error.kind))["error"]
        body["status_code"] = error.status
        yield self._event("error", error=body)

    def end(self) -> Iterator[bytes]:
        yield from self._close()
        status = self._status()
        yield self._event(f"response.{status}", response=self._response(status))

    def whole(self) -> Any:
        calls = 0
        for part in merged(self.answer):
            match part:
                case Text():
                    self._drain(self.text(part.text))
                case Refusal():
                    self._drain(self.refusal(part.text))
                case Thinking():
                    if part.text:
                        self._drain(self.thinking(part.text))
                    self._drain(self.sign(part))
                case ToolUse():
                    call = Call(calls, call_id(self.answer, part, calls), part)
                    calls += 1
                    self._drain(self.call_begin(call))
                    self._drain(self.call_delta(call, part.json))
                    self._drain(self.call_end(call))
                case Cite():
                    self._drain(self.cite(part))
                case Picture():
                    self._drain(self.picture(part))
        self._drain(self._close())
        return self._response(self._status())

    refused = staticmethod(ChatWire.refused)

    @staticmethod
    def _drain(frames: Iterator[bytes]) -> None:
        for _ in frames:
            pass

    # -- items

    def _item_id(self, kind: str) -> str:
        return f"{kind}_{self.answer.id}_{len(self._output)}"

    def _is_open(self, kind: str) -> bool:
        return bool(self._output) and self._output[-1]["type"] == kind and "_open" in self._output[-1]

    def _add(self, item: dict[str, Any]) -> Iterator[bytes]:
        item["_open"] = True
        self._output.append(item)
        yield self._event("response.output_item.added", output_index=len(self._output) - 1, item=_public(item))

    def _begin_part(self, kind: str, fields: dict[str, Any]) -> Iterator[bytes]:
        if self._is_open("message") and self._part is not None and self._part["type"] == kind:
            return
        if not self._is_open("message"):
            yield from self._close()
            head = {"id": self._item_id("msg"), "type": "message", "status": "in_progress", "role": "assistant"}
            yield from self._add({**head, "content": []})
        else:
            yield from self._close_part()
        self._part = {"type": kind, **fields}
        self._output[-1]["content"].append(self._part)
        yield self._event("response.content_part.added", **self._place(), part=dict(self._part))

    def _joined(self) -> str:
        pieces, self._pieces = self._pieces, []
        return "".join(pieces)

    def _close_part(self) -> Iterator[bytes]:
        part, self._part = self._part, None
        if part is None:
            return
        place = self._place()
        part["refusal" if part["type"] == "refusal" else "text"] = self._joined()
        if part["type"] == "refusal":
            yield self._event("response.refusal.done", **place, refusal=part["refusal"])
        else:
            yield self._event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield self._event("response.content_part.done", **place, part=part)

    def _close(self) -> Iterator[bytes]:
        yield from self._close_part()
        if not self._output or "_open" not in self._output[-1]:
            return
        item = self._output[-1]
        if item["type"] == "reasoning":
            for part in item["summary"]:
                part["text"] = self._joined()
                yield self._event("response.reasoning_summary_text.done", **self._thought(), text=part["text"])
                yield self._event("response.reasoning_summary_part.done", **self._thought(), part=part)
        elif item["type"] == "function_call":
            place = self._item_place()
            item["arguments"] = self._joined()
            yield self._event("response.function_call_arguments.done", **place, arguments=item["arguments"])
        del item["_open"]
        if "status" in item:
            item["status"] = "completed"
        yield self._event("response.output_item.done", output_index=len(self._output) - 1, item=item)

    def _item_place(self) -> dict[str, Any]:
        return {"item_id": self._output[-1]["id"], "output_index": len(self._output) - 1}

    def _place(self) -> dict[str, Any]:
        return {**self._item_place(), "content_index": len(self._output[-1]["content"]) - 1}

    def _thought(self) -> dict[str, Any]:
        return {**self._item_place(), "summary_index": 0}

    # -- the response

    def _event(self, type: str, **fields: Any) -> bytes:
        number = self._number
        self._number += 1
        return sse({"type": type, "sequence_number": number, **fields}, type)

    def _status(self) -> str:
        return "incomplete" if self.answer.stop_reason in INCOMPLETE else "completed"

    def _response(self, status: str) -> dict[str, Any]:
        tokens = self.answer.usage if status != "in_progress" else None
        reason = INCOMPLETE.get(self.answer.stop_reason) if status == "incomplete" else None
        return {
            "id": f"resp_{self.answer.id}",
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "instructions": None,
            "max_output_tokens": None,
            "model": self.model,
            "output": [_public(item) for item in self._output] if status != "in_progress" else [],
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": True,
            "temperature": 1.0,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": None
            if tokens is None
            else {
                "input_tokens": tokens.input,
                "input_tokens_details": {"cached_tokens": tokens.cached},
                "output_tokens": tokens.output,
                "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
                "total_tokens": tokens.input + tokens.output,
            },
            "user": None,
            "metadata": {},
        }


def _public(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "_open"}


def _annotation(cite: Cite) -> dict[str, Any]:
    place = {"start_index": cite.start, "end_index": cite.end}
    return {"type": "url_citation", **place, "title": cite.title, "url": cite.url}
