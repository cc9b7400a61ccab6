import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from streamflow.errors import UsageError
from streamflow.stage import Operator, lift
from streamflow.text.block_writer import BlockWriter
from streamflow.text.blocks import BlockSplit, MakeDetectors
from streamflow.text.code_marks import CodeMarks
from streamflow.text.holdback import MAX_TAG
from streamflow.text.json_calls import json_detectors
from streamflow.text.regions import Detector
from streamflow.text.sentinels import sentinel_detectors
from streamflow.text.tag_reader import TagReader
from streamflow.text.tags import Tag
from streamflow.text.tool_schemas import tool_schemas
from streamflow.text.xml_blocks import xml_detectors

ENVIRONMENT = "STREAMFLOW_PARSER"
STRATEGIES = ("xml", "json", "sentinel", "api_tool_call")
ALL_TABLES = ("thinking", "function_calls", "tool_call", "tool", "files")


def block_split(
    strategies: Sequence[str] | None = None,
    *,
    tables: Sequence[str | Tag] = ALL_TABLES,
    profile: str = "default",
    types: Iterable[str] = (),
    case_sensitive: bool = True,
    code: str = "literal",
    on_unclosed: str = "keep",
    starts_open: str | None = None,
    prefix: str = "",
    tools: Iterable[Any] | None = None,
    max_tag: int = MAX_TAG,
    ids: Callable[[int], str] | None = None,
) -> Operator[Any, Any]:
    """Take blocks out of the text in several ways at once: the earliest marker wins, then the order of the strategies.

    Strategies are ``xml``, ``json`` and ``sentinel``, with the options of `xml_block_split`, `json_tool_split` and
    `sentinel_split`; ``api_tool_call`` means that calls come from the provider alone and text is left as it is. Without
    strategies the environment variable ``STREAMFLOW_PARSER`` names one when the operator is made, ``api_tool_call`` if
    it is not set.

    ```
    text  --a <think>b</think> [[SEG_START {"type": "run_bash"}]]ls[[SEG_END]]------|
    out   --text(a )-thinking(b)-text( )-run_bash(ls)-------------------------------|
    ```

    >>> import streamflow as sf
    >>> text = 'a <think>b</think> [[SEG_START {"type": "run_bash"}]]ls[[SEG_END]]'
    >>> events = sf.run([text], block_split(["xml", "sentinel"]))
    >>> [event.kind for event in events if isinstance(event, sf.events.BlockStart)]
    ['text', 'thinking', 'text', 'run_bash']
    """
    names = _checked(strategies)
    schemas = None if tools is None else tool_schemas(tools, names=True)
    reader = TagReader(tables, case_sensitive=case_sensitive, max_tag=max_tag, schemas=schemas)
    makers: dict[str, MakeDetectors] = {
        "xml": xml_detectors(reader),
        "json": json_detectors(profile, schemas),
        "sentinel": sentinel_detectors(types, max_tag),
    }
    if starts_open is not None and not isinstance(starts_open, str):
        raise UsageError(f"starts_open={starts_open!r}: give the name of a tag, as in 'think'")
    opening = reader.opening(starts_open) if starts_open else ""

    def make_detectors(writer: BlockWriter, marks: CodeMarks | None) -> list[Detector]:
        return [detector for name in names if name in makers for detector in makers[name](writer, marks)]

    def make_stage() -> BlockSplit:
        return BlockSplit(make_detectors, code=code, on_unclosed=on_unclosed, ids=ids, opening=opening, prefix=prefix)

    make_stage()  # wrong options fail here, not at the first item
    return lift(make_stage, "block_split")


def _checked(strategies: Sequence[str] | None) -> list[str]:
    allowed = ", ".join(STRATEGIES)
    if strategies is None:
        name = os.environ.get(ENVIRONMENT) or "api_tool_call"
        if name not in STRATEGIES:
            raise UsageError(f"{ENVIRONMENT}={name!r}: choose one of {allowed}")
        return [name]
    names = [strategies] if isinstance(strategies, str) else strategies
    if not isinstance(names, Sequence) or not names:
        raise UsageError(f"strategies={strategies!r}: give a list of {allowed}")
    for name in names:
        if name not in STRATEGIES:
            raise UsageError(f"strategies: unknown strategy {name!r}; choose from {allowed}")
    return list(dict.fromkeys(names))
