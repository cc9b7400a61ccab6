"""Where answers come from: a client, several by name, or a function of one's own."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from streamflow.errors import UsageError


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a client of the server asks for, in whatever protocol it came.

    >>> Ask(messages=["hi"]).provider is None
    True
    """

    messages: Any
    tools: list[Any] = []
    model: str | None = None
    provider: str | None = None
    options: dict[str, Any] = {}
    owner: str = ""


Source = Callable[[Ask], Any]


class Streams(Protocol):
    """What `sf.connect` returns, as far as it matters here."""

    def stream(self, messages: Any, *, model: str | None, tools: Any, **options: Any) -> Any: ...


def source_of(given: Any) -> Source:
    """A function from what is asked to a source of events.

    >>> source_of(7)
    Traceback (most recent call last):
    streamflow.errors.UsageError: give a client (sf.connect), clients by name, or a function of an Ask; not int
    """
    if hasattr(given, "stream"):
        return _of_clients({"": given})
    if isinstance(given, Mapping):
        if not given:
            raise UsageError("give at least one client")
        return _of_clients(given)
    if callable(given):
        return given  # type: ignore[no-any-return]
    raise UsageError(
        f"give a client (sf.connect), clients by name, or a function of an Ask; not {type(given).__name__}"
    )


def _of_clients(clients: Mapping[str, Streams]) -> Source:
    """The first is taken where nobody asks for another."""
    first = next(iter(clients))

    def ask(asked: Ask) -> Any:
        client = clients.get(first if asked.provider is None else asked.provider)
        if client is None:
            known = ", ".join(name for name in clients if name)
            raise UsageError(
                f"unknown provider {asked.provider!r} here; "
                + (f"known: {known}" if known else "there is only one, leave it out")
            )
        return client.stream(asked.messages, model=asked.model, tools=asked.tools, **asked.options)

    return ask
