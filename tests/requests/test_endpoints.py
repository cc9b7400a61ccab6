"""Every provider has a row, and its address is that of the vendor's own SDK."""

import pytest

from streamflow.errors import UsageError
from streamflow.providers.table import PROVIDERS
from streamflow.requests.endpoints import ENDPOINTS, Endpoint, endpoint, join_url, url_of

PLACES = {"region": "eu-west-1", "project": "p", "location": "us-central1", "account": "acme"}

# Streaming addresses with the default base of each vendor.
ADDRESSES = {
    "openai": "https://api.openai.com/v1/chat/completions",
    "openai-responses": "https://api.openai.com/v1/responses",
    "openai-completions": "https://api.openai.com/v1/completions",
    "openai-assistants": "https://api.openai.com/v1/threads/runs",
    "anthropic": "https://api.anthropic.com/v1/messages",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
    "google-interactions": "https://generativelanguage.googleapis.com/v1beta/interactions",
    "bedrock": "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse-stream",
    "mistral": "https://api.mistral.ai/v1/chat/completions",
    "groq": "https://api.groq.com/openai/v1/chat/completions",
    "cohere": "https://api.cohere.com/v2/chat",
    "ollama": "http://127.0.0.1:11434/api/chat",
    "fireworks": "https://api.fireworks.ai/inference/v1/chat/completions",
    "watsonx": "https://us-south.ml.cloud.ibm.com/ml/v1/text/chat_stream?version=2025-02-06",
    "writer": "https://api.writer.com/v1/chat",
    "snowflake": "https://acme.snowflakecomputing.com/api/v2/cortex/v1/chat/completions",
}


def address(name: str, *, model: str = "m", base_url: str | None = None, stream: bool = True, **places: str) -> str:
    return url_of(endpoint(name), model=model, base_url=base_url, stream=stream, places=places)


def test_every_provider_has_a_row_in_the_same_order() -> None:
    assert list(ENDPOINTS) == list(PROVIDERS)


@pytest.mark.parametrize(("name", "expected"), ADDRESSES.items())
def test_address(name: str, expected: str) -> None:
    assert address(name, **PLACES) == expected


@pytest.mark.parametrize("row", ENDPOINTS.values(), ids=lambda row: row.name)
def test_row_is_complete(row: Endpoint) -> None:
    assert row.path.startswith("/")
    assert row.base_url_env
    assert row.key_env
    assert row.auth in ("bearer", "x-api-key", "api-key", "x-goog-api-key", "google", "aws")


@pytest.mark.parametrize(
    ("name", "stream", "ending"),
    [
        ("gemini", True, ":streamGenerateContent?alt=sse"),
        ("gemini", False, ":generateContent"),
        ("bedrock", True, "/converse-stream"),
        ("bedrock", False, "/converse"),
        ("watsonx", False, "/ml/v1/text/chat?version=2025-02-06"),
        ("anthropic", False, "/v1/messages"),
    ],
)
def test_streaming_and_whole_answers_have_their_paths(name: str, stream: bool, ending: str) -> None:
    assert address(name, stream=stream, **PLACES).endswith(ending)


@pytest.mark.parametrize(
    ("name", "base", "expected"),
    [
        ("openai", "http://localhost:1234/v1", "http://localhost:1234/v1/chat/completions"),
        ("openai", "http://localhost:1234/v1/", "http://localhost:1234/v1/chat/completions"),
        ("anthropic", "http://localhost:1234", "http://localhost:1234/v1/messages"),
        ("anthropic", "http://localhost:1234/v1", "http://localhost:1234/v1/messages"),
        ("anthropic", "http://gateway/team/anthropic", "http://gateway/team/anthropic/v1/messages"),
        ("groq", "https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1/chat/completions"),
        ("ollama", "localhost:11434", "http://localhost:11434/api/chat"),
        ("cohere", "https://api.cohere.com/v2", "https://api.cohere.com/v2/chat"),
        ("gemini", "http://[::1]:8080", "http://[::1]:8080/v1beta/models/m:streamGenerateContent?alt=sse"),
    ],
)
def test_base_url(name: str, base: str, expected: str) -> None:
    assert address(name, base_url=base) == expected


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (
            "https://r.openai.azure.com",
            "https://r.openai.azure.com/openai/deployments/m/chat/completions?api-version=v",
        ),
        (
            "https://r.openai.azure.com/openai",
            "https://r.openai.azure.com/openai/deployments/m/chat/completions?api-version=v",
        ),
        (
            "https://r.openai.azure.com/openai/deployments/d",
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=v",
        ),
        ("https://r.openai.azure.com/openai/v1/", "https://r.openai.azure.com/openai/v1/chat/completions"),
    ],
)
def test_azure(base: str, expected: str) -> None:
    assert address("azure", base_url=base, api_version="v") == expected


def test_vertex() -> None:
    regional = address("vertex", project="p", location="us-central1")
    assert regional.startswith(
        "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-central1/"
    )
    assert address("vertex", project="p", location="global").startswith("https://aiplatform.googleapis.com/")
    express = "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/m:streamGenerateContent?alt=sse"
    assert address("vertex") == express


def test_model_ids_of_aws_are_escaped() -> None:
    arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.m-v1:0"
    assert "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.m-v1%3A0/" in address(
        "bedrock", model=arn
    )


@pytest.mark.parametrize(
    ("name", "places", "words"),
    [
        ("azure", {}, "AZURE_OPENAI_ENDPOINT"),
        ("openai-compatible", {}, "base_url"),
        ("vertex", {"project": "p"}, "GOOGLE_CLOUD_LOCATION"),
        ("snowflake", {}, "SNOWFLAKE_ACCOUNT"),
    ],
)
def test_what_is_missing_is_named(name: str, places: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        address(name, **places)


def test_unknown_provider_gets_a_hint() -> None:
    with pytest.raises(UsageError, match="Did you mean 'anthropic'"):
        endpoint("antropic")


def test_shared_part_is_written_once_only_when_it_is_whole_segments() -> None:
    assert join_url("https://h/v1", "/v10/chat") == "https://h/v1/v10/chat"
    assert join_url("https://h/a/b?k=1", "/b/c?l=2") == "https://h/a/b/c?k=1&l=2"
