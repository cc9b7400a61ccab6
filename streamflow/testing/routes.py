"""Which address speaks which wire format, and the base URL that each vendor's own SDK would be given."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from streamflow.providers.table import PROVIDERS
from streamflow.requests.endpoints import endpoint
from streamflow.testing.wires import wire_of


class Route(msgspec.Struct, frozen=True):
    """An ending of a path: the wire format, and whether it says that the answer is streamed."""

    pattern: re.Pattern[str]
    wire: str
    provider: str
    stream: bool | None = None


def _route(pattern: str, provider: str, wire: str = "", stream: bool | None = None) -> Route:
    return Route(re.compile(pattern + "$"), wire or provider, provider, stream)


# The first match counts.
ROUTES = (
    _route(r"/ml/v1/text/chat_stream", "watsonx", stream=True),
    _route(r"/ml/v1/text/chat", "watsonx", stream=False),
    _route(r"/ml/v1/text/generation_stream", "watsonx", "watsonx-generation", True),
    _route(r"/ml/v1/text/generation", "watsonx", "watsonx-generation", False),
    _route(r"/chat/completions", "openai"),
    _route(r"/cortex/inference:complete", "snowflake", "openai"),
    _route(r"/v1/chat", "writer", "openai"),
    _route(r"/completions", "openai-completions"),
    _route(r"/responses", "openai-responses"),
    _route(r"/threads/runs", "openai-assistants"),
    _route(r"/threads/[^/]+/runs", "openai-assistants"),
    _route(r"/threads/[^/]+/runs/[^/]+/submit_tool_outputs", "openai-assistants"),
    _route(r"/messages", "anthropic"),
    _route(r"/projects/.*:streamGenerateContent", "vertex", "gemini", True),
    _route(r"/projects/.*:generateContent", "vertex", "gemini", False),
    _route(r":streamGenerateContent", "gemini", stream=True),
    _route(r":generateContent", "gemini", stream=False),
    _route(r"/interactions", "google-interactions"),
    _route(r"/model/[^/]+/converse-stream", "bedrock", stream=True),
    _route(r"/model/[^/]+/converse", "bedrock", stream=False),
    _route(r"/model/[^/]+/invoke-with-response-stream", "bedrock", "bedrock-invoke", True),
    _route(r"/model/[^/]+/invoke", "bedrock", "bedrock-invoke", False),
    _route(r"/v2/chat", "cohere"),
    _route(r"/api/chat", "ollama"),
    _route(r"/api/generate", "ollama", "ollama-generate"),
)

# Where a request that does not say so is streamed all the same.
STREAMS_BY_DEFAULT = frozenset(("ollama", "ollama-generate"))

# Base URLs of services that have no address of their own.
_BASE_PATHS = {"azure": "/openai", "openai-compatible": "/v1"}

_PREFIX = re.compile(r"/([a-z-]+)(?=/)")
_MODEL_IN_PATH = re.compile(r"/(?:models|model|deployments)/([^/:]+)")


class Endpoint(msgspec.Struct, frozen=True):
    """What an address says about the request."""

    provider: str
    wire: str
    stream: bool | None
    model: str
    array: bool


def base_url(root: str, provider: str) -> str:
    """The base URL of a provider on a server, as its own SDK takes it.

    >>> base_url("http://127.0.0.1:1", "openai"), base_url("http://127.0.0.1:1", "anthropic")
    ('http://127.0.0.1:1/openai/v1', 'http://127.0.0.1:1/anthropic')
    """
    address = endpoint(provider).base_url
    path = _BASE_PATHS[provider] if address is None else urlsplit(address).path
    return f"{root}/{provider}{path}"


def endpoint_of(path: str, query: Mapping[str, Any]) -> Endpoint | None:
    """What a path means; a leading provider's name says whose habits the answer has.

    >>> endpoint_of("/v1/messages", {}).provider, endpoint_of("/deepseek/v1/chat/completions", {}).provider
    ('anthropic', 'deepseek')
    """
    named = _PREFIX.match(path)
    vendor = named[1] if named and named[1] in PROVIDERS else ""
    for route in ROUTES:
        if route.pattern.search(path):
            provider = route.provider
            if vendor and _may_speak(vendor, route.wire):
                provider = vendor
            model = _MODEL_IN_PATH.search(path)
            array = route.wire == "gemini" and query.get("alt") != "sse"
            return Endpoint(provider, route.wire, route.stream, model[1] if model else "", array)
    return None


def _may_speak(vendor: str, wire: str) -> bool:
    return wire_of(vendor) == wire or wire in ("openai", "openai-responses", "openai-completions")
