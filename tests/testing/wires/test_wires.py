"""Every encoder against the reader of the same dialect: what the script said is what is read."""

import random

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.operators import tool_accumulate
from streamflow.testing import (
    Answer,
    Cite,
    Cut,
    ErrorEvent,
    HttpError,
    Pause,
    Picture,
    Ping,
    Refusal,
    Text,
    Thinking,
    Tokens,
    ToolUse,
    encode,
    encode_error,
    encode_whole,
)
from streamflow.testing.wires import WIRES, asked
from tests.support import cuts
from tests.support.grammar import assert_grammar

NO_STRUCTURE = {"openai-completions", "watsonx-generation", "ollama-generate"}
NO_THINKING = {"openai-completions", "watsonx-generation", "openai-assistants"}
NO_IMAGES = NO_STRUCTURE | {"anthropic", "bedrock-invoke", "openai-assistants", "cohere"}
NO_CITATIONS = NO_STRUCTURE | {"ollama", "openai-assistants"}
NAMELESS = {"cohere"}
NO_CALL_IDS = {"gemini", "vertex"}
PROVIDER_OF_WIRE = {"watsonx-generation": "watsonx", "ollama-generate": "ollama", "bedrock-invoke": "bedrock"}

VARIANTS = [
    *((name, asked(name)) for name in sf.providers()),
    ("gemini", asked("gemini", array=True)),
    ("vertex", asked("vertex", array=True)),
    *((provider, asked(provider, wire)) for wire, provider in PROVIDER_OF_WIRE.items()),
    *((name, asked(name, "openai-responses")) for name in ("azure", "xai", "deepseek", "openrouter")),
]
IDS = [f"{name}-{ask.wire}{'-array' if ask.array else ''}" for name, ask in VARIANTS]
every_variant = pytest.mark.parametrize(("provider", "ask"), VARIANTS, ids=IDS)

THOUGHT, SAID = "The user greets. I greet back.", "Grüß Gott, 世界! 👋 How are you?"


def _read(provider, frames):
    return sf.read(provider, frames)


def test_every_wire_is_tried():
    assert {ask.wire for _, ask in VARIANTS} == set(WIRES)


@every_variant
def test_text_usage_and_stop(provider, ask):
    frames = encode(provider, Answer(SAID, usage=Tokens(31, 17)), ask)
    response = _read(provider, frames)
    assert (response.text, response.complete, response.error) == (SAID, True, None)
    assert response.stop_reason == "end_turn"
    assert response.model == ("" if ask.wire == "bedrock" or provider in NAMELESS else "simulated")
    assert len(frames) > 4
    assert (response.usage.input_tokens, response.usage.output_tokens) == (31, 17)


@every_variant
def test_grammar_and_every_cut(provider, ask):
    answer = Answer(Thinking(THOUGHT, "c2ln"), Ping(), Text(SAID), ToolUse("weather", {"city": "Köln"}), delta=9)
    wire = b"".join(encode(provider, answer, ask))
    whole = sf.decode(provider, wire, tool_accumulate())
    assert_grammar(whole)
    expected = sf.collect(whole)
    assert expected.complete
    rng = random.Random(7)
    for pieces in (cuts.single(wire), *(cuts.at_random(wire, rng) for _ in range(5))):
        assert sf.collect(sf.decode(provider, pieces, tool_accumulate())) == expected


@every_variant
def test_thinking(provider, ask):
    response = _read(provider, encode(provider, Answer(Thinking(THOUGHT, "c2ln"), SAID), ask))
    assert response.text == SAID
    assert response.thinking == ("" if ask.wire in NO_THINKING else THOUGHT)
    if ask.wire in ("anthropic", "bedrock", "gemini", "openai-responses", "google-interactions"):
        thought = next(block for block in response.blocks if block.kind == "thinking")
        assert "c2ln" in str(thought.opaque)


@every_variant
def test_tool_calls(provider, ask):
    calls = (ToolUse("weather", {"city": "Köln", "days": [1, 2]}, id="t_1"), ToolUse("clock", {}))
    response = _read(provider, encode(provider, Answer("Let me see.", *calls), ask))
    if ask.wire in NO_STRUCTURE:
        assert response.tool_calls == []
        return
    assert response.text == "Let me see."
    assert response.stop_reason == "tool_use"
    assert [(call.name, call.arguments, call.error) for call in response.tool_calls] == [
        ("weather", {"city": "Köln", "days": [1, 2]}, None),
        ("clock", {}, None),
    ]
    ids = [call.id for call in response.tool_calls]
    assert ids[0] == "t_1"
    assert ask.wire in NO_CALL_IDS or ids[1] == "call_1_1"


@every_variant
def test_an_error_inside_the_stream(provider, ask):
    response = _read(
        provider, encode(provider, Answer("This will not", ErrorEvent("too busy", status=503), "end"), ask)
    )
    assert not response.complete
    assert response.error.type == "ProviderError"
    assert "too busy" in response.error.message
    assert response.text == "This will not"
    assert response.error.retryable


@every_variant
def test_a_cut_never_looks_finished(provider, ask):
    response = _read(provider, encode(provider, Answer("Hello", Cut(), "there"), ask))
    assert (response.text, response.complete, response.error.type) == ("Hello", False, "StreamTruncated")


@every_variant
def test_max_tokens(provider, ask):
    response = _read(provider, encode(provider, Answer("Hello", stop="max_tokens"), ask))
    assert response.stop_reason == ("end_turn" if provider == "snowflake" else "max_tokens")  # it never says why


@every_variant
def test_citations_and_pictures(provider, ask):
    answer = Answer("Rome is old.", Cite("https://example.org/", "A page", "Rome", 0, 4), Picture("aGk="))
    response = _read(provider, encode(provider, answer, ask))
    assert response.complete
    if ask.wire not in NO_CITATIONS:
        assert [cite.url for cite in response.citations] == ["https://example.org/"]
    if ask.wire not in NO_IMAGES:
        assert [image.data for image in response.images] == ["aGk="]


@every_variant
def test_refusal(provider, ask):
    response = _read(provider, encode(provider, Answer(Refusal("I will not."), stop="refusal"), ask))
    assert (response.refusal or response.text) == "I will not."


@every_variant
def test_not_streamed(provider, ask):
    answer = Answer(Thinking(THOUGHT, "c2ln"), "Grüß ", Pause(1), "Gott", ToolUse("f", {"a": [1]}, id="t_1"))
    ask = asked(provider, ask.wire, stream=False)
    if ask.wire == "openai-assistants":
        assert sf.read(provider, encode_whole(provider, answer, ask)).tool_calls[0].id == "t_1"
        return
    response = sf.read(provider, encode_whole(provider, answer, ask))
    assert response.text == "Grüß Gott"
    assert response.complete
    assert response.usage.output_tokens == 7
    if ask.wire not in NO_THINKING:
        assert response.thinking == THOUGHT
    if ask.wire not in NO_STRUCTURE:
        assert [(call.name, call.arguments) for call in response.tool_calls] == [("f", {"a": [1]})]


@every_variant
def test_not_streamed_extras(provider, ask):
    parts = ("Rome is old.", Cite("https://example.org/", "A page", "Rome", 0, 4), Picture("aGk="))
    ask = asked(provider, ask.wire, stream=False)
    response = sf.read(provider, encode_whole(provider, Answer(*parts, stop="max_tokens", usage=None), ask))
    if ask.wire not in NO_CITATIONS:
        assert len(response.citations) == 1
    if ask.wire not in NO_IMAGES:
        assert [image.data for image in response.images] == ["aGk="]
    if response.complete:
        assert response.stop_reason == "max_tokens"


@pytest.mark.parametrize("provider", sf.providers())
def test_http_errors_are_read_as_errors(provider):
    response = sf.read(provider, encode_error(provider, HttpError(400, "wrong question")))
    assert response.error.type == "ProviderError"
    assert "wrong question" in response.error.message


@every_variant
def test_no_usage(provider, ask):
    response = _read(provider, encode(provider, Answer("Hello", usage=None), ask))
    assert response.text == "Hello"
    if provider != "writer":  # without counts it has no end
        assert response.complete
        assert response.usage is None or response.usage.output_tokens is None


@pytest.mark.parametrize("wire", ["anthropic", "bedrock", "openai-responses"])
def test_hidden_thought(wire):
    provider = PROVIDER_OF_WIRE.get(wire, wire)
    thought = Thinking(redacted="aGlkZGVu")
    for body in (encode(provider, Answer(thought, "Hi")), encode_whole(provider, Answer(thought, "Hi"))):
        response = sf.read(provider, body)
        assert response.text == "Hi"
        assert any("aGlkZGVu" in str(block.opaque) for block in response.blocks)


def test_an_open_call_and_broken_arguments():
    cut = sf.read("openai", encode("openai", Answer(ToolUse("f", '{"a": ', complete=False), Cut())))
    assert cut.tool_calls[0].error
    broken = sf.read("anthropic", encode("anthropic", Answer(ToolUse("f", '{"a": '))))
    assert broken.tool_calls[0].error
    assert broken.complete


def test_openai_sends_usage_only_when_asked():
    from streamflow.testing import Ask

    frames = encode("openai", Answer("Hi"), Ask("openai", "openai", wants_usage=False))
    assert sf.read("openai", frames).usage is None
    assert b'"usage"' not in b"".join(frames)


def test_unknown_wire():
    with pytest.raises(UsageError, match="unknown wire format"):
        asked("openai", "carrier-pigeon")
