"""What a terminal shows of each event."""

import io

import pytest
from rich.console import Console

import streamflow as sf
from streamflow.cli.screen import Screen
from streamflow.events import Retrying
from streamflow.testing import Answer, Cite, Cut, Picture, Text, Thinking, ToolUse, encode


def _shown(events, **options):
    console = Console(file=io.StringIO(), width=40)
    screen = Screen(console, **options)
    for event in events:
        screen.show(event)
    screen.end()
    return console.file.getvalue()


def _of(*parts, provider="openai", **options):
    return sf.decode(provider, encode(provider, Answer(*parts, **options)))


def test_blocks_have_lines_of_their_own():
    events = _of(Thinking("Hm."), Text("Yes."), ToolUse("f", {"a": 1}), ToolUse("g", {}))
    assert _shown(events) == 'Hm.\nYes.\n-> f {"a":1}\n-> g {}\n'
    assert _shown(events, thinking=False) == 'Yes.\n-> f {"a":1}\n-> g {}\n'


def test_remarks():
    events = [Retrying(1, 2, "429"), *_of("a", Cite("https://x.example/", "X"), Picture("aGk="), stop="max_tokens")]
    shown = _shown(events).splitlines()
    assert shown[0] == "(429; trying again (1 of 2))"
    assert shown[1:] == ["a", "([X] https://x.example/)", "(a picture (image/png))", "(max_tokens)"]


def test_a_cut_call_is_named():
    events = _of(ToolUse("f", '{"a', complete=False), Cut())
    assert "(the call was cut off)" in _shown(events)


def test_long_words_are_not_wrapped_and_markup_is_text():
    said = "[bold]" + "x" * 100 + " :smile:"
    assert _shown(_of(said)) == said + "\n"


@pytest.mark.parametrize("evil", ["\x1b]0;title\x07", "\x1b[2J", "\r", "\x9b31m", "\x08"])
def test_a_model_cannot_steer_the_terminal(evil):
    shown = _shown(_of(f"a{evil}b"))
    assert all(char == "\n" or (char.isprintable() and not "\x7f" <= char <= "\x9f") for char in shown)
    assert shown.startswith("a\\x")


def test_errors_go_where_errors_belong():
    out, err = (Console(file=io.StringIO()) for _ in range(2))
    screen = Screen(out, errors=err)
    screen.show(sf.events.Chunk(0, "text", "half"))
    screen.fail("broken [red]\x1b[2J")
    assert (out.file.getvalue(), err.file.getvalue()) == ("half\n", "broken [red]\\x1b[2J\n")
