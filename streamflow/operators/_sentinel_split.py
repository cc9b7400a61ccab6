from collections.abc import Callable, Iterable
from typing import Any

from streamflow.stage import Operator, lift
from streamflow.text.blocks import BlockSplit
from streamflow.text.holdback import MAX_TAG
from streamflow.text.sentinels import sentinel_detectors


def sentinel_split(
    types: Iterable[str] = (),
    *,
    code: str = "literal",
    on_unclosed: str = "keep",
    max_tag: int = MAX_TAG,
    ids: Callable[[int], str] | None = None,
) -> Operator[Any, Any]:
    """Take the blocks between ``[[SEG_START {...}]]`` and ``[[SEG_END]]`` out of the text.

    The header's ``type`` is the kind of block (``write_file``, ``edit_file``, ``run_bash``, ``tool_call``,
    ``reasoning``, ``text``, and those in ``types``), its other fields are attributes. A header that is no JSON, or of
    an unknown type, is text.

    ```
    text  --[[SEG_ST--ART {"type": "run_bash"}]]ls[[SEG_END]]---------------------|
    out   ------------BlockStart(run_bash)----Chunk(ls)-----BlockComplete---------|
    ```

    >>> import streamflow as sf
    >>> events = sf.run(['[[SEG_START {"type": "write_file", "path": "/a"}]]x[[SEG_END]]'], sentinel_split())
    >>> events[0].kind, events[0].attributes, events[-1].content
    ('write_file', {'path': '/a'}, 'x')
    """
    detectors = sentinel_detectors(types, max_tag)

    def make_stage() -> BlockSplit:
        return BlockSplit(detectors, code=code, on_unclosed=on_unclosed, ids=ids)

    make_stage()  # wrong options fail here, not at the first item
    return lift(make_stage, "sentinel_split")
