"""The laws can be broken: operators with a fault each are found out by the law that they break."""

import random

import pytest

from streamflow.events import BlockComplete, Chunk, ToolCallsReady
from streamflow.fold import call_of
from streamflow.stage import lift
from tests.laws.examples import Subject, source
from tests.laws.laws import LAWS, cut_invariance, ends, fresh_state, grammar, pass_through
from tests.laws.runner import broken
from tests.laws.table import Row


class Same:
    """Does nothing wrong."""

    def feed(self, item):
        return [item]

    def flush(self):
        return []

    def abort(self, error):
        return []


class TagByEquality(Same):
    def feed(self, item):
        text = getattr(item, "text", item)
        return [] if isinstance(text, str) and "<thinking>" in text else [item]


class HoldsFacts(Same):
    def __init__(self):
        self.held = []

    def feed(self, item):
        if isinstance(item, Chunk | str):
            ready, self.held = [*self.held, item], []
            return ready
        self.held.append(item)
        return []

    def flush(self):
        return self.held


class DropsAliens(Same):
    def feed(self, item):
        return [item] if isinstance(item, str) or type(item).__module__ == "streamflow.events" else []


class LosesCompletes(Same):
    def feed(self, item):
        return [] if isinstance(item, BlockComplete) and item.index == 1 else [item]


class RunsAtOnce(Same):
    def feed(self, item):
        if isinstance(item, BlockComplete) and item.kind == "tool_call" and item.error is None:
            return [item, ToolCallsReady([call_of(item)])]
        return [item]


class Forgets(Same):
    """Forgets the tail when the stream fails."""

    def __init__(self):
        self.held = ""

    def feed(self, item):
        if not isinstance(item, str):
            return [item]
        text = self.held + item
        self.held = text[-1:]
        return [text[:-1]] if text[:-1] else []

    def flush(self):
        return [self.held] if self.held else []


SHARED = Same()
SHARED.count = 0


class Shares(Same):
    def feed(self, item):
        SHARED.count += 1
        return [item, f"{SHARED.count}"] if SHARED.count % 7 == 0 else [item]


FAULTS = [
    (TagByEquality, cut_invariance),
    (HoldsFacts, pass_through),
    (DropsAliens, pass_through),
    (LosesCompletes, grammar),
    (RunsAtOnce, ends),
    (Forgets, ends),
    (Shares, fresh_state),
]


def reasons(stage, law):
    row = Row((lambda: lift(stage, "faulty"),))
    subject = Subject(("faulty",), row.makes, (row,))
    (name,) = [name for name, function in LAWS.items() if function is law]
    for number in range(300):
        rng = random.Random(number)
        drawn = source(subject, rng)
        if reason := broken(name, subject, drawn, str(number)):
            yield reason


@pytest.mark.parametrize(("stage", "law"), FAULTS)
def test_a_faulty_operator_is_found(stage, law):
    assert next(reasons(stage, law), None)


@pytest.mark.parametrize("law", LAWS.values())
def test_a_sound_operator_is_not_accused(law):
    assert list(reasons(Same, law)) == []
