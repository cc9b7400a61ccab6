"""Tables of tags: what is wrong with one is said by name."""

import pytest

from streamflow.errors import UsageError
from streamflow.text.tags import READY_TABLES, Tag, register_table, table_tags


def test_all_ready_tables_go_together():
    assert READY_TABLES == ("thinking", "channels", "function_calls", "tool_call", "tool", "files", "dsml")
    names = {name for tag in table_tags(READY_TABLES) for name in tag.names}
    for name in ("thinking", "think", "function_calls", "invoke", "parameter", "function_results", "result", "error"):
        assert {name, "antml" + ":" + name} <= names
    assert {
        "mm:think",
        "[THINK]",
        "tool_call",
        "tool",
        "arguments",
        "arg",
        "write_file",
        "edit_file",
        "run_bash",
    } <= names


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, r"Tag\.name"),
        ({"name": 3}, r"Tag\.name: a text is needed, not 3"),
        ({"name": "a b"}, r"Tag\.name='a b'"),
        ({"name": "[X]"}, r"Tag\.close: the literal marker"),
        ({"name": "x", "kind": 3}, r"Tag\.kind"),
        ({"name": "x", "role": "tag"}, r"Tag\.role='tag': choose one of block, wrapper, call"),
        ({"name": "x", "visible": "yes"}, r"Tag\.visible: True or False"),
        ({"name": "x", "inside": 3}, r"Tag\.inside: a list of names"),
        ({"name": "x", "aliases": ["a>"]}, r"Tag\.name='a>'"),
    ],
)
def test_a_wrong_field_is_named(fields, message):
    with pytest.raises(UsageError, match=message):
        Tag(**fields)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("thinking", Tag("x")), "'thinking' is a ready table; taken are thinking, channels"),
        (("", Tag("x")), "name must be a text"),
        (("mine2",), "must be one or more Tag"),
        (("mine2", "x"), "must be one or more Tag"),
        (("mine2", Tag("x", inside=("y",))), "'x' has inside='y', which is no wrapper or call here; those are none"),
        (("mine2", Tag("x", role="argument")), "the argument 'x' needs inside="),
    ],
)
def test_a_wrong_table_is_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        register_table(*arguments)


def test_tables_are_looked_up():
    with pytest.raises(UsageError, match="unknown table 'nope'; known are thinking, channels"):
        table_tags(("nope",))
    with pytest.raises(UsageError, match="give at least one of"):
        table_tags(())
    with pytest.raises(UsageError, match="tables=3"):
        table_tags(3)
    with pytest.raises(UsageError, match="'think' is in two of"):
        table_tags(("thinking", Tag("think")))
    assert table_tags("files") == table_tags(["files"])
    assert table_tags(("thinking", "thinking"))
