"""Numbered items in order, on virtual time."""

import random
import re

import pytest
import reactivex as rx
from reactivex.testing import ReactiveTest, TestScheduler

import streamflow as sf
from streamflow.errors import UsageError
from streamflow.events import Chunk, Notice, Sentence, StreamCompleted, StreamStart
from streamflow.operators import reorder
from streamflow.operators._reorder import MAX_PENDING

on_next, on_completed, on_error = ReactiveTest.on_next, ReactiveTest.on_completed, ReactiveTest.on_error


def play(messages, operator, until=1000):
    """What comes out, as (time, value); hot source, subscribed at 200."""
    scheduler = TestScheduler()
    source = scheduler.create_hot_observable(messages)
    results = scheduler.start(lambda: source.pipe(operator), disposed=until)
    return [(message.time, getattr(message.value, "value", message.value.kind)) for message in results.messages]


def numbers(**options):
    return reorder(key=lambda item: item if isinstance(item, int) else None, **options)


def values(out):
    return [value for _, value in out]


def test_items_leave_in_the_order_of_their_numbers():
    out = play([on_next(210, 1), on_next(211, 2), on_next(212, 0), on_next(213, 3)], numbers())
    assert out == [(212, 0), (212, 1), (212, 2), (213, 3)]


def test_a_gap_is_waited_for_once_and_the_smallest_is_taken_as_a_number():
    # As text, 10 would sort before 9.
    out = play([on_next(210, 0), on_next(211, 10), on_next(213, 9)], numbers(gap_s=5))
    assert out == [(210, 0), (216, Notice("skipped", "8 missing before 9", [1, 9])), (216, 9), (216, 10)]


def test_the_timer_is_cleared_when_the_expected_one_comes():
    out = play([on_next(210, 0), on_next(211, 2), on_next(214, 1), on_next(217, 3)], numbers(gap_s=5))
    assert out == [(210, 0), (214, 1), (214, 2), (217, 3)]


def test_a_second_gap_gets_the_full_wait():
    out = play([on_next(210, 1), on_next(211, 3), on_next(213, 0)], numbers(gap_s=5))
    assert out == [(213, 0), (213, 1), (218, Notice("skipped", "1 missing before 3", [2, 3])), (218, 3)]


def test_a_late_one_is_dropped_and_reported_and_never_moves_the_order_back():
    late = [on_next(201, 1), on_next(202, 3), on_next(203, 4), on_next(210, 2), on_next(211, 5)]
    out = play(late, numbers(first=1, gap_s=5))
    assert values(out) == [
        1,
        Notice("skipped", "1 missing before 3", [2, 3]),
        3,
        4,
        Notice("late", "2 came when 5 was next; it is dropped", [2, 5]),
        5,
    ]
    assert out[-1] == (211, 5), "the one after it does not wait again"


def test_a_repeated_number_is_reported():
    assert [item.code if isinstance(item, Notice) else item for item in sf.run([1, 1, 0, 0], numbers())] == [
        "repeat",
        0,
        1,
        "late",
    ]


def test_what_has_no_number_passes_at_once():
    out = play([on_next(210, 1), on_next(211, "note"), on_next(212, 0)], numbers())
    assert out == [(211, "note"), (212, 0), (212, 1)]


def test_the_default_key_is_the_index_but_not_that_of_blocks():
    chunks = [Chunk(7, "text", "a"), Chunk(7, "text", "b")]
    second, first = Sentence(1, "B."), Sentence(0, "A.")
    assert sf.run([second, *chunks, first], reorder()) == [*chunks, first, second]


def test_a_key_that_finds_no_attribute_means_no_number():
    assert sf.run(["x", Sentence(0, "A.")], reorder(key=lambda item: item.index)) == ["x", Sentence(0, "A.")]


def test_any_other_fault_of_the_key_ends_the_stream_after_what_was_held():
    got = []
    faults = []
    rx.of(2, 0, "x").pipe(reorder(key=lambda item: 1 // 0 if item == "x" else item)).subscribe(
        got.append, faults.append
    )
    assert [item for item in got if not isinstance(item, Notice)] == [0, 2]
    assert isinstance(faults[0], ZeroDivisionError)


def test_everything_begins_again_for_a_new_message():
    start, end = StreamStart("2"), StreamCompleted()
    out = play([on_next(210, 0), on_next(211, 2), on_next(212, end), on_next(213, start), on_next(214, 0)], numbers())
    assert values(out) == [0, Notice("skipped", "1 missing before 2", [1, 2]), 2, end, start, 0]
    assert out[-1][0] == 214, "the second message does not wait"


def test_the_end_releases_all_at_once():
    out = play([on_next(210, 3), on_next(211, 1), on_completed(212)], numbers())
    assert [(time, value) for time, value in out if isinstance(value, int)] == [(212, 1), (212, 3)]
    assert out[-1] == (212, "C")


def test_an_error_releases_what_is_held_before_it():
    out = play([on_next(210, 1), on_error(211, RuntimeError("cut"))], numbers())
    assert [value for value in values(out) if isinstance(value, int)] == [1]
    assert out[-1][1] == "E"


def test_nothing_comes_after_dispose():
    out = play([on_next(210, 0), on_next(211, 2)], numbers(gap_s=5), until=214)
    assert out == [(210, 0)]


def test_what_is_held_is_bounded():
    out = sf.run(range(1, MAX_PENDING + 2), numbers(gap_s=1e9))
    assert out[0].code == "skipped"
    assert out[1:] == list(range(1, MAX_PENDING + 2))


def test_random_disorder_within_the_wait_loses_nothing():
    rng = random.Random(3)
    for _ in range(30):
        times = sorted((210 + n + rng.uniform(0, 4), n) for n in range(40))
        out = play([on_next(time, n) for time, n in times], numbers(gap_s=5))
        assert values(out) == list(range(40))


def test_each_subscription_counts_for_itself():
    ordered = rx.of(1, 0).pipe(numbers())
    for _ in range(2):
        got = []
        ordered.subscribe(got.append)
        assert got == [0, 1]


def test_ids_with_a_number_inside_are_ordered_by_that_number():
    def number(item):
        match = re.match(r"seq(\d+)_", item)
        return int(match[1]) if match else None

    ids = [f"seq{n}_1700000000.5_ab12" for n in (2, 1, 10, 3, 4, 5, 6, 7, 8, 9)]
    out = sf.run(ids, reorder(key=number, first=1))
    assert [number(item) for item in out] == list(range(1, 11))


@pytest.mark.parametrize("options", [{"key": "index"}, {"gap_s": -1}])
def test_wrong_options_are_told_when_the_operator_is_made(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        reorder(**options)


def test_a_key_that_is_text_is_refused():
    with pytest.raises(UsageError, match="'10', not a whole number"):
        sf.run(["10"], reorder(key=lambda item: item))


def test_it_is_an_operator_of_observables_only():
    with pytest.raises(UsageError, match="works on an Observable"):
        reorder()([1, 2])
