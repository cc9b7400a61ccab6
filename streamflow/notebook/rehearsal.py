"""Run a recording through operators at once, on the clock of the recording."""

import math
from typing import Any

from msgspec.structs import replace
from reactivex.subject import Subject

from streamflow.operators import normalize_provider, wire_decode
from streamflow.probing import Probe, probe
from streamflow.recordings import Recording
from streamflow.sources.replay import replay


def decoding(recording: Recording) -> tuple[Any, ...]:
    """The operators that make events of a recording; none where it holds events already."""
    is_bytes = bool(recording.pieces) and isinstance(recording.pieces[0].item, bytes)
    if not is_bytes or not recording.provider:
        return ()
    content_type = recording.headers.get("content-type")
    return wire_decode(recording.provider, content_type), normalize_provider(recording.provider)


def rehearse(recording: Recording, *operators: Any) -> Probe:
    """What the operators make of a recording, and when, without waiting: the probe that watched.

    Bytes of a known provider are decoded first. How the recording ended is passed on: completed, cut or failed.

    >>> from streamflow.recordings import Piece
    >>> wire = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\\n\\ndata: [DONE]\\n\\n'
    >>> seen = rehearse(Recording("openai", (Piece(0.4, wire[:30]), Piece(0.9, wire[30:])), end_t=0.9))
    >>> [(t, type(item).__name__) for t, item in seen.stages[-1].outputs()][:2]
    [(0.9, 'StreamStart'), (0.9, 'BlockStart')]
    """
    now = 0.0
    watched = probe(*decoding(recording), *operators, clock=lambda: now)
    source: Subject[Any] = Subject()
    # What goes wrong is in the recording and is shown; nobody has to be told by an exception.
    source.pipe(watched).subscribe(lambda item: None, lambda error: None)
    for piece in recording.pieces:
        now = piece.t
        source.on_next(piece.item)
    now = max(now, recording.end_t)
    replay(replace(recording, pieces=()), math.inf).subscribe(source)
    return watched
