"""Answers back into blocks, in both modes."""

import pytest

import streamflow as sf
from streamflow.fold import collect
from streamflow.testing import Answer, Text, Thinking, ToolUse, cuts, encode, encode_whole

PROVIDERS = ["openai", "anthropic", "gemini", "openai-responses", "bedrock", "cohere", "ollama", "mistral"]
ANSWER = Answer(Text("Let me see."), ToolUse("weather", {"city": "Rome"}, id="c1"))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_streamed_and_whole_answers_give_the_same_blocks(provider: str) -> None:
    streamed = sf.parse_response(provider, encode(provider, ANSWER))
    whole = sf.parse_response(provider, encode_whole(provider, ANSWER))
    assert [block.type for block in streamed] == [block.type for block in whole] == ["text", "tool_call"]
    assert [block.input for block in (streamed[1], whole[1])] == [{"city": "Rome"}] * 2  # type: ignore[union-attr]


def test_blocks_of_an_answer_make_the_next_request() -> None:
    blocks = sf.parse_response("anthropic", encode("anthropic", Answer(Thinking("Hm", "c2ln"), Text("Hi"))))
    body = sf.build_request("anthropic", ["q", sf.Message.assistant(blocks), "r"], model="m").json
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
        {"type": "text", "text": "Hi"},
    ]


def test_a_cut_answer_raises_with_what_came() -> None:
    wire = b"".join(encode("openai", Answer("Hello there.")))
    with pytest.raises(sf.StreamTruncated) as caught:
        sf.parse_response("openai", wire[: len(wire) // 2])
    assert caught.value.partial.text


# -- prefill mode


def read(text: str, provider: str = "gemini", delta: int = 0, **options: object) -> sf.Response:
    answer = Answer(Text(text), delta=delta) if delta else Answer(Text(text))
    wire = encode(provider, answer)
    return collect(sf.decode(provider, wire, *sf.prefill_operators(provider, **options)))


@pytest.mark.parametrize("delta", range(1, 12))
@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Hi there<|eot|>", "Hi there"),
        ("Hi there<|eot|>Bob: Hello<|eot|>", "Hi there"),
        ("<|eot|>", ""),
        ("a <|eo b<|eot|>c", "a <|eo b"),
    ],
)
def test_the_token_is_taken_out_and_ends_the_turn_however_it_is_cut(said: str, text: str, delta: int) -> None:
    response = read(said, delta=delta)
    assert response.text == text
    assert response.stop_reason == "end_turn"
    assert response.complete


def test_half_a_token_at_the_end_is_text() -> None:
    assert read("Hi <|eo").text == "Hi <|eo"


def test_another_token_and_none() -> None:
    assert read("Hi<end>Bob:", eot_token="<end>").text == "Hi"
    assert read("Hi<|eot|>", eot_token="").text == "Hi<|eot|>"
    assert read("Hi<|eot|>", provider="anthropic").text == "Hi<|eot|>"


def test_completions_too() -> None:
    response = read("Hi<|eot|>\n\nBob:", provider="openai-completions")
    assert (response.text, response.stop_reason) == ("Hi", "end_turn")


def test_other_stops_stay_stops() -> None:
    wire = encode("anthropic", Answer("Hi", stop="stop_sequence"))
    operators = sf.prefill_operators("anthropic", eot_token="<|eot|>")
    assert collect(sf.decode("anthropic", wire, *operators)).stop_reason == "stop_sequence"


def test_tags_become_blocks_and_go_back_as_they_were() -> None:
    text = (
        "<thinking>Hm</thinking>Let me see.\n"
        '<function_calls>\n<invoke name="weather">\n<parameter name="city">Rome</parameter>\n</invoke>\n'
        "</function_calls>"
    )
    blocks = sf.parse_response("anthropic", encode("anthropic", Answer(Text(text))), "prefill")
    called = [block for block in blocks if block.type == "tool_call"]
    assert [(call.name, call.input) for call in called] == [("weather", {"city": "Rome"})]
    log = [
        sf.Message.user("Weather?", participant="Ada"),
        sf.Message.assistant(blocks, participant="Claude"),
        sf.Message.tool_result(called[0].id, "sunny"),
    ]
    body = sf.build_request("anthropic", log, "prefill", model="m").json
    written = body["messages"][-1]["content"][-1]["text"]
    assert "<thinking>Hm</thinking>Let me see." in written
    assert written.count("<function_calls>") == 1
    assert '<invoke name="weather">\n<parameter name="city">Rome</parameter>\n</invoke>' in written
    assert written.endswith("</function_results>")


def test_an_answer_that_begins_inside_a_thought() -> None:
    response = read("so it is</thinking>Yes.", provider="anthropic", open_thinking=True)
    assert (response.thinking, response.text) == ("so it is", "Yes.")


def test_however_the_bytes_are_cut() -> None:
    wire = b"".join(encode("gemini", Answer("<thinking>a</thinking>b<|eot|>c")))
    operators = sf.prefill_operators("gemini")
    expected = collect(sf.decode("gemini", wire, *operators))
    for pieces in cuts.every_way(wire):
        assert collect(sf.decode("gemini", pieces, *operators)).text == expected.text == "b"


def test_wrong_use() -> None:
    with pytest.raises(sf.UsageError, match="unknown mode"):
        sf.parse_response("openai", b"", "chat")
    with pytest.raises(sf.UsageError, match="eot_token"):
        sf.parse_response("openai", b"", eot_token="x")
