"""The fold as an operator."""

import pytest

import streamflow as sf
from streamflow.events import BlockComplete, Chunk, StreamCompleted, StreamStart
from streamflow.operators import to_response


def test_the_end_carries_the_response_and_the_rest_is_untouched():
    events = [StreamStart("1"), Chunk(0, "text", "Hi"), BlockComplete(0, "text", "Hi"), StreamCompleted("end_turn")]
    out = sf.run(events, to_response())
    assert out[:-1] == events[:-1]
    assert out[-1].response == sf.collect(events)


def test_an_error_gets_what_came_so_far():
    import reactivex as rx

    with pytest.raises(sf.TransportError) as caught:
        source = rx.concat(rx.of(StreamStart("1"), Chunk(0, "text", "Hi")), rx.throw(sf.TransportError("x")))
        source.pipe(to_response()).run()
    assert caught.value.partial.text == "Hi"
