"""What a provider is (`Provider`, a row of the table) and what a dialect must be able to do."""

from typing import Any, Protocol

import msgspec

from streamflow.events import Frame
from streamflow.providers.turn import Turn


class Dialect(Protocol):
    """Reads the payloads of one wire format into a `Turn`."""

    def __init__(self, turn: Turn, row: "Provider", choice: int) -> None: ...

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """True when a first payload is of this dialect; asked only where a vendor speaks several."""
        ...

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload."""
        ...

    def done(self) -> None:
        """The sentinel ``[DONE]`` came."""
        ...

    def may_end(self) -> bool:
        """True when the bytes may end here, by this dialect's own rule."""
        ...


class Provider(msgspec.Struct, frozen=True):
    """A row of the table: which dialects a vendor speaks, and its quirks by name.

    ``end`` names the vendor's own end marker for dialects where vendors differ:

    - ``done``: ``data: [DONE]``; a finish reason without it is a cut.
    - ``finish``: a finish reason, then the connection closes.
    - ``either``: whichever comes.
    - ``usage``: a finish reason and then a chunk with the usage.
    """

    name: str
    dialects: tuple[type[Dialect], ...]
    framing: str = "sse"
    end: str = "done"
    title: str = ""
