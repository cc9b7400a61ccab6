"""The verdict: what is right and what is wrong with a recorded stream, each finding with its place."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from streamflow.errors import StreamflowError
from streamflow.events import (
    TERMINAL,
    BlockComplete,
    BlockStart,
    Chunk,
    Notice,
    Retrying,
    StreamCompleted,
    StreamStart,
    ToolCallsReady,
)
from streamflow.fold import Fold
from streamflow.inspector.trace import Trace
from streamflow.operators import normalize_provider, wire_decode
from streamflow.stage import Chain

GAP_S = 2.0
NO_END = "there is no end"
UNKNOWN = ("unknown_event", "unknown_block", "unknown_field", "unknown_part", "unknown_message")
# Sizes that tear characters, line ends and frames; every place is tried by `streamflow.testing.assert_cut_invariant`.
_CUTS = (1, 2, 3, 7, 64, 1009)
_MOST_FOR_SMALL_CUTS = 300_000


class Finding(msgspec.Struct, frozen=True):
    """One line of the verdict. ``level`` is ``ok``, ``warn`` or ``fail``; ``row`` is a place in ``column``, or -1."""

    code: str
    level: str
    title: str
    detail: str = ""
    column: str = ""
    row: int = -1


def verdict_of(trace: Trace, *, gap_s: float = GAP_S) -> list[Finding]:
    """All findings, the failed ones first.

    >>> from streamflow.recordings import from_capture
    >>> from streamflow.inspector.trace import trace_of
    >>> cut = b'data: {"choices":[{"delta":{"content":"Hi."}}]}\\n\\n'
    >>> [(finding.code, finding.level) for finding in verdict_of(trace_of(from_capture(cut, provider="openai")))][0]
    ('end', 'fail')
    """
    if trace.live:
        found = [*_grammar(trace), *_unknown(trace), *_gaps(trace, gap_s)]
    else:
        found = [*_end(trace), *_grammar(trace), *_cuts(trace), *_calls(trace), *_unknown(trace), *_gaps(trace, gap_s)]
    order = ("fail", "warn", "ok")
    return sorted(found, key=lambda finding: order.index(finding.level))


def _end(trace: Trace) -> Iterator[Finding]:
    last = len(trace.events) - 1
    recording = trace.recording
    if trace.error is not None:
        told = f"{type(trace.error).__name__}: {trace.error.message}"
        yield Finding("end", "fail", "the stream did not end properly", told, "events", last)
    elif not trace.events or not isinstance(trace.events[-1], TERMINAL):
        yield Finding("end", "fail", "the stream has no end", "nothing says that it is over", "events", last)
    elif not isinstance(trace.events[-1], StreamCompleted):
        yield Finding("end", "fail", "the stream failed", str(trace.events[-1].error.message), "events", last)
    else:
        end = trace.events[-1]
        told = f"{end.stop_reason}" + (f" ({end.raw_stop_reason})" if end.raw_stop_reason else "")
        yield Finding("end", "ok", "ended properly", told, "events", last)
    if recording.end != "completed":
        told = recording.error.message if recording.error is not None else f"the recording was {recording.end}"
        yield Finding("source", "warn", "the source broke off", told, "raw", len(recording.pieces) - 1)


def _grammar(trace: Trace) -> Iterator[Finding]:
    faults = [fault for fault in grammar_faults(trace.events) if not (trace.live and fault[1] == NO_END)]
    for row, told in faults[:20]:
        yield Finding("grammar", "fail", "the grammar is broken", told, "events", row)
    if not faults:
        yield Finding("grammar", "ok", "the grammar holds", f"{len(trace.events)} events")


def grammar_faults(events: list[Any]) -> Iterator[tuple[int, str]]:
    """Where events break ``Retrying* StreamStart (block | ...)* end``, and how; all faults, not the first alone.

    >>> list(grammar_faults([StreamStart(), Chunk(0, "text", "a")]))
    [(1, 'a chunk outside its block'), (1, 'there is no end')]
    """
    opened: dict[int, list[str]] = {}
    closed: set[int] = set()
    started = ended = False
    for row, event in enumerate(events):
        if isinstance(event, Retrying):
            continue
        if ended:
            if not isinstance(event, Notice):
                yield row, "an event after the end"
            continue
        if not started and not isinstance(event, (StreamStart, *TERMINAL)):
            yield row, "the first event is no start"
        match event:
            case StreamStart() if started:
                yield row, "a second start"
            case BlockStart(index=index):
                if index in opened or index in closed:
                    yield row, f"block {index} opens twice"
                opened[index] = []
            case Chunk(index=index):
                if index not in opened:
                    yield row, "a chunk outside its block"
                elif event.part in (None, "input"):
                    opened[index].append(event.text)
            case BlockComplete(index=index):
                if index not in opened:
                    yield row, f"block {index} closes and is not open"
                elif "".join(opened.pop(index)) != event.content:
                    yield row, f"the chunks of block {index} are not its content"
                closed.add(index)
            case _ if isinstance(event, TERMINAL):
                if opened:
                    yield row, f"blocks {sorted(opened)} are open at the end"
                ended = True
        started = True
    if not ended:
        yield len(events) - 1, NO_END


def _cuts(trace: Trace) -> Iterator[Finding]:
    """Cut anywhere, same answer: tried on these very bytes."""
    if not trace.has_bytes:
        return
    data = trace.recording.data
    sizes = [size for size in _CUTS if len(data) <= _MOST_FOR_SMALL_CUTS or size >= 64]
    whole = _answer(trace, len(data) or 1)
    for size in sizes:
        if _answer(trace, size) != whole:
            yield Finding("cuts", "fail", "the answer depends on the cutting", f"pieces of {size} bytes differ")
            return
    yield Finding("cuts", "ok", "cut anywhere, same answer", f"pieces of {', '.join(map(str, sizes))} bytes")


def _answer(trace: Trace, size: int) -> Any:
    data, recording = trace.recording.data, trace.recording
    stages = (
        wire_decode(recording.provider, recording.headers.get("content-type")),
        normalize_provider(recording.provider),
    )
    chain = Chain([operator.make_stage() for operator in stages])
    fold = Fold()
    for at in range(0, len(data), size):
        for event in chain.feed(data[at : at + size]):
            fold.add(event)
        if chain.error is not None:
            break
    else:
        for event in chain.finish():
            fold.add(event)
    error = chain.error
    return fold.response(), error.info() if isinstance(error, StreamflowError) else None


def _calls(trace: Trace) -> Iterator[Finding]:
    broken = [
        (row, event)
        for row, event in enumerate(trace.events)
        if isinstance(event, BlockComplete) and event.kind == "tool_call" and (event.error or event.incomplete)
    ]
    for row, event in broken:
        told = f"{event.tool_name or 'a call'}: {event.error or 'it was cut off'}"
        yield Finding("calls", "fail", "a tool call cannot be run", told, "events", row)
    ready = sum(len(event.calls) for event in trace.events if isinstance(event, ToolCallsReady))
    if ready and not broken:
        yield Finding("calls", "ok", "tool calls are whole", f"{ready} ready to run")


def _unknown(trace: Trace) -> Iterator[Finding]:
    notices = [(row, event) for row, event in enumerate(trace.events) if isinstance(event, Notice)]
    for row, event in notices[:50]:
        unknown = event.code in UNKNOWN
        title = "something that the dialect does not know" if unknown else f"notice: {event.code}"
        code = "unknown" if unknown else "notice"
        yield Finding(code, "warn", title, f"{event.code}: {event.message}", "events", row)
    if not any(event.code in UNKNOWN for _, event in notices):
        yield Finding("unknown", "ok", "nothing unknown", "every frame was understood")


def _gaps(trace: Trace, gap_s: float) -> Iterator[Finding]:
    times = [piece.t for piece in trace.recording.pieces]
    gaps = [(row + 1, after - before) for row, (before, after) in enumerate(pairwise(times)) if after - before >= gap_s]
    for row, seconds in gaps[:20]:
        yield Finding("gaps", "warn", "a gap", f"{seconds:.2f} s before piece {row}", "raw", row)
    if not gaps and times and times[-1] > 0:
        longest = max((after - before for before, after in pairwise(times)), default=0.0)
        yield Finding("gaps", "ok", "no gaps", f"the longest pause was {longest:.2f} s")
