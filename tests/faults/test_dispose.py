"""B11: whoever leaves, when and how often, hears nothing more, and nobody else notices."""

import random
import threading

import pytest
import reactivex as rx
from reactivex.subject import Subject

import streamflow as sf
from streamflow.events import Notice
from streamflow.operators import sequence, visible_filter, xml_block_split
from streamflow.testing import Answer, encode

EVENTS = [*sf.decode("openai", encode("openai", Answer("Hi <thinking>no</thinking> there. Yes.", delta=2)))[:-1]]


def sources(rng: random.Random):
    """An Observable to leave, and what drives it."""
    subject: Subject = Subject()
    kind = rng.choice(["subject", "operators", "flow", "branch"])
    if kind == "subject":
        return subject, subject.pipe(sequence())
    if kind == "operators":
        return subject, subject.pipe(xml_block_split(), visible_filter())
    flow = sf.Flow(subject)
    flow.subscribe(lambda item: None)  # somebody who stays
    return subject, flow.events if kind == "flow" else flow.branch("x", xml_block_split())


@pytest.mark.parametrize("seed", range(150))
def test_b11_nothing_is_delivered_after_dispose_returned(seed):
    rng = random.Random(seed)
    subject, observable = sources(rng)
    heard: list[list] = [[] for _ in range(3)]
    left: list[int | None] = [None, None, None]
    subscriptions: list = [None, None, None]

    def leave(place: int, how: str) -> None:
        if subscriptions[place] is None:
            return
        if how == "thread":
            thread = threading.Thread(target=subscriptions[place].dispose)
            thread.start()
            thread.join()
        for _ in range(1 if how == "once" else 2):
            subscriptions[place].dispose()
        if left[place] is None:
            left[place] = len(heard[place])

    plans = {place: (rng.randrange(len(EVENTS)), rng.choice(["once", "twice"])) for place in (0, 1)}

    def listener(place: int):
        def on_next(item: object) -> None:
            heard[place].append(item)
            if place in plans and len(heard[place]) > plans[place][0]:
                leave(rng.choice([place, 1 - place]), plans[place][1])  # from inside, itself or the other one

        return on_next

    for place in range(3):
        subscriptions[place] = observable.subscribe(listener(place))
    outside = rng.randrange(len(EVENTS))
    for number, event in enumerate(EVENTS):
        subject.on_next(event)
        if number == outside:
            leave(1, "thread")
    subject.on_completed()
    for place in (0, 1):
        if left[place] is not None:
            assert len(heard[place]) == left[place]
    # The one who stays hears all that one who is alone hears.
    alone: list = []
    again_subject, again = sources(random.Random(seed))
    again.subscribe(alone.append)
    for event in EVENTS:
        again_subject.on_next(event)
    again_subject.on_completed()
    assert len(heard[2]) == len(alone) > 0


def test_b11_dispose_before_the_first_item_and_after_the_end():
    seen: list = []
    subscription = rx.of(Notice("a")).pipe(sequence()).subscribe(seen.append)
    for _ in range(3):
        subscription.dispose()
    assert len(seen) == 1
    subject: Subject = Subject()
    early = subject.pipe(sequence()).subscribe(seen.append)
    early.dispose()
    subject.on_next(Notice("b"))
    assert len(seen) == 1
