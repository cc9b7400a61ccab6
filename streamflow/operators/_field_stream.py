from collections.abc import Callable, Sequence
from typing import Any

from streamflow.errors import UsageError
from streamflow.events import BlockComplete, Chunk, Retrying
from streamflow.stage import Operator, lift
from streamflow.text.partial_json import END, TEXT, Known, PartialJson
from streamflow.views import ArgumentsView, Field

MAX_WAITING = 1 << 20
"""Characters of a field that wait for other fields; then the text goes on without them."""


class _Call:
    """One open call: what its field said, and what is waited for."""

    def __init__(self, index: int, name: str, after: tuple[str, ...]) -> None:
        self.reader = PartialJson()
        self.tool_id: str | None = None
        self.tool_name: str | None = None
        self._index = index
        self._name = name
        self._after = after
        self._waits_for = set(after)
        self._others = ArgumentsView()
        self._others.set((), {})
        self._values: dict[str, Any] = {}
        self._text: list[str] = []
        self._held = 0
        self._closed = False

    def read(self, text: str) -> list[Field]:
        """The fields that are ready after more of the arguments."""
        out: list[Field] = []
        for known in self.reader.feed(text):
            if known.path[:1] == (self._name,):
                if len(known.path) == 1:
                    out += self._on_field(known)
            elif known.path and known.path[0] in self._after:
                out += self._on_other(known)
        return out + self.release()

    def _on_field(self, known: Known) -> list[Field]:
        if known.what == TEXT:
            self._text.append(known.value)
            self._held += len(known.value)
            if self._held > MAX_WAITING:
                self._waits_for.clear()
        elif known.what == END and self._text:  # a number or an object is no text: nothing was said
            self._closed = True
            return self.release()
        return []

    def _on_other(self, known: Known) -> list[Field]:
        what, path, value = known
        if what == TEXT:
            self._others.append(path, value)
        elif what != END:
            self._others.set(path, value)
        elif len(path) == 1:
            out = self.release()  # what was said before this value was known goes without it
            name = str(path[0])
            self._waits_for.discard(name)
            self._values = {**self._values, name: self._others.value[name]}
            return out + self.release()
        return []

    def release(self, now: bool = False) -> list[Field]:
        """What may go: everything when nothing is waited for any more."""
        if not self._text or not (now or (not self._waits_for and self.tool_name)):
            return []
        text, final = "".join(self._text), self._closed
        if not text and not final:
            return []
        self._text = [] if final else [""]
        self._held = 0
        self._closed = False
        return [Field(self.tool_id, self.tool_name, self._name, text, self._values, final, self._index)]


class FieldStream:
    """Streams one argument of every call."""

    def __init__(self, name: str, after: tuple[str, ...]) -> None:
        self._name = name
        self._after = after
        self._calls: dict[int, _Call] = {}
        self._handlers: dict[type, Callable[[Any], list[Any]]] = {
            Chunk: self._on_chunk,
            BlockComplete: self._on_block_complete,
            Retrying: self._on_retrying,
        }

    def feed(self, item: Any) -> list[Any]:
        """Pass everything on; after arguments say what is ready of the field."""
        handler = self._handlers.get(item.__class__)
        return [item] if handler is None else handler(item)

    def flush(self) -> list[Any]:
        """What still waits goes without what it waited for."""
        out = [field for call in self._calls.values() for field in call.release(now=True)]
        self._calls.clear()
        return out

    def abort(self, error: BaseException) -> list[Any]:
        """The same; a field that was cut is not final."""
        return self.flush()

    def _on_chunk(self, chunk: Chunk) -> list[Any]:
        if chunk.kind != "tool_call":
            return [chunk]
        call = self._calls.get(chunk.index)
        if call is None:
            call = self._calls[chunk.index] = _Call(chunk.index, self._name, self._after)
        call.tool_id = chunk.tool_id or call.tool_id
        call.tool_name = chunk.tool_name or call.tool_name
        return [chunk, *(call.read(chunk.text) if chunk.part == "input" else call.release())]

    def _on_block_complete(self, event: BlockComplete) -> list[Any]:
        call = self._calls.pop(event.index, None)
        if call is None:
            return [event]
        call.tool_id = event.tool_id or call.tool_id
        call.tool_name = event.tool_name or call.tool_name
        return [*call.release(now=True), event]

    def _on_retrying(self, event: Retrying) -> list[Any]:
        if event.discard:
            self._calls.clear()
        return [event]


def field_stream(name: str, *, after: str | Sequence[str] = ()) -> Operator[Any, Any]:
    """Add `Field` beside the events: the text of one argument of a tool call, decoded while it arrives.

    ```
    events  --Chunk('{"path":"a.py","content":"x')--------------Chunk('=1\\\\n"}')--------------------|
    out     --Chunk('{"path":"a.py","content":"x')--Field("x")--Chunk('=1\\\\n"}')--Field("=1⏎", final)--|
    ```

    Only the top-level argument of this name counts, and only as a string. ``after`` names arguments that are waited
    for: their values come in ``values``. When they come later than the field, its text waits for them, at most until
    the call is complete or 1 MiB waits; it also waits for the tool's name. The last `Field` is ``final``; a cut field
    has none.

    >>> import streamflow as sf
    >>> chunks = [
    ...     Chunk(0, "tool_call", text, False, part="input", tool_id="c", tool_name="write_file")
    ...     for text in ('{"content": "caf\\\\u00', 'e9", "path": "a', '.txt"}')
    ... ]
    >>> out = sf.run(chunks, field_stream("content", after="path"))
    >>> [(item.text, item.values, item.final) for item in out if isinstance(item, Field)]
    [('café', {'path': 'a.txt'}, True)]
    """
    if not isinstance(name, str) or not name:
        raise UsageError(f"name must be the name of an argument, not {name!r}")
    others = (after,) if isinstance(after, str) else tuple(after) if isinstance(after, Sequence) else (None,)
    for other in others:
        if not isinstance(other, str) or not other or other == name:
            raise UsageError(f"after must name one or more other arguments, not {after!r}")
    return lift(lambda: FieldStream(name, tuple(map(str, others))), "field_stream")
