"""What the library asks, the simulator understands, for every provider; and the other way round."""

import pytest

import streamflow as sf
from streamflow.requests import ENDPOINTS
from streamflow.testing import FakeProvider, assert_grammar

PLACES = {"project": "p", "location": "us-central1", "account": "acme"}


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def connect(provider: str, fake: FakeProvider) -> sf.Client:
    row = ENDPOINTS[provider]
    places = {name: value for name, value in PLACES.items() if name in row.place_env}
    return sf.connect(provider, model="m", api_key="k", base_url=fake.base_url(provider), environ={}, **places)


@pytest.mark.parametrize("provider", ENDPOINTS)
async def test_a_question(provider: str) -> None:
    async with FakeProvider() as fake, connect(provider, fake) as llm:
        for stream in (True,) if provider == "openai-assistants" else (True, False):
            response = await llm.collect([sf.Message.system("Be brief."), "sim:text hello there"], stream=stream)
            assert response.text.strip() == "hello there"
            assert response.complete


# A run of an assistant takes its results through another request.
LOOPING = [name for name, row in ENDPOINTS.items() if row.tools and name != "openai-assistants"]


@pytest.mark.parametrize("provider", LOOPING)
async def test_a_loop(provider: str) -> None:
    async with FakeProvider() as fake, connect(provider, fake) as llm:
        loop = sf.tool_loop(llm, 'sim:tool weather {"city": "Rome"}', [weather])
        events = [event async for event in loop]
    assert_grammar(events)
    results = [block.content for block in events[-1].response.blocks if block.kind == "tool_result"]
    assert results == ["sunny in Rome"]
    assert events[-1].response.text
    assert [message.role for message in loop.messages] == ["user", "assistant", "tool", "assistant"]
