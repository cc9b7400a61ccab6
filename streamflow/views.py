"""What some operators add beside the events: live views of tool calls that are still arriving."""

from collections.abc import Sequence
from typing import Any

import msgspec

Path = Sequence[str | int]


class Field(msgspec.Struct, frozen=True, tag=True):
    """Some text of one argument of a tool call, decoded; ``final`` when the argument is over.

    ``values`` are the arguments that were waited for, so that a file's text comes with its path. ``index`` is that of
    the call's block.

    >>> Field("call_1", "write_file", "content", "x = ", {"path": "a.py"}).final
    False
    """

    tool_id: str | None
    tool_name: str | None
    name: str
    text: str
    values: dict[str, Any] = {}
    final: bool = False
    index: int = -1


class PartialArguments(msgspec.Struct, frozen=True, tag=True, dict=True):
    """What became known of a tool call's arguments: at ``path`` there is ``text`` to append, or a whole ``value``.

    A ``text`` appends to the string at that place, and begins it. A ``value`` is a number, a truth value, None, or an
    empty object or list that is going to be filled.

    >>> PartialArguments(1, "call_1", "f", ("city",), "Ro").text
    'Ro'
    """

    index: int
    tool_id: str | None
    tool_name: str | None
    path: tuple[str | int, ...]
    text: str | None = None
    value: Any = None

    @property
    def arguments(self) -> Any:
        """All arguments as of this event, built when asked for; None for an event that was read from JSON.

        Building costs as much as there is: whoever shows every step applies the events to an `ArgumentsView`.
        """
        history = self.__dict__.get("history")
        return None if history is None else history.at(self.__dict__["count"])


class _Text:
    """A string that grows: appending costs nothing for what is there."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts: list[str] = []

    def __str__(self) -> str:
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""


class ArgumentsView:
    """The arguments of one call so far. Nothing that was shown disappears: strings and lists grow, keys are added.

    >>> view = ArgumentsView()
    >>> view.set([], {}); view.append(["city"], "Ro"); view.append(["city"], "me"); view.set(["days"], 3)
    >>> view.value
    {'city': 'Rome', 'days': 3}
    """

    def __init__(self) -> None:
        self._root: list[Any] = []

    def add(self, event: PartialArguments) -> None:
        """Take one event of the call."""
        if event.text is not None:
            self.append(event.path, event.text)
        else:
            self.set(event.path, event.value)

    def append(self, path: Path, text: str) -> None:
        """More text of the string at a place."""
        container, step = self._place(path)
        node = _child(container, step)
        if not isinstance(node, _Text):
            node = _Text()
            _put(container, step, node)
        node.parts.append(text)

    def set(self, path: Path, value: Any) -> None:
        """A whole value; an object or a list is filled by what follows."""
        container, step = self._place(path)
        _put(container, step, value.copy() if isinstance(value, dict | list) else value)

    @property
    def value(self) -> Any:
        """The arguments so far, as a value of their own; None before the first."""
        return _plain(self._root[0]) if self._root else None

    def _place(self, path: Path) -> tuple[Any, str | int]:
        if not path:
            return self._root, 0
        node: Any = self._root[0]
        for step in path[:-1]:
            node = node[step]
        return node, path[-1]


def _child(container: Any, step: Any) -> Any:
    if isinstance(container, dict):
        return container.get(step)
    return container[step] if step < len(container) else None


def _put(container: Any, step: str | int, value: Any) -> None:
    if isinstance(container, list) and step == len(container):
        container.append(value)
    else:
        container[step] = value


def _plain(node: Any) -> Any:
    """The tree with its strings joined; without recursion, because arguments may be deep."""
    if isinstance(node, _Text):
        return str(node)
    if not isinstance(node, dict | list):
        return node
    root: Any = node.copy()
    waiting = [root]
    while waiting:
        copied = waiting.pop()
        for step, child in copied.items() if isinstance(copied, dict) else enumerate(copied):
            if isinstance(child, _Text):
                copied[step] = str(child)
            elif isinstance(child, dict | list):
                copied[step] = child.copy()
                waiting.append(copied[step])
    return root


class ArgumentsHistory:
    """All that became known of one call's arguments, in order, so that each event can show its moment.

    >>> history = ArgumentsHistory()
    >>> for path, text, value in (((), None, {}), (("a",), "x", None), (("a",), "y", None)):
    ...     history.add(path, text, value)
    >>> history.at(2), history.at(3)
    ({'a': 'x'}, {'a': 'xy'})
    """

    __slots__ = ("_entries", "_shown", "_view")

    def __init__(self) -> None:
        self._entries: list[tuple[Path, str | None, Any]] = []
        self._view = ArgumentsView()
        self._shown = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, path: Path, text: str | None, value: Any) -> None:
        """Something more is known."""
        self._entries.append((path, text, value))

    def at(self, count: int) -> Any:
        """The arguments when this many things were known."""
        if count < self._shown:
            self._view, self._shown = ArgumentsView(), 0
        for path, text, value in self._entries[self._shown : count]:
            if text is not None:
                self._view.append(path, text)
            else:
                self._view.set(path, value)
        self._shown = count
        return self._view.value
