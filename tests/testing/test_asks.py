"""Requests of every dialect, read as far as an answer depends on them."""

import pytest

from streamflow.testing.asks import read_ask


def _read(body, **more):
    return read_ask(body, provider="openai", wire="openai", **more)


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Well,"}]},
        {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        {"contents": [{"parts": [{"text": "hi"}]}]},
        {"contents": {"parts": [{"text": "hi"}]}},
        {"input": "hi"},
        {"input": [{"role": "user", "content": "hi"}]},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]},
        {"input": [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}]},
        {"input": {"type": "text", "text": "hi"}},
        {"prompt": "hi"},
        {"prompt": ["hi"]},
        {"message": "hi"},
        {"thread": {"messages": [{"role": "user", "content": "hi"}]}},
        {"additional_messages": [{"role": "user", "content": "hi"}]},
    ],
)
def test_the_last_user_message(body):
    ask = _read(body)
    assert (ask.text, ask.answers_tool) == ("hi", False)


@pytest.mark.parametrize(
    "last",
    [
        {"role": "tool", "tool_call_id": "t", "content": "rain"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "rain"}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": []}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        {"type": "function_call_output", "call_id": "t", "output": "rain"},
        {"type": "function_result", "call_id": "t", "result": "rain"},
    ],
)
def test_results_of_tools(last):
    assert _read({"messages": [{"role": "user", "content": "hi"}, last]}).answers_tool


def test_tool_outputs_of_a_run():
    assert _read({"tool_outputs": [{"tool_call_id": "t", "output": "rain"}]}).answers_tool


def test_stream_model_usage_and_tools():
    body = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {"name": "f"}}, {"name": "g"}],
    }
    ask = _read(body)
    assert (ask.model, ask.stream, ask.wants_usage, ask.tools) == ("m", True, True, ("f", "g"))
    assert _read(body, model="of the path", stream=False).model == "of the path"
    assert not _read({}).stream
    assert _read({}, streams_by_default=True).stream
    declared = {"tools": [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}]}
    assert _read(declared).tools == ("f", "g")
    assert _read({"toolConfig": {"tools": [{"toolSpec": {"name": "f"}}]}}).tools == ("f",)


def test_nothing_said():
    assert (_read({}).text, _read({"messages": []}).text, _read({}).model) == ("", "", "simulated")
