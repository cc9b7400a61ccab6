"""The handle that stops streams."""

import pytest

import streamflow as sf


def test_cancel_tells_every_listener_once_and_remembers():
    context = sf.StreamContext()
    told: list[str] = []
    context.listen(lambda: told.append("a"))
    leave = context.listen(lambda: told.append("b"))
    leave()
    leave()
    assert not context.cancelled
    context.cancel()
    assert context.cancelled
    assert told == ["a"]


def test_a_function_may_say_it_too():
    answers = iter([False, True])
    context = sf.StreamContext(is_cancelled=lambda: next(answers))
    assert [context.cancelled, context.cancelled] == [False, True]


@pytest.mark.parametrize("limit", [0, -1, True, "5", float("inf"), float("nan")])
def test_a_limit_must_be_a_duration(limit):
    with pytest.raises(sf.UsageError, match="timeout_s"):
        sf.StreamContext(timeout_s=limit)
