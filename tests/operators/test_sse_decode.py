"""The operator over its decoder: options, fresh state, same frames for every cut."""

import pytest
import reactivex as rx

import streamflow as sf
from streamflow.operators import sse_decode

WIRE = b"data: a\r\n\r\ndata: b\n\n"
DATA = ["a", "b"]


def test_frames_at_every_cut():
    for place in range(len(WIRE) + 1):
        assert [frame.data for frame in sf.run([WIRE[:place], WIRE[place:]], sse_decode())] == DATA


def test_each_subscription_starts_anew():
    source = rx.of(WIRE).pipe(sse_decode())
    for _ in range(2):
        seen = []
        source.subscribe(seen.append)
        assert [frame.data for frame in seen] == DATA


def test_an_event_over_the_limit_is_refused():
    with pytest.raises(sf.LimitExceeded):
        sf.run([WIRE], sse_decode(max_event_bytes=4))


def test_the_tail_is_dropped_or_delivered():
    assert sf.run([b"data: a"], sse_decode()) == []
    assert [frame.data for frame in sf.run([b"data: a"], sse_decode(tail="deliver"))] == ["a"]
    with pytest.raises(sf.UsageError, match="deliver"):
        sse_decode(tail="keep")
