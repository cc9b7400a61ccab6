"""Blocks in tags, by the rules: cut in every way, as strings and as events."""

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.operators import xml_block_split
from tests.support.splits import blocks, visible

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
