"""Options of the operator; the dialects have tests of their own."""

import pytest

import streamflow as sf
from streamflow.operators import normalize_provider, sse_decode

WIRE = b'data: {"id":"1","choices":[{"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n'


def test_raw_adds_the_frames():
    events = sf.run([WIRE], sse_decode(), normalize_provider("openai", raw=True))
    raw = [event.frame.data for event in events if isinstance(event, sf.events.Raw)]
    assert raw == ['{"id":"1","choices":[{"delta":{"content":"Hi"}}]}', "[DONE]"]


def test_wrong_names_and_policies_are_refused_at_once():
    with pytest.raises(sf.UsageError, match="Did you mean 'mistral'"):
        normalize_provider("mistrl")
    with pytest.raises(sf.UsageError, match="skip"):
        normalize_provider("openai", on_bad_frame="maybe")


def test_an_error_of_the_source_closes_what_is_open():
    import reactivex as rx

    seen = []
    broken = rx.concat(rx.of(WIRE[:60]), rx.throw(sf.TransportError("reset")))
    broken.pipe(sse_decode(), normalize_provider("openai")).subscribe(seen.append, seen.append)
    assert isinstance(seen[-2], sf.events.BlockComplete)
    assert seen[-2].incomplete
    assert seen[-1].partial.text == "Hi"
