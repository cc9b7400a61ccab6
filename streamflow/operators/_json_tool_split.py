from collections.abc import Callable, Iterable
from typing import Any

from streamflow.stage import Operator, lift
from streamflow.text.blocks import BlockSplit
from streamflow.text.json_calls import json_detectors
from streamflow.text.tool_schemas import tool_schemas


def json_tool_split(
    profile: str = "default",
    *,
    tools: Iterable[Any] | None = None,
    code: str = "literal",
    on_unclosed: str = "keep",
    ids: Callable[[int], str] | None = None,
) -> Operator[Any, Any]:
    """Take tool calls that are written as JSON out of the text.

    ``profile`` says how calls begin: ``default`` (``{"tool":``, ``{"function":``), ``openai`` (also ``mistral``,
    ``deepseek``, ``xai``: lists of calls too), ``gemini`` (``{"name":`` with ``args``), or ``any`` of these. With
    ``tools`` only their names are calls. An object that turns out to be no call is text, as soon as that is certain.

    ```
    text  --Sure. {"tool": {"func--tion": "f", "parameters": {"a": 1}}} done----------------------|
    out   --Chunk(Sure. )----------BlockStart(tool_call)-Chunk(f)-...-BlockComplete--Chunk( done)-|
    ```

    >>> import streamflow as sf
    >>> events = sf.run(['Sure. {"tool": {"function": "f", "parameters": {"a": 1}}} done'], json_tool_split())
    >>> [(event.kind, event.input) for event in events if isinstance(event, sf.events.BlockComplete)]
    [('text', None), ('tool_call', {'a': 1}), ('text', None)]
    """
    detectors = json_detectors(profile, None if tools is None else tool_schemas(tools, names=True))

    def make_stage() -> BlockSplit:
        return BlockSplit(detectors, code=code, on_unclosed=on_unclosed, ids=ids)

    make_stage()  # wrong options fail here, not at the first item
    return lift(make_stage, "json_tool_split")
