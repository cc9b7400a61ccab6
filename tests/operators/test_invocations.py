"""Invocations: made from segments with the same id, and never runnable unless the call and the turn are whole."""

import json

import pytest

import streamflow as sf
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    ErrorInfo,
    Retrying,
    StreamCompleted,
    StreamFailed,
    StreamStart,
)
from streamflow.operators import invocations, segments
from streamflow.text.segment_events import Invocation, SegmentContent, SegmentEnd, SegmentStart
from streamflow.text.segment_syntax import _SYNTAXES, register_syntax, registered_syntaxes


def segment(id, segment_type, body="", metadata=None, late=None, incomplete=False):
    out = [SegmentStart(id, segment_type, {"metadata": metadata or {}}), SegmentContent(id, {"delta": body})]
    if late:
        out.append(SegmentContent(id, {"delta": "", "metadata": late}))
    return [*out, SegmentEnd(id, {"incomplete": True} if incomplete else {})]


def invoked(*items, **options):
    return [item for item in sf.run(items, invocations(**options)) if isinstance(item, Invocation)]


START, END = StreamStart("1"), StreamCompleted("tool_use")


@pytest.mark.parametrize(
    ("events", "name", "arguments"),
    [
        (segment("seg_1", "write_file", "x\n", {"path": "/a"}), "write_file", {"path": "/a", "content": "x\n"}),
        (segment("seg_1", "edit_file", "-a", {"path": "/a"}), "edit_file", {"path": "/a", "patch": "-a"}),
        (segment("seg_1", "run_bash", "ls"), "run_bash", {"command": "ls"}),
        (
            segment("seg_1", "run_bash", "ls", {"background": "no", "timeout_seconds": "5"}),
            "run_bash",
            {"background": False, "timeout_seconds": 5, "command": "ls"},
        ),
        (
            segment("seg_1", "run_bash", "ls", late={"background": True}),
            "run_bash",
            {"background": True, "command": "ls"},
        ),
        (segment("seg_1", "tool_call", '{"a": 1}', {"tool_name": "My"}), "My", {"a": 1}),
        (segment("seg_1", "tool_call", "", {"tool_name": "f"}), "f", {}),
        (segment("seg_1", "tool_call", "*** Begin", {"tool_name": "apply", "call": "custom"}), "apply", "*** Begin"),
    ],
)
def test_each_type_has_its_own_source_of_arguments(events, name, arguments):
    for items in ([START, *events, END], events):
        (invocation,) = invoked(*items)
        assert (invocation.id, invocation.name, invocation.arguments) == ("seg_1", name, arguments)
        assert invocation.runnable


@pytest.mark.parametrize(
    ("events", "word"),
    [
        (segment("seg_1", "write_file", "x", {"path": "/a"}, incomplete=True), "not complete"),
        (segment("seg_1", "write_file", "x"), "path"),
        (segment("seg_1", "tool_call", '{"a": ', {"tool_name": "f"}), "JSON"),
        (segment("seg_1", "tool_call", "[1]", {"tool_name": "f"}), "object"),
        (segment("seg_1", "tool_call", "{}"), "names no tool"),
        (segment("seg_1", "run_bash", "ls", {"timeout_seconds": "soon"}), "timeout_seconds"),
        (segment("seg_1", "run_bash", "ls")[:-1], "not complete"),
    ],
)
@pytest.mark.parametrize("when", ["turn_end", "segment_end"])
def test_a_call_that_is_not_whole_is_reported_and_never_runnable(events, word, when):
    (invocation,) = invoked(START, *events, END, when=when)
    assert not invocation.runnable
    assert word in invocation.error


@pytest.mark.parametrize("end", [StreamCompleted("cancelled"), StreamFailed(ErrorInfo("StreamTruncated", "cut")), None])
def test_a_turn_that_did_not_end_properly_makes_nothing_runnable(end):
    items = [START, *segment("seg_1", "run_bash", "ls"), *([end] if end else [])]
    (invocation,) = invoked(*items)
    assert (invocation.incomplete, invocation.runnable) == (True, False)


def test_an_error_reports_what_was_there():
    stage = invocations().make_stage()
    for item in segment("seg_1", "run_bash", "ls"):
        stage.feed(item)
    (invocation,) = stage.abort(sf.StreamTruncated("cut"))
    assert not invocation.runnable


def test_they_come_before_the_end_and_everything_passes():
    items = [
        START,
        *segment("seg_1", "run_bash", "a"),
        *segment("seg_2", "text", "hi"),
        *segment("seg_3", "run_bash", "b"),
        END,
    ]
    out = sf.run(items, invocations())
    assert [item for item in out if not isinstance(item, Invocation)] == items
    assert [getattr(item, "id", None) for item in out[-3:-1]] == ["seg_1", "seg_3"]


def test_an_early_one_comes_at_its_own_end():
    out = sf.run([START, *segment("seg_1", "run_bash", "a"), END], invocations(when="segment_end"))
    assert [type(item).__name__ for item in out[-3:]] == ["SegmentEnd", "Invocation", "StreamCompleted"]


def test_what_is_discarded_is_not_invoked():
    assert invoked(START, *segment("seg_1", "run_bash", "a"), Retrying(1, 2, discard=True), START, END) == []


def test_what_the_provider_runs_itself_is_not_invoked():
    assert invoked(START, *segment("seg_1", "tool_call", "{}", {"tool_name": "f", "server": "search"}), END) == []


def test_turns_are_counted_apart():
    first = [START, *segment("seg_1", "run_bash", "a"), END]
    assert [
        call.id for call in invoked(*first, START, *segment("seg_2", "run_bash", "b"), StreamCompleted("cancelled"))
    ] == [
        "seg_1",
        "seg_2",
    ]
    assert [call.runnable for call in invoked(*first, START, *segment("seg_2", "run_bash", "b"))] == [True, False]


def test_one_call_adds_a_segment_type_for_tags_and_for_calls(monkeypatch):
    monkeypatch.setattr("streamflow.text.segment_syntax._SYNTAXES", registered_syntaxes())
    register_syntax("deploy_test", tool_name="deploy_it", body="script", after=["target"], types={"dry": "bool"})
    tag = {"target": "eu", "dry": "yes"}
    arguments = {"script": "go", "target": "eu", "dry": True}
    as_tag = [
        BlockStart(0, "deploy_test", tag),
        Chunk(0, "deploy_test", "go", False),
        BlockComplete(0, "deploy_test", "go", attributes=tag),
    ]
    text = json.dumps(arguments)
    as_call = [
        BlockStart(0, "tool_call"),
        Chunk(0, "tool_call", text, False, 0, "input", "c", "Deploy_It"),
        BlockComplete(0, "tool_call", text, "c", "Deploy_It", arguments),
    ]
    for events in (as_tag, as_call):
        out = sf.run([START, *events, END], segments(tool_ids=True), invocations())
        assert out[1].segment_type == "deploy_test"
        assert out[1].metadata["target"] == "eu"
        (invocation,) = [item for item in out if isinstance(item, Invocation)]
        assert (invocation.name, invocation.arguments, invocation.runnable) == ("deploy_it", arguments, True)
    assert invocation.tool_id == "c"
    assert "deploy_test" not in _SYNTAXES


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"segment_type": "text", "body": "x"}, "segment_type"),
        ({"segment_type": "", "body": "x"}, "segment_type"),
        ({"segment_type": "a", "body": 1}, "body"),
        ({"segment_type": "a", "body": "x", "tool_name": ""}, "tool_name"),
        ({"segment_type": "a", "body": "x", "after": "path"}, "after"),
        ({"segment_type": "a", "body": "x", "types": {"n": "number"}}, "bool, int"),
    ],
)
def test_wrong_rows_are_refused(options, word):
    with pytest.raises(sf.UsageError, match=word):
        register_syntax(**options)


def test_wrong_options_are_refused():
    with pytest.raises(sf.UsageError, match="turn_end, segment_end"):
        invocations(when="now")
