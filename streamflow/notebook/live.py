"""From a figure to the widget that shows it live."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from streamflow.errors import UsageError
from streamflow.notebook.figure import Figure
from streamflow.probing import Probe

if TYPE_CHECKING:
    from streamflow.notebook.widget import LiveFigure


def live(make_figure: Callable[[Probe], Figure], watched: Probe, speed: float) -> "LiveFigure":
    """The widget of a figure; without the parts that it needs, which extra to install."""
    if isinstance(speed, bool) or not isinstance(speed, int | float) or speed < 0:
        raise UsageError(f"live(speed={speed!r}): 1 is the stream's own time, n is n times faster, 0 is at once")
    if not watched.stages[0].steps:
        watched.observable  # noqa: B018  a probe that saw nothing and has no source is wrong use, and says so
    try:
        from streamflow.notebook.widget import LiveFigure
    except ModuleNotFoundError as error:
        if error.name not in ("anywidget", "traitlets", "ipywidgets"):
            raise
        raise UsageError("a live figure needs the extra: pip install 'streamflow-rx[notebook]'") from error
    return LiveFigure(make_figure, watched, float(speed))
