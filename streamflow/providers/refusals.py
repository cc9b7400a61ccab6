"""Error objects and error bodies: the many ways in which a service says no."""

from typing import Any

from streamflow.errors import ProviderError

RETRYABLE_STATUS = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
_RETRYABLE_KINDS = frozenset(
    ("overloaded_error", "rate_limit_error", "server_error", "api_error", "rate_limit_exceeded", "ThrottlingException")
)

# Gateways refuse with bodies that have nothing but these; an event of a stream always has more, or other fields.
_REFUSAL_FIELDS = frozenset(
    (
        *("message", "Message", "detail", "status", "statusCode", "status_code", "code", "title", "timestamp", "path"),
        *("request_id", "requestId", "id", "trace", "__type", "success"),
    )
)


def provider_error(provider: str, error: Any) -> ProviderError:
    """The typed error for what a provider put into its error object.

    >>> provider_error("groq", {"message": "no", "type": "invalid_request_error", "status_code": 400}).status
    400
    """
    if not isinstance(error, dict):
        return ProviderError(f"{provider}: {error}", provider=provider)
    inner = error.get("error")
    if isinstance(inner, dict):
        error = inner
    code = error.get("code")
    status = error.get("status_code") or error.get("statusCode") or error.get("status")
    if not isinstance(status, int):
        status = code if isinstance(code, int) else None
    names = (error.get("type"), error.get("__type"), code, error.get("status"))
    kind = next((str(name) for name in names if name and not isinstance(name, int)), None)
    message = error.get("message") or error.get("Message") or error.get("detail") or inner or str(error)
    return ProviderError(
        f"{provider}: {message}",
        provider=provider,
        status=status,
        kind=kind,
        retryable=status in RETRYABLE_STATUS or kind in _RETRYABLE_KINDS,
    )


def refusal_in(provider: str, payload: dict[str, Any], event: str = "") -> ProviderError | None:
    """The typed error if a payload that fits no event of a dialect is an error body.

    >>> refusal_in("anthropic", {"message": "Forbidden"}).message
    'anthropic: Forbidden'
    >>> refusal_in("anthropic", {"type": "new_event", "message": "hello"}) is None
    True
    """
    errors = payload.get("errors")
    if isinstance(errors, list) and errors:
        return provider_error(provider, {**payload, **errors[0]} if isinstance(errors[0], dict) else errors[0])
    says_error = event == "error" or "error" in (payload.get("type"), payload.get("object"))
    if says_error or payload.get("error"):
        return provider_error(provider, payload)
    said = payload.get("message") or payload.get("Message") or payload.get("detail")
    if said and not isinstance(said, dict) and _REFUSAL_FIELDS.issuperset(payload):
        return provider_error(provider, payload)
    return None
