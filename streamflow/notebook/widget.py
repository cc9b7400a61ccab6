"""The live figure: a widget with sliders for speed and cutting. Needs ``streamflow-rx[notebook]``."""

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from streamflow.notebook.cells import of_this_cell
from streamflow.notebook.figure import Figure
from streamflow.notebook.reruns import Reruns
from streamflow.probing import Probe

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 0.0)
SIZES = (0, 1, 2, 3, 5, 8, 16, 32, 64, 128, 256, 1024)
_FOLDER = Path(__file__).parent


class LiveFigure(anywidget.AnyWidget):
    """A figure of a probe that is drawn anew while the stream runs.

    ``speed`` 0 is at once; ``piece_size`` 0 leaves the pieces as they came. Moving a slider runs what came once more,
    and ``same`` says whether the output is that of the first run. Running the cell again ends the old stream.
    """

    _esm = _FOLDER / "live.js"
    _css = _FOLDER / "live.css"

    svg = traitlets.Unicode().tag(sync=True)
    state = traitlets.Unicode("waiting").tag(sync=True)
    output = traitlets.Unicode().tag(sync=True)
    fingerprint = traitlets.Unicode().tag(sync=True)
    same = traitlets.Bool(True).tag(sync=True)
    pieces = traitlets.Int(0).tag(sync=True)
    speeds = traitlets.List(list(SPEEDS)).tag(sync=True)
    sizes = traitlets.List(list(SIZES)).tag(sync=True)
    speed = traitlets.Float(1.0).tag(sync=True)
    piece_size = traitlets.Int(0).tag(sync=True)
    replays = traitlets.Int(0).tag(sync=True)

    def __init__(self, make_figure: Any, watched: Probe, speed: float) -> None:
        super().__init__(speed=speed)
        self._make_figure = make_figure
        self._first_fingerprint = ""
        self.reruns = Reruns(watched, self._draw)
        of_this_cell(self.reruns.stop)
        self.observe(self._again, names=["speed", "piece_size", "replays"])
        self.reruns.start(self.speed, self.piece_size)
        self._draw()

    @property
    def figure(self) -> Figure:
        """The figure as it stands."""
        figure: Figure = self._make_figure(self.reruns.probe)
        return figure

    def _again(self, _: Any) -> None:
        self.reruns.start(self.speed, self.piece_size)

    def _draw(self) -> None:
        reruns = self.reruns
        if reruns.state == "done" or reruns.error is not None:
            self._first_fingerprint = self._first_fingerprint or reruns.fingerprint
            self.fingerprint = reruns.fingerprint
            self.same = self.fingerprint == self._first_fingerprint
        with self.hold_sync():
            self.svg = self.figure.html()
            self.output = reruns.text[-4000:]
            self.pieces = reruns.probe.stages[0].items_in
            self.state = reruns.state

    async def finished(self) -> str:
        """Wait for the end of the run; interrupting the cell stops the stream."""
        return await self.reruns.finished()

    def close(self) -> None:
        """Take the widget away and leave the stream."""
        self.reruns.stop()
        super().close()

    def __repr__(self) -> str:
        return f"LiveFigure({self.state})"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        if bundle is None:
            return None
        # What a page shows that has no kernel and no widget manager.
        bundle[0]["text/html"] = self.figure.html()
        return bundle
