"""Figures for notebooks: marbles, graph, timeline, transcript. Plain SVG and HTML; ``Marbles.live()`` is a widget."""

from streamflow.notebook.graph import Graph
from streamflow.notebook.marbles import Marbles
from streamflow.notebook.rehearsal import rehearse
from streamflow.notebook.timeline import Timeline
from streamflow.notebook.transcript import Transcript

__all__ = ["Graph", "Marbles", "Timeline", "Transcript", "rehearse"]
