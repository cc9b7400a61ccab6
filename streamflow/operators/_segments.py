from typing import Any

from streamflow.errors import UsageError
from streamflow.stage import Operator, lift
from streamflow.text.segment_syntax import registered_syntaxes
from streamflow.text.segments import SegmentView


def segments(*, prefix: str = "seg_", tool_ids: bool = False) -> Operator[Any, Any]:
    """Blocks as numbered segments: a start with what is known, pure content, an end; everything else passes.

    The body of ``write_file``, ``edit_file`` and ``run_bash`` is shown alone, whether it came between tags or in a
    call's arguments, and a start waits for its path; `streamflow.register_syntax` adds more of the kind. Arguments
    beside the body that came after the start are the ``metadata`` of a last content with an empty ``delta``. Ids are
    ``prefix`` and a number; ``tool_ids=True`` puts the call's own id into the start's metadata.

    ```
    events    --BlockStart(text)--Chunk(Hi)--BlockComplete--BlockStart(write_file)--|
    segments  --START(seg_1)------CONTENT----END------------START(seg_2)------------END(incomplete)-|
    ```

    >>> import streamflow as sf
    >>> from streamflow.events import BlockComplete, BlockStart, Chunk
    >>> events = [BlockStart(0, "run_bash"), Chunk(0, "run_bash", "ls", False), BlockComplete(0, "run_bash", "ls")]
    >>> [sf.to_json(event).decode() for event in sf.run(events, segments())][1]
    '{"type":"SEGMENT_CONTENT","segment_id":"seg_1","payload":{"delta":"ls"}}'
    """
    if not isinstance(prefix, str):
        raise UsageError(f"prefix: a text is needed, not {prefix!r}")
    syntaxes = registered_syntaxes()
    return lift(lambda: SegmentView(syntaxes, prefix=prefix, tool_ids=tool_ids), "segments")
