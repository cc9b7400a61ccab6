"""How bytes are cut into writes, without a socket."""

import pytest

from streamflow.testing import Answer, Cut, Pause, Reset
from streamflow.testing.sending import cut_up

STEPS = [b"Hello ", Pause(1), b"big ", b"world"]


def _bytes(steps):
    return b"".join(step for step in steps if isinstance(step, bytes))


def test_frames_stay_whole_by_default():
    assert list(cut_up(STEPS, Answer())) == STEPS


@pytest.mark.parametrize("size", range(1, 20))
def test_sizes(size):
    steps = list(cut_up(STEPS, Answer(cut=size)))
    assert _bytes(steps) == b"Hello big world"
    assert max(len(step) for step in steps if isinstance(step, bytes)) <= size
    assert Pause(1) in steps


def test_random_sizes_repeat_with_their_seed():
    once, again, other = (list(cut_up(STEPS, Answer(cut=4, seed=seed))) for seed in (1, 1, 2))
    assert once == again != other
    assert _bytes(once) == _bytes(other) == b"Hello big world"


@pytest.mark.parametrize("place", range(15))
@pytest.mark.parametrize("size", [0, 1, 4])
def test_breaks_at_every_byte(place, size):
    steps = list(cut_up(STEPS, Answer(break_at=place, break_with=Reset(), cut=size)))
    assert _bytes(steps) == b"Hello big world"[:place]
    assert steps[-1] == Reset()


def test_a_break_behind_the_end_never_happens():
    assert list(cut_up(STEPS, Answer(break_at=100, break_with=Cut()))) == STEPS


def test_a_pause_is_no_end():
    steps = list(cut_up(STEPS, Answer(break_at=8, break_with=Pause(5))))
    assert steps == [b"Hello ", Pause(1), b"bi", Pause(5), b"g ", b"world"]
