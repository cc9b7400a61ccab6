"""Encoders of every wire format: a script in, the bytes of a provider out. Pure, so that tests make recordings."""

from collections.abc import Iterator

from streamflow.errors import UsageError
from streamflow.providers.table import provider_row
from streamflow.testing.asks import Ask
from streamflow.testing.script import FAULTS, Answer, Endless, Event, HttpError
from streamflow.testing.wires.anthropic import AnthropicWire
from streamflow.testing.wires.bedrock import BedrockInvokeWire, BedrockWire
from streamflow.testing.wires.cohere import CohereWire
from streamflow.testing.wires.gemini import GeminiWire
from streamflow.testing.wires.google_interactions import InteractionsWire
from streamflow.testing.wires.ollama import OllamaGenerateWire, OllamaWire
from streamflow.testing.wires.openai_assistants import AssistantsWire
from streamflow.testing.wires.openai_chat import ChatWire, CompletionsWire
from streamflow.testing.wires.openai_responses import ResponsesWire
from streamflow.testing.wires.watsonx import WatsonxChatWire, WatsonxWire
from streamflow.testing.wires.wire import Wire, dumps, steps

WIRES: dict[str, type[Wire]] = {
    "openai": ChatWire,
    "openai-completions": CompletionsWire,
    "openai-responses": ResponsesWire,
    "openai-assistants": AssistantsWire,
    "anthropic": AnthropicWire,
    "gemini": GeminiWire,
    "google-interactions": InteractionsWire,
    "bedrock": BedrockWire,
    "bedrock-invoke": BedrockInvokeWire,
    "cohere": CohereWire,
    "ollama": OllamaWire,
    "ollama-generate": OllamaGenerateWire,
    "watsonx": WatsonxChatWire,
    "watsonx-generation": WatsonxWire,
}
"""The encoder of each wire format."""

_SPOKEN = {"vertex": "gemini"}


def wire_of(provider: str) -> str:
    """The name of the wire format that a provider speaks; where it speaks several, that of its chat.

    >>> wire_of("groq"), wire_of("vertex"), wire_of("anthropic")
    ('openai', 'gemini', 'anthropic')
    """
    name = provider_row(provider).name
    return name if name in WIRES else _SPOKEN.get(name, "openai")


def asked(provider: str, wire: str = "", *, stream: bool = True, array: bool = False) -> Ask:
    """A request that nobody sent, for recordings. ``array`` is Gemini's stream without ``alt=sse``.

    >>> asked("xai", "openai-responses").wire
    'openai-responses'
    """
    spoken = wire or wire_of(provider)
    if spoken not in WIRES:
        raise UsageError(f"unknown wire format {spoken!r}; there are {', '.join(WIRES)}")
    return Ask(provider, spoken, model="simulated", stream=stream, array=array)


def encode_steps(wire: Wire) -> Iterator[bytes | Event]:
    """Frames and what happens between them, one at a time; for a server. May be endless."""
    return steps(wire, wire.answer)


def encode(provider: str, answer: Answer, ask: Ask | None = None) -> list[bytes]:
    """The frames of an answer as this provider sends them; a fault in the script ends them there.

    >>> import streamflow as sf
    >>> frames = encode("anthropic", Answer("Hello"))
    >>> frames[-1]
    b'event: message_stop\\ndata: {"type":"message_stop"}\\n\\n'
    >>> sf.read("anthropic", frames).text
    'Hello'
    >>> sf.read("gemini", encode("gemini", Answer("Hi"), asked("gemini", array=True)), framing="json_array").text
    'Hi'
    """
    if any(isinstance(part, Endless) for part in answer.parts):
        raise UsageError("an endless answer has no recording; serve it with FakeProvider")
    ask = ask or asked(provider)
    frames: list[bytes] = []
    for step in encode_steps(WIRES[ask.wire](answer, ask)):
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
    ask = ask or asked(provider, stream=False)
    return dumps(WIRES[ask.wire](answer, ask).whole())


def encode_error(provider: str, error: HttpError, wire: str = "") -> bytes:
    """The body of an HTTP error, as this provider writes it.

    >>> encode_error("anthropic", HttpError(529, "busy"))
    b'{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"req_simulated"}'
    """
    return dumps(WIRES[wire or wire_of(provider)].refused(error))
