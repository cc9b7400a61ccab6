"""The chat dialect: one test for each thing that vendors do differently."""

import orjson
import pytest

import streamflow as sf
from tests.support.grammar import assert_grammar


def wire(*payloads, end="data: [DONE]\n\n"):
    return "".join(f"data: {orjson.dumps(payload).decode()}\n\n" for payload in payloads).encode() + end.encode()


def delta(finish=None, index=0, **fields):
    return {"id": "c1", "model": "m", "choices": [{"index": index, "delta": fields, "finish_reason": finish}]}


def read(*payloads, provider="openai", end="data: [DONE]\n\n", **options):
    events = sf.decode(provider, wire(*payloads, end=end), **options)
    assert_grammar(events)
    return sf.collect(events)


def test_text_usage_and_end():
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    response = read(delta(content="Hel"), delta(content="lo"), delta("stop"), usage)
    assert response.complete
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("Hello", "end_turn", "stop")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
    ],
)
def test_thinking_has_many_names_and_comes_once(fields):
    response = read(delta(**fields), delta(content="x"), delta("stop"))
    assert (response.thinking, response.text) == ("hm", "x")


def test_repeated_deltas_are_text_and_not_duplicates():
    assert read(*[delta(content=text) for text in ("\n", "\n", "ha", "ha")], delta("stop")).text == "\n\nhaha"


@pytest.mark.parametrize(
    ("raw", "stop_reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_use"),
        ("odd", "other"),
    ],
)
def test_stop_reasons(raw, stop_reason):
    response = read(delta(content="x"), delta(raw))
    assert (response.stop_reason, response.raw_stop_reason) == (stop_reason, raw)


def test_a_finish_reason_without_done_is_a_cut_where_the_vendor_always_sends_it():
    response = read(delta(content="x"), delta("stop"), end="")
    assert isinstance(response.error, sf.StreamTruncated)
    assert response.text == "x"
    assert not response.complete


def test_either_end_will_do_for_any_compatible_server():
    assert read(delta(content="x"), delta("stop"), provider="openai-compatible", end="").complete
    assert read(delta(content="x"), provider="openai-compatible").complete
    assert not read(delta(content="x"), provider="openai-compatible", end="").complete


def test_writer_ends_with_its_usage():
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    assert read(delta(content="x"), delta("stop"), usage, provider="writer", end="").complete
    assert not read(delta(content="x"), delta("stop"), provider="writer", end="").complete


def test_a_cut_call_is_reported_and_never_runnable():
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x":'}}
    response = read(delta(tool_calls=[call]), end="")
    assert response.tool_calls[0].error
    assert response.blocks[0].incomplete
    finished = read(delta(tool_calls=[call]), delta("length"))
    assert finished.complete
    assert not finished.tool_calls[0].runnable


def test_call_chunks_say_name_id_and_input():
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x":1}'}}
    events = sf.decode("openai", wire(delta(tool_calls=[call]), delta("tool_calls")))
    chunks = [event for event in events if isinstance(event, sf.events.Chunk)]
    assert [(chunk.part, chunk.text) for chunk in chunks] == [("name", "f"), ("id", "a"), ("input", '{"x":1}')]
    assert not any(chunk.visible for chunk in chunks)


def test_a_custom_call_keeps_its_text():
    call = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "f", "input": "free text"}}
    (found,) = read(delta(tool_calls=[call]), delta("tool_calls")).tool_calls
    assert (found.kind, found.raw, found.runnable) == ("custom", "free text", True)


def test_errors_inside_a_good_stream_keep_what_came():
    response = read(delta(content="x"), {"error": {"message": "no", "type": "overloaded_error", "code": 503}})
    assert isinstance(response.error, sf.ProviderError)
    assert (response.error.status, response.error.retryable, response.text) == (503, True, "x")
    assert response.error.emitted


def test_a_whole_answer_gives_the_same_blocks_as_a_streamed_one():
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    streamed = read(delta(reasoning_content="hm"), delta(content="x"), delta(tool_calls=[call]), delta("tool_calls"))
    message = {"role": "assistant", "content": "x", "reasoning_content": "hm", "tool_calls": [call]}
    body = {"id": "c1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    events = sf.decode("openai", orjson.dumps(body))
    assert_grammar(events)
    assert sf.collect(events) == streamed


def test_several_choices_are_told_once_and_can_be_picked():
    payloads = (delta(content="a"), delta(index=1, content="b"), delta(index=1, content="c"), delta("stop"))
    events = sf.decode("openai", wire(*payloads))
    assert [event.code for event in events if isinstance(event, sf.events.Notice)] == ["choices"]
    assert sf.collect(events).text == "a"
    assert sf.read("openai", wire(*payloads), choice=1).text == "bc"


def test_a_torn_surrogate_pair_is_joined_and_a_lone_half_is_replaced():
    torn = [b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n']
    torn.append(b'data: {"choices":[{"delta":{"content":"\\ude00b"}}]}\n\ndata: [DONE]\n\n')
    assert sf.read("openai", torn).text == "a\U0001f600b"
    lone = b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\ndata: [DONE]\n\n'
    assert sf.read("openai", lone).text == "a\ufffd"


def test_unknown_text_fields_are_told_once():
    events = sf.decode("openai", wire(delta(content="x", mood="good"), delta(mood="bad"), delta("stop")))
    assert [event.message for event in events if isinstance(event, sf.events.Notice)] == ["delta.mood"]


def test_data_after_the_end_is_ignored_with_a_notice():
    events = sf.decode("openai", wire(delta(content="x"), delta("stop")) + wire(delta(content="y")))
    assert sf.collect(events).text == "x"
    assert events[-1].code == "data_after_end"


@pytest.mark.parametrize("bad", [b"data: {not json}\n\n", b"data: [1]\n\n", b'data: {"choices":[1]}\n\n'])
def test_bad_frames_are_one_typed_error_or_skipped(bad):
    good = wire(delta(content="x"), end="")
    response = sf.read("openai", good + bad + wire(delta("stop")))
    assert isinstance(response.error, sf.ProtocolError)
    assert response.error.provider == "openai"
    assert response.error.position == len(good)
    assert response.text == "x"
    skipped = sf.decode("openai", good + bad + wire(delta("stop")), on_bad_frame="skip")
    assert sf.collect(skipped).complete
    assert "bad_frame" in [event.code for event in skipped if isinstance(event, sf.events.Notice)]
