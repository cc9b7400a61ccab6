"""Places in a stream that a client can come back to: ``<epoch>-<seq>``, and ``<epoch>-<seq>.<k>`` in a branch."""

import re
import sys

import msgspec

# Digits of ASCII only, and no more of them than a stream of 64-bit numbers has.
_FORM = re.compile(r"([0-9]{1,19})-([0-9]{1,19})(?:\.([0-9]{1,9}))?", re.ASCII)
WHOLE = sys.maxsize  # stands for "all outputs of this event"


class Position(msgspec.Struct, frozen=True, order=True):
    """Behind output ``k`` of event ``seq``; the beginning is behind event -1.

    >>> Position(3, 0) < Position(3, 1) < Position(3) < Position(4, 0)
    True
    """

    seq: int = -1
    k: int = WHOLE


BEGINNING = Position()


def write_id(epoch: int, seq: int, k: int = WHOLE) -> str:
    """The id of an event, or of the k-th output that it had in a branch.

    >>> write_id(7, 12), write_id(7, 12, 0)
    ('7-12', '7-12.0')
    """
    return f"{epoch}-{seq}" if k == WHOLE else f"{epoch}-{seq}.{k}"


def read_id(text: str) -> tuple[int, Position] | None:
    """Epoch and place of an id; None where it is no id of ours.

    >>> read_id("7-12.3")
    (7, Position(seq=12, k=3))
    >>> read_id("7-12\\n") is None and read_id("٧-1") is None
    True
    """
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    epoch, seq, k = match.groups()
    return int(epoch), Position(int(seq), WHOLE if k is None else int(k))
