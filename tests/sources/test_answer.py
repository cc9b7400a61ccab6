"""Bytes to events without a network: any cut, any moment to stop."""

import pytest

import streamflow as sf
from streamflow.events import Chunk, Retrying, StreamCompleted
from streamflow.operators import tool_accumulate, xml_block_split
from streamflow.sources.answer import Answer
from streamflow.testing import Answer as Script
from streamflow.testing import Thinking, ToolUse, assert_grammar, encode

SCRIPT = Script(Thinking("Hm."), "Well <thinking>x</thinking> é \U0001f600 done", ToolUse("f", {"a": 1}))
WIRES = {name: b"".join(encode(name, SCRIPT)) for name in ("openai", "anthropic", "gemini", "bedrock")}
OPERATORS = (xml_block_split(), tool_accumulate())


def made(provider: str, operators=()) -> Answer:
    return Answer(provider, operators, max_event_bytes=1 << 20)


def merged(events: list) -> list:
    """The events with neighbouring chunks of a block joined, as texts."""
    out: list = []
    for event in events:
        last = out[-1] if out else None
        if isinstance(event, Chunk) and isinstance(last, list) and last[0] == (event.index, event.part, event.kind):
            last[1] += event.text
        elif isinstance(event, Chunk):
            out.append([(event.index, event.part, event.kind), event.text])
        else:
            out.append(event)
    return out


@pytest.mark.parametrize("operators", [(), OPERATORS], ids=["plain", "operators"])
@pytest.mark.parametrize("provider", WIRES)
def test_the_cut_does_not_matter(provider, operators):
    wire = WIRES[provider]
    answer = made(provider, operators)
    whole = list(answer.feed(wire)) + list(answer.finish())
    assert_grammar(whole)
    for size in (1, 7, 64):
        answer = made(provider, operators)
        events: list = []
        for place in range(0, len(wire), size):
            events += answer.feed(wire[place : place + size])
        assert merged(events + ([] if answer.ended else list(answer.finish()))) == merged(whole)


@pytest.mark.parametrize("operators", [(), OPERATORS], ids=["plain", "operators"])
@pytest.mark.parametrize("provider", WIRES)
@pytest.mark.parametrize("ending", ["cancel", "fail", "drop"])
def test_a_stop_after_any_event_keeps_the_laws(provider, operators, ending):
    total = len(list(made(provider, operators).feed(WIRES[provider])))
    for taken in range(total):
        answer = made(provider, operators)
        feeding = answer.feed(WIRES[provider])
        events = [next(feeding) for _ in range(taken)]
        if ending == "cancel":
            events += answer.cancel()
            assert_grammar(events)
            assert events[-1].stop_reason == "cancelled"
            response = events[-1].response
        elif ending == "fail":
            error = sf.StreamTruncated("cut")
            events += answer.fail(error)
            response = error.partial
            assert response.error is error
            assert error.emitted is (taken > 0)
        else:
            answer.drop()
            response = answer.response()
        shown = "".join(event.text for event in events if isinstance(event, Chunk) and event.kind == "text")
        assert response.text == shown
        assert response.complete is False
        assert not any(call.runnable for call in response.tool_calls)


def test_an_event_that_is_not_the_providers_passes_the_operators():
    retrying = Retrying(1, 3)
    assert made("openai", OPERATORS).announce(retrying) == [retrying]


def test_the_end_is_the_last_thing_that_is_taken():
    answer = made("openai")
    events = list(answer.feed(WIRES["openai"] * 2))
    assert isinstance(events[-1], StreamCompleted)
    assert answer.delivered
