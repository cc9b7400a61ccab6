"""The Interactions dialect, on events as the API describes them."""

import json
from typing import Any

import pytest

from streamflow.errors import ProtocolError, ProviderError, StreamTruncated
from streamflow.events import Event, Frame, Notice, Response
from streamflow.fold import collect
from streamflow.providers.google_interactions import GoogleInteractions
from streamflow.providers.normalizer import Normalizer
from streamflow.providers.provider import Provider

ROW = Provider("google-interactions", (GoogleInteractions,))


def events_of(payloads: list[dict[str, Any]]) -> list[Event]:
    normalizer = Normalizer(ROW)
    events: list[Event] = []
    for payload in payloads:
        events += normalizer.feed(Frame(data=json.dumps(payload)))
    events += normalizer.feed(Frame(event="done", data="[DONE]"))
    return events + normalizer.flush()


def read(payloads: list[dict[str, Any]]) -> Response:
    return collect(events_of(payloads))


def start(index: int, **step: Any) -> dict[str, Any]:
    return {"event_type": "step.start", "index": index, "step": step}


def delta(index: int, **fields: Any) -> dict[str, Any]:
    return {"event_type": "step.delta", "index": index, "delta": fields}


def stop(index: int) -> dict[str, Any]:
    return {"event_type": "step.stop", "index": index}


def completed(status: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"event_type": "interaction.completed", "interaction": {"id": "i1", "status": status, **fields}}


CREATED = {"event_type": "interaction.created", "interaction": {"id": "i1", "model": "gemini-test"}}
USAGE = {"total_input_tokens": 4, "total_output_tokens": 6, "total_thought_tokens": 2, "total_cached_tokens": 0}

STREAM = [
    CREATED,
    {"event_type": "interaction.status_update", "interaction_id": "i1", "status": "in_progress"},
    start(0, type="thought"),
    delta(0, type="thought_summary", content={"type": "text", "text": "Think "}),
    delta(0, type="thought_summary", content={"type": "text", "text": "考える"}),
    delta(0, type="thought_signature", signature="c2ln+/=="),
    stop(0),
    start(1, type="google_search_call", id="g1"),
    delta(1, type="google_search_call", arguments={"queries": ["Köln"]}, signature="czE="),
    stop(1),
    start(2, type="google_search_result", call_id="g1"),
    delta(2, type="google_search_result", result=[{"title": "K"}], is_error=False, signature="czI="),
    stop(2),
    start(3, type="model_output"),
    delta(3, type="text", text="Köln is "),
    delta(3, type="text", text="old 🏛."),
    delta(
        3,
        type="text_annotation_delta",
        annotations=[
            {"type": "url_citation", "url": "https://k.example", "title": "K", "start_index": 0, "end_index": 5}
        ],
    ),
    stop(3),
    start(4, type="function_call", id="c1", name="weather", arguments={}),
    delta(4, type="arguments_delta", arguments='{"city":'),
    delta(4, type="arguments_delta", arguments='"Köln"}'),
    stop(4),
    start(5, type="function_call", id="c2", name="now", arguments={}, signature="czM="),
    stop(5),
    completed("requires_action", usage=USAGE),
]

WHOLE = {
    "id": "i1",
    "object": "interaction",
    "model": "gemini-test",
    "status": "requires_action",
    "steps": [
        {"type": "user_input", "content": [{"type": "text", "text": "Weather in Köln?"}]},
        {"type": "thought", "summary": [{"type": "text", "text": "Think 考える"}], "signature": "c2ln+/=="},
        {"type": "google_search_call", "id": "g1", "arguments": {"queries": ["Köln"]}, "signature": "czE="},
        {"type": "google_search_result", "call_id": "g1", "result": [{"title": "K"}], "signature": "czI="},
        {
            "type": "model_output",
            "content": [
                {
                    "type": "text",
                    "text": "Köln is old 🏛.",
                    "annotations": [
                        {
                            "type": "url_citation",
                            "url": "https://k.example",
                            "title": "K",
                            "start_index": 0,
                            "end_index": 5,
                        }
                    ],
                }
            ],
        },
        {"type": "function_call", "id": "c1", "name": "weather", "arguments": {"city": "Köln"}},
        {"type": "function_call", "id": "c2", "name": "now", "arguments": {}, "signature": "czM="},
    ],
    "usage": USAGE,
}


def test_every_step_becomes_its_block() -> None:
    response = read(STREAM)
    assert response.complete
    assert (response.id, response.model) == ("i1", "gemini-test")
    assert (response.thinking, response.text) == ("Think 考える", "Köln is old 🏛.")
    assert [(b.kind, b.opaque) for b in response.blocks] == [
        ("thinking", {"signature": "c2ln+/=="}),
        ("tool_call", {"signature": "czE="}),
        ("tool_result", {"signature": "czI="}),
        ("text", None),
        ("tool_call", None),
        ("tool_call", {"signature": "czM="}),
    ]
    assert [(t.type, t.id) for t in response.server_tools] == [
        ("google_search_call", "g1"),
        ("google_search_result", "g1"),
    ]
    assert response.server_tools[0].input == {"queries": ["Köln"]}
    assert json.loads(response.server_tools[1].content) == [{"title": "K"}]
    assert [(c.id, c.name, c.arguments, c.runnable) for c in response.tool_calls] == [
        ("c1", "weather", {"city": "Köln"}, True),
        ("c2", "now", {}, True),
    ]
    assert [(c.url, c.text, c.start, c.end) for c in response.citations] == [("https://k.example", "Köln", 0, 4)]
    assert (response.stop_reason, response.raw_stop_reason) == ("tool_use", "requires_action")
    usage = response.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cache_read_tokens) == (4, 6, 2, 0)


def test_whole_interaction_equals_the_streamed_one() -> None:
    whole, streamed = read([WHOLE]), read(STREAM)
    assert whole == streamed


def test_older_content_events() -> None:
    response = read(
        [
            {"event_type": "interaction.start", "interaction": {"id": "i2", "agent": "deep"}},
            {"event_type": "content.start", "index": 0, "content": {"type": "text", "text": ""}},
            {"event_type": "content.delta", "index": 0, "delta": {"type": "text", "text": "hi"}},
            {"event_type": "content.stop", "index": 0},
            {"event_type": "content.start", "index": 1, "content": {"type": "function_call"}},
            {
                "event_type": "content.delta",
                "index": 1,
                "delta": {"type": "function_call", "id": "c", "name": "f", "arguments": {"a": 1}},
            },
            {"event_type": "content.stop", "index": 1},
            {"event_type": "interaction.complete", "interaction": {"status": "completed"}},
        ]
    )
    assert (response.text, response.model, response.stop_reason) == ("hi", "deep", "tool_use")
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [("c", "f", {"a": 1})]


def test_images_and_other_media() -> None:
    events = events_of(
        [
            CREATED,
            start(0, type="model_output"),
            delta(0, type="text", text="Look:"),
            delta(0, type="image", data="aGk=", mime_type="image/jpeg"),
            delta(0, type="audio", data="aGk=", mime_type="audio/l16"),
            delta(0, type="text", text="Nice."),
            stop(0),
            completed(),
        ]
    )
    response = collect(events)
    assert [(i.media_type, i.data) for i in response.images] == [("image/jpeg", "aGk=")]
    assert [b.content for b in response.blocks] == ["Look:", "Nice."]
    assert [(e.code, e.message) for e in events if isinstance(e, Notice)] == [("audio", "audio/l16")]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("completed", "end_turn"),
        ("requires_action", "tool_use"),
        ("incomplete", "max_tokens"),
        ("cancelled", "cancelled"),
        ("budget_exceeded", "other"),
    ],
)
def test_stop_reasons(status: str, reason: str) -> None:
    response = read([CREATED, completed(status)])
    assert (response.stop_reason, response.raw_stop_reason) == (reason, status)


def test_call_inside_an_incomplete_interaction_is_not_runnable() -> None:
    response = read([CREATED, start(0, type="function_call", id="c", name="f", arguments={}), completed("incomplete")])
    assert [c.runnable for c in response.tool_calls] == [False]


def test_errors() -> None:
    with pytest.raises(ProviderError) as caught:
        read([CREATED, {"event_type": "error", "error": {"code": "resource_exhausted", "message": "slow"}}])
    assert (caught.value.kind, caught.value.retryable) == ("resource_exhausted", True)
    with pytest.raises(ProviderError, match="failed"):
        read([CREATED, completed("failed")])
    with pytest.raises(ProviderError):
        read([{"error": {"code": 400, "message": "no"}}])


def test_wrong_shape_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        read([CREATED, {"event_type": "step.delta", "index": 0}])


def test_what_is_unknown_is_noticed() -> None:
    events = events_of([CREATED, {"event_type": "interaction.sings"}, start(0, type="hologram"), stop(0), completed()])
    assert [(e.code, e.message) for e in events if isinstance(e, Notice)] == [
        ("unknown_event", "interaction.sings"),
        ("unknown_part", "hologram"),
    ]


@pytest.mark.parametrize("count", range(len(STREAM)))
def test_cut_after_every_event_is_truncated(count: int) -> None:
    normalizer = Normalizer(ROW)
    for payload in STREAM[:count]:
        normalizer.feed(Frame(data=json.dumps(payload)))
    with pytest.raises(StreamTruncated) as caught:
        normalizer.flush()
    normalizer.abort(caught.value)
    partial = normalizer.partial(caught.value)
    assert not partial.complete
    assert not any(c.runnable for c in partial.tool_calls)


def test_interaction_still_running_is_no_end() -> None:
    with pytest.raises(StreamTruncated):
        read([{"id": "i1", "object": "interaction", "status": "in_progress"}])
