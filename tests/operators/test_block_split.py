"""Several ways of writing blocks at once."""

import pytest

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.operators import block_split
from tests.support.splits import as_events, blocks, cuttings

TEXT = (
    'a <think>b [[SEG_START {"type": "run_bash"}]]</think>'
    '[[SEG_START {"type": "run_bash"}]]ls <think>[[SEG_END]]'
    '{"tool": {"function": "f", "parameters": {"s": "<think>"}}} c'
)


def test_the_earliest_marker_wins_and_owns_its_inside():
    assert blocks(TEXT, block_split(["xml", "json", "sentinel"])) == [
        ("text", "a "),
        ("thinking", 'b [[SEG_START {"type": "run_bash"}]]'),
        ("run_bash", "ls <think>"),
        ("tool_call", ("f", {"s": "<think>"})),
        ("text", " c"),
    ]


def test_a_dead_candidate_of_one_strategy_does_not_hide_a_marker_of_another():
    assert blocks('<think a="[[SEG_START {"type": "run_bash"}]]x[[SEG_END]]', block_split(["xml", "sentinel"])) == [
        ("text", '<think a="'),
        ("run_bash", "x"),
    ]
    operator = block_split(["json", "xml"])
    assert blocks('{"tool": <think>x</think>', operator) == [("text", '{"tool": '), ("thinking", "x")]


def test_the_order_decides_ties():
    table = sf.Tag("[[SEG_START", kind="mine", close="[[SEG_END]]")
    text = '[[SEG_START {"type": "run_bash"}]]x[[SEG_END]]'
    assert blocks(text, block_split(["sentinel", "xml"], tables=[table]))[0][0] == "run_bash"


def test_the_environment_names_the_default(monkeypatch):
    monkeypatch.delenv("STREAMFLOW_PARSER", raising=False)
    for strategies in (None, ["api_tool_call"]):
        assert blocks(TEXT, block_split(strategies)) == [("text", TEXT)]
        for pieces in cuttings("a <b"):
            assert sf.run(as_events(pieces), block_split(strategies)) == as_events(pieces)
    monkeypatch.setenv("STREAMFLOW_PARSER", "sentinel")
    operator = block_split()
    monkeypatch.setenv("STREAMFLOW_PARSER", "nonsense")
    assert [kind for kind, _ in blocks(TEXT, operator)][1] == "run_bash"
    with pytest.raises(UsageError, match="STREAMFLOW_PARSER='nonsense': choose one of xml, json, sentinel, api"):
        block_split()


def test_wrong_options_are_named():
    with pytest.raises(UsageError, match="unknown strategy 'yaml'; choose from xml, json, sentinel, api_tool_call"):
        block_split(["xml", "yaml"])
    with pytest.raises(UsageError, match="strategies=3"):
        block_split(3)
    with pytest.raises(UsageError, match="strategies=\\[\\]"):
        block_split([])
    with pytest.raises(UsageError, match="starts_open=True"):
        block_split(["xml"], starts_open=True)
