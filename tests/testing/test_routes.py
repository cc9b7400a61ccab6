"""Addresses: each vendor's own paths, with and without the vendor's name before them."""

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.testing.routes import base_url, endpoint_of
from streamflow.testing.wires import WIRES, wire_of


@pytest.mark.parametrize(
    ("path", "provider", "wire", "stream"),
    [
        ("/v1/chat/completions", "openai", "openai", None),
        ("/groq/openai/v1/chat/completions", "groq", "openai", None),
        ("/openai/deployments/gpt/chat/completions", "openai", "openai", None),
        ("/azure/openai/deployments/gpt/chat/completions", "azure", "openai", None),
        ("/v1/completions", "openai-completions", "openai-completions", None),
        ("/v1/responses", "openai-responses", "openai-responses", None),
        ("/xai/v1/responses", "xai", "openai-responses", None),
        ("/v1/threads/runs", "openai-assistants", "openai-assistants", None),
        ("/v1/threads/t/runs/r/submit_tool_outputs", "openai-assistants", "openai-assistants", None),
        ("/v1/messages", "anthropic", "anthropic", None),
        ("/v1beta/models/g:streamGenerateContent", "gemini", "gemini", True),
        ("/v1beta1/projects/p/locations/l/publishers/google/models/g:generateContent", "vertex", "gemini", False),
        ("/v1beta/interactions", "google-interactions", "google-interactions", None),
        ("/model/anthropic.claude%3A0/converse-stream", "bedrock", "bedrock", True),
        ("/model/anthropic.claude/invoke-with-response-stream", "bedrock", "bedrock-invoke", True),
        ("/v2/chat", "cohere", "cohere", None),
        ("/api/chat", "ollama", "ollama", None),
        ("/api/generate", "ollama", "ollama-generate", None),
        ("/ml/v1/text/chat_stream", "watsonx", "watsonx", True),
        ("/ml/v1/text/generation_stream", "watsonx", "watsonx-generation", True),
        ("/writer/v1/chat", "writer", "openai", None),
        ("/api/v2/cortex/inference:complete", "snowflake", "openai", None),
    ],
)
def test_paths(path, provider, wire, stream):
    endpoint = endpoint_of(path, {})
    assert (endpoint.provider, endpoint.wire, endpoint.stream) == (provider, wire, stream)


def test_what_the_address_says():
    assert endpoint_of("/v1beta/models/g-2:streamGenerateContent", {}).model == "g-2"
    assert endpoint_of("/v1beta/models/g-2:streamGenerateContent", {}).array
    assert not endpoint_of("/v1beta/models/g-2:streamGenerateContent", {"alt": "sse"}).array
    assert endpoint_of("/model/amazon.nova/converse", {}).model == "amazon.nova"
    assert endpoint_of("/elsewhere", {}) is None


@pytest.mark.parametrize("provider", sf.providers())
def test_every_provider_has_a_base_url_and_a_wire(provider):
    assert base_url("http://h:1", provider).startswith(f"http://h:1/{provider}")
    assert wire_of(provider) in WIRES


def test_unknown_provider():
    with pytest.raises(UsageError, match="Did you mean 'anthropic'"):
        base_url("http://h:1", "antropic")
