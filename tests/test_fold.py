"""The fold and the JSON form."""

import pytest

import streamflow as sf
from streamflow import events as ev
from streamflow.fold import Fold


def test_a_response_has_what_the_events_said():
    response = sf.collect(
        [
            ev.StreamStart("id", "model", "p"),
            ev.BlockComplete(0, "thinking", "hm"),
            ev.BlockComplete(1, "text", "Hel"),
            ev.BlockComplete(2, "tool_call", "{}", tool_id="c", tool_name="f", input={}),
            ev.BlockComplete(3, "tool_call", "{}", tool_id="s", attributes={"server": "web_search_call"}),
            ev.BlockComplete(4, "text", "lo"),
            ev.Citation(4, url="u"),
            ev.Usage(input_tokens=1),
            ev.Usage(input_tokens=2),
            ev.StreamCompleted("tool_use", "tool_calls"),
        ]
    )
    assert (response.text, response.thinking, response.model, response.id) == ("Hello", "hm", "model", "id")
    assert [call.id for call in response.tool_calls] == ["c"]
    assert [tool.type for tool in response.server_tools] == ["web_search_call"]
    assert response.usage.input_tokens == 2
    assert response.complete
    assert len(response.citations) == 1


@pytest.mark.parametrize(
    "end",
    [
        [],
        [ev.StreamCompleted("cancelled")],
        [ev.StreamFailed(ev.ErrorInfo("StreamTruncated", "cut"))],
    ],
)
def test_without_a_proper_end_nothing_is_runnable(end):
    call = ev.BlockComplete(0, "tool_call", "{}", tool_id="c", tool_name="f", input={})
    response = sf.collect([call, *end])
    assert not response.complete
    assert not response.tool_calls[0].runnable


def test_open_blocks_are_part_of_the_answer_so_far():
    fold = Fold()
    for event in (ev.BlockStart(0, "tool_call"), ev.Chunk(0, "tool_call", "f", False, part="name", tool_name="f")):
        fold.add(event)
    fold.add(ev.Chunk(0, "tool_call", '{"a', False, part="input", tool_name="f"))
    block = fold.response().blocks[0]
    assert (block.content, block.tool_name, block.incomplete) == ('{"a', "f", True)
    assert not fold.response().tool_calls[0].runnable


def test_every_event_survives_its_json_form():
    events = [
        ev.StreamStart("a", "b", "c"),
        ev.BlockStart(0, "text", {"k": 1}),
        ev.Chunk(0, "text", "é\u2028", start=3),
        ev.BlockComplete(0, "text", "x", opaque={"signature": "s"}),
        ev.ToolCallsReady([ev.ToolCall("c", "f", {"x": 1})]),
        ev.Citation(0, "u"),
        ev.Image(ev.GeneratedImage(data="aGk=")),
        ev.Usage(1, 2, raw={"z": 3}),
        ev.Retrying(1, 2),
        ev.Notice("n"),
        ev.Raw(ev.Frame(data="{}")),
        ev.StreamFailed(ev.ErrorInfo("StreamTruncated", "cut"), ev.Response(text="x")),
        ev.Stamped(3, 0.5, ev.Notice("n")),
        ev.Sentence(0, "Hi.", 0, 3),
    ]
    for event in events:
        assert sf.from_json(sf.to_json(event)) == event


def test_a_response_with_an_error_has_a_json_form():
    response = ev.Response(error=sf.StreamTruncated("cut", provider="openai"))
    assert b'"type":"StreamTruncated"' in sf.to_json(response)


def test_errors_compare_by_what_they_say():
    assert sf.StreamTruncated("a") == sf.StreamTruncated("a")
    assert sf.StreamTruncated("a") != sf.TransportError("a")


@pytest.mark.parametrize("secret", ["sk-abcdefghijklmnop", "Bearer abcdefghijklm", "x-api-key: hunter2hunter2"])
def test_an_error_never_prints_a_key(secret):
    error = sf.ProviderError(f"refused: {secret} was wrong")
    assert secret.split()[-1] not in str(error) + repr(error)


def test_a_new_attempt_that_discards_begins_anew():
    events = [
        ev.StreamStart("a"),
        ev.BlockStart(0, "text"),
        ev.Chunk(0, "text", "first"),
        ev.Retrying(2, 3, "503", discard=True),
        ev.BlockStart(1, "text"),
        ev.Chunk(1, "text", "second"),
        ev.StreamCompleted("end_turn"),
    ]
    assert sf.collect(events).text == "second"
