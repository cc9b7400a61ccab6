"""The Gemini dialect, on payloads as the API describes them."""

import json
from typing import Any

import pytest

from streamflow.errors import ProtocolError, ProviderError, StreamTruncated
from streamflow.events import Chunk, Event, Frame, ImagePreview, Notice, Response
from streamflow.fold import collect
from streamflow.providers.gemini import Gemini
from streamflow.providers.normalizer import Normalizer
from streamflow.providers.provider import Provider

ROW = Provider("gemini", (Gemini,))


def events_of(payloads: list[Any], choice: int = 0) -> list[Event]:
    normalizer = Normalizer(ROW, choice=choice)
    events: list[Event] = []
    for payload in payloads:
        events += normalizer.feed(Frame(data=payload if isinstance(payload, str) else json.dumps(payload)))
    return events + normalizer.flush()


def read(payloads: list[Any], choice: int = 0) -> Response:
    return collect(events_of(payloads, choice))


def chunk(*parts: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **fields}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-test", "responseId": "r1"}


def call(fragment: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return chunk({"functionCall": fragment}, **fields)


def partial(path: str, more: bool = True, **value: Any) -> dict[str, Any]:
    return call({"partialArgs": [{"jsonPath": path, **value}], "willContinue": more})


THINKING_AND_CALL = [
    chunk({"text": "Let me see. ", "thought": True}),
    chunk({"text": "東京 is far.", "thought": True}),
    chunk({"text": "I look "}),
    chunk({"text": "it up 🌤"}),
    chunk({"text": "", "thoughtSignature": "c2lnLzE="}),
    chunk({"functionCall": {"name": "weather", "args": {"city": "東京"}}, "thoughtSignature": "c2lnLzI+"}),
    chunk({"functionCall": {"name": "clock", "id": "c9"}}),
    {**chunk(finish="STOP"), "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 9}},
]

STREAMED_CALL = [
    chunk({"functionCall": {"name": "book", "willContinue": True}, "thoughtSignature": "c2ln"}),
    partial("$.city", stringValue="San ", willContinue=True),
    partial("$.city", stringValue='"Fran"\n', willContinue=True),
    partial("$.city", stringValue=""),
    partial("$.nights", numberValue=3),
    partial("$.quiet", boolValue=False),
    partial("$.note", nullValue="NULL_VALUE"),
    partial("$.guests[0].name", stringValue="Ann"),
    partial("$.guests[0].age", numberValue=4.5),
    partial("$.guests[1].name", stringValue="Bo"),
    partial("$['room type'].view", stringValue="sea"),
    call({}),
    chunk(finish="STOP"),
]


def test_text_thought_signatures_and_calls_each_have_their_block() -> None:
    response = read(THINKING_AND_CALL)
    assert response.complete
    assert (response.id, response.model) == ("r1", "gemini-test")
    assert response.thinking == "Let me see. 東京 is far."
    assert response.text == "I look it up 🌤"
    assert [(block.kind, block.opaque) for block in response.blocks] == [
        ("thinking", None),
        ("text", {"thoughtSignature": "c2lnLzE="}),
        ("tool_call", {"thoughtSignature": "c2lnLzI+"}),
        ("tool_call", None),
    ]
    assert [(c.id, c.name, c.arguments, c.runnable) for c in response.tool_calls] == [
        ("", "weather", {"city": "東京"}, True),
        ("c9", "clock", {}, True),
    ]
    assert (response.stop_reason, response.raw_stop_reason) == ("tool_use", "STOP")


def test_signature_on_running_text_does_not_cut_the_text() -> None:
    response = read([chunk({"text": "<wri", "thoughtSignature": "YQ=="}), chunk({"text": "te>"}, finish="STOP")])
    assert [(b.content, b.opaque) for b in response.blocks] == [("<write>", {"thoughtSignature": "YQ=="})]


def test_second_signature_gets_a_block_of_its_own() -> None:
    response = read(
        [
            chunk({"text": "a", "thoughtSignature": "MQ=="}),
            chunk({"text": "", "thoughtSignature": "Mg=="}, finish="STOP"),
        ]
    )
    assert [b.opaque["thoughtSignature"] for b in response.blocks] == ["MQ==", "Mg=="]
    assert response.text == "a"


def test_signature_after_a_call_or_alone_is_kept() -> None:
    parts: list[dict[str, Any]] = [{"functionCall": {"name": "f"}}, {"thoughtSignature": "eA=="}]
    response = read([chunk(*parts, finish="STOP")])
    assert [(b.kind, b.opaque) for b in response.blocks] == [
        ("tool_call", None),
        ("text", {"thoughtSignature": "eA=="}),
    ]


def test_streamed_arguments_become_the_final_ones_in_chunks() -> None:
    events = events_of(STREAMED_CALL)
    response = collect(events)
    (made,) = response.tool_calls
    assert made.arguments == {
        "city": 'San "Fran"\n',
        "nights": 3,
        "quiet": False,
        "note": None,
        "guests": [{"name": "Ann", "age": 4.5}, {"name": "Bo"}],
        "room type": {"view": "sea"},
    }
    assert made.runnable
    inputs = [e.text for e in events if isinstance(e, Chunk) and e.part == "input"]
    assert inputs[:3] == ["{", '"city":"San ', '\\"Fran\\"\\n']
    assert "".join(inputs) == made.raw
    assert response.blocks[0].opaque == {"thoughtSignature": "c2ln"}


def test_two_streamed_calls_of_one_function_are_two() -> None:
    one = [call({"name": "f", "willContinue": True}), partial("$.a", numberValue=1), call({})]
    response = read([*one, *one, chunk(finish="STOP")])
    assert [c.arguments for c in response.tool_calls] == [{"a": 1}, {"a": 1}]


@pytest.mark.parametrize("finish", ["STOP", "MAX_TOKENS"])
@pytest.mark.parametrize("count", range(1, 11))
def test_streamed_call_that_never_ends_is_not_runnable(count: int, finish: str) -> None:
    response = read([*STREAMED_CALL[:count], chunk(finish=finish)])
    assert response.complete
    assert [c.runnable for c in response.tool_calls] == [False]


def test_other_call_before_the_end_of_a_streamed_one_makes_that_one_incomplete() -> None:
    response = read([call({"name": "f", "willContinue": True}), call({"name": "g", "args": {}}), chunk(finish="STOP")])
    assert [(c.name, c.runnable) for c in response.tool_calls] == [("f", False), ("g", True)]


def test_arguments_in_one_fragment_with_the_name() -> None:
    fragment = {"name": "f", "partialArgs": [{"jsonPath": "$.x", "stringValue": "y"}]}
    assert read([call(fragment, finish="STOP")]).tool_calls[0].arguments == {"x": "y"}


def test_bad_path_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        read([call({"name": "f", "willContinue": True}), partial("$.*", stringValue="x")])


def test_server_tools_are_blocks_and_no_client_calls() -> None:
    response = read(
        [
            chunk({"executableCode": {"language": "PYTHON", "code": "print(1)"}}),
            chunk({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}),
            chunk({"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}}),
            chunk({"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"n": 1}}}),
            chunk({"text": "One."}, finish="STOP"),
        ]
    )
    assert [(t.type, t.id) for t in response.server_tools] == [
        ("executableCode", None),
        ("codeExecutionResult", None),
        ("toolCall", "t1"),
        ("toolResponse", "t1"),
    ]
    assert json.loads(response.server_tools[0].content)["code"] == "print(1)"
    assert response.server_tools[2].input == {"queries": ["x"]}
    assert response.tool_calls == []
    assert response.stop_reason == "end_turn"


def test_images_sketches_and_audio() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "cw=="}
    events = events_of(
        [
            chunk({"inlineData": {"mimeType": "image/jpeg", "data": "YQ=="}, "thought": True}),
            chunk(picture),
            chunk({"inlineData": {"mimeType": "audio/wav", "data": "YQ=="}}, finish="STOP"),
        ]
    )
    response = collect(events)
    assert [(i.media_type, i.data, i.generation) for i in response.images] == [
        ("image/png", "aGk=", {"thoughtSignature": "cw=="})
    ]
    assert sum(isinstance(e, ImagePreview) for e in events) == 1
    assert [e.message for e in events if isinstance(e, Notice) and e.code == "audio"] == ["audio/wav"]


def test_grounding_is_cited_once_with_spans_in_characters() -> None:
    metadata = {
        "groundingChunks": [
            {"web": {"uri": "https://a.example", "title": "A"}},
            {"web": {"uri": "https://b.example", "title": "B"}},
        ],
        "groundingSupports": [
            {"segment": {"startIndex": 7, "endIndex": 11, "text": "warm"}, "groundingChunkIndices": [1]}
        ],
    }
    response = read(
        [
            chunk({"text": "東京 warm"}, groundingMetadata={}),
            chunk({"text": "."}, groundingMetadata=metadata),
            chunk(finish="STOP", groundingMetadata=metadata),
        ]
    )
    assert [(c.url, c.title, c.text, c.start, c.end) for c in response.citations] == [
        ("https://a.example", "A", "", -1, -1),
        ("https://b.example", "B", "warm", 3, 7),
    ]


def test_recitation_sources_are_citations() -> None:
    sources = {"citationSources": [{"startIndex": 0, "endIndex": 2, "uri": "https://a.example"}]}
    response = read([chunk({"text": "To be"}, finish="STOP", citationMetadata=sources)])
    assert [(c.url, c.start, c.end) for c in response.citations] == [("https://a.example", 0, 2)]


def test_usage_later_values_win_and_unsent_is_none() -> None:
    first = {**chunk({"text": "a"}), "usageMetadata": {"promptTokenCount": 4, "thoughtsTokenCount": 2}}
    last = {
        **chunk(finish="STOP"),
        "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": 8, "cachedContentTokenCount": 1},
    }
    usage = read([first, last]).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cache_read_tokens) == (5, None, 8, 1)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("STOP", "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("SPII", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "malformed_call"),
        ("UNEXPECTED_TOOL_CALL", "malformed_call"),
        ("LANGUAGE", "other"),
        ("OTHER", "other"),
        ("SOMETHING_NEW", "other"),
    ],
)
def test_stop_reasons(raw: str, reason: str) -> None:
    response = read([chunk({"text": "x"}), {"candidates": [{"finishReason": raw, "index": 0}]}])
    assert response.complete
    assert (response.stop_reason, response.raw_stop_reason) == (reason, raw)


def test_finish_message_is_a_notice() -> None:
    events = events_of([chunk(finish="MALFORMED_FUNCTION_CALL", finishMessage="call:f{")])
    assert [e.message for e in events if isinstance(e, Notice)] == ["call:f{"]


def test_blocked_prompt_ends_with_the_reason() -> None:
    response = read(
        [{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}}]
    )
    assert (response.complete, response.stop_reason, response.raw_stop_reason) == (
        True,
        "content_filter",
        "PROHIBITED_CONTENT",
    )


def test_text_after_an_early_stop_is_delivered() -> None:
    response = read([chunk({"text": "a"}, finish="STOP"), chunk({"text": "b"}), chunk({"text": "c"}, finish="STOP")])
    assert (response.text, response.complete) == ("abc", True)


@pytest.mark.parametrize(
    ("error", "status", "kind", "retryable"),
    [
        ({"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}, 429, "RESOURCE_EXHAUSTED", True),
        ({"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}, 400, "INVALID_ARGUMENT", False),
        ({"message": "gone", "status": "UNAVAILABLE"}, None, "UNAVAILABLE", True),
    ],
)
def test_error_in_the_stream(error: dict[str, Any], status: int | None, kind: str, retryable: bool) -> None:
    with pytest.raises(ProviderError) as caught:
        read([chunk({"text": "x"}), {"error": error}])
    assert (caught.value.status, caught.value.kind, caught.value.retryable) == (status, kind, retryable)


def test_other_choices_are_another_stream() -> None:
    both = {
        "candidates": [
            {"content": {"parts": [{"text": "zero"}]}, "finishReason": "STOP"},
            {"content": {"parts": [{"text": "one"}]}, "finishReason": "STOP", "index": 1},
        ]
    }
    assert read([both]).text == "zero"
    assert read([both], choice=1).text == "one"
    assert [e.code for e in events_of([both]) if isinstance(e, Notice)] == ["choices"]


def test_whole_answer_equals_the_streamed_one() -> None:
    parts: list[dict[str, Any]] = [
        {"text": "Let me see. 東京 is far.", "thought": True},
        {"text": "I look it up 🌤", "thoughtSignature": "c2lnLzE="},
        {"functionCall": {"name": "weather", "args": {"city": "東京"}}, "thoughtSignature": "c2lnLzI+"},
        {"functionCall": {"name": "clock", "id": "c9"}},
    ]
    whole = {**chunk(*parts, finish="STOP"), "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 9}}
    assert read([whole]) == read(THINKING_AND_CALL)


def test_what_is_unknown_is_noticed_once() -> None:
    odd = [{"hello": 1}, chunk({"hologram": {}}), chunk({"hologram": {}}, newMetadata={"a": 1}), chunk(finish="STOP")]
    notices = [(e.code, e.message) for e in events_of(odd) if isinstance(e, Notice)]
    assert notices == [
        ("unknown_event", "hello"),
        ("unknown_part", "hologram"),
        ("unknown_field", "candidate.newMetadata"),
    ]


@pytest.mark.parametrize("payloads", [THINKING_AND_CALL, STREAMED_CALL], ids=["thinking", "streamed"])
def test_cut_after_every_payload_is_truncated(payloads: list[Any]) -> None:
    for count in range(len(payloads)):
        normalizer = Normalizer(ROW)
        for payload in payloads[:count]:
            normalizer.feed(Frame(data=json.dumps(payload)))
        with pytest.raises(StreamTruncated) as caught:
            normalizer.flush()
        normalizer.abort(caught.value)
        partial_response = normalizer.partial(caught.value)
        assert not partial_response.complete
        assert not any(c.runnable for c in partial_response.tool_calls)


def test_emoji_torn_over_two_payloads_is_mended() -> None:
    halves = [
        '{"candidates":[{"content":{"parts":[{"text":"hi \\ud83d"}]}}]}',
        '{"candidates":[{"content":{"parts":[{"text":"\\ude00!"}]},"finishReason":"STOP"}]}',
    ]
    assert read(halves).text == "hi 😀!"
