"""The tool loop as a flow."""

import asyncio
from typing import Any

import streamflow as sf
from streamflow import flows
from streamflow.operators import stop_sequences
from streamflow.testing import Answer, FakeProvider, Text, Thinking, ToolUse, assert_grammar


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


SCRIPT = (
    Answer(Thinking("Hm."), Text("Let me see."), ToolUse("weather", {"city": "Rome"}), ToolUse("wether", {})),
    Answer("It is sunny."),
)


async def items(branch: Any) -> list[Any]:
    return [item async for item in branch]


async def test_every_branch_shows_its_part() -> None:
    async with (
        FakeProvider(*SCRIPT) as fake,
        sf.connect("anthropic", model="m", api_key="k", base_url=fake.base_url("anthropic")) as llm,
    ):
        flow = flows.agent(llm, "How is Rome?", [weather], max_rounds=3)
        names = ("ui", "thinking", "calls", "results", "transcript")
        ui, thought, calls, results, everything = await asyncio.gather(*(items(flow[name]) for name in names))
    assert "".join(chunk.text for chunk in ui) == "Let me see.It is sunny."
    assert "".join(chunk.text for chunk in thought) == "Hm."
    assert [[call.name for call in ready.calls] for ready in calls] == [["weather", "wether"]]
    assert {block.tool_name: block.error is None for block in results} == {"weather": True, "wether": False}
    assert_grammar(everything)
    assert everything[-1].response.complete
    assert len(fake.requests) == 2


async def test_operators_and_options_reach_their_places() -> None:
    async with (
        FakeProvider(Answer("One. Two.")) as fake,
        sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai")) as llm,
    ):
        flow = flows.agent(llm, "?", [weather], stop_sequences([" Two"]), temperature=0.5, flow_options={"linger_s": 0})
        ui = await items(flow["ui"])
    assert "".join(chunk.text for chunk in ui if isinstance(chunk, sf.events.Chunk)) == "One."
    assert fake.requests[0].body["temperature"] == 0.5
