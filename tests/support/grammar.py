"""The grammar of a stream, as an assertion."""

from typing import Any

from streamflow.events import TERMINAL, BlockComplete, BlockStart, Chunk, Notice, Retrying, StreamStart


def assert_grammar(events: list[Any]) -> None:
    """``Retrying* StreamStart (block | ...)* end``: blocks open and close once, chunks belong to an open block."""
    rest = [event for event in events if not isinstance(event, Retrying)]
    assert isinstance(rest[0], (StreamStart, *TERMINAL)), rest[0]
    opened: dict[int, list[str]] = {}
    closed: set[int] = set()
    ended = False
    for event in rest:
        if ended:
            assert isinstance(event, Notice), f"{event} after the end"
        elif isinstance(event, BlockStart):
            assert event.index not in opened
            assert event.index not in closed
            opened[event.index] = []
        elif isinstance(event, Chunk):
            assert event.text
            if event.part in (None, "input"):
                opened[event.index].append(event.text)
            event.text.encode()
        elif isinstance(event, BlockComplete):
            assert "".join(opened.pop(event.index)) == event.content
            closed.add(event.index)
        elif isinstance(event, TERMINAL):
            assert not opened, f"open at the end: {opened}"
            ended = True
    assert ended, "the stream has no end"
    assert sum(isinstance(event, StreamStart) for event in rest) <= 1
