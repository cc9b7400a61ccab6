"""What looking costs: a chain with a probe beside the same chain without."""

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import streamflow as sf
from bench.measure import Row, at_most
from bench.wires import openai_events
from streamflow.operators import normalize_provider, sentence_segment, sse_decode, visible_filter, xml_block_split


def _chain() -> tuple[Any, ...]:
    return (
        sse_decode(),
        normalize_provider("openai"),
        xml_block_split(),
        visible_filter(),
        sentence_segment(language="en", ids=lambda: "one"),
    )


def _seconds(run: Callable[[], object]) -> float:
    gc.collect()
    begun = time.process_time()
    run()
    return time.process_time() - begun


def overhead(events: int = 4000, rounds: int = 9) -> float:
    """How many times as long the chain takes with a probe: the median of interleaved rounds."""
    wire = openai_events(events)
    plain = lambda: sf.run(wire, *_chain())
    probed = lambda: sf.run(wire, *sf.probe(*_chain()).operators)
    assert plain() == probed()
    return statistics.median(1 / (_seconds(plain) / _seconds(probed)) for _ in range(rounds))


def rows() -> list[Row]:
    """One figure."""
    return [at_most("bytes to sentences with a probe: times the time without", "streamflow", overhead(), 1.25)]
