"""The same events as calls, in their order, with what each call needs to know."""

import pytest
import reactivex as rx
from reactivex.subject import Subject

import streamflow as sf
from streamflow.errors import StreamTruncated, UsageError
from streamflow.events import (
    Citation,
    GeneratedImage,
    Image,
    ImagePreview,
    ImageStart,
    Notice,
    Retrying,
    Stamped,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    Usage,
)
from streamflow.operators import sequence, tool_accumulate
from tests.support.turns import block, call_block, turn

NAMES = [
    "on_start", "on_chunk", "on_block", "on_complete", "on_tool_calls", "on_pre_tool_content", "on_usage",
    "on_image_start", "on_image_preview", "on_image", "on_citation", "on_notice", "on_retrying", "on_error",
]  # fmt: skip


def calls_for(events, *names):
    """All calls in their order: the name and what was given."""
    log = []

    def logs(name):
        return lambda *given: log.append((name, *given))

    sf.subscribe(rx.from_iterable(events), **{name: logs(name) for name in names or NAMES})
    return log


def test_every_event_calls_its_function_in_order():
    picture = GeneratedImage(data="aGk=")
    facts = [
        Usage(1, 2),
        ImageStart("a cat"),
        ImagePreview(picture),
        Image(picture),
        Citation(0, url="u"),
        Notice("n"),
        Retrying(1, 2),
    ]
    events = turn(block(["Hel", "lo"]), facts)
    assert calls_for(events) == [
        ("on_start", events[0]),
        ("on_block", events[1]),
        ("on_chunk", "Hel", events[2]),
        ("on_chunk", "lo", events[3]),
        ("on_block", events[4]),
        ("on_usage", facts[0]),
        ("on_image_start", "a cat"),
        ("on_image_preview", picture),
        ("on_image", picture),
        ("on_citation", facts[4]),
        ("on_notice", facts[5]),
        ("on_retrying", facts[6]),
        ("on_complete", sf.collect(events)),
    ]


def test_chunks_say_what_they_are():
    events = turn(block(["hm"], 0, "thinking"), block(["Hi"], 1), call_block(["{}"], 2, input={}))
    said = [(text, meta.kind, meta.visible, meta.index, meta.part) for _, text, meta in calls_for(events, "on_chunk")]
    assert said == [
        ("hm", "thinking", False, 0, None),
        ("Hi", "text", True, 1, None),
        ("f", "tool_call", False, 2, "name"),
        ("call_1", "tool_call", False, 2, "id"),
        ("{}", "tool_call", False, 2, "input"),
    ]


@pytest.mark.parametrize("operators", [(), (tool_accumulate(),), (tool_accumulate(), tool_accumulate())])
def test_calls_come_once_after_the_text_before_them(operators):
    events = turn(
        block(["Let me ", "look. "], 0),
        call_block(["{}"], 1, input={}),
        block(["And again."], 2),
        call_block(["{}"], 3, id="call_2", input={}),
        block(["Done."], 4),
        stop_reason="tool_use",
    )
    log = calls_for(sf.run(events, *operators), "on_pre_tool_content", "on_tool_calls", "on_complete")
    assert [entry[0] for entry in log] == ["on_pre_tool_content", "on_tool_calls", "on_complete"]
    assert log[0][1] == "Let me look. And again."
    assert [call.id for call in log[1][1]] == ["call_1", "call_2"]
    assert log[2][1].tool_calls == log[1][1]


def test_blank_text_before_calls_is_not_worth_a_call():
    events = turn(block(["\n \n"], 0), call_block(["{}"], 1, input={}))
    assert calls_for(events, "on_pre_tool_content") == []


def test_text_of_another_turn_or_attempt_is_not_text_before_calls():
    events = [
        *turn(block(["first"], 0)),
        *block(["lost"], 1),
        Retrying(1, 2, discard=True),
        *turn(block(["second"], 2), call_block(["{}"], 3, input={})),
    ]
    assert calls_for(events, "on_pre_tool_content") == [("on_pre_tool_content", "second")]


def test_a_server_tool_is_no_call_of_ours():
    events = turn(block(["a"], 0), call_block(["{}"], 1, attributes={"server": "search"}))
    assert calls_for(events, "on_tool_calls", "on_pre_tool_content") == []


def test_a_retry_that_discards_is_forgotten_in_the_answer():
    events = [StreamStart(), *block(["lost"]), Retrying(1, 2, discard=True), *turn(block(["kept"]))]
    ((_, response),) = calls_for(events, "on_complete")
    assert response.text == "kept"


def test_an_error_comes_as_an_exception_in_both_forms():
    error = StreamTruncated("cut")
    log = []
    sf.subscribe(rx.throw(error), on_error=log.append, on_complete=log.append)
    assert log == [error]
    log.clear()
    failed = [*turn(block(["a"]))[:-1], StreamFailed(error.info(), sf.collect(block(["a"])))]
    sf.subscribe(rx.from_iterable(failed), on_error=log.append, on_complete=log.append)
    assert log == [error]
    assert log[0].partial.text == "a"


def test_without_on_error_a_failure_is_raised():
    source = Subject()
    sf.subscribe(source, on_chunk=print)
    with pytest.raises(StreamTruncated):
        source.on_next(StreamFailed(StreamTruncated("cut").info()))


def test_a_source_that_just_ends_is_not_complete():
    ((_, response),) = calls_for(turn(block(["a"]))[:-1], "on_complete")
    assert (response.text, response.complete) == ("a", False)


def test_plain_strings_are_visible_text():
    log = calls_for(["Hel", "lo"], "on_chunk", "on_complete")
    assert [(entry[1], entry[2].visible) for entry in log[:2]] == [("Hel", True), ("lo", True)]
    assert log[2][1].text == "Hello"


def test_stamped_events_are_opened():
    stamped = sf.run(turn(block(["a"], 0), call_block(["{}"], 1, input={})), sequence())
    assert isinstance(stamped[0], Stamped)
    log = calls_for(stamped, "on_tool_calls", "on_complete")
    assert [entry[0] for entry in log] == ["on_tool_calls", "on_complete"]


def test_each_turn_has_its_answer():
    events = [*turn(block(["a"], 0)), *turn(block(["b"], 1))]
    assert [entry[1].text for entry in calls_for(events, "on_complete")] == ["a", "b"]


def test_disposing_stops_the_calls():
    source = Subject()
    log = []
    stop = sf.subscribe(source, on_chunk=lambda text, chunk: log.append(text))
    source.on_next("a")
    stop.dispose()
    source.on_next("b")
    assert log == ["a"]


def test_something_with_events_can_be_subscribed_to():
    class Holder:
        events = rx.of(StreamCompleted())

    log = []
    sf.subscribe(Holder(), on_complete=log.append)
    assert len(log) == 1


async def coroutine(*given):
    pass


@pytest.mark.parametrize(
    ("source", "options", "complaint"),
    [
        ([], {}, "Observable"),
        (rx.of(), {"on_chunk": 7}, "on_chunk"),
        (rx.of(), {"on_usage": coroutine}, "on_usage.*aiter"),
    ],
)
def test_wrong_use_is_said_at_once(source, options, complaint):
    with pytest.raises(UsageError, match=complaint):
        sf.subscribe(source, **options)
