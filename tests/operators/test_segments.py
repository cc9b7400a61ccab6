"""Segments: the schema, pure bodies, deferred starts, and what the end closed."""

import json
import random

import msgspec
import pytest

import streamflow as sf
from streamflow.events import BlockComplete, BlockStart, Chunk, Notice, StreamCompleted, StreamStart, Usage
from streamflow.operators import invocations, json_tool_split, segments, sentinel_split, xml_block_split
from streamflow.text import segments as core
from streamflow.text.segment_events import SegmentContent, SegmentEnd, SegmentStart
from tests.support.cuts import at_random, single, two_way


def block(index, kind, content, attributes=None, **complete):
    attributes = attributes or {}
    return [
        BlockStart(index, kind, attributes),
        Chunk(index, kind, content, kind == "text"),
        BlockComplete(index, kind, content, attributes=attributes, **complete),
    ]


def call(index, name, pieces, *, value=None, error=None, incomplete=False, id="call_0", attributes=None):
    content = "".join(pieces)
    if value is None and error is None and not incomplete:
        value = json.loads(content)
    return [
        BlockStart(index, "tool_call", attributes or {}),
        Chunk(index, "tool_call", name, False, 0, "name", None, name),
        Chunk(index, "tool_call", id, False, 0, "id", id, name),
        *(Chunk(index, "tool_call", piece, False, 0, "input", id, name) for piece in pieces),
        BlockComplete(index, "tool_call", content, id, name, value, error, incomplete, attributes=attributes or {}),
    ]


def joined(events):
    """Each segment as (id, type, metadata, content, late metadata, incomplete), in the order of their starts."""
    rows = {}
    for event in events:
        if isinstance(event, SegmentStart):
            rows[event.segment_id] = [event.segment_type, event.metadata, "", {}, None]
        elif isinstance(event, SegmentContent):
            rows[event.segment_id][2] += event.delta
            rows[event.segment_id][3].update(event.metadata)
        elif isinstance(event, SegmentEnd):
            assert rows[event.segment_id][4] is None
            rows[event.segment_id][4] = event.incomplete
    return [(id, *row) for id, row in rows.items()]


def test_the_json_form_is_the_documented_schema():
    events = [*block(0, "text", "Hi"), *block(1, "write_file", "x = 1\n", {"path": "/tmp/a.py"}, incomplete=True)]
    assert [json.loads(sf.to_json(event)) for event in sf.run(events, segments())] == [
        {"type": "SEGMENT_START", "segment_id": "seg_1", "segment_type": "text", "payload": {"metadata": {}}},
        {"type": "SEGMENT_CONTENT", "segment_id": "seg_1", "payload": {"delta": "Hi"}},
        {"type": "SEGMENT_END", "segment_id": "seg_1", "payload": {}},
        {
            "type": "SEGMENT_START",
            "segment_id": "seg_2",
            "segment_type": "write_file",
            "payload": {"metadata": {"path": "/tmp/a.py"}},
        },
        {"type": "SEGMENT_CONTENT", "segment_id": "seg_2", "payload": {"delta": "x = 1\n"}},
        {"type": "SEGMENT_END", "segment_id": "seg_2", "payload": {"incomplete": True}},
    ]


@pytest.mark.parametrize(
    ("kind", "attributes", "segment_type", "metadata"),
    [
        ("text", {}, "text", {}),
        ("thinking", {}, "reasoning", {}),
        ("write_file", {"path": "/a"}, "write_file", {"path": "/a"}),
        ("edit_file", {"path": "/a"}, "edit_file", {"path": "/a"}),
        ("run_bash", {}, "run_bash", {}),
        ("plan", {"step": "1"}, "plan", {"step": "1"}),
        ("tool_result", {}, "tool_result", {}),
    ],
)
def test_the_type_table(kind, attributes, segment_type, metadata):
    assert joined(sf.run(block(0, kind, "body", attributes), segments())) == [
        ("seg_1", segment_type, metadata, "body", {}, False)
    ]


def test_a_call_of_any_other_tool_shows_its_arguments_as_written():
    assert joined(sf.run(call(0, "My_Tool", ['{"q": ', '"x"}']), segments())) == [
        ("seg_1", "tool_call", {"tool_name": "My_Tool"}, '{"q": "x"}', {}, False)
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        (
            "write_file",
            '{"path": "/a", "content": "x\\n\\u00e9 \\ud83d\\ude00"}',
            ("write_file", {"path": "/a"}, "x\né 😀", {}),
        ),
        ("WRITE_FILE", '{"content": "first", "path": "/late"}', ("write_file", {"path": "/late"}, "first", {})),
        (
            "write_file",
            '{"opts": {"path": "/evil"}, "path": "/a", "content": ""}',
            ("write_file", {"path": "/a"}, "", {"opts": {"path": "/evil"}}),
        ),
        (
            "edit_file",
            '{"path": "/a", "patch": "__START_PATCH__\\n-a\\n+b\\n__END_PATCH__\\n"}',
            ("edit_file", {"path": "/a"}, "-a\n+b\n", {}),
        ),
        ("run_bash", '{"command": "ls -l", "background": true}', ("run_bash", {}, "ls -l", {"background": True})),
        (
            "write_file",
            '{"path": "/a", "content": "\\n__START_CONTENT__\\na </arg> b\\n__END_CONTENT__\\n"}',
            ("write_file", {"path": "/a"}, "a </arg> b\n", {}),
        ),
        ("write_file", '{"path": "/a", "content": {"x": [1]}}', ("write_file", {"path": "/a"}, '{"x":[1]}', {})),
        ("run_bash", '{"command": 82559372160620356421}', ("run_bash", {}, "82559372160620356421", {})),
    ],
)
def test_bodies_of_calls_are_pure_at_every_cut(name, arguments, expected):
    rng = random.Random(2)
    cuts = [[arguments], single(arguments), *two_way(arguments), *(at_random(arguments, rng) for _ in range(10))]
    for pieces in cuts:
        assert joined(sf.run(call(0, name, pieces), segments())) == [("seg_1", *expected, False)]


def test_a_body_appears_while_the_arguments_arrive():
    feeder = sf.Feeder(segments())
    events = call(0, "write_file", ['{"path": "/a", "con', 'tent": "li', 've"}'])
    shown = [feeder.feed(event) for event in events[:-1]]
    assert [[getattr(event, "delta", event.type) for event in step] for step in shown[3:]] == [
        ["SEGMENT_START"],
        ["li"],
        ["ve"],
    ]


def test_a_start_waits_for_the_path_and_the_name():
    feeder = sf.Feeder(segments())
    for event in call(0, "write_file", ['{"content": "abc", "path": "/'], incomplete=True)[:-1]:
        assert feeder.feed(event) == []
    (start, content) = feeder.feed(Chunk(0, "tool_call", 'b"', False, 0, "input", "call_0", "write_file"))
    assert (start.metadata, content.delta) == ({"path": "/b"}, "abc")
    names = [Chunk(0, "tool_call", part, False, 0, "name") for part in ("get_", "weather")]
    split = [BlockStart(0, "tool_call"), *names]
    done = BlockComplete(0, "tool_call", "{}", tool_name="get_weather", input={})
    assert sf.run([*split, done], segments())[0].metadata == {"tool_name": "get_weather"}


def test_what_waits_for_a_path_is_bounded(monkeypatch):
    monkeypatch.setattr(core, "MAX_DEFERRED", 10)
    events = call(0, "write_file", ['{"content": "', "x" * 8, "y" * 8, '", "path": "/late"}'])
    assert joined(sf.run(events, segments())) == [
        ("seg_1", "write_file", {}, "x" * 8 + "y" * 8, {"path": "/late"}, False)
    ]


@pytest.mark.parametrize(
    "events",
    [
        call(0, "write_file", ['{"path": "/a", "content": "half'], incomplete=True),
        call(0, "write_file", ['{"path": "/a", "content": "half'], error="not valid JSON"),
        call(0, "write_file", ['{"path": "/a"}']),
        call(0, "write_file", ['{"path": "/a", "content": "1", "content": "2"}']),
        call(0, "write_file", ['{"path": "/a", "path": "/b", "content": "1"}']),
        call(0, "run_bash", ["{}"]),
        call(0, "search", ['{"q": "ha'], incomplete=True),
        call(0, "search", ["{q}"], error="not valid JSON"),
        block(0, "run_bash", "rm -r /tm", incomplete=True),
        block(0, "text", "half an ans", incomplete=True),
        block(0, "text", "half an ans")[:-1],
        call(0, "search", ['{"q": 1}'])[:-1],
        [BlockStart(0, "tool_call")],
        [*block(0, "text", "half")[:-1], StreamCompleted("cancelled")],
    ],
)
def test_what_is_not_certainly_whole_is_incomplete(events):
    (row,) = joined(sf.run(events, segments()))
    assert row[-1] is True


def test_nothing_of_a_cut_call_is_lost():
    heads = ('{"path": "/a", "content": "__START_CONTENT__\\n', '{"content": "', '{"path": "/a", "content": "')
    for text in [head + "the fox" for head in heads]:
        rows = joined(sf.run(call(0, "write_file", [text], incomplete=True), segments()))
        assert rows[0][3] == "the fox"


def test_parallel_calls_keep_apart_and_are_numbered_by_their_starts():
    first = call(0, "write_file", ['{"path": "/a",', '"content": "A"}'])
    second = call(1, "run_bash", ['{"command":', '"ls"}'], id="call_1")
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    assert [row[:4] for row in joined(sf.run(mixed, segments()))] == [
        ("seg_1", "write_file", {"path": "/a"}, "A"),
        ("seg_2", "run_bash", {}, "ls"),
    ]


def test_everything_else_passes_in_its_place():
    chunk, done = Chunk(0, "text", "a"), BlockComplete(0, "text", "a")
    events = [StreamStart("1"), BlockStart(0, "text"), Usage(1), chunk, Notice("x"), object(), done, StreamCompleted()]
    out = sf.run(events, segments())
    assert [event for event in out if not isinstance(event, SegmentStart | SegmentContent | SegmentEnd)] == [
        event for event in events if not isinstance(event, BlockStart | Chunk | BlockComplete)
    ]
    assert [type(event).__name__ for event in out[:4]] == ["StreamStart", "SegmentStart", "Usage", "SegmentContent"]


def test_server_tools_and_free_form_calls_say_what_they_are():
    server = call(0, "write_file", ['{"path": "/a"}'], attributes={"server": "code_execution"})
    custom = call(1, "write_file", ["*** Begin"], value="*** Begin", attributes={"call": "custom"})
    assert [row[1:4] for row in joined(sf.run([*server, *custom], segments()))] == [
        ("tool_call", {"tool_name": "write_file", "server": "code_execution"}, '{"path": "/a"}'),
        ("tool_call", {"tool_name": "write_file", "call": "custom"}, "*** Begin"),
    ]


def test_plain_strings_are_one_text():
    assert joined(sf.run(["a <b", "", " c"], segments())) == [("seg_1", "text", {}, "a <b c", {}, False)]
    assert sf.run([""], segments()) == []


def test_ids_have_the_prefix_and_the_metadata_the_calls_id_when_asked():
    (row,) = joined(sf.run(call(0, "f", ["{}"]), segments(prefix="turn_1:seg_", tool_ids=True)))
    assert row[:3] == ("turn_1:seg_1", "tool_call", {"tool_name": "f", "tool_id": "call_0"})


def test_a_failure_closes_what_is_open():
    error = sf.StreamTruncated("cut")
    stage = segments().make_stage()
    for event in block(0, "thinking", "hm")[:-1]:
        list(stage.feed(event))
    assert stage.abort(error) == [SegmentEnd("seg_1", {"incomplete": True})]


def test_a_block_that_came_without_its_start_is_whole():
    done = BlockComplete(0, "tool_call", '{"command": "ls"}', "c", "run_bash", {"command": "ls"})
    assert joined(sf.run([done], segments())) == [("seg_1", "run_bash", {}, "ls", {}, False)]


@pytest.mark.parametrize("options", [{"prefix": 3}])
def test_wrong_options_are_refused(options):
    with pytest.raises(sf.UsageError, match=next(iter(options))):
        segments(**options)


def test_segments_can_be_read_back():
    start = SegmentStart("seg_1", "text")
    assert msgspec.json.decode(sf.to_json(start), type=SegmentStart | SegmentContent | SegmentEnd) == start


MARKED = "\n__START_CONTENT__\na </arg> b\n__END_CONTENT__\n"
WRITTEN = [
    ('Hi <write_file path="/a.ts">x < y</write_file> done', [("write_file", {"path": "/a.ts"}, "x < y", {}, False)]),
    (
        f'<tool name="write_file"><arg name="path">/a</arg><arg name="content">{MARKED}</arg></tool>z',
        [("write_file", {"path": "/a"}, "a </arg> b\n", {}, False)],
    ),
    (
        '<tool name="Write_File"><arg name="content">{"x":  1}</arg><arg name="path">/a.json</arg></tool> after',
        [("write_file", {"path": "/a.json"}, '{"x":  1}', {}, False)],
    ),
    (
        '<tool name="run_bash"><arg name="command">ls</arg><arg name="background">true</arg></tool>',
        [("run_bash", {}, "ls", {"background": "true"}, False)],
    ),
    (
        "<thinking>hm</thinking><run_bash>rm -r /tm",
        [("reasoning", {}, "hm", {}, False), ("run_bash", {}, "rm -r /tm", {}, True)],
    ),
    ('<tool name="write_file"><arguments><arg name="path">/a', [("write_file", {"path": "/a"}, "", {}, True)]),
    ('<tool name="write_file"><arg name="path">/a</arg></tool> z', [("write_file", {"path": "/a"}, "", {}, True)]),
    ('<tool name="run_bash"></tool> z', [("run_bash", {}, "", {}, True)]),
    ('<write_file path="/a">x</write_fi', [("write_file", {"path": "/a"}, "x</write_fi", {}, True)]),
    (
        '<tool name="MY_TOOL"><arguments><arg name="q">a <b>x</b></arg></arguments></tool>',
        [("tool_call", {"tool_name": "MY_TOOL"}, '{"q":"a <b>x</b>"}', {}, False)],
    ),
    ('<write_file path="/İ">İİİİ abc</write_file>', [("write_file", {"path": "/İ"}, "İİİİ abc", {}, False)]),
    ("Use `<run_bash>` to run.", []),
]


@pytest.mark.parametrize(("text", "expected"), WRITTEN)
def test_what_is_written_in_tags_at_every_cut(text, expected):
    rng = random.Random(3)
    visible = None
    for pieces in ([text], single(text), *two_way(text), *(at_random(text, rng) for _ in range(10))):
        out = sf.run(pieces, xml_block_split(tables=("files", "tool", "thinking")), segments(), invocations())
        rows = [row[1:] for row in joined(out)]
        assert [row for row in rows if row[0] != "text"] == expected
        visible = visible or "".join(row[2] for row in rows if row[0] == "text")
        assert visible == "".join(row[2] for row in rows if row[0] == "text")
        called = [event for event in out if isinstance(event, sf.Invocation)]
        assert [call.runnable for call in called] == [not row[4] for row in expected if row[0] != "reasoning"]


def test_every_way_of_writing_a_file_gives_the_same_segments():
    body = 'say "é" </b>\n\\n 🙂'
    arguments = json.dumps({"path": "/a", "content": body})
    ways = [
        sf.run(call(0, "write_file", single(arguments)), segments()),
        sf.run(single(f'<write_file path="/a">{body}</write_file>'), xml_block_split(("files",)), segments()),
        sf.run(
            single(f'<tool name="write_file"><arg name="path">/a</arg><arg name="content">{body}</arg></tool>'),
            xml_block_split(("tool",)),
            segments(),
        ),
        sf.run(
            single(f'[[SEG_START {{"type": "write_file", "path": "/a"}}]]{body}[[SEG_END]]'),
            sentinel_split(),
            segments(),
        ),
        sf.run(
            single(f'{{"tool": {{"function": "write_file", "parameters": {arguments}}}}}'),
            json_tool_split(),
            segments(),
        ),
    ]
    for way in ways:
        assert joined(way) == [("seg_1", "write_file", {"path": "/a"}, body, {}, False)]
