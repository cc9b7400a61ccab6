"""The stage that turns frames into events: frames one by one, and frames that came together."""

import pytest

from streamflow.errors import ProtocolError
from streamflow.events import BlockComplete, Chunk, Frame
from streamflow.providers.normalizer import Normalizer
from streamflow.providers.table import provider_row
from streamflow.stage import Chain

GOOD = Frame(data='{"id":"1","choices":[{"delta":{"content":"Hi"}}]}')
# Its text comes before what breaks it.
BROKEN = Frame(data='{"id":"1","choices":[{"delta":{"content":"part","tool_calls":[7]}}]}')
END = Frame(data="[DONE]")


def together(*frames: Frame, **options: str) -> tuple[list, BaseException | None]:
    chain = Chain([Normalizer(provider_row("openai"), **options)])
    out = chain.feed_all(frames)
    return (out, chain.error) if chain.error else (out + chain.finish(), chain.error)


def one_by_one(*frames: Frame, **options: str) -> tuple[list, BaseException | None]:
    stage = Normalizer(provider_row("openai"), **options)
    out = []
    try:
        for frame in frames:
            out += stage.feed(frame)
        return out + stage.flush(), None
    except ProtocolError as error:
        return out + stage.abort(error), error


@pytest.mark.parametrize(
    "frames",
    [(GOOD, GOOD, END), (GOOD, BROKEN, GOOD), (BROKEN,), (GOOD, END, GOOD, GOOD, END), (GOOD, Frame(data="no"))],
)
@pytest.mark.parametrize("on_bad_frame", ["error", "skip"])
def test_frames_that_come_together_give_the_events_of_frames_one_by_one(frames, on_bad_frame):
    if on_bad_frame == "skip" and END not in frames:
        frames = (*frames, END)
    (events, error), (expected, fault) = (read(*frames, on_bad_frame=on_bad_frame) for read in (together, one_by_one))
    assert events == expected
    assert str(error) == str(fault)


def test_what_a_frame_said_before_it_broke_is_said_once():
    events, error = together(GOOD, BROKEN)
    assert [event.text for event in events if isinstance(event, Chunk)] == ["Hi", "part"]
    assert [event.content for event in events if isinstance(event, BlockComplete)] == ["Hipart"]
    assert error.partial.text == "Hipart"
