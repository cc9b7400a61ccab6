"""A chat that runs tools."""

from collections.abc import Iterable, Mapping
from typing import Any

from reactivex import operators as ops

from streamflow.events import BlockComplete, Chunk, ToolCallsReady
from streamflow.flow import Flow, block, conflate
from streamflow.operators import visible_filter
from streamflow.tools.loop import tool_loop


def agent(
    llm: Any,
    messages: Any,
    tools: Iterable[Any] | Mapping[str, Any],
    *operators: Any,
    flow_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Flow:
    """The tool loop as a flow, with the branches ``ui``, ``thinking``, ``calls``, ``results`` and ``transcript``.

    ``calls`` shows what the model asks for, one `ToolCallsReady` for each round; ``results`` what the tools answered,
    one completed block each. Options go to `tool_loop`, operators run behind it.

    >>> import asyncio, streamflow as sf
    >>> from streamflow.testing import Answer, FakeProvider, ToolUse
    >>> def weather(city: str) -> str:
    ...     "The weather of a city."
    ...     return f"sunny in {city}"
    >>> async def main():
    ...     script = Answer(ToolUse("weather", {"city": "Rome"})), Answer("It is sunny.")
    ...     async with FakeProvider(*script) as fake:
    ...         url = fake.base_url("openai")
    ...         async with sf.connect("openai", model="m", api_key="k", base_url=url) as llm:
    ...             flow = agent(llm, "How is Rome?", [weather])
    ...             shown = [chunk.text async for chunk in flow["ui"] if isinstance(chunk, sf.events.Chunk)]
    ...             return "".join(shown), [block.content async for block in flow["results"]]
    >>> asyncio.run(main())
    ('It is sunny.', ['sunny in Rome'])
    """
    loop = tool_loop(llm, messages, tools, **options)
    flow = Flow(loop, *operators, **(flow_options or {}))
    flow.branch("ui", visible_filter(), policy=conflate())
    flow.branch("thinking", ops.filter(_is_thought), policy=conflate())
    flow.branch("calls", ops.filter(_is_calls))
    flow.branch("results", ops.filter(_is_result))
    flow.branch("transcript", policy=block())
    return flow


def _is_thought(event: Any) -> bool:
    return isinstance(event, Chunk) and event.kind == "thinking"


def _is_calls(event: Any) -> bool:
    return isinstance(event, ToolCallsReady)


def _is_result(event: Any) -> bool:
    return isinstance(event, BlockComplete) and event.kind == "tool_result" and "server" not in event.attributes
