"""decode, read, run, Feeder: with our own operators and with those of reactivex."""

import pytest
import reactivex as rx
from reactivex import operators as ops

import streamflow as sf
from streamflow.operators import normalize_provider, sse_decode, tool_accumulate, visible_filter, wire_decode

WIRE = (
    b'data: {"id":"1","choices":[{"delta":{"content":"Hel"}}]}\n\n'
    b'data: {"id":"1","choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


def test_an_observable_of_bytes_becomes_events():
    seen = []
    rx.of(WIRE[:30], WIRE[30:]).pipe(sse_decode(), normalize_provider("openai")).subscribe(seen.append)
    assert seen == sf.decode("openai", WIRE)


def test_run_raises_with_what_came_before():
    with pytest.raises(sf.StreamTruncated) as caught:
        sf.run([WIRE[:70]], sse_decode(), normalize_provider("openai"))
    assert caught.value.partial.text == "Hel"
    assert caught.value.emitted


def test_run_takes_operators_of_reactivex_too():
    chain = (wire_decode("openai"), normalize_provider("openai"), visible_filter(), ops.map(lambda chunk: chunk.text))
    assert sf.run([WIRE], *chain) == ["Hel", "lo"]
    with pytest.raises(sf.StreamTruncated):
        sf.run([WIRE[:70]], *chain)


def test_decode_takes_an_iterable_or_bytes():
    assert sf.decode("openai", iter([WIRE])) == sf.decode("openai", WIRE) == sf.decode("openai", WIRE.decode())


def test_decode_runs_further_operators():
    assert [chunk.text for chunk in sf.decode("openai", WIRE, visible_filter())] == ["Hel", "lo"]


@pytest.mark.parametrize(
    "body", [b"", b"<html><body>502</body></html>", b"hello", b": only comments\n\n", b"{}", b"[", b"\x00"]
)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "bedrock", "ollama", "cohere"])
def test_read_never_raises_for_what_the_wire_did(provider, body):
    response = sf.read(provider, body)
    assert not response.complete
    assert isinstance(response.error, sf.StreamflowError)
    assert response.error.provider == provider


def test_a_web_page_is_told_apart():
    error = sf.read("openai", b"<html><title>Bad Gateway</title>").error
    assert isinstance(error, sf.ProtocolError)
    assert "Bad Gateway" in error.message


def test_deep_json_is_one_typed_error():
    error = sf.read("openai", b"data: " + b"[" * 200_000 + b"\n\n").error
    assert isinstance(error, sf.ProtocolError)
    assert error.position == 0


def test_wrong_use_raises():
    with pytest.raises(sf.UsageError, match="anthropic"):
        sf.read("antropic", b"")
    with pytest.raises(sf.UsageError, match="json_array"):
        sf.read("openai", b"", framing="xml")
    with pytest.raises(sf.UsageError, match="skip"):
        sf.decode("openai", b"", on_bad_frame="ignore")
    with pytest.raises(sf.UsageError, match="forget to call"):
        sf.run([], 3)


def test_a_feeder_gives_what_is_ready():
    feeder = sf.Feeder(wire_decode("openai"), normalize_provider("openai"), tool_accumulate())
    out = [event for byte in range(len(WIRE)) for event in feeder.feed(WIRE[byte : byte + 1])] + feeder.finalize()
    assert out == sf.decode("openai", WIRE)


def test_a_feeder_after_its_end_is_wrong_use():
    feeder = sf.Feeder(sse_decode())
    feeder.finalize()
    with pytest.raises(sf.UsageError):
        feeder.feed(b"")
    with pytest.raises(sf.UsageError):
        feeder.finalize()
    with pytest.raises(sf.UsageError, match="reactivex"):
        sf.Feeder(ops.map(str))


def test_a_feeder_that_fails_keeps_what_was_ready():
    feeder = sf.Feeder(sse_decode(), normalize_provider("openai"))
    with pytest.raises(sf.ProtocolError) as caught:
        feeder.feed(WIRE[: WIRE.index(b"data: [DONE]")] + b"data: {\n\n")
    assert sf.collect(caught.value.ready).text == "Hello"


def test_every_provider_of_the_contract_has_a_row():
    contract = (
        "openai openai-responses openai-completions openai-assistants azure anthropic gemini vertex "
        "google-interactions "
        "bedrock mistral xai deepseek perplexity groq openrouter cohere ollama vllm cerebras together fireworks "
        "huggingface moonshot alibaba zai watsonx writer snowflake openai-compatible"
    )
    assert set(contract.split()) == set(sf.providers())
