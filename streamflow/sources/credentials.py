"""Keys and addresses from arguments and environment; what is missing is named in the error."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from streamflow.errors import StreamflowError, UsageError
from streamflow.requests.endpoints import Endpoint

REDACTED = "[redacted]"
_TELLING = 8  # so many first characters of a key are worth hiding; fewer are what everybody's key begins with


class Secret:
    """A key that no repr, traceback or log shows.

    >>> Secret("sk-1")
    [redacted]
    >>> Secret("sk-1").reveal()
    'sk-1'
    """

    __slots__ = ("_value",)

    def __init__(self, value: str | None) -> None:
        self._value = value

    def reveal(self) -> str | None:
        """The key itself, for the request alone."""
        return self._value

    def scrub(self, text: str) -> str:
        """The text without the key, wherever it came from: services echo keys in their errors.

        The beginning of the key goes too, for an excerpt may end inside it.

        >>> Secret("canary").scrub("wrong key: canary")
        'wrong key: [redacted]'
        >>> Secret("canary-key-7").scrub("it begins 'canary-key'")
        "it begins '[redacted]'"
        """
        value = self._value
        if not value or len(value) < 4:
            return text
        head, *rest = text.split(value[:_TELLING])
        return head + "".join(REDACTED + piece[_shared(piece, value[_TELLING:]) :] for piece in rest)

    def scrub_error(self, error: BaseException) -> None:
        """Take the key out of the words of an error."""
        if isinstance(error, StreamflowError):
            error.message = self.scrub(error.message)
            error.args = (error.message,)

    def __repr__(self) -> str:
        return REDACTED


def _shared(text: str, other: str) -> int:
    """How many characters both begin with."""
    for place, (mine, theirs) in enumerate(zip(text, other, strict=False)):
        if mine != theirs:
            return place
    return min(len(text), len(other))


def find_key(row: Endpoint, given: Any, environ: Mapping[str, str]) -> Secret:
    """The key that was given or is set; an error that names the variable otherwise."""
    if hasattr(given, "get_secret_value"):
        given = given.get_secret_value()
    if given is not None and not isinstance(given, str):
        raise UsageError(f"api_key must be a string, not {type(given).__name__}", provider=row.name)
    key = (given or _first_set(row.key_env, environ) or "").strip()
    if not key and row.key_required:
        variables = " or ".join(row.key_env)
        raise UsageError(f"no API key for {row.name}: pass api_key, or set {variables}", provider=row.name)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"the API key for {row.name} has characters that no key has: copy it again", provider=row.name)
    return Secret(key or None)


def find_base_url(row: Endpoint, given: str | None, environ: Mapping[str, str]) -> str | None:
    """The address that was given or is set, None for the row's own."""
    address = given or _first_set(row.base_url_env, environ)
    if address is None:
        if row.base_url is None:
            names = " or ".join(row.base_url_env)
            raise UsageError(f"{row.name} has no address of its own: pass base_url= or set {names}.", provider=row.name)
        return None
    return check_url(str(address), row.name)


def check_url(address: str, provider: str) -> str:
    """The address itself, if a request can be sent there; a bare host and port is taken as http.

    >>> check_url("localhost:8000", "vllm")
    'http://localhost:8000'
    >>> check_url("ftp://localhost", "vllm")
    Traceback (most recent call last):
    streamflow.errors.UsageError: base_url must be like https://host/path, not 'ftp://localhost'
    """
    complete = address if "://" in address else f"http://{address}"
    wrong = UsageError(f"base_url must be like https://host/path, not {address!r}", provider=provider)
    try:
        parts = urlsplit(complete)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or any(char.isspace() for char in complete):
        raise wrong
    if parts.username or parts.password:
        raise UsageError("base_url must not hold a user name or password; pass api_key or headers", provider=provider)
    return complete


def find_places(row: Endpoint, environ: Mapping[str, str]) -> dict[str, str]:
    """What the address of the row has in braces and the environment knows."""
    found = {name: _first_set(variables, environ) for name, variables in row.place_env.items()}
    return {name: value for name, value in found.items() if value}


def _first_set(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)
