"""A chat: what to show, what was thought, which tools to run, what to keep."""

from typing import Any

from reactivex import operators as ops

from streamflow.events import Chunk, ToolCallsReady
from streamflow.flow import Flow, block, conflate
from streamflow.operators import tool_accumulate, visible_filter, xml_block_split


def chat(
    source: Any, *operators: Any, tables: tuple[str, ...] = ("thinking", "function_calls"), **options: Any
) -> Flow:
    """A flow with the branches of a chat: ``ui``, ``thinking``, ``tools`` and ``transcript``.

    ``source`` is what `Client.stream` gives, or any source of events. Thinking and calls that the model writes into
    its text are taken out by the block tables; further operators run behind them, options go to `Flow`.

    >>> import streamflow as sf
    >>> wire = b'data: {"choices":[{"delta":{"content":"<thinking>hm</thinking>Yes."},"finish_reason":"stop"}]}\\n\\n'
    >>> flow = chat(sf.decode("openai", wire + b"data: [DONE]\\n\\n"))
    >>> flow["ui"].subscribe(lambda chunk: print(chunk.text)) and None
    Yes.
    >>> flow.snapshot().thinking
    'hm'
    """
    flow = Flow(source, xml_block_split(tables=tables), tool_accumulate(), *operators, **options)
    flow.branch("ui", visible_filter(), policy=conflate())
    flow.branch("thinking", ops.filter(_is_thought), policy=conflate())
    flow.branch("tools", ops.filter(lambda event: isinstance(event, ToolCallsReady)))
    flow.branch("transcript", policy=block())
    return flow


def _is_thought(event: Any) -> bool:
    return isinstance(event, Chunk) and event.kind == "thinking"
