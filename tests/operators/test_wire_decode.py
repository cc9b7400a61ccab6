"""The operator over its decoder: options, fresh state, same frames for every cut."""

import pytest
import reactivex as rx

import streamflow as sf
from streamflow.operators import wire_decode

WIRE = b"data: a\r\n\r\ndata: b\n\n"
DATA = ["a", "b"]


def test_frames_at_every_cut():
    for place in range(len(WIRE) + 1):
        assert [frame.data for frame in sf.run([WIRE[:place], WIRE[place:]], wire_decode("openai"))] == DATA


def test_each_subscription_starts_anew():
    source = rx.of(WIRE).pipe(wire_decode("openai"))
    for _ in range(2):
        seen = []
        source.subscribe(seen.append)
        assert [frame.data for frame in seen] == DATA


def test_an_event_over_the_limit_is_refused():
    with pytest.raises(sf.LimitExceeded):
        sf.run([WIRE], wire_decode("openai", max_event_bytes=4))


def test_the_framing_is_seen_in_the_bytes():
    assert [frame.data for frame in sf.run([b'[{"a":1}]'], wire_decode("gemini"))] == ['{"a":1}']
    assert [frame.data for frame in sf.run([b'{"a":1}\n{"b":2}\n'], wire_decode("ollama"))] == ['{"a":1}', '{"b":2}']


def test_an_open_event_at_the_end_is_delivered():
    assert [frame.data for frame in sf.run([b"data: a"], wire_decode("openai"))] == ["a"]


def test_unknown_names_are_refused_at_once():
    with pytest.raises(sf.UsageError, match="gemini"):
        wire_decode("gemni")
    with pytest.raises(sf.UsageError, match="sse"):
        wire_decode("openai", framing="csv")
