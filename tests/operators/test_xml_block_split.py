"""Blocks in tags, by the rules: cut in every way, as strings and as events."""

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import BlockComplete, BlockStart, Chunk, Notice, StreamCompleted, StreamStart
from streamflow.operators import xml_block_split
from tests.support.splits import blocks, split, visible

CALL = '<function_calls>\n<invoke name="{0}">\n{1}\n</invoke>\n</function_calls>'
ALL = ("thinking", "function_calls", "tool", "files")


def call(name, arguments):
    return CALL.format(name, arguments)


@pytest.mark.parametrize("head", ["x <", "x <t", "x <i", "a < b ", "</", "<thinking <think "])
def test_a_dead_candidate_does_not_hide_the_tag_after_it(head):
    assert blocks(f"{head}<thinking>secret</thinking> visible", xml_block_split()) == [
        ("text", head),
        ("thinking", "secret"),
        ("text", " visible"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The `<thinking>` tag is special. Rest.",
        "```xml\n<thinking>\nexample</thinking>\n```\nafter",
        "~~~\n<thinking>\n~~~\n",
        "   ```\n<thinking>",
        "``a ` <thinking>`` b",
        "`<thinking> open to the end of the line",
        "<b>bold</b> a < b <write_filename path='x'>",
        'Use <parameter name="x">1</parameter> here, or <invoke name="y">',
        "</function_calls> </invoke> </b>",
    ],
)
def test_what_is_no_tag_is_text(text):
    assert blocks(text, xml_block_split(ALL)) == [("text", text)]


def test_code_that_ends_protects_no_more():
    assert visible("`a\n<think>x</think>b", xml_block_split()) == "`a\nb"
    assert visible("```\n<think>\n``\n```\n<think>x</think>b", xml_block_split()) == "```\n<think>\n``\n```\nb"
    assert visible("    ```\n<think>x</think>b", xml_block_split()) == "    ```\nb"
    assert visible("```a``` <think>x</think>b", xml_block_split()) == "```a``` b"
    assert visible("`<think>`<think>x</think>b", xml_block_split(code="ignore")) == "`b"


# -- thinking


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think>b", [("thinking", "a"), ("text", "b")]),
        ("<think>a</think>b<thinking>c</thinking>", [("thinking", "a"), ("text", "b"), ("thinking", "c")]),
        ("<thinking>a</thinking>b", [("thinking", "a"), ("text", "b")]),
        ("<mm:think>a</mm:think>b", [("thinking", "a"), ("text", "b")]),
        ("[THINK]a[/THINK]b", [("thinking", "a"), ("text", "b")]),
        ("<thinking>a</think>b</thinking>c", [("thinking", "a</think>b"), ("text", "c")]),
        ("<thinking>a </thinking\n>b", [("thinking", "a "), ("text", "b")]),
        ("<thinking>a</thinking >b", [("thinking", "a"), ("text", "b")]),
        ('<thinking budget="<3>">a</thinking>b', [("thinking", "a"), ("text", "b")]),
        ("<thinking/>b", [("thinking", ""), ("text", "b")]),
        ("<thinking></thinking>", [("thinking", "")]),
        ("<thinking>a <thinking> b</thinking>c", [("thinking", "a <thinking> b"), ("text", "c")]),
        ("<thinking>x <function_calls> y `</thinking>` z", [("thinking", "x <function_calls> y `"), ("text", "` z")]),
        ("<thinking>a</thin", [("thinking!", "a</thin")]),
        ("a <thin", [("text", "a <thin")]),
        ("<think>a</think><think>b</think>", [("thinking", "a"), ("thinking", "b")]),
        ("List<String> x; a<b>c</b>; 1 <2", [("text", "List<String> x; a<b>c</b>; 1 <2")]),
        ("<Thinking>a</Thinking>", [("text", "<Thinking>a</Thinking>")]),
        (
            "İ😀\u2028<think>İ😀\u2028</think>İ😀\u2028",
            [("text", "İ😀\u2028"), ("thinking", "İ😀\u2028"), ("text", "İ😀\u2028")],
        ),
    ],
)
def test_thought(text, expected):
    assert blocks(text, xml_block_split()) == expected


def test_case_is_ignored_on_request_and_never_moves_a_boundary():
    operator = xml_block_split(("files", "thinking"), case_sensitive=False)
    assert blocks('<WRITE_FILE path="/a">İİİİ abc</Write_File> after', operator) == [
        ("write_file", "İİİİ abc"),
        ("text", " after"),
    ]
    assert blocks("<THINKING>a</Thinking>b", operator) == [("thinking", "a"), ("text", "b")]


def test_a_stray_close_of_thought_is_taken_out_and_told():
    events = split("a</thinking>b</think >c[/THINK]d</think>", xml_block_split())
    assert visible("a</thinking>b", xml_block_split()) == "ab"
    assert [event.raw for event in events if isinstance(event, Notice)] == [
        "</thinking>",
        "</think >",
        "[/THINK]",
        "</think>",
    ]
    assert [event.content for event in events if isinstance(event, BlockComplete)] == ["abcd"]


def test_a_tag_that_nests_is_counted():
    nested = xml_block_split([sf.Tag("plan", nests=True)])
    assert blocks("<plan>a <plan>b</plan> c</plan>d", nested) == [("plan", "a <plan>b</plan> c"), ("text", "d")]
    assert blocks("<plan>a <plan/> c</plan>d", nested) == [("plan", "a <plan/> c"), ("text", "d")]
    chunks = [event for event in sf.run(["<plan>a <plan>b</plan> c</plan>"], nested) if isinstance(event, Chunk)]
    assert [(chunk.depth, chunk.text) for chunk in chunks] == [(0, "a "), (1, "<plan>b</plan>"), (0, " c")]


def test_the_stream_may_begin_inside_a_tag():
    operator = xml_block_split(starts_open="think")
    assert blocks("hm</think>Hi", operator) == [("thinking", "hm"), ("text", "Hi")]
    assert blocks("hm", operator) == [("thinking!", "hm")]
    assert blocks("", operator) == []
    assert blocks("a[/THINK]b", xml_block_split(starts_open="[THINK]")) == [("thinking", "a"), ("text", "b")]


@pytest.mark.parametrize(
    ("prefix", "text", "expected"),
    [
        ("Sure. <thinking>so", " far</thinking>Hi", [("thinking", " far"), ("text", "Hi")]),
        ("<thinking>a</thinking>b", "c", [("text", "c")]),
        ("```\n", "<thinking>\n```\n", [("text", "<thinking>\n```\n")]),
        ("`", "<thinking>` b", [("text", "<thinking>` b")]),
        (
            "<function_calls>\n",
            '<invoke name="f"></invoke></function_calls>z',
            [("tool_call", ("f", {})), ("text", "z")],
        ),
        (
            '<function_calls><invoke name="f"><parameter name="a">x',
            "y</parameter></invoke>",
            [("tool_call", ("f", {"a": "xy"}))],
        ),
        ("a <thin", "king>b", [("text", "king>b")]),
    ],
)
def test_the_text_before_says_what_is_open(prefix, text, expected):
    assert blocks(text, xml_block_split(prefix=prefix)) == expected


# -- calls


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('<parameter name="q">cats</parameter>', {"q": "cats"}),
        ('<parameter name="q">\n\ncats\n\n</parameter>', {"q": "\n\ncats\n\n"}),
        ("<parameter name='q'>a</parameter>\n<parameter id='1' name=\"r\">b</parameter>", {"q": "a", "r": "b"}),
        ('<parameter name="q">a <b>x</b> &amp; "y" \\ \u2028</parameter>', {"q": 'a <b>x</b> &amp; "y" \\ \u2028'}),
        ('<parameter name="q">1e5</parameter><parameter name="r">true</parameter>', {"q": "1e5", "r": "true"}),
        ('<parameter name="q">"x"</parameter><parameter name="r"></parameter>', {"q": '"x"', "r": ""}),
        ('<parameter name="q">{"a": [1, 2]}</parameter>', {"q": {"a": [1, 2]}}),
        ('<parameter name="q">[1, 12345678901234567890]</parameter>', {"q": [1, 12345678901234567890]}),
        ('<parameter name="q">[draft</parameter>', {"q": "[draft"}),
        ('<parameter name="q">{</parameter><parameter name="r"/>', {"q": "{", "r": ""}),
        ('<parameter name="q"><thinking>a</thinking></parameter>', {"q": "<thinking>a</thinking>"}),
        ('<parameter name="q"></invoke></function_calls></parameter>', {"q": "</invoke></function_calls>"}),
        (
            '<parameter name="q">a<parameter name="z">b</parameter>c</parameter>',
            {"q": 'a<parameter name="z">b</parameter>c'},
        ),
        ('<parameter name="q">a<parameter/>c</parameter>', {"q": "a<parameter/>c"}),
        ('<parameter name="q"><![CDATA[</parameter> ]] >]]></parameter>', {"q": "</parameter> ]] >"}),
        ('<parameter name="q">a<![CDATA[<b>]]>c<![CDATA[]]]]></parameter>', {"q": "a<b>c]]"}),
        ('<parameter name="q"><![CDATA[{"a": 1}]]></parameter>', {"q": {"a": 1}}),
        ('<parameter name="thinking_budget">1</parameter>', {"thinking_budget": "1"}),
        ('<parameter name="İ😀">İ😀</parameter>', {"İ😀": "İ😀"}),
        ("", {}),
        (' {"q": 1} ', {"q": 1}),
    ],
)
def test_arguments(text, arguments):
    for prefix in ("", "antml:"):
        written = {
            name: prefixed(value, prefix) if isinstance(value, str) else value for name, value in arguments.items()
        }
        assert blocks(f"a{prefixed(call('thinking', text), prefix)}b", xml_block_split()) == [
            ("text", "a"),
            ("tool_call", ("thinking", written)),
            ("text", "b"),
        ]


def prefixed(text, prefix):
    for tag in ("function_calls", "invoke", "parameter"):
        text = text.replace(f"<{tag}", f"<{prefix}{tag}").replace(f"</{tag}", f"</{prefix}{tag}")
    return text


def test_calls_come_in_the_order_of_the_text():
    text = '<function_calls><invoke name="first"/><invoke name="second"></invoke>'
    text += "<invoke id='7' name='third'/></function_calls>"
    done = [event for event in split(text, xml_block_split()) if isinstance(event, BlockComplete)]
    assert [(event.tool_name, event.tool_id, event.input) for event in done] == [
        ("first", "call_0", {}),
        ("second", "call_1", {}),
        ("third", "7", {}),
    ]


def test_ids_are_made_by_the_caller_on_request():
    made = split(call("f", ""), xml_block_split(ids=lambda index: f"mine-{index}"))
    assert {event.tool_id for event in made if isinstance(event, Chunk | BlockComplete) and event.tool_id} == {"mine-0"}


@pytest.mark.parametrize(
    "body",
    [
        '<parameter name="a">1</parameter><parameter name="a">2</parameter>',
        "some text",
        'text<parameter name="a">1</parameter>',
        "<parameter>1</parameter>",
        "{broken",
    ],
)
def test_a_call_that_is_not_certain_has_an_error_and_hides_nothing_else(body):
    got = blocks(f"a{call('f', body)}b", xml_block_split())
    assert [kind for kind, _ in got] == ["text", "tool_call!", "text"]


@pytest.mark.parametrize(
    "text",
    [
        '<function_calls><invoke name="f"><parameter name="a">1</parameter>',
        '<function_calls><invoke name="f"><parameter name="a">1',
        '<function_calls><invoke name="f"><parameter name="a">1</parameter></invo',
        '<function_calls><invoke name="f"><parameter name="a">a<parameter name="b">1</parameter></invoke>',
    ],
)
def test_a_call_that_the_end_cuts_is_incomplete(text):
    done = [event for event in split(text, xml_block_split()) if isinstance(event, BlockComplete)]
    assert [(event.kind, event.incomplete, event.input) for event in done] == [("tool_call", True, None)]
    assert text.endswith(done[0].raw)
    assert not sf.collect([*done, StreamCompleted("end_turn")]).tool_calls[0].runnable


def test_a_forgotten_close_does_not_swallow_the_rest():
    text = '<function_calls><invoke name="f"><invoke name="g"></invoke></function_calls> after'
    assert blocks(text, xml_block_split()) == [("tool_call!", ""), ("tool_call", ("g", {})), ("text", " after")]
    text = '<function_calls><invoke name="f"></function_calls> after'
    assert blocks(text, xml_block_split()) == [("tool_call!", ""), ("text", " after")]


def test_text_inside_a_wrapper_is_seen_and_white_space_is_not():
    assert blocks("a<function_calls>\n  b c \n</function_calls>d", xml_block_split()) == [("text", "ab c \nd")]
    assert blocks("a <function_calls> b <think>c</think> d", xml_block_split()) == [
        ("text", "a b "),
        ("thinking", "c"),
        ("text", "d"),
    ]


TYPED = {
    "name": "F",
    "input_schema": {
        "properties": {
            "n": {"type": "integer"},
            "x": {"type": "number"},
            "b": {"type": "boolean"},
            "s": {"type": "string"},
            "o": {"$ref": "#/$defs/o"},
            "u": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "e": {"enum": ["1", "2"]},
        },
        "$defs": {"o": {"type": "object"}},
    },
}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n", "3", 3),
        ("n", " 3\n", 3),
        ("n", "3.0", 3),
        ("x", "1e5", 1e5),
        ("b", "true", True),
        ("b", "False", False),
        ("s", '{"a": 1}', '{"a": 1}'),
        ("s", "3", "3"),
        ("o", '\n{"a": 1}', {"a": 1}),
        ("u", "null", None),
        ("u", "4", 4),
        ("e", "1", "1"),
        ("other", "1", "1"),
    ],
)
def test_arguments_are_typed_by_the_schema_of_their_tool(name, text, value):
    source = call("f", f'<parameter name="{name}">{text}</parameter>')
    assert blocks(source, xml_block_split(tools=[TYPED])) == [("tool_call", ("f", {name: value}))]


@pytest.mark.parametrize(
    ("name", "text"), [("n", "three"), ("n", "3.5"), ("b", "1"), ("o", "[1]"), ("u", ""), ("x", "true")]
)
def test_an_argument_of_the_wrong_type_is_an_error(name, text):
    source = call("f", f'<parameter name="{name}">{text}</parameter>')
    done = split(source, xml_block_split(tools=[TYPED]))[-1]
    assert done.input is None
    assert f"the argument {name!r}" in done.error
    assert done.raw in source


def test_text_values_stream_and_others_come_when_closed():
    stage = xml_block_split().make_stage()
    stage.feed('<function_calls><invoke name="f"><parameter name="a">')
    assert [event.text for event in stage.feed('say "hi')] == ['"', 'say \\"hi']
    assert list(stage.feed("</param")) == []
    assert stage.held == "</param"
    assert "".join(event.text for event in stage.feed('eter><parameter name="b">')) == '","b":'
    assert list(stage.feed('{"x": 1')) == []
    assert "".join(event.text for event in stage.feed("}</parameter>")) == '{"x": 1}'


# -- results


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("\nthe &lt;b&gt; &amp;amp; &quot;x&quot; &apos;y&apos;\n", "the <b> &amp; \"x\" 'y'"),
        ("\n\na\n\n", "\na\n"),
        ("\r\na\r\n", "a"),
        ("a", "a"),
        ("\n", ""),
        ("", ""),
        ("&lt;/result> &nbsp; &am; & &ltx", "</result> &nbsp; &am; & &ltx"),
        ("a</resul\n", "a</resul"),
    ],
)
def test_results_are_clean(content, shown):
    text = f'<function_results>\n<result tool_use_id="c1">{content}</result>\n<error>no</error>\n</function_results>z'
    events = split(text, xml_block_split())
    done = [event for event in events if isinstance(event, BlockComplete)]
    assert [(event.kind, event.content, event.tool_id, event.error) for event in done] == [
        ("tool_result", shown, "c1", None),
        ("tool_result", "no", None, "no"),
        ("text", "z", None, None),
    ]
    assert sum(isinstance(event, BlockStart) for event in events) == 3
    assert done[0].raw == f'<result tool_use_id="c1">{content}</result>'


# -- other tables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<write_file path="/a">x</write_file>z', [("write_file", "x"), ("text", "z")]),
        (
            '<write_filename path="/a">x</write_filename> z',
            [("text", '<write_filename path="/a">x</write_filename> z')],
        ),
        ('<toolkit name="x">y', [("text", '<toolkit name="x">y')]),
        ("x<y then <run_bash>ls</run_bash>", [("text", "x<y then "), ("run_bash", "ls")]),
        ('a < <write_file path="/a">b</write_file>', [("text", "a < "), ("write_file", "b")]),
        ("Use `<run_bash>` to run. Then done.", [("text", "Use `<run_bash>` to run. Then done.")]),
        ("<write_file>x</write_file>", [("text", "<write_file>x</write_file>")]),
        ('<write_file path="/a">x</write_fi', [("write_file!", "x</write_fi")]),
        ('<write_file path="/a">x</write_file >y', [("write_file", "x"), ("text", "y")]),
        ("<run_bash>a <run_bash>b</run_bash> c</run_bash>", [("run_bash", "a <run_bash>b</run_bash> c")]),
        (
            '<tool name="f"><arguments><arg name="q">a <b>x</b></arg></arguments></tool>',
            [("tool_call", ("f", {"q": "a <b>x</b>"}))],
        ),
        ('<tool name="f"><arg name="q">1</arg></tool>z', [("tool_call", ("f", {"q": "1"})), ("text", "z")]),
        (
            '<tool name="f"><arguments><arg name="q">a<arg name="r">b</arg></tool></arg></arguments></tool>',
            [("tool_call", ("f", {"q": 'a<arg name="r">b</arg></tool>'}))],
        ),
        ('<tool name="run_bash"></tool> z', [("tool_call", ("run_bash", {})), ("text", " z")]),
        (
            '<tool name="write_file"><arguments><arg name="path">/a</arg></arguments></tool> after text',
            [("tool_call", ("write_file", {"path": "/a"})), ("text", " after text")],
        ),
        (
            '<tool name="write_file"><arguments><arg name="content">{"x": 1}</arg></arguments></tool>',
            [("tool_call", ("write_file", {"content": '{"x": 1}'}))],
        ),
        ('<tool name="f"><arguments><arg name="q">/a', [("tool_call!", '{"q":"/a')]),
        ("<tool>x</tool>", [("text", "<tool>x</tool>")]),
        (
            '<tool name="w"><arg name="c">\n__START_CONTENT__\na </arg> b\n__END_CONTENT__\n</arg></tool>z',
            [("tool_call", ("w", {"c": "\n__START_CONTENT__\na </arg> b\n__END_CONTENT__\n"})), ("text", "z")],
        ),
        (
            '<tool name="w"><arg name="c">__START_PATCH__<arg name="x"></arg>__END_PATCH__</arg></tool>',
            [("tool_call", ("w", {"c": '__START_PATCH__<arg name="x"></arg>__END_PATCH__'}))],
        ),
        (
            '<tool name="w"><arg name="c">x __START_CONTENT__ y</arg></tool>',
            [("tool_call", ("w", {"c": "x __START_CONTENT__ y"}))],
        ),
        (
            '<tool name="w"><arg name="c">__START_CONTENT__ y</arg></tool>',
            [("tool_call!", '{"c":"__START_CONTENT__ y</arg></tool>')],
        ),
        (
            '</think>x<tool_call>{"name":"f","arguments":{}}</tool_call><tool_call>{"name":"g"}</tool_call>y',
            [("text", "x"), ("tool_call", ("f", {})), ("tool_call", ("g", {})), ("text", "y")],
        ),
        (
            '<tool_call>{"name":"f","arguments":{"s":"</tool_call>"}}</tool_call>',
            [("tool_call", ("f", {"s": "</tool_call>"}))],
        ),
        ('<tool_call>{"name":"f","arguments":"{\\"a\\":1}"}</tool_call>', [("tool_call", ("f", {"a": 1}))]),
        ('<tool_call>{"name":"f","arguments":{"a":1}}', [("tool_call!", '{"a":1}')]),
        ('<tool_call>{"name":"f","arguments":{"a"</tool_call>y', [("tool_call!", '{"a"'), ("text", "y")]),
        ("<tool_call>hello</tool_call>y", [("tool_call!", ""), ("text", "y")]),
        ("<tool_call/>y", [("tool_call!", ""), ("text", "y")]),
        ('<tool_call>{"arguments":{}}</tool_call>', [("tool_call!", "{}")]),
    ],
)
def test_files_and_tools(text, expected):
    assert blocks(text, xml_block_split(("thinking", "tool", "files", "tool_call"))) == expected


def test_attributes_of_a_file_are_kept_in_either_quote():
    start = split("<write_file path=\"/it's>b.txt\" mode='a\"b'>x</write_file>", xml_block_split(("files",)))[0]
    assert start == BlockStart(0, "write_file", {"path": "/it's>b.txt", "mode": 'a"b'})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>",
            [("thinking", "hm"), ("text", "Hi")],
        ),
        (
            '<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>{"a": 1}<|call|>',
            [("tool_call", ("f", {"a": 1}))],
        ),
        ("<|channel|>commentary<|message|>I will look.<|end|>", [("commentary", "I will look.")]),
        ('<|channel|>commentary to=f<|message|> {"a": "}"}', [("tool_call", ("f", {"a": "}"}))]),
        ('<|channel|>commentary to=f<|message|>{"a": 1', [("tool_call!", '{"a": 1')]),
        ('<|channel|>commentary to=f<|message|>x{"a": 1}', [("tool_call!", 'x{"a": 1}')]),
        ("<|channel|>analysis<|message|>a<|channel|>final<|message|>b", [("thinking!", "a"), ("text", "b")]),
        ("a <|chan b <|start|> <b>", [("text", "a <|chan b <|start|> <b>")]),
        ("`<|channel|>analysis<|message|>`", [("text", "`<|channel|>analysis<|message|>`")]),
    ],
)
def test_channels(text, expected):
    assert blocks(text, xml_block_split(("channels",))) == expected


@pytest.mark.parametrize(
    ("left", "slash"), [("｜", "</｜DSML｜"), ("|", "</|DSML|"), ("｜", "<｜DSML｜/"), ("|", "<|DSML|/")]
)
def test_dsml(left, slash):
    opening = f"<{left}DSML{left}"
    text = (
        f'a{opening}function_calls>\n{opening}invoke name="f">'
        f'{opening}parameter name="s" string="true">{{1{slash}parameter>'
        f'{opening}parameter name="n" string="false">[1]{slash}parameter>{slash}invoke>{slash}function_calls>b'
    )
    assert blocks(text, xml_block_split(("dsml",))) == [
        ("text", "a"),
        ("tool_call", ("f", {"s": "{1", "n": [1]})),
        ("text", "b"),
    ]


def test_a_table_of_the_users_own_needs_no_class():
    sf.register_table(
        "mine", sf.Tag("plan"), sf.Tag("aside", kind="note", visible=True), sf.Tag("{{", kind="x", close="}}")
    )
    operator = xml_block_split(("thinking", "mine"))
    text = "<plan>a</plan><aside>b</aside>{{c}}<think>d</think>e"
    assert blocks(text, operator) == [("plan", "a"), ("note", "b"), ("x", "c"), ("thinking", "d"), ("text", "e")]
    assert visible(text, operator) == "be"


# -- what is wrong


@pytest.mark.parametrize("text", ["<write_file /", "<tool name=''/", "<write_file a='<think>'>"])
def test_a_tag_without_what_it_must_have_leaves_at_once(text):
    stage = xml_block_split(("files", "tool")).make_stage()
    stage.feed(text[:-1])
    assert stage.held == text[:-1]
    stage.feed(text[-1])
    assert stage.held == ""


def test_long_tags_are_text():
    text = '<thinking a="' + "x" * 50 + '">a</thinking>'
    assert visible(text, xml_block_split(max_tag=40)) == '<thinking a="' + "x" * 50 + '">a'
    assert blocks(text, xml_block_split(max_tag=len(text))) == [("thinking", "a")]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_what_looks_like_a_tag_in_code_says_nothing_about_the_text_after_it(quote):
    text = f"`<think a={quote}` <think>secret</think>{quote} <b"
    assert blocks(text, xml_block_split()) == [
        ("text", f"`<think a={quote}` "),
        ("thinking", "secret"),
        ("text", f"{quote} <b"),
    ]


def test_wrong_options_are_named():
    with pytest.raises(UsageError, match="tables: unknown table 'xml'; known are thinking"):
        xml_block_split(("xml",))
    with pytest.raises(UsageError, match="code='x': choose one of literal, ignore"):
        xml_block_split(code="x")
    with pytest.raises(UsageError, match="on_unclosed='x': choose one of keep, show, error"):
        xml_block_split(on_unclosed="x")
    with pytest.raises(UsageError, match="starts_open='x': choose one of thinking"):
        xml_block_split(starts_open="x")
    with pytest.raises(UsageError, match="max_tag=0"):
        xml_block_split(max_tag=0)
    with pytest.raises(UsageError, match="ids='x'"):
        xml_block_split(ids="x")
    with pytest.raises(UsageError, match="tools: 3 is no tool"):
        xml_block_split(tools=[3])
    with pytest.raises(UsageError, match="prefix=3"):
        xml_block_split(prefix=3)
    with pytest.raises(UsageError, match=r"Tag\.role='x': choose one of block"):
        sf.Tag("x", role="x")


def test_a_thought_that_is_open_from_the_start_has_the_offsets_of_its_text():
    """The text before it was taken out by an operator above: its first offset is not 0."""
    events = [StreamStart("m"), BlockStart(1, "text"), Chunk(1, "text", "hm</think>yes", start=21)]
    out = sf.run(events, xml_block_split(starts_open="think"))
    assert [(chunk.text, chunk.start) for chunk in out if isinstance(chunk, Chunk)] == [("hm", 21), ("yes", 31)]
