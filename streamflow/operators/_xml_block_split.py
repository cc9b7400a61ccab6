from collections.abc import Callable, Iterable, Sequence
from typing import Any

from streamflow.errors import UsageError
from streamflow.stage import Operator, lift
from streamflow.text.blocks import BlockSplit
from streamflow.text.holdback import MAX_TAG
from streamflow.text.tag_reader import TagReader
from streamflow.text.tags import Tag
from streamflow.text.tool_schemas import tool_schemas
from streamflow.text.xml_blocks import xml_detectors


def xml_block_split(
    tables: Sequence[str | Tag] = ("thinking", "function_calls"),
    *,
    case_sensitive: bool = True,
    code: str = "literal",
    on_unclosed: str = "keep",
    starts_open: str | None = None,
    prefix: str = "",
    tools: Iterable[Any] | None = None,
    max_tag: int = MAX_TAG,
    ids: Callable[[int], str] | None = None,
) -> Operator[Any, Any]:
    """Take the blocks that tags make out of the text: thought, tool calls, results, files, whatever the tables say.

    Text is held only while it may still become a tag. Tags in code stay text (``code="ignore"`` looks there too).
    ``on_unclosed`` says what becomes of a block that the end cuts: ``keep`` it marked incomplete, ``show`` its content
    as text too, or ``error``. ``starts_open`` names the tag that the template opened before the stream, ``prefix`` is
    the text before it. ``tools`` types the arguments of calls, ``ids`` makes the ids that the text does not give.
    Calls look like those of a provider: they stream name, id and input, and ``end_turn`` after them is ``tool_use``.

    ```
    text  --Hi <thi--nking>hm</thinking> there------------------------------------------------|
    out   --BlockStart(text)-Chunk(Hi )--BlockComplete-BlockStart(thinking)-Chunk(hm)--...----|
    ```

    >>> import streamflow as sf
    >>> events = sf.run(["Hi <thi", "nking>hm</thinking> there"], xml_block_split())
    >>> [(event.kind, event.content) for event in events if isinstance(event, sf.events.BlockComplete)]
    [('text', 'Hi '), ('thinking', 'hm'), ('text', ' there')]
    """
    reader = TagReader(tables, case_sensitive=case_sensitive, max_tag=max_tag, schemas=tool_schemas(tools, names=True))
    if starts_open is not None and not isinstance(starts_open, str):
        raise UsageError(f"starts_open={starts_open!r}: give the name of a tag, as in 'think'")
    opening = reader.opening(starts_open) if starts_open else ""

    def make_stage() -> BlockSplit:
        return BlockSplit(
            xml_detectors(reader), code=code, on_unclosed=on_unclosed, ids=ids, opening=opening, prefix=prefix
        )

    make_stage()  # wrong options fail here, not at the first item
    return lift(make_stage, "xml_block_split")
