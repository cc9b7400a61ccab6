from collections.abc import Callable
from typing import Any

from msgspec.structs import force_setattr

from streamflow.events import BlockComplete, Chunk, Retrying
from streamflow.stage import Operator, lift
from streamflow.text.partial_json import END, TEXT, Known, PartialJson
from streamflow.views import ArgumentsHistory, PartialArguments


class _Call:
    __slots__ = ("history", "reader")

    def __init__(self) -> None:
        self.reader = PartialJson()
        self.history = ArgumentsHistory()


class PartialArgumentsView:
    """Follows the arguments of each open call."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._handlers: dict[type, Callable[[Any], list[Any]]] = {
            Chunk: self._on_chunk,
            BlockComplete: self._on_block_complete,
            Retrying: self._on_retrying,
        }

    def feed(self, item: Any) -> list[Any]:
        """Pass everything on; after arguments say what became known."""
        handler = self._handlers.get(item.__class__)
        return [item] if handler is None else handler(item)

    def flush(self) -> list[Any]:
        """Nothing is held."""
        return []

    def abort(self, error: BaseException) -> list[Any]:
        """Nothing is held."""
        return []

    def _on_chunk(self, chunk: Chunk) -> list[Any]:
        if chunk.part != "input" or chunk.kind != "tool_call":
            return [chunk]
        call = self._calls.get(chunk.index)
        if call is None:
            call = self._calls[chunk.index] = _Call()
        known = call.reader.feed(chunk.text)
        return [chunk, *_events(call, known, chunk.index, chunk.tool_id, chunk.tool_name)]

    def _on_block_complete(self, event: BlockComplete) -> list[Any]:
        call = self._calls.pop(event.index, None)
        if call is None or event.incomplete:
            return [event]
        return [*_events(call, call.reader.flush(), event.index, event.tool_id, event.tool_name), event]

    def _on_retrying(self, event: Retrying) -> list[Any]:
        if event.discard:
            self._calls.clear()
        return [event]


def _events(call: _Call, known: list[Known], index: int, id: str | None, name: str | None) -> list[PartialArguments]:
    out: list[PartialArguments] = []
    text: list[str] = []
    for place, (what, path, value) in enumerate(known):
        if what == END:
            continue
        if what == TEXT:
            text.append(value)
            following = known[place + 1] if place + 1 < len(known) else None
            if following is not None and following.what == TEXT and following.path == path:
                continue  # the opening quote and what follows it are one step
            said: str | None = "".join(text)
            text.clear()
            value = None
        else:
            said = None
        event = PartialArguments(index, id, name, path, said, value)
        call.history.add(path, said, value)
        force_setattr(event, "history", call.history)
        force_setattr(event, "count", len(call.history))
        out.append(event)
    return out


def partial_json() -> Operator[Any, Any]:
    """Add `PartialArguments` beside the events: a live view of tool arguments in which nothing shown disappears.

    ```
    events  --Chunk('{"city": "Ro')--------------------Chunk('me"}')--------------BlockComplete--|
    out     --Chunk('{"city": "Ro')--Partial("Ro")-----Chunk('me"}')--Partial("me")--BlockComplete--|
    ```

    Each event is a step: text to append or a value to set at a path. ``event.arguments`` is everything as of this
    event; an `ArgumentsView` adds the steps up. Every character is read once, however long the arguments are. Arguments
    that are no JSON are followed up to where they break; of a key that comes twice the first value stays (``input`` of
    the completed block has the last).

    >>> import streamflow as sf
    >>> chunks = [Chunk(0, "tool_call", text, False, part="input") for text in ('{"city": "Ro', 'me", "days": 1', "2}")]
    >>> [event.arguments for event in sf.run(chunks, partial_json()) if isinstance(event, PartialArguments)]
    [{}, {'city': 'Ro'}, {'city': 'Rome'}, {'city': 'Rome', 'days': 12}]
    """
    return lift(PartialArgumentsView, "partial_json")
