"""Models that write their calls into the text, and tools that draw."""

from typing import Any

import streamflow as sf
from streamflow.events import BlockComplete, Image, ImageStart
from streamflow.testing import Answer, FakeProvider, Text, ToolUse, assert_grammar
from tests.requests.validators import VALIDATORS


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def call(city: str) -> str:
    return f'<invoke name="weather">\n<parameter name="city">{city}</parameter>\n</invoke>'


async def test_a_loop_over_a_log_with_calls_in_tags() -> None:
    # The provider stops at the end of the calls and leaves that tag out, as it was told to.
    first = f"<thinking>Two cities.</thinking>Let me see.\n<function_calls>\n{call('Rome')}\n{call('Oslo')}\n"
    script = (Answer(Text(first), stop="stop_sequence"), Answer("Both are sunny."))
    log = [sf.Message.user("How is it?", participant="Ada")]
    async with (
        FakeProvider(*script) as fake,
        sf.connect("anthropic", model="m", api_key="k", base_url=fake.base_url("anthropic")) as llm,
    ):
        loop = sf.tool_loop(llm, log, [weather], mode="prefill", assistant_name="Claude")
        events = [event async for event in loop]
        bodies = [request.body for request in fake.requests]
    assert_grammar(events)
    response = events[-1].response
    assert response.text.replace("\n", "") == "Let me see.Both are sunny."
    assert response.thinking == "Two cities."
    outcome = [block.content for block in response.blocks if block.kind == "tool_result"]
    assert sorted(outcome) == ["sunny in Oslo", "sunny in Rome"]
    for body in bodies:
        VALIDATORS["anthropic"](body)
        assert "</function_calls>" in body["stop_sequences"]
        assert "tools" not in body
    written = bodies[1]["messages"][-1]["content"][-1]["text"]
    assert written.startswith("Ada: How is it?\n\nClaude: <thinking>Two cities.</thinking>Let me see.\n")
    assert written.count("<function_calls>") == written.count("</function_calls>") == 1
    assert written.index(call("Rome")) < written.index(call("Oslo")) < written.index("<function_results>")
    assert written.index("sunny in Rome") < written.index("sunny in Oslo")
    assert written.endswith("</function_results>")


async def test_what_a_tool_draws_is_an_image_of_the_stream() -> None:
    def draw(prompt: str) -> Any:
        return sf.GeneratedImageBlock(data="aGk=", generation={"prompt": prompt, "model": "painter-1"})

    async with (
        FakeProvider(Answer(ToolUse("draw", {"prompt": "a cat"})), Answer("Here it is.")) as fake,
        sf.connect("anthropic", model="m", api_key="k", base_url=fake.base_url("anthropic")) as llm,
    ):
        events = [event async for event in sf.tool_loop(llm, "Draw a cat.", [draw])]
        body = fake.requests[1].body
    assert_grammar(events)
    started = next(place for place, event in enumerate(events) if isinstance(event, ImageStart))
    drawn = next(place for place, event in enumerate(events) if isinstance(event, Image))
    result = next(
        place for place, event in enumerate(events) if isinstance(event, BlockComplete) and event.kind == "tool_result"
    )
    assert started < drawn < result
    assert events[started].prompt == "a cat"
    assert events[drawn].image.generation == {"prompt": "a cat", "model": "painter-1"}
    assert [image.data for image in events[-1].response.images] == ["aGk="]
    assert body["messages"][2]["content"][0]["content"][0]["source"]["data"] == "aGk="
    assert str(body).count("aGk=") == 1
