"""Where to cut a text that has no end: at a clause mark, else at a space, else between two visible signs."""

import re

from streamflow.text.scripts import sign_boundary

#: Marks that set a clause apart; those of `WIDE_CLAUSE_MARKS` need no space behind them.
CLAUSE_MARKS = ",;:،؛、，；：၊፣፤"
WIDE_CLAUSE_MARKS = "、，；："

_CLAUSES = re.compile(r"[,;:،؛—–၊፣፤](?=\s)|[、，；：]")
_SPACE = re.compile(r"\s")


def forced_cut(text: str, start: int, limit: int, lines: bool) -> int:
    """Return the best place to cut ``text[start:limit]``; ``lines`` for code, which is cut between its lines.

    >>> forced_cut("one, two three four", 0, 12, False)
    5
    """
    window = text[start:limit]
    cut = window.rstrip().rfind("\n") + 1 if lines else 0
    if not cut:
        least = len(window) // 4
        cut = max((match.end() for match in _CLAUSES.finditer(window) if match.end() > least), default=0)
    if not cut:
        begin = len(window) - len(window.lstrip())
        cut = max((match.end() for match in _SPACE.finditer(window, begin)), default=0)
    place = start + cut if cut else sign_boundary(text, limit, start)
    while place < limit and text[place].isspace():
        place += 1
    return place
