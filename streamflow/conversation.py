"""Answers back into blocks: the inverse of a request, in both of its modes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from streamflow.errors import UsageError
from streamflow.events import BlockComplete, BlockStart, Notice, StreamCompleted
from streamflow.fold import collect
from streamflow.operators import stop_sequences, xml_block_split
from streamflow.pipeline import decode
from streamflow.requests.blocks import Block
from streamflow.requests.build import MODES
from streamflow.requests.endpoints import endpoint
from streamflow.requests.history import blocks_of
from streamflow.requests.json_bytes import json_bytes
from streamflow.requests.prefill import eot_token_of
from streamflow.requests.tool_definitions import tool_definitions
from streamflow.stage import Operator, lift


class EndOfTurn:
    """Reads a stop on the end-of-turn token as what it is: the model ended its turn."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._ended = False

    def feed(self, item: Any) -> list[Any]:
        """Take one event."""
        if isinstance(item, Notice) and item.code == "stop" and item.raw == self._token:
            self._ended = True
            return []
        if isinstance(item, StreamCompleted):
            ended, self._ended = self._ended, False
            if ended and item.stop_reason == "stop_sequence":
                return [msgspec.structs.replace(item, stop_reason="end_turn")]
        return [item]

    def flush(self) -> list[Any]:
        """Nothing is held."""
        return []

    def abort(self, error: BaseException) -> list[Any]:
        """Nothing is held."""
        return []


def prefill_operators(
    provider: str,
    *,
    eot_token: str | None = None,
    open_thinking: bool = False,
    tools: Iterable[Any] | None = None,
    tables: tuple[str, ...] = ("thinking", "function_calls"),
) -> list[Operator[Any, Any]]:
    """What an answer in prefill mode needs: the end-of-turn token goes, tags become blocks.

    Give the options that the request was built with. The token is held back while it may be one, taken out, and read
    as ``end_turn``, also when the provider leaks it in pieces.

    >>> from streamflow.testing import Answer, encode
    >>> wire = encode("gemini", Answer("Hi there<|eot|>Bob: Hello"))
    >>> response = collect(decode("gemini", wire, *prefill_operators("gemini")))
    >>> response.text, response.stop_reason
    ('Hi there', 'end_turn')
    """
    starts_open = "thinking" if open_thinking else None
    schemas = [tool.schema for tool in tool_definitions(tools) if tool.native is None]
    blocks = xml_block_split(tables=tables, starts_open=starts_open, tools=schemas or None)
    token = eot_token_of(endpoint(provider), eot_token)
    if not token:
        return [blocks]
    return [stop_sequences([token]), lift(lambda: EndOfTurn(token), "end_of_turn"), blocks]


def open_block(blocks: Operator[Any, Any], text: str, *, opened: bool = False) -> str | None:
    """The kind of the block that a model's text leaves open; None when it is text.

    ``opened`` says that the request opened a block itself: that one is not the model's.

    >>> open_block(xml_block_split(), "Hi <thinking>Bob said")
    'thinking'
    """
    stage = blocks.make_stage()
    begun: list[BlockStart] = []
    closed: set[int] = set()
    for event in stage.feed(text):
        if isinstance(event, BlockStart):
            begun.append(event)
        elif isinstance(event, BlockComplete):
            closed.add(event.index)
    own = begun[1:] if opened else begun
    return next((block.kind for block in own if block.index not in closed and block.kind != "text"), None)


def parse_response(provider: str, answer: Any, mode: str = "messages", **options: Any) -> list[Block]:
    """The blocks of an answer: its bytes, streamed or whole, or its JSON value. Options are those of the request.

    A cut answer raises its typed error; what came before it is in ``error.partial``.

    >>> answer = {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
    >>> parse_response("anthropic", answer)[0].text
    'Hi'
    """
    reader = _MODES.get(mode)
    if reader is None:
        raise UsageError(f"unknown mode {mode!r}; known: {', '.join(MODES)}.", provider=provider)
    is_json = isinstance(answer, Mapping) or (isinstance(answer, list) and answer and isinstance(answer[0], Mapping))
    body = json_bytes(answer) if is_json else answer
    response = collect(decode(provider, body, *reader(provider, options)))
    if response.error is not None:
        error = response.error
        error.partial = msgspec.structs.replace(response, error=None)
        raise error
    return blocks_of(response)


def _plain(provider: str, options: dict[str, Any]) -> list[Operator[Any, Any]]:
    if options:
        raise UsageError(f"unknown options in messages mode: {', '.join(options)}.", provider=provider)
    return []


def _prefill(provider: str, options: dict[str, Any]) -> list[Operator[Any, Any]]:
    return prefill_operators(provider, **options)


_MODES: dict[str, Callable[[str, dict[str, Any]], list[Operator[Any, Any]]]] = {
    "messages": _plain,
    "prefill": _prefill,
}
