"""Numbers, times, and what is wrong with them."""

import streamflow as sf
from streamflow.events import Notice, Stamped
from streamflow.operators import sequence


def codes(*seqs):
    out = sf.run([Stamped(seq, 0.0, seq) for seq in seqs], sequence())
    assert [item.seq for item in out if isinstance(item, Stamped)] == list(seqs)
    return [item.code for item in out if isinstance(item, Notice)]


def test_items_are_numbered_from_0_and_timed_from_the_first():
    times = iter([10.0, 10.5, 12.0])
    out = sf.run("abc", sequence(clock=lambda: next(times)))
    assert out == [Stamped(0, 0.0, "a"), Stamped(1, 0.5, "b"), Stamped(2, 2.0, "c")]


def test_stamped_items_are_checked():
    assert codes(0, 1, 2) == []
    assert codes(0, 3) == ["gap"]
    assert codes(0, 0, 1) == ["repeat"]
    assert codes(0, 1, 2, 0, 3) == ["disorder"]
    assert codes(2) == ["gap"]
