"""Chat completions: OpenAI, and the vendors that speak it each with their own habits; text completions too."""

from collections.abc import Iterator
from typing import Any

import msgspec

from streamflow.testing.asks import Ask
from streamflow.testing.script import Answer, Cite, ErrorEvent, HttpError, Picture, Refusal, Text, Thinking, Tokens
from streamflow.testing.wires.wire import CREATED, Call, Wire, calls_of, comment, joined, sse

STOPS = {
    "end_turn": "stop",
    "max_tokens": "length",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "refusal": "stop",
    "content_filter": "content_filter",
    "pause": "stop",
    "other": "insufficient_system_resource",
}

ERROR_TYPES = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "permission_denied"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}


class ChatHabits(msgspec.Struct, frozen=True):
    """How a vendor's stream differs from the others.

    - ``thought``: the field of the delta that carries thinking; ``details`` adds ``reasoning_details``, ``parts`` is a
      list of content parts.
    - ``usage``: ``own`` chunk without choices, in the ``finish`` chunk, in ``every`` chunk, under ``x_groq``, or in a
      ``last`` chunk with a choice. ``usage_on_request`` sends it only when the request asks for it.
    - ``whole_calls``: a call comes in one chunk; ``call_index`` false leaves its index out.
    - ``finish`` and ``done``: whether a finish reason and ``[DONE]`` are sent.
    - ``named_errors``: errors are events of that name.
    - ``citations``: as ``annotations`` of the delta, or as a ``list`` beside the choices of every chunk.
    """

    thought: str = "reasoning_content"
    usage: str = "own"
    usage_on_request: bool = False
    whole_calls: bool = False
    call_index: bool = True
    finish: bool = True
    done: bool = True
    role_always: bool = False
    citations: str = "annotations"
    greeting: str = ""
    filter_results: bool = False
    padding: str = ""
    named_errors: bool = False
    has_id: bool = True


CHAT_HABITS: dict[str, ChatHabits] = {
    "openai": ChatHabits(usage_on_request=True, padding="obfuscation"),
    "azure": ChatHabits(usage_on_request=True, filter_results=True),
    "mistral": ChatHabits(thought="parts", usage="finish", whole_calls=True, call_index=False, padding="p"),
    "xai": ChatHabits(whole_calls=True),
    "deepseek": ChatHabits(usage="finish"),
    "perplexity": ChatHabits(usage="every", role_always=True, citations="list"),
    "groq": ChatHabits(thought="reasoning", usage="groq", whole_calls=True, named_errors=True),
    "openrouter": ChatHabits(thought="details", usage="last", role_always=True, greeting="OPENROUTER PROCESSING"),
    "cerebras": ChatHabits(thought="reasoning", usage="finish", whole_calls=True),
    "together": ChatHabits(thought="reasoning", usage="finish"),
    "huggingface": ChatHabits(usage="finish"),
    "zai": ChatHabits(usage="finish", role_always=True),
    "writer": ChatHabits(done=False, role_always=True),
    "watsonx": ChatHabits(usage="finish", done=False),
    "snowflake": ChatHabits(thought="details", finish=False, role_always=True, has_id=False),
}


class ChatWire(Wire):
    """``chat.completion.chunk`` events and ``[DONE]``."""

    def __init__(self, answer: Answer, ask: Ask) -> None:
        super().__init__(answer, ask)
        self._habits = CHAT_HABITS.get(ask.provider, ChatHabits())
        self._cited: list[str] = []
        wanted = ask.wants_usage or not self._habits.usage_on_request
        self._usage = answer.usage if wanted else None

    # -- the stream

    def begin(self) -> Iterator[bytes]:
        if self._habits.greeting:
            yield comment(self._habits.greeting)
        if self._habits.filter_results:
            results = [{"prompt_index": 0, "content_filter_results": {}}]
            yield self.frame(
                {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": results}
            )
        yield self._chunk({"role": "assistant", "content": "", "refusal": None})

    def text(self, delta: str) -> Iterator[bytes]:
        yield self._chunk({"content": delta})

    def thinking(self, delta: str) -> Iterator[bytes]:
        yield self._chunk(self._thought(delta))

    def sign(self, thought: Thinking) -> Iterator[bytes]:
        if self._habits.thought == "details" and thought.signature:
            yield self._chunk({"content": "", "reasoning_details": [_signature(thought)]})

    def refusal(self, delta: str) -> Iterator[bytes]:
        yield self._chunk({"refusal": delta})

    def call_begin(self, call: Call) -> Iterator[bytes]:
        if not self._habits.whole_calls:
            function = {"name": call.use.name, "arguments": ""}
            yield self._chunk(
                {"tool_calls": [{"index": call.number, "id": call.id, "type": "function", "function": function}]}
            )

    def call_delta(self, call: Call, delta: str) -> Iterator[bytes]:
        if not self._habits.whole_calls:
            yield self._chunk({"tool_calls": [{"index": call.number, "function": {"arguments": delta}}]})

    def call_end(self, call: Call) -> Iterator[bytes]:
        if self._habits.whole_calls:
            number = {"index": call.number} if self._habits.call_index else {}
            yield self._chunk({"tool_calls": [{**number, **_whole_call(call)}]})

    def cite(self, cite: Cite) -> Iterator[bytes]:
        if self._habits.citations == "list":
            self._cited.append(cite.url)
            yield self._chunk({"content": ""})
        else:
            yield self._chunk({"content": "", "annotations": [_annotation(cite)]})

    def picture(self, picture: Picture) -> Iterator[bytes]:
        yield self._chunk({"content": "", "images": [_image(picture)]})

    def ping(self) -> Iterator[bytes]:
        yield comment(self._habits.greeting or "keep-alive")

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        body = self.refused(HttpError(error.status, error.message, error.kind))
        body["error"]["status_code"] = error.status
        yield self.frame(body, "error" if self._habits.named_errors else "")

    def end(self) -> Iterator[bytes]:
        if self._habits.finish:
            yield self._chunk({}, self.stop_word(STOPS), finish=True)
        if self._usage is not None:
            counts = _counts(self._usage)
            if self._habits.usage == "last":
                yield self._chunk({"content": ""}, usage=counts)
            elif self._habits.usage == "own":
                yield self.frame({**self._head(), "choices": [], "usage": counts})
        if self._habits.done:
            yield self.frame(b"[DONE]")

    def frame(self, payload: Any, event: str = "") -> bytes:
        """One event of the stream."""
        return sse(payload, event)

    def _head(self, object: str = "chat.completion.chunk") -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.answer.id}" if self._habits.has_id else "",
            "object": object,
            "created": CREATED if self._habits.has_id else 0,
            "model": self.model,
            "system_fingerprint": "fp_simulated",
        }

    def _chunk(
        self,
        delta: dict[str, Any],
        reason: str | None = None,
        *,
        finish: bool = False,
        usage: dict[str, Any] | None = None,
    ) -> bytes:
        habits = self._habits
        if habits.role_always:
            delta = {"role": "assistant", **delta}
        payload = self._head()
        payload["choices"] = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]
        if self._usage is not None:
            if habits.usage == "every" or (finish and habits.usage == "finish"):
                usage = _counts(self._usage)
            elif finish and habits.usage == "groq":
                payload["x_groq"] = {"id": "req_simulated", "usage": _counts(self._usage)}
            elif habits.usage_on_request:
                payload["usage"] = None
        if usage is not None:
            payload["usage"] = usage
        if self._cited:
            payload["citations"] = self._cited
        if habits.padding:
            payload[habits.padding] = "abcdefgh"[: len(delta) + 3]
        return self.frame(payload)

    def _thought(self, text: str) -> dict[str, Any]:
        match self._habits.thought:
            case "details":
                details = [{"type": "reasoning.text", "text": text, "format": "unknown", "index": 0}]
                return {"content": "", "reasoning": text, "reasoning_details": details}
            case "parts":
                return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}
            case field:
                return {"content": None, field: text}

    # -- whole

    def whole(self) -> Any:
        answer = self.answer
        text, thought, refusal = (joined(answer, kind) for kind in (Text, Thinking, Refusal))
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": refusal or None}
        if thought:
            for field, value in self._thought(thought).items():
                if field != "content":
                    message[field] = value
                elif value:
                    message["content"] = [*value, {"type": "text", "text": text}]
        if calls := calls_of(answer):
            message["tool_calls"] = [_whole_call(call) for call in calls]
        if notes := [_annotation(part) for part in answer.parts if isinstance(part, Cite)]:
            message["annotations"] = notes
        if images := [_image(part) for part in answer.parts if isinstance(part, Picture)]:
            message["images"] = images
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.stop_word(STOPS)}
        body = {**self._head("chat.completion"), "choices": [choice]}
        if answer.usage is not None:
            body["usage"] = _counts(answer.usage)
        return body

    @staticmethod
    def refused(error: HttpError) -> Any:
        kind, code = ERROR_TYPES.get(error.status, ("server_error", None))
        message = error.message or f"The request was refused with status {error.status}."
        return {"error": {"message": message, "type": error.kind or kind, "param": None, "code": code}}


class CompletionsWire(Wire):
    """Text completions: a similar frame around plain text. Thought and calls have no place in it."""

    def text(self, delta: str) -> Iterator[bytes]:
        yield sse(self._body(delta, None))

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        return ChatWire(self.answer, self.ask).error(error)

    def end(self) -> Iterator[bytes]:
        yield sse(self._body("", self.stop_word(STOPS)))
        if self.answer.usage is not None and self.ask.wants_usage:
            yield sse({**self._body("", None), "choices": [], "usage": _counts(self.answer.usage)})
        yield sse(b"[DONE]")

    def whole(self) -> Any:
        body = self._body(joined(self.answer, Text) + joined(self.answer, Refusal), self.stop_word(STOPS))
        if self.answer.usage is not None:
            body["usage"] = _counts(self.answer.usage)
        return body

    refused = staticmethod(ChatWire.refused)

    def _body(self, text: str, reason: str | None) -> dict[str, Any]:
        return {
            "id": f"cmpl-{self.answer.id}",
            "object": "text_completion",
            "created": CREATED,
            "model": self.model,
            "choices": [{"text": text, "index": 0, "logprobs": None, "finish_reason": reason}],
        }


def _counts(tokens: Tokens) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def _whole_call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.use.name, "arguments": call.use.json}}


def _annotation(cite: Cite) -> dict[str, Any]:
    place = {"start_index": cite.start, "end_index": cite.end}
    source = {"url": cite.url, "title": cite.title, "content": cite.text}
    return {"type": "url_citation", "url_citation": {**source, **place}}


def _image(picture: Picture) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{picture.media_type};base64,{picture.data}"}}


def _signature(thought: Thinking) -> dict[str, Any]:
    return {"type": "reasoning.text", "text": "", "signature": thought.signature, "format": "unknown", "index": 0}
