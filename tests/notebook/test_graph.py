"""The graph: of a probe with its figures, of a flow with its branches; as SVG, mermaid and text."""

import pytest

import streamflow as sf
from streamflow.events import Chunk
from streamflow.notebook import Graph
from streamflow.notebook.measures import stage_figures
from streamflow.operators import sentence_segment, visible_filter, xml_block_split
from tests.notebook.streams import probe, recording


def flow():
    made = sf.Flow(sf.decode("anthropic", recording().data), xml_block_split())
    made.branch("ui", sf.probe(visible_filter()))
    made.branch("tts", *sf.probe(visible_filter(), sentence_segment("en")).operators)
    made.branch("transcript", policy=sf.unbounded())
    for name in ("ui", "tts", "transcript"):
        made[name].subscribe(lambda item: None)
    return made


def test_a_probe_with_its_figures():
    graph = Graph(probe())
    assert str(graph).startswith("source -> wire_decode (")
    text = graph.svg()
    assert "held" in text
    assert "/s" in text
    assert "waits" in text


def test_the_waits_of_a_stage():
    clock = iter([t / 10 for t in range(100)])
    watched = sf.probe(xml_block_split(), clock=lambda: next(clock))
    sf.run([Chunk(0, "text", character, start=place) for place, character in enumerate("a<thin b")], *watched.operators)
    figures = stage_figures(watched.stages[0])
    assert figures.most_held == 5
    assert figures.longest_wait_s > 0.2
    assert figures.median_wait_s == 0
    assert figures.rate > 0


def test_a_flow_shows_branches_policies_and_the_stages_of_its_probes():
    text = str(Graph(flow()))
    assert "+-> visible_filter (" in text
    assert "ui (conflate)" in text
    assert "sentence_segment (" in text
    assert "transcript (unbounded)" in text
    assert "journal (" in text


def test_mermaid_draws_every_edge_once():
    made = flow()
    lines = Graph(made).mermaid().splitlines()
    assert lines[0] == "flowchart LR"
    assert len(lines[1:]) == len(set(lines)) - 1
    assert sum("-->" in line for line in lines) == len(lines) - 1
    assert Graph(made.graph()).mermaid().count("-->") == 2 + 2 + 2 + 1


def test_wrong_use_says_what_to_do():
    with pytest.raises(sf.UsageError, match="Graph takes"):
        Graph("x")
