"""From messages to a finished request, for every provider."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from pydantic import SecretStr

from streamflow.errors import UsageError
from streamflow.requests import (
    anthropic,
    bedrock,
    cohere,
    completions,
    gemini,
    google_interactions,
    ollama,
    openai_assistants,
    openai_chat,
    openai_responses,
    watsonx,
)
from streamflow.requests.draft import Draft, merge
from streamflow.requests.endpoints import ENDPOINTS, Endpoint, endpoint, url_of
from streamflow.requests.history import in_call_order, refuse_open_calls, without_last_thoughts
from streamflow.requests.json_bytes import json_bytes
from streamflow.requests.messages import Message, as_messages
from streamflow.requests.prefill import OPTION_NAMES, prefill
from streamflow.requests.request import Request
from streamflow.requests.tool_definitions import tool_definitions

MODES = ("messages", "prefill")

# These have a name of their own in each dialect; everything else is passed on as it is.
COMMON_OPTIONS = ("max_tokens", "temperature", "top_p", "top_k", "stop", "seed", "tool_choice")
# These are part of the address, not of the body.
PLACES = ("region", "project", "location", "account", "api_version", "version")

_BODIES: dict[str, Callable[[Draft], dict[str, Any]]] = {
    "openai_chat": openai_chat.body,
    "openai_responses": openai_responses.body,
    "completions": completions.body,
    "openai_assistants": openai_assistants.body,
    "anthropic": anthropic.body,
    "gemini": gemini.body,
    "google_interactions": google_interactions.body,
    "bedrock": bedrock.body,
    "cohere": cohere.body,
    "ollama": ollama.body,
    "watsonx": watsonx.body,
}

_CONVERSATIONS = ("messages", "contents", "input")

_AUTH_HEADERS = {
    "bearer": ("authorization", "Bearer "),
    "aws": ("authorization", "Bearer "),
    "x-api-key": ("x-api-key", ""),
    "api-key": ("api-key", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
}


def build_request(
    provider: str,
    messages: Any,
    mode: str = "messages",
    tools: Iterable[Any] = (),
    *,
    model: str,
    api_key: str | SecretStr | None = None,
    base_url: str | None = None,
    stream: bool = True,
    system: str | None = None,
    headers: Mapping[str, str] | None = None,
    include_usage: bool = True,
    convert_unsigned_thinking_to_text: bool = False,
    **options: Any,
) -> Request:
    """The request that a provider understands. Nothing is sent and nothing is read from the environment.

    ``max_tokens``, ``temperature``, ``top_p``, ``top_k``, ``stop``, ``seed`` and ``tool_choice`` get the name that they
    have at that provider; any other option goes into the body as it is. ``mode="prefill"`` writes the conversation as
    a log of participants that the model goes on with; its options are those of `PrefillOptions` and `Suppression`.

    >>> request = build_request("anthropic", ["hi"], model="claude-x", api_key="k", max_tokens=100)
    >>> request.url, request.json["messages"]
    ('https://api.anthropic.com/v1/messages', [{'role': 'user', 'content': [{'type': 'text', 'text': 'hi'}]}])
    """
    row = endpoint(provider)
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}; known: {', '.join(MODES)}.", provider=provider)
    if not model:
        raise UsageError(f"{provider} needs a model: pass model=.", provider=provider)
    if stream and not row.supports_streaming:
        raise UsageError(f"{provider} does not stream: pass stream=False.", provider=provider)
    said = in_call_order(without_last_thoughts(message) for message in as_messages(messages))
    if system is not None:
        said = [Message.system(system), *said]
    refuse_open_calls(said, provider)
    defined = tool_definitions(tools)
    if defined and not row.tools:
        raise UsageError(f"{provider} does not take tools.", provider=provider)
    places = {name: str(options.pop(name)) for name in PLACES if options.get(name) is not None and _is_place(row, name)}
    common = {name: options.pop(name) for name in COMMON_OPTIONS if name in options}
    draft = Draft(row, model, said, defined, stream, common, convert_unsigned_thinking_to_text)
    if mode == "prefill" or not row.messages:
        draft = _prefilled(draft, {name: options.pop(name) for name in OPTION_NAMES if name in options})
    elif misplaced := sorted(OPTION_NAMES.intersection(options)):
        raise UsageError(f"these options are for mode='prefill': {', '.join(misplaced)}.", provider=provider)
    body = _BODIES[row.dialect](draft)
    if any(body.get(field) == [] for field in _CONVERSATIONS):
        raise UsageError("the messages hold nothing that could be sent: add one of the user's.", provider=provider)
    if stream and row.include_usage and include_usage:
        body["stream_options"] = {"include_usage": True}
    merge(body, {name: value for name, value in options.items() if value is not None})
    return Request(
        "POST",
        url_of(row, model=model, base_url=base_url, stream=stream, places=places),
        _headers(row, api_key, stream, headers, "project" in places),
        json_bytes(body),
    )


def _prefilled(draft: Draft, options: dict[str, Any]) -> Draft:
    row = draft.row
    if not row.prefill:
        able = ", ".join(name for name, other in ENDPOINTS.items() if other.prefill)
        raise UsageError(f"{row.name} does not go on with a begun answer; mode='prefill' is for {able}.")
    log = prefill(row, draft.messages, draft.tools, draft.options.get("stop"), options)
    return msgspec.structs.replace(
        draft, messages=log.messages, tools=[], prompt=log.prompt, options={**draft.options, "stop": log.stops}
    )


def _is_place(row: Endpoint, name: str) -> bool:
    mark = "{" + name + "}"
    return any(mark in (template or "") for template in (row.base_url, row.path, row.stream_path))


def _headers(
    row: Endpoint, api_key: str | SecretStr | None, stream: bool, more: Mapping[str, str] | None, has_project: bool
) -> dict[str, str]:
    accept = row.stream_type if stream else "application/json"
    made = {"content-type": "application/json", "accept": accept, **row.headers}
    key = api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key
    if key:
        # On Vertex a project means an access token; an API key is for the express mode, which has none.
        style = ("bearer" if has_project else "x-goog-api-key") if row.auth == "google" else row.auth
        name, prefix = _AUTH_HEADERS[style]
        made[name] = prefix + key
    for name, value in (more or {}).items():
        made[name.lower()] = value
    return made
