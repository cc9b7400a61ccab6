from typing import Any

from streamflow.errors import UsageError
from streamflow.stage import Operator, lift
from streamflow.text.invocations import InvocationBook
from streamflow.text.segment_syntax import registered_syntaxes

_WHEN = ("turn_end", "segment_end")


def invocations(*, when: str = "turn_end") -> Operator[Any, Any]:
    """Add an `Invocation` for each segment that calls a tool, under the segment's id; everything passes on.

    They come before the proper end of the turn. What the end of the stream closed, or a turn that failed or was
    cancelled, gives invocations with ``incomplete``, which are never runnable. ``when="segment_end"`` gives each at its
    own end, for a caller who decides to run it before the turn is known to be whole.

    ```
    segments  --START(run_bash)--CONTENT(ls)--END---------------------StreamCompleted--|
    out       --START(run_bash)--CONTENT(ls)--END---Invocation(ls)----StreamCompleted--|
    ```

    >>> import streamflow as sf
    >>> from streamflow.text.segment_events import SegmentContent, SegmentEnd, SegmentStart
    >>> run = [SegmentStart("seg_1", "run_bash"), SegmentContent("seg_1", {"delta": "ls"}), SegmentEnd("seg_1")]
    >>> invocation = sf.run(run, invocations())[-1]
    >>> invocation.id, invocation.name, invocation.arguments, invocation.runnable
    ('seg_1', 'run_bash', {'command': 'ls'}, True)
    """
    if when not in _WHEN:
        raise UsageError(f"when: {when!r} is unknown; allowed are {', '.join(_WHEN)}")
    syntaxes = registered_syntaxes()
    return lift(lambda: InvocationBook(syntaxes, early=when == "segment_end"), "invocations")
