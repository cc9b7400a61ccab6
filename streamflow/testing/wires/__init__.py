"""Encoders of every wire format: a script in, the bytes of a provider out. Pure, so that tests make recordings."""

from collections.abc import Iterator

from streamflow.errors import UsageError
from streamflow.providers.table import provider_row
from streamflow.testing.asks import Ask
from streamflow.testing.script import FAULTS, Answer, Endless, Event, HttpError
from streamflow.testing.wires.anthropic import AnthropicWire
from streamflow.testing.wires.openai_chat import ChatWire, CompletionsWire
from streamflow.testing.wires.wire import Wire, dumps, steps

WIRES: dict[str, type[Wire]] = {
    "openai": ChatWire,
    "openai-completions": CompletionsWire,
    "anthropic": AnthropicWire,
}
"""The encoder of each wire format; a provider without one speaks chat completions."""


def wire_of(provider: str) -> str:
    """The name of the wire format that a provider speaks.

    >>> wire_of("groq"), wire_of("anthropic")
    ('openai', 'anthropic')
    """
    return provider if provider in WIRES else _SPOKEN.get(provider_row(provider).name, "openai")


_SPOKEN: dict[str, str] = {}


def encode_steps(answer: Answer, ask: Ask) -> Iterator[bytes | Event]:
    """Frames and what happens between them, one at a time; for a server. May be endless."""
    return steps(WIRES[ask.wire](answer, ask), answer)


def encode(provider: str, answer: Answer, ask: Ask | None = None) -> list[bytes]:
    """The frames of an answer as this provider sends them; a fault in the script ends them there.

    >>> import streamflow as sf
    >>> frames = encode("anthropic", Answer("Hello"))
    >>> frames[-1]
    b'event: message_stop\\ndata: {"type":"message_stop"}\\n\\n'
    >>> sf.read("anthropic", frames).text
    'Hello'
    """
    if any(isinstance(part, Endless) for part in answer.parts):
        raise UsageError("an endless answer has no recording; serve it with FakeProvider")
    ask = ask or Ask(provider, wire_of(provider), model="simulated")
    frames: list[bytes] = []
    for step in encode_steps(answer, ask):
        if isinstance(step, bytes):
            frames.append(step)
        elif isinstance(step, FAULTS):
            break
    return frames


def encode_whole(provider: str, answer: Answer, ask: Ask | None = None) -> bytes:
    """The body of the same answer when it is not streamed.

    >>> import streamflow as sf
    >>> sf.read("openai", encode_whole("openai", Answer("Hello"))).text
    'Hello'
    """
    ask = ask or Ask(provider, wire_of(provider), model="simulated", stream=False)
    return dumps(WIRES[ask.wire](answer, ask).whole())


def encode_error(provider: str, error: HttpError, wire: str = "") -> bytes:
    """The body of an HTTP error, as this provider writes it.

    >>> encode_error("anthropic", HttpError(529, "busy"))
    b'{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"req_simulated"}'
    """
    return dumps(WIRES[wire or wire_of(provider)].refused(error))
