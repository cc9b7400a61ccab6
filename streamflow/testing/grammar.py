"""The grammar of a stream, as an assertion."""

from collections.abc import Iterable
from typing import Any

from streamflow.events import TERMINAL, BlockComplete, BlockStart, Chunk, Notice, Retrying, StreamStart


def assert_grammar(events: Iterable[Any]) -> None:
    """``Retrying* StreamStart (block | ...)* end``: blocks open and close once, chunks belong to an open block.

    The text of a block's chunks is its content, and every text can be written as UTF-8. What breaks this raises
    `AssertionError` and names the event.

    >>> import streamflow as sf
    >>> from streamflow.testing import Answer, encode
    >>> assert_grammar(sf.decode("openai", encode("openai", Answer("Hello"))))
    >>> assert_grammar([StreamStart("1")])
    Traceback (most recent call last):
    AssertionError: the stream has no end: StreamStart(id='1', model='', provider='')
    """
    rest = [event for event in events if not isinstance(event, Retrying)]
    _check(bool(rest), "there are no events")
    _check(isinstance(rest[0], (StreamStart, *TERMINAL)), "the first event is no start", rest[0])
    opened: dict[int, list[str]] = {}
    closed: set[int] = set()
    ended = False
    for place, event in enumerate(rest):
        if ended:
            _check(isinstance(event, Notice), "an event after the end", event)
        elif isinstance(event, StreamStart):
            _check(place == 0, "a second start", event)
        elif isinstance(event, BlockStart):
            _check(event.index not in opened and event.index not in closed, "a block opens twice", event)
            opened[event.index] = []
        elif isinstance(event, Chunk):
            _check(event.index in opened, "a chunk outside its block", event)
            _check(bool(event.text), "an empty chunk", event)
            event.text.encode()
            if event.part in (None, "input"):
                opened[event.index].append(event.text)
        elif isinstance(event, BlockComplete):
            _check(event.index in opened, "a block closes that is not open", event)
            said = "".join(opened.pop(event.index))
            _check(said == event.content, f"the chunks of a block say {said!r}", event)
            closed.add(event.index)
        elif isinstance(event, TERMINAL):
            _check(not opened, f"blocks {sorted(opened)} are open at the end", event)
            ended = True
    _check(ended, "the stream has no end", rest[-1])


def _check(true: bool, message: str, event: Any = None) -> None:
    if not true:
        raise AssertionError(message if event is None else f"{message}: {event}")
