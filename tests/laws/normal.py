"""Running a chain step by step, and the form in which what came out can be compared."""

from typing import Any, NamedTuple

import msgspec

from streamflow.errors import StreamflowError, StreamTruncated, UsageError
from streamflow.events import Chunk, Stamped
from streamflow.stage import Chain
from streamflow.text.segment_events import SegmentContent
from streamflow.text.spoken import Spoken


class Outcome(NamedTuple):
    """What came out at each step, what the end gave, and the fault if there was one."""

    steps: list[list[Any]]
    rest: list[Any]
    fault: str

    @property
    def items(self) -> list[Any]:
        return [item for step in self.steps for item in step] + self.rest


def drive(operators: list[Any], items: list[Any], end: str = "complete") -> Outcome:
    """Feed the items one by one; ``end`` is ``complete`` or ``error``. Only our own errors are an outcome."""
    chain = Chain([operator.make_stage() for operator in operators])
    steps: list[list[Any]] = []
    for item in items:
        steps.append(_plain(chain.feed(item)))
        if chain.error is not None:
            return Outcome(steps, [], _fault(chain.error))
    if end == "error":
        return Outcome(steps, _plain(chain.abort(StreamTruncated("cut"))), "")
    rest = _plain(chain.finish())
    return Outcome(steps, rest, _fault(chain.error))


def _fault(error: BaseException | None) -> str:
    if error is None:
        return ""
    if not isinstance(error, StreamflowError) or isinstance(error, UsageError):
        raise error
    return f"{error.type}: {error}"


def brief(value: Any) -> str:
    """Items short enough to read: fields that are as usual are left out."""
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
    return value is None or value is False or value == {} or (not field.required and value == field.default)


def _plain(items: list[Any]) -> list[Any]:
    return [item.event if isinstance(item, Stamped) else item for item in items]


def normal(items: list[Any]) -> list[Any]:
    """Adjacent pieces of the same thing joined: nobody may depend on where they were cut.

    What is said beside the chunks of a call comes once for each of them, so it is compared apart from them.
    """
    beside = [item for item in items if type(item).__name__ in BESIDE]
    if not beside:
        return _merged(items)
    beside.sort(key=lambda item: (type(item).__name__, item.index))
    return [*_merged([item for item in items if type(item).__name__ not in BESIDE]), *_merged(beside)]


BESIDE = ("Field", "PartialArguments")


def _merged(items: list[Any]) -> list[Any]:
    out: list[Any] = []
    for item in items:
        joined = _joined(out[-1], item) if out and type(out[-1]) is type(item) else None
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
