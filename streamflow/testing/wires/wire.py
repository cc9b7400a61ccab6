"""What a wire format must be able to do, and the walk from a script to its frames."""

from collections.abc import Iterator
from typing import Any

import msgspec

from streamflow.testing.asks import Ask
from streamflow.testing.script import (
    EVENTS,
    FAULTS,
    Answer,
    Bytes,
    Cite,
    Content,
    Endless,
    ErrorEvent,
    Event,
    HttpError,
    Pause,
    Picture,
    Ping,
    Refusal,
    Text,
    Thinking,
    ToolUse,
)

CREATED = 1_760_000_000
"""The second at which every simulated answer was made: encoders have no clock."""

KIND_OF_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class Call(msgspec.Struct, frozen=True):
    """A tool call with the number and the id that it has on the wire."""

    number: int
    id: str
    use: ToolUse


class Wire:
    """Writes one answer in one wire format, a method for each thing to say. What a format cannot say, it leaves out."""

    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, answer: Answer, ask: Ask) -> None:
        self.answer = answer
        self.ask = ask

    @property
    def model(self) -> str:
        """The model that is said to answer."""
        return self.answer.model or self.ask.model

    def stop_word(self, words: dict[str, str]) -> str:
        """The service's word for why the model stops."""
        return self.answer.raw_stop or words.get(self.answer.stop_reason, self.answer.stop_reason)

    def begin(self) -> Iterator[bytes]:
        """What comes before all content."""
        return iter(())

    def text(self, delta: str) -> Iterator[bytes]:
        """A piece of the answer."""
        return iter(())

    def thinking(self, delta: str) -> Iterator[bytes]:
        """A piece of a thought."""
        return iter(())

    def sign(self, thought: Thinking) -> Iterator[bytes]:
        """The end of a thought: its signature, or what is hidden of it."""
        return iter(())

    def refusal(self, delta: str) -> Iterator[bytes]:
        """A piece of a refusal."""
        return self.text(delta)

    def call_begin(self, call: Call) -> Iterator[bytes]:
        """A tool call opens."""
        return iter(())

    def call_delta(self, call: Call, delta: str) -> Iterator[bytes]:
        """A piece of its arguments."""
        return iter(())

    def call_end(self, call: Call) -> Iterator[bytes]:
        """It closes; where calls come whole, this is all of it."""
        return iter(())

    def cite(self, cite: Cite) -> Iterator[bytes]:
        """A source of the text so far."""
        return iter(())

    def picture(self, picture: Picture) -> Iterator[bytes]:
        """A picture."""
        return iter(())

    def ping(self) -> Iterator[bytes]:
        """A sign of life."""
        yield comment("keep-alive")

    def error(self, error: ErrorEvent) -> Iterator[bytes]:
        """An error inside the stream."""
        yield sse(self.refused(HttpError(error.status, error.message, error.kind)))

    def end(self) -> Iterator[bytes]:
        """What closes a good answer, the end marker included."""
        return iter(())

    def whole(self) -> Any:
        """The same answer as one JSON value, not streamed."""
        raise NotImplementedError

    @staticmethod
    def refused(error: HttpError) -> Any:
        """The JSON body of an HTTP error."""
        raise NotImplementedError

    @staticmethod
    def refused_headers(error: HttpError) -> dict[str, str]:
        """Headers that the service adds to an HTTP error."""
        return {}


def steps(wire: Wire, answer: Answer) -> Iterator[bytes | Event]:
    """The frames of an answer and what happens between them, one after the other; may be endless."""
    yield from wire.begin()
    calls = 0
    for part in answer.parts:
        if isinstance(part, EVENTS):
            yield part
            if isinstance(part, FAULTS):
                return
        elif isinstance(part, Endless):
            while True:
                yield from _content(wire, answer, part.part, calls)
                yield Pause(part.every_s)
        else:
            yield from _content(wire, answer, part, calls)
            if isinstance(part, ErrorEvent):
                return
            calls += isinstance(part, ToolUse)
    yield from wire.end()
    yield from answer.after


def _content(wire: Wire, answer: Answer, part: Content, calls: int) -> Iterator[bytes | Event]:
    wait = [Pause(answer.delay_s)] if answer.delay_s else []
    match part:
        case Text():
            for delta in answer.deltas(part.text):
                yield from wait
                yield from wire.text(delta)
        case Thinking():
            for delta in answer.deltas(part.text):
                yield from wait
                yield from wire.thinking(delta)
            yield from wire.sign(part)
        case Refusal():
            for delta in answer.deltas(part.text):
                yield from wait
                yield from wire.refusal(delta)
        case ToolUse():
            yield from _call(wire, answer, Call(calls, call_id(answer, part, calls), part), wait)
        case Cite():
            yield from wire.cite(part)
        case Picture():
            yield from wire.picture(part)
        case Ping():
            yield from wire.ping()
        case ErrorEvent():
            yield from wire.error(part)
        case Bytes():
            yield part.data


def _call(wire: Wire, answer: Answer, call: Call, wait: list[Pause]) -> Iterator[bytes | Event]:
    yield from wire.call_begin(call)
    for delta in answer.deltas(call.use.json) if answer.delta else pieces_of(call.use.json):
        yield from wait
        yield from wire.call_delta(call, delta)
    if call.use.complete:
        yield from wire.call_end(call)


def pieces_of(json: str, size: int = 5) -> Iterator[str]:
    """Arguments in small pieces, as models write them.

    >>> list(pieces_of('{"a":1}'))
    ['{"a":', '1}']
    """
    return (json[at : at + size] for at in range(0, len(json), size))


def call_id(answer: Answer, use: ToolUse, number: int) -> str:
    """The id of a call: its own, or one that is unique in the conversation.

    >>> call_id(Answer(id="7"), ToolUse("f"), 0)
    'call_7_0'
    """
    return use.id or f"call_{answer.id}_{number}"


def merged(answer: Answer) -> list[Content]:
    """The content of an answer for a whole body: neighbouring texts joined, everything else as it is.

    >>> merged(Answer("Hello ", Pause(1), "world"))
    [Text(text='Hello world')]
    """
    out: list[Content] = []
    for part in answer.parts:
        last = out[-1] if out else None
        if isinstance(part, Text) and isinstance(last, Text):
            out[-1] = Text(last.text + part.text)
        elif isinstance(part, Thinking) and isinstance(last, Thinking) and not last.signature and not last.redacted:
            out[-1] = Thinking(last.text + part.text, part.signature, part.redacted)
        elif not isinstance(part, (*EVENTS, Endless, Ping)):
            out.append(part)
    return out


def calls_of(answer: Answer) -> list[Call]:
    """The calls of an answer with their ids.

    >>> [call.id for call in calls_of(Answer(ToolUse("f"), ToolUse("g")))]
    ['call_1_0', 'call_1_1']
    """
    uses = [part for part in answer.parts if isinstance(part, ToolUse)]
    return [Call(number, call_id(answer, use, number), use) for number, use in enumerate(uses)]


def joined(answer: Answer, kind: type[Text] | type[Thinking] | type[Refusal]) -> str:
    """All text of one kind.

    >>> joined(Answer("a", Thinking("b"), "c"), Text)
    'ac'
    """
    return "".join(part.text for part in answer.parts if isinstance(part, kind))


def dumps(value: Any) -> bytes:
    """Compact JSON."""
    return msgspec.json.encode(value)


def sse(payload: Any, event: str = "", newline: bytes = b"\n") -> bytes:
    r"""One server-sent event.

    >>> sse({"a": 1}, "ping")
    b'event: ping\ndata: {"a":1}\n\n'
    """
    head = b"event: " + event.encode() + newline if event else b""
    data = payload if isinstance(payload, bytes) else dumps(payload)
    return head + b"data: " + data + newline + newline


def comment(text: str) -> bytes:
    """A comment line, which readers of server-sent events skip."""
    return b": " + text.encode() + b"\n\n"
