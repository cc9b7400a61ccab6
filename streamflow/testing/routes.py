"""Which address speaks which wire format, and the base URL that each vendor's own SDK would be given."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from streamflow.providers.table import PROVIDERS, provider_row
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
    _route(r"/chat/completions", "openai"),
    _route(r"/cortex/inference:complete", "snowflake", "openai"),
    _route(r"/v1/messages", "anthropic"),
    _route(r"/completions", "openai-completions"),
)

# What stands between the root of the service and the endpoint, in the base URL of the vendor's own SDK.
_BASE_PATHS: dict[str, str] = {
    "anthropic": "",
    "bedrock": "",
    "cohere": "",
    "ollama": "",
    "watsonx": "",
    "gemini": "",
    "vertex": "",
    "google-interactions": "",
    "mistral": "",
    "perplexity": "",
    "azure": "/openai/v1",
    "groq": "/openai/v1",
    "openrouter": "/api/v1",
    "fireworks": "/inference/v1",
    "alibaba": "/compatible-mode/v1",
    "zai": "/api/paas/v4",
    "snowflake": "/api/v2/cortex/v1",
}
_BASE_PATH = "/v1"

_PREFIX = re.compile(r"/([a-z-]+)(?=/)")
_MODEL_IN_PATH = re.compile(r"/(?:models|model|deployments)/([^/:]+(?:%3A[^/:]*)?)")


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
    provider_row(provider)
    return f"{root}/{provider}{_BASE_PATHS.get(provider, _BASE_PATH)}"


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
            return Endpoint(provider, route.wire, route.stream, model[1] if model else "", query.get("alt") != "sse")
    return None


def _may_speak(vendor: str, wire: str) -> bool:
    return wire_of(vendor) == wire or wire in ("openai", "openai-responses", "openai-completions")
