"""Running an operator step by step, and the form in which what came out can be compared."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from reactivex.subject import Subject

from streamflow.errors import StreamTruncated
from streamflow.events import Chunk, Stamped
from streamflow.stage import Chain, fused
from streamflow.text.segment_events import SegmentContent
from streamflow.text.spoken import Spoken

# Said beside the chunks of a call, once for each of them: compared apart from them.
BESIDE = ("Field", "PartialArguments")


class Outcome(NamedTuple):
    """What came out at each step, what the end gave, and the fault if there was one."""

    steps: list[list[Any]]
    rest: list[Any]
    error: BaseException | None

    @property
    def items(self) -> list[Any]:
        """Everything."""
        return [item for step in self.steps for item in step] + self.rest

    @property
    def fault(self) -> str:
        """The fault as text, for comparing."""
        return "" if self.error is None else f"{type(self.error).__name__}: {self.error}"


def drive(operators: Sequence[Any], items: Sequence[Any], end: str = "complete") -> Outcome:
    """Feed the items one by one; ``end`` is ``complete`` or ``error``. Any operators, ours or of reactivex.

    >>> from reactivex import operators as ops
    >>> drive([ops.pairwise()], [1, 2, 3]).steps
    [[], [(1, 2)], [(2, 3)]]
    """
    make_chain = fused(operators)
    return _drive_rx(operators, items, end) if make_chain is None else _drive_chain(make_chain(), items, end)


def _drive_chain(chain: Chain, items: Sequence[Any], end: str) -> Outcome:
    steps: list[list[Any]] = []
    for item in items:
        steps.append(_plain(chain.feed(item)))
        if chain.error is not None:
            return Outcome(steps, [], chain.error)
    rest = _plain(chain.finish() if end == "complete" else chain.abort(StreamTruncated("cut")))
    return Outcome(steps, rest, chain.error if end == "complete" else None)


def _drive_rx(operators: Sequence[Any], items: Sequence[Any], end: str) -> Outcome:
    out: list[Any] = []
    errors: list[BaseException] = []
    source: Subject[Any] = Subject()
    source.pipe(*operators).subscribe(out.append, errors.append)

    def taken() -> list[Any]:
        ready = _plain(out)
        out.clear()
        return ready

    steps: list[list[Any]] = []
    for item in items:
        source.on_next(item)
        steps.append(taken())
        if errors:
            return Outcome(steps, [], errors[0])
    if end == "complete":
        source.on_completed()
    else:
        source.on_error(StreamTruncated("cut"))
    return Outcome(steps, taken(), errors[0] if errors and end == "complete" else None)


def _plain(items: Sequence[Any]) -> list[Any]:
    return [item.event if isinstance(item, Stamped) else item for item in items]


def brief(value: Any) -> str:
    """Items short enough to read: fields that are as usual are left out.

    >>> brief([Chunk(0, "text", "Hi", start=3)])
    "[Chunk(text, index=0, text='Hi')]"
    """
    if isinstance(value, list):
        return "[" + ", ".join(brief(item) for item in value) + "]"
    if not isinstance(value, msgspec.Struct):
        return repr(value)
    parts = [
        f"{field.name}={getattr(value, field.name)!r}"
        for field in msgspec.structs.fields(value)
        if field.name not in ("kind", "visible", "start") and not _is_usual(field, getattr(value, field.name))
    ]
    kind = getattr(value, "kind", "")
    return f"{type(value).__name__}({', '.join([kind, *parts] if kind else parts)})"


def _is_usual(field: Any, value: Any) -> bool:
    return value is None or value is False or value == {} or (not field.required and bool(value == field.default))


def normal(items: list[Any], *, join_strings: bool = True) -> list[Any]:
    """Adjacent pieces of the same thing joined: nobody may depend on where they were cut.

    >>> normal(["a", "b", 3, "c"])
    ['ab', 3, 'c']
    """
    beside = [item for item in items if type(item).__name__ in BESIDE]
    if not beside:
        return _merged(items, join_strings)
    beside.sort(key=lambda item: (type(item).__name__, item.index))
    others = [item for item in items if type(item).__name__ not in BESIDE]
    return [*_merged(others, join_strings), *_merged(beside, False)]


def _merged(items: list[Any], join_strings: bool) -> list[Any]:
    out: list[Any] = []
    for item in items:
        is_piece = join_strings or not isinstance(item, str)
        joined = _joined(out[-1], item) if is_piece and out and type(out[-1]) is type(item) else None
        if joined is None:
            out.append(item)
        else:
            out[-1] = joined
    return out


def _joined(last: Any, item: Any) -> Any:
    if isinstance(item, str):
        return last + item
    if isinstance(item, Chunk):
        same = (last.index, last.kind, last.part, last.visible, last.depth)
        if item.part == "id" or same != (item.index, item.kind, item.part, item.visible, item.depth):
            return None
        return msgspec.structs.replace(last, text=last.text + item.text, tool_id=item.tool_id, tool_name=item.tool_name)
    if isinstance(item, SegmentContent):
        if last.segment_id != item.segment_id or item.metadata or last.metadata:
            return None
        return SegmentContent(item.segment_id, {"delta": last.delta + item.delta})
    if isinstance(item, Spoken):
        return Spoken(last.text + item.text, last.start, item.end)
    if type(item).__name__ == "Field":
        if last.final or (last.index, last.values) != (item.index, item.values):
            return None
        return msgspec.structs.replace(item, text=last.text + item.text)
    if type(item).__name__ == "PartialArguments":
        if (last.index, last.path) != (item.index, item.path) or last.text is None or item.text is None:
            return None
        return msgspec.structs.replace(item, text=last.text + item.text)
    return None
