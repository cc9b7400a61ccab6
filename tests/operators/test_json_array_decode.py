"""The operator over its decoder: options, fresh state, same frames for every cut."""

import pytest
import reactivex as rx

import streamflow as sf
from streamflow.operators import json_array_decode

WIRE = b'[{"a":1}\n,\r\n{"b":"]"}]'
DATA = ['{"a":1}', '{"b":"]"}']


def test_frames_at_every_cut():
    for place in range(len(WIRE) + 1):
        assert [frame.data for frame in sf.run([WIRE[:place], WIRE[place:]], json_array_decode())] == DATA


def test_each_subscription_starts_anew():
    source = rx.of(WIRE).pipe(json_array_decode())
    for _ in range(2):
        seen = []
        source.subscribe(seen.append)
        assert [frame.data for frame in seen] == DATA


def test_an_event_over_the_limit_is_refused():
    with pytest.raises(sf.LimitExceeded):
        sf.run([WIRE], json_array_decode(max_event_bytes=4))
