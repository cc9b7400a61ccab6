"""A probed chain gives what the chain gives, whatever its stages give: none, one, several, a fault."""

import random

import pytest

import streamflow as sf
from streamflow.stage import Chain, lift


class Odd:
    """Gives none, one or several of what it takes; as a list, a tuple or a generator; may raise half-way."""

    def __init__(self, seed, faults):
        self.rng, self.faults = random.Random(seed), faults

    def feed(self, item):
        count = self.rng.choice((0, 1, 1, 1, 2, 3))
        made = [(item, number) if self.rng.random() < 0.2 else f"{item}{number}" for number in range(count)]
        if self.faults and self.rng.random() < 0.01:
            return self.raising(made)
        return self.rng.choice((list, tuple, iter))(made)

    def raising(self, made):
        yield from made
        raise sf.ProtocolError("half-way")

    def flush(self):
        return ["rest"] * self.rng.randint(0, 2)

    def abort(self, error):
        return ["aborted"]


def chain(seed, faults):
    size = random.Random(seed).randint(1, 4)
    return [lift(lambda place=place: Odd(f"{seed}/{place}", faults), f"odd{place}") for place in range(size)]


def driven(made, items):
    out = []
    for item in items:
        out += made.feed(item)
        if made.error is not None:
            return out, str(made.error)
    return out + made.finish(), str(made.error)


@pytest.mark.parametrize("faults", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_it_gives_what_the_chain_gives_and_its_steps_add_up(seed, faults):
    operators = chain(seed, faults)
    items = [str(number) for number in range(200)]
    plain = driven(Chain([operator.make_stage() for operator in operators]), items)
    watched = sf.probe(*operators)
    try:
        probed = sf.run(items, *watched.operators), "None"
    except sf.ProtocolError as error:
        probed = None, str(error)
    assert probed[1] == plain[1]
    last = [item for _, item in watched.stages[-1].outputs()]
    assert last == plain[0]
    assert probed[0] in (None, plain[0])
    for before, after in zip(watched.stages, watched.stages[1:], strict=False):
        taken, given = [item for _, item in after.inputs()], [item for _, item in before.outputs()]
        if plain[1] == "None":
            assert taken == given
        else:  # what a stage gave together with a fault may not have been taken any more
            rest = iter(given)
            assert all(item in rest for item in taken)


def test_steps_are_timed_now_and_then():
    ticks = iter(range(100_000))
    watched = sf.probe(*chain(7, faults=False), clock=lambda: float(next(ticks)))
    sf.run([str(number) for number in range(300)], *watched.operators)
    for log in watched.stages:
        timed = [step for step in log.steps if step.seconds is not None]
        assert 0 < len(timed) < len(log.steps) / 10
        assert log.seconds > 0
        assert [step.t for step in log.steps] == sorted(step.t for step in log.steps)


def test_logs_can_be_read_while_the_stream_runs():
    watched = sf.probe(*chain(3, faults=False))
    feeder = sf.Feeder(*watched.operators)
    given = []
    for number in range(100):
        given += feeder.feed(str(number))
        assert watched.stages[0].items_in == number + 1
        assert [item for _, item in watched.stages[-1].outputs()] == given
