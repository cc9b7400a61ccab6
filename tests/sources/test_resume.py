"""Stops inside blocks that the model opened: the answer goes on as if nothing had happened, and not for ever."""

import json
from typing import Any

import pytest

import streamflow as sf
from streamflow.events import BlockComplete, BlockStart, Chunk, Notice
from streamflow.sources.resume import MAX_ROUNDS
from streamflow.testing import Answer, FakeProvider, HttpError, Page, assert_grammar

LOG = [sf.Message.user("Hello", participant="Ada"), sf.Message.user("Hi", participant="Bob")]
ADA = "\nAda:"


def said(text: str, stop: str | None = ADA, delta: int = 5) -> Page:
    """An answer as the wire has it, with the stop that the script of an answer does not name."""
    payloads: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 10}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": text[start : start + delta]},
            }
            for start in range(0, len(text), delta)
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "stop_sequence" if stop else "end_turn", "stop_sequence": stop},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    ]
    wire = "".join(f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n" for payload in payloads)
    return Page(wire, content_type="text/event-stream")


async def run(*answers: Any, tools: Any = (), **options: Any) -> tuple[list[Any], list[dict[str, Any]]]:
    async with (
        FakeProvider(*answers) as fake,
        sf.connect("anthropic", model="m", api_key="k", base_url=fake.base_url("anthropic"), environ={}) as llm,
    ):
        stream = llm.stream(LOG, mode="prefill", assistant_name="Claude", tools=tools, **options)
        events = [event async for event in stream]
    assert_grammar(events)
    return events, [request.body for request in fake.requests]


def log_of(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"][-1]["text"]


async def test_a_stop_in_the_text_is_a_stop() -> None:
    events, bodies = await run(said("<thinking>hm</thinking>Well."))
    assert len(bodies) == 1
    assert events[-1].stop_reason == "stop_sequence"
    assert [event.raw for event in events if isinstance(event, Notice)] == [ADA]


@pytest.mark.parametrize("delta", [1, 3, 100])
async def test_a_stop_in_a_thought_is_part_of_the_thought(delta: int) -> None:
    first = said("One. <thinking>They wrote:", delta=delta)
    second = said(" Hello\nso I greet.</thinking>Hello, Ada.", None, delta=delta)
    events, bodies = await run(first, second)
    response = events[-1].response
    assert response.thinking == "They wrote:\nAda: Hello\nso I greet."
    assert response.text == "One. Hello, Ada."
    assert response.stop_reason == "end_turn"
    assert [(block.kind, block.incomplete) for block in response.blocks] == [
        ("text", False),
        ("thinking", False),
        ("text", False),
    ]
    assert [event.index for event in events if isinstance(event, BlockStart)] == [0, 1, 2]
    assert not [event for event in events if isinstance(event, Notice)]
    assert log_of(bodies[1]) == log_of(bodies[0]) + " One. <thinking>They wrote:\nAda:"
    assert bodies[1]["stop_sequences"] == bodies[0]["stop_sequences"]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (20, 6)


async def test_the_text_has_its_places() -> None:
    events, _ = await run(said("A <thinking>b"), said("c</thinking> D", None))
    whole = "A <thinking>b\nAda:c</thinking> D"
    for event in events:
        if isinstance(event, Chunk) and event.start >= 0:
            assert whole[event.start : event.start + len(event.text)] == event.text


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


async def test_a_stop_in_the_arguments_of_a_call_is_part_of_them() -> None:
    first = said('<function_calls>\n<invoke name="weather">\n<parameter name="city">Rome')
    second = said(" says</parameter>\n</invoke>\n", "</function_calls>")
    events, bodies = await run(first, second, tools=[weather])
    assert len(bodies) == 2
    (call,) = events[-1].response.tool_calls
    assert (call.name, call.arguments) == ("weather", {"city": "Rome\nAda: says"})


async def test_the_end_of_the_calls_is_theirs_and_in_a_thought_it_is_not() -> None:
    cut = said('<function_calls>\n<invoke name="weather">\n<parameter name="city">Ro', "</function_calls>")
    events, bodies = await run(cut, tools=[weather])
    assert len(bodies) == 1
    assert [block.incomplete for block in events[-1].response.blocks if block.kind == "tool_call"] == [True]
    thought = said("<thinking>I end it with ", "</function_calls>")
    events, bodies = await run(thought, said(".</thinking>Done.", None), tools=[weather])
    assert events[-1].response.thinking == "I end it with </function_calls>."


async def test_the_loop_runs_a_call_that_was_joined() -> None:
    first = said('<function_calls>\n<invoke name="weather">\n<parameter name="city">Rome')
    second = said("</parameter>\n</invoke>\n", "</function_calls>")
    async with (
        FakeProvider(first, second, said("Sunny.", None)) as fake,
        sf.connect("anthropic", model="m", api_key="k", base_url=fake.base_url("anthropic"), environ={}) as llm,
    ):
        loop = sf.tool_loop(llm, LOG, [weather], mode="prefill", assistant_name="Claude")
        events = [event async for event in loop]
        last = log_of(fake.requests[-1].body)
    assert_grammar(events)
    assert [block.content for block in events[-1].response.blocks if block.kind == "tool_result"] == [
        "sunny in Rome\nAda:"
    ]
    assert last.count("<function_calls>") == 1
    assert events[-1].response.text.strip() == "Sunny."


async def test_a_thought_that_the_request_opened_is_not_the_models() -> None:
    events, bodies = await run(said("They wrote"), open_thinking=True)
    assert len(bodies) == 1
    assert events[-1].stop_reason == "stop_sequence"
    assert events[-1].response.blocks[0].incomplete
    first, second = said("hm</thinking>A <thinking>They wrote"), said(" it.</thinking>B", None)
    events, bodies = await run(first, second, open_thinking=True)
    assert events[-1].response.text == "A B"
    assert events[-1].response.thinking == "hmThey wrote\nAda: it."
    assert log_of(bodies[1]).endswith("\n<thinking>hm</thinking>A <thinking>They wrote\nAda:")


async def test_no_progress() -> None:
    answers = [said("<thinking>They wrote at length"), *[said("short")] * 5]
    events, bodies = await run(*answers)
    assert len(bodies) == 3
    assert events[-1].stop_reason == "no_progress"
    assert events[-1].response.thinking == "They wrote at length\nAda:short\nAda:short"


async def test_another_stop_or_enough_text_is_progress() -> None:
    turns = [said("<thinking>"), said("a", "\nBob:"), said("b"), said("c", "\nBob:"), said("d</thinking>", None)]
    events, bodies = await run(*turns)
    assert len(bodies) == 5
    assert events[-1].stop_reason == "end_turn"
    long = "x" * 16
    events, bodies = await run(said("<thinking>"), *[said(long)] * 4, said("</thinking>end", None))
    assert events[-1].response.text == "end"


async def test_the_fifth_round_is_noted_and_the_last_ends_it() -> None:
    long = "x" * 20
    events, bodies = await run(said("<thinking>" + long), *[said(long)] * (MAX_ROUNDS + 5))
    assert len(bodies) == MAX_ROUNDS + 1 == 25
    assert events[-1].stop_reason == "round_limit"
    notices = [event.code for event in events if isinstance(event, Notice)]
    assert notices == ["resumed", "stop"]
    assert events[-1].response.thinking == long + (ADA + long) * MAX_ROUNDS
    closed = [event for event in events if isinstance(event, BlockComplete) and event.kind == "thinking"]
    assert [block.incomplete for block in closed] == [True]


async def test_a_failure_of_the_second_answer_keeps_the_first() -> None:
    with pytest.raises(sf.ProviderError) as caught:
        await run(said("<thinking>They wrote"), HttpError(400))
    assert caught.value.partial.thinking == "They wrote\nAda:"


async def test_an_attempt_that_is_repeated_breaks_nothing() -> None:
    events, bodies = await run(said("<thinking>a"), HttpError(500), said("b</thinking>c", None))
    assert len(bodies) == 3
    assert events[-1].response.thinking == "a\nAda:b"
    assert events[-1].response.text == "c"


async def test_cancelled_in_the_second_answer() -> None:
    async with (
        FakeProvider(said("<thinking>a"), said("b" * 100 + "</thinking>", None)) as fake,
        sf.connect("anthropic", model="m", api_key="k", base_url=fake.base_url("anthropic"), environ={}) as llm,
    ):
        stream = llm.stream(LOG, mode="prefill", assistant_name="Claude")
        events = []
        async for event in stream:
            events.append(event)
            if isinstance(event, Chunk) and "b" in event.text:
                stream.cancel()
    assert_grammar(events)
    assert events[-1].stop_reason == "cancelled"
    assert events[-1].response.thinking.startswith("a\nAda:b")


async def test_a_provider_that_does_not_name_the_stop_is_believed() -> None:
    events, bodies = await run(Answer("<thinking>They wrote", stop="stop_sequence"))
    assert len(bodies) == 1
    assert events[-1].stop_reason == "stop_sequence"
