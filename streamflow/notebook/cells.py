"""Which cell runs: what it left behind is ended when it is run again."""

import sys
from collections.abc import Callable

_LEFT: dict[str, tuple[str, list[Callable[[], None]]]] = {}


def of_this_cell(end: Callable[[], None]) -> None:
    """Call ``end`` when the cell that runs now is run once more. Outside of a notebook nothing happens.

    >>> of_this_cell(lambda: None)
    """
    cell, run = _this_cell()
    if not cell:
        return
    before, ends = _LEFT.get(cell, ("", []))
    if before != run:
        for stop in ends:
            stop()
        ends = []
    _LEFT[cell] = (run, [*ends, end])


def _this_cell() -> tuple[str, str]:
    """A name of the cell and one of this execution of it."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    get_parent = getattr(shell, "get_parent", None)
    request = get_parent() if get_parent is not None else None
    if not request:
        return "", ""
    # Front ends name the cell; where one does not, its code has to do.
    name = request.get("metadata", {}).get("cellId") or request.get("content", {}).get("code", "")
    return str(name), str(request.get("header", {}).get("msg_id", ""))
