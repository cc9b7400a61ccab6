"""Stages, fusing, and the difference between a stage's fault and a subscriber's."""

import pytest
import reactivex as rx
from reactivex import operators as ops
from reactivex.subject import Subject

import streamflow as sf
from streamflow.stage import Chain, Lifted, lift


class Echo:
    """Passes on, and says what it was told."""

    def __init__(self, log=None, bad=None):
        self.log = [] if log is None else log
        self.bad = bad

    def feed(self, item):
        if item == self.bad:
            yield f"before {item}"
            raise ValueError(item)
        yield item

    def flush(self):
        self.log.append("flush")
        return ["rest"]

    def abort(self, error):
        self.log.append(f"abort {error}")
        return ["released"]


def echo(log=None, bad=None):
    return lift(lambda: Echo(log, bad), "echo")


def subscribe(observable):
    seen = []
    subscription = observable.subscribe(seen.append, lambda e: seen.append(("error", e)), lambda: seen.append("done"))
    return seen, subscription


def test_adjacent_operators_run_as_one_chain():
    fused = rx.of(1).pipe(echo(), echo(), echo())
    assert isinstance(fused, Lifted)
    assert len(fused.operators) == 3
    assert not isinstance(fused.source, Lifted)


def test_operators_mix_with_those_of_reactivex():
    seen, _ = subscribe(rx.of(1, 2).pipe(echo(), ops.filter(lambda x: x != 1), echo()))
    assert seen == [2, "rest", "rest", "done"]


def test_flush_goes_through_the_later_stages():
    seen, _ = subscribe(rx.of("a").pipe(echo(), echo()))
    assert seen == ["a", "rest", "rest", "done"]


def test_a_stage_that_raises_loses_nothing_that_was_ready():
    log = []
    seen, _ = subscribe(rx.of("a", "x", "b").pipe(echo(log, bad="x"), echo(log)))
    assert seen[:-1] == ["a", "before x", "released", "released"]
    assert isinstance(seen[-1][1], ValueError)
    assert log == ["abort x", "abort x"]


def test_an_error_of_the_source_lets_every_stage_release():
    source = Subject()
    seen, _ = subscribe(source.pipe(echo(), echo()))
    source.on_next(1)
    source.on_error(RuntimeError("gone"))
    assert seen[:-1] == [1, "released", "released"]
    assert str(seen[-1][1]) == "gone"


def test_a_subscriber_that_raises_is_not_a_fault_of_the_stream():
    log = []
    source = Subject()
    errors = []

    def broken(item):
        raise KeyError(item)

    source.pipe(echo(log)).subscribe(broken, errors.append)
    with pytest.raises(KeyError):
        source.on_next("a")
    source.on_next("b")
    assert log == []
    assert errors == []


def test_a_subscriber_that_raises_inside_a_synchronous_source_gets_its_own_error_back():
    log = []
    errors = []

    def broken(item):
        raise KeyError(item)

    rx.of("a", "b").pipe(echo(log), echo(log)).subscribe(broken, errors.append)
    assert [type(error) for error in errors] == [KeyError]
    assert log == []


def test_nothing_is_delivered_after_dispose():
    source = Subject()
    seen = []

    class Burst(Echo):
        def feed(self, item):
            return [1, 2, 3]

    def once(item):
        seen.append(item)
        subscription.dispose()

    subscription = source.pipe(lift(Burst, "burst")).subscribe(once)
    source.on_next("go")
    source.on_next("go")
    source.on_completed()
    assert seen == [1]


def test_each_subscription_has_its_own_stage():
    made = []

    def make():
        made.append(Echo())
        return made[-1]

    observable = rx.of(1).pipe(lift(make, "echo"))
    observable.subscribe()
    observable.subscribe()
    assert len(made) == 2
    assert made[0] is not made[1]


def test_a_fault_downstream_of_a_fault_does_not_hide_the_first():
    chain = Chain([Echo(bad="x"), Echo(bad="released")])
    assert chain.feed("x") == ["before x", "before released", "released"]
    assert str(chain.error) == "x"


def test_an_operator_on_something_else_than_an_observable_says_what_to_do():
    with pytest.raises(sf.UsageError, match=r"sf\.run"):
        echo()([1, 2])


def test_errors_get_the_partial_view_of_the_last_stage_that_keeps_blocks():
    error = sf.StreamTruncated("cut")
    chain = Chain([sf.operators.to_response().make_stage(), Echo()])
    chain.feed(sf.events.BlockComplete(0, "text", "Hi"))
    chain.abort(error)
    assert error.partial.text == "Hi"


class Batching(Echo):
    """Takes items together, too, and counts how often it was called."""

    calls = 0

    def feed_all(self, items, out):
        self.calls += 1
        for item in items:
            out += self.feed(item)


class Twice(Echo):
    def feed(self, item):
        return [item, item]


def test_a_stage_may_take_what_came_together_in_one_call():
    stage = Batching()
    chain = Chain([Twice(), Twice(), stage])
    assert chain.feed("a") == ["a"] * 4
    assert stage.calls == 1
    assert chain.feed_all(["b", "c"]) == ["b"] * 4 + ["c"] * 4
    assert stage.calls == 2


def test_what_was_ready_before_one_of_several_items_raised_is_delivered():
    together, alone = Chain([Batching(bad="x"), Echo()]), Chain([Echo(bad="x"), Echo()])
    seen = together.feed_all(["a", "x", "b"])
    assert seen == alone.feed_all(["a", "x", "b"]) == ["a", "before x", "released", "released"]
    assert str(together.error) == str(alone.error) == "x"


def test_a_stage_that_stands_for_another_one_is_asked_itself():
    class Proxy:
        def __init__(self, stage):
            self.stage = stage
            self.seen = []

        def feed(self, item):
            self.seen.append(item)
            return self.stage.feed(item)

        def __getattr__(self, name):
            return getattr(self.stage, name)

    proxy = Proxy(Batching())
    Chain([Twice(), proxy]).feed("a")
    assert proxy.seen == ["a", "a"]


class TwoThenFault:
    """Gives both halves of what it takes, then fails."""

    def feed(self, item):
        yield from item
        raise sf.ProtocolError("the first stage")

    def flush(self):
        return []

    def abort(self, error):
        return ["let go"]


class Picky:
    """Does not like one item."""

    def __init__(self, bad):
        self.bad = bad

    def feed(self, item):
        if item == self.bad:
            raise sf.ProtocolError("the second stage")
        return [item]

    def flush(self):
        return []

    def abort(self, error):
        return []


@pytest.mark.parametrize(
    ("bad", "told", "given"),
    [("a", "second", []), ("b", "second", ["a"]), ("let go", "first", ["a", "b"]), ("", "first", ["a", "b", "let go"])],
)
def test_the_fault_that_comes_first_in_the_stream_is_told(bad, told, given):
    """A later stage that fails on what an earlier one gave before its own fault failed first."""
    chain = Chain([TwoThenFault(), Picky(bad)])
    assert chain.feed("ab") == given
    assert str(chain.error) == f"the {told} stage"
