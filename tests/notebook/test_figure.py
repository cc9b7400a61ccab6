"""What all figures have in common: well-formed, escaped, saved, no network, no script."""

import re
from xml.etree import ElementTree

import pytest

import streamflow as sf
from streamflow.events import BlockComplete, BlockStart, Chunk, StreamStart
from streamflow.notebook import Graph, Marbles, Timeline, Transcript
from streamflow.notebook.figure import Canvas, escaped
from streamflow.operators import visible_filter
from tests.notebook.streams import NASTY, probe, recording


def nasty_probe():
    watched = sf.probe(visible_filter())
    events = [StreamStart(), BlockStart(0, NASTY), Chunk(0, NASTY, NASTY, start=0), BlockComplete(0, NASTY, NASTY)]
    sf.run(events, *watched.operators)
    return watched


def figures():
    flow = sf.Flow([], visible_filter())
    flow.branch("ui", visible_filter())
    yield "marbles", Marbles(probe())
    yield "marbles-empty", Marbles(sf.probe(visible_filter()))
    yield "marbles-nasty", Marbles(nasty_probe())
    yield "graph-probe", Graph(probe())
    yield "graph-flow", Graph(flow)
    yield "graph-data", Graph(flow.graph())
    yield "timeline", Timeline(recording(), recording("openai"))
    yield "timeline-nasty", Timeline(**{NASTY: [(0.1, Chunk(0, NASTY, NASTY))]})
    yield "transcript", Transcript(recording())
    yield "transcript-nasty", Transcript(nasty_probe())


FIGURES = dict(figures())


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_well_formed_and_reaches_for_nothing(name):
    shown = FIGURES[name].html()
    ElementTree.fromstring(shown)
    assert "<script" not in shown
    assert not re.search(r"(href|src|url\(|@import|https?://(?!www\.w3\.org/2000/svg))", shown)
    assert "prefers-color-scheme:dark" in shown


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_can_be_saved_and_shown(name, tmp_path):
    figure = FIGURES[name]
    page = figure.save(tmp_path / "figure.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert figure._repr_html_() in page
    if figure.svg() is None:
        with pytest.raises(sf.UsageError, match=r"\.html"):
            figure.save(tmp_path / "figure.svg")
    else:
        ElementTree.parse(figure.save(tmp_path / "figure.svg"))
        assert figure._repr_svg_() == figure.svg()
    with pytest.raises(sf.UsageError, match=r"\.html"):
        figure.save(tmp_path / "figure.png")


def test_the_characters_that_xml_forbids_are_shown_as_a_sign():
    text = "".join(map(chr, range(32))) + "\ud83d\ufffe<&>\"'"
    assert ElementTree.fromstring(f"<a>{escaped(text)}</a>").text.count("\N{REPLACEMENT CHARACTER}") >= 29


def test_hover_texts_are_titles():
    canvas = Canvas(10, 10)
    canvas.rect(0, 0, 5, 5, "#123456", title="what & why")
    root = ElementTree.fromstring(canvas.svg("x"))
    assert [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")] == ["what & why"]
