"""Function-call arguments that Gemini sends as values at JSON paths, written down as JSON text while they come."""

import json
import re
from itertools import pairwise
from typing import Any

import orjson

Step = str | int

_STEP = re.compile(
    r"""
    \.(?P<name>[^.\[\]'"*]+)
    | \[(?P<index>\d+)\]
    | \['(?P<single>(?:[^'\\]|\\.)*)'\]
    | \["(?P<double>(?:[^"\\]|\\.)*)"\]
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")


def json_text(value: Any) -> str:
    """Compact JSON; half of a torn surrogate pair is left for the turn to mend.

    >>> json_text({"city": "Köln"})
    '{"city":"Köln"}'
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parse_path(path: str) -> list[Step]:
    """The keys and indices of a JSON path that names one place.

    >>> parse_path("$.stops[0]['street name']")
    ['stops', 0, 'street name']
    """
    steps: list[Step] = []
    position = 1
    while path.startswith("$") and (match := _STEP.match(path, position)):
        position = match.end()
        text = match[match.lastgroup or 0]
        if match.lastgroup == "index":
            steps.append(int(text))
        else:
            steps.append(text if match.lastgroup == "name" else _ESCAPE.sub(r"\1", text))
    if position != len(path) or not steps or not isinstance(steps[0], str):
        raise ValueError(f"{path!r} does not name a place in the arguments")
    return steps


class _Open:
    """A container whose closing bracket is not written yet."""

    __slots__ = ("count", "step", "value")

    def __init__(self, step: Step | None, value: Any) -> None:
        self.step = step
        self.value = value
        self.count = 0


class ArgumentWriter:
    """Turns values at paths into the text of one JSON object; each method returns what to append.

    Values come in the order of the document. One that goes back to a place already closed is written at the end, as its
    whole top-level key again: readers of JSON take the last value of a key.

    >>> writer = ArgumentWriter()
    >>> writer.begin() + writer.string("$.city", "Ro") + writer.string("$.city", "me") + writer.value("$.days", 3)
    '{"city":"Rome","days":3'
    >>> writer.end()
    '}'
    """

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}
        self._stack = [_Open(None, self._root)]
        self._string: list[str] | None = None  # the fragments of the string whose closing quote is not written
        self._string_path = ""
        self._again: set[str] = set()

    def begin(self) -> str:
        """The opening bracket: a call without its end is no valid JSON and so never runs."""
        return "{"

    def string(self, path: str, fragment: str) -> str:
        """A string, or more of the one that was written last."""
        if self._string is not None and path == self._string_path:
            self._string.append(fragment)
            return "" if self._late(path) else _inside(fragment)
        out = self._close_string()
        steps = parse_path(path)
        out += self._place(steps, "")
        self._string = [fragment]
        self._string_path = path
        return out if steps[0] in self._again else out + '"' + _inside(fragment)

    def value(self, path: str, value: Any) -> str:
        """A number, a truth value, null, or anything else that came whole."""
        return self._whole(parse_path(path), value)

    def member(self, key: str, value: Any) -> str:
        """A whole top-level argument."""
        return self._whole([key], value)

    def _whole(self, steps: list[Step], value: Any) -> str:
        out = self._close_string() + self._place(steps, value)
        return out if steps[0] in self._again else out + json_text(value)

    def end(self) -> str:
        """Everything that is still owed."""
        out = self._close_string() + self._close_to(1)
        for key in self._root:
            if key in self._again:
                out += self._comma(self._stack[0]) + json_text(key) + ":" + json_text(self._root[key])
        return out + "}"

    def _late(self, path: str) -> bool:
        return bool(self._again) and parse_path(path)[0] in self._again

    def _close_string(self) -> str:
        if self._string is None:
            return ""
        steps = parse_path(self._string_path)
        _container(self._root, steps)[steps[-1]] = "".join(self._string)
        self._string = None
        return "" if steps[0] in self._again else '"'

    def _place(self, steps: list[Step], value: Any) -> str:
        """Put the value into the tree and write everything up to it."""
        in_order = steps[0] not in self._again and self._in_order(steps)
        container = _container(self._root, steps, grow=True)
        if isinstance(container, list) and steps[-1] == len(container):
            container.append(value)
        else:
            container[steps[-1]] = value
        if not in_order:
            self._again.add(str(steps[0]))
            return ""
        shared = self._shared(steps)
        out = self._close_to(shared + 1)
        node: Any = self._stack[-1].value
        for depth in range(shared, len(steps) - 1):
            out += self._label(steps[depth])
            node = node[steps[depth]]
            out += "[" if isinstance(node, list) else "{"
            self._stack.append(_Open(steps[depth], node))
        return out + self._label(steps[-1])

    def _shared(self, steps: list[Step]) -> int:
        """How many of the path's containers are open already."""
        shared = 0
        while shared + 1 < min(len(self._stack), len(steps)) and self._stack[shared + 1].step == steps[shared]:
            shared += 1
        return shared

    def _in_order(self, steps: list[Step]) -> bool:
        shared = self._shared(steps)
        container = self._stack[shared]
        step = steps[shared]
        # What the innermost open container holds already is closed text.
        return step == container.count if isinstance(container.value, list) else step not in container.value

    def _label(self, step: Step) -> str:
        container = self._stack[-1]
        comma = self._comma(container)
        return comma + (json_text(step) + ":" if isinstance(container.value, dict) else "")

    def _comma(self, container: _Open) -> str:
        container.count += 1
        return "," if container.count > 1 else ""

    def _close_to(self, depth: int) -> str:
        out = ""
        while len(self._stack) > depth:
            out += "]" if isinstance(self._stack.pop().value, list) else "}"
        return out


def _inside(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _container(root: Any, steps: list[Step], grow: bool = False) -> Any:
    """The object or list that holds the last step, made on the way when asked for."""
    node = root
    for step, following in pairwise(steps):
        if grow and (step not in node if isinstance(node, dict) else step == len(node)):
            fresh: Any = [] if isinstance(following, int) else {}
            if isinstance(node, list):
                node.append(fresh)
            else:
                node[step] = fresh
        node = node[step]
        if not isinstance(node, list if isinstance(following, int) else dict):
            raise ValueError(f"the arguments have two kinds of value at {step!r}")
    if isinstance(node, list) and steps[-1] > len(node):  # type: ignore[operator]
        raise ValueError(f"the list has no place {steps[-1]} yet")
    return node
