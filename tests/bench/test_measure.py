"""The figures of the bench: ratios by rounds, and what meets a bar."""

from bench.measure import Timing, at_least, at_most, interleaved


def test_a_ratio_is_taken_round_by_round():
    times = Timing((2.0, 30.0, 4.0)).over(Timing((1.0, 10.0, 2.0)))
    assert times.median == 2.0
    assert times.spread == "2.00-3.00"


def test_a_bar_is_met_from_its_own_side():
    assert at_most("m", "c", 1.1, 1.1).met
    assert not at_most("m", "c", 1.11, 1.1).met
    assert at_least("m", "c", 20, 20).met
    assert not at_least("m", "c", 19.9, 20).met


def test_every_contender_runs_in_every_round(monkeypatch):
    monkeypatch.setattr("bench.measure.LEAST_S", 1e-9)
    order = []

    def contender(name):
        def run():
            order.append(name)
            return sum(range(2000))

        return run

    timings = interleaved({"a": contender("a"), "b": contender("b")}, events=1, rounds=2)
    assert len(timings["a"].rounds) == len(timings["b"].rounds) == 2
    assert [name for place, name in enumerate(order) if not place or order[place - 1] != name] == ["a", "b"] * 3
