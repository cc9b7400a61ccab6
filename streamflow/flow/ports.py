"""The port behind which journals live: a stream of records for each id, one producer at a time, many readers.

Two implementations keep to it, `streamflow.flow.embedded.EmbeddedJournal` (one process) and
`streamflow.flow.redis_journal.RedisJournal` (many machines), and one suite of tests holds both to it.
"""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from streamflow.errors import StreamflowError, TransportError, UsageError
from streamflow.events import Response, Stamped

SCHEMA = 1  # of the records; a reader refuses what it does not know

# Ids become parts of keys: no braces, no colons, no spaces, nothing that a broker reads as its own.
_STREAM_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_RECORD_ID = re.compile(r"([0-9]{1,19})-([0-9]{1,19})", re.ASCII)


class BrokerUnavailable(TransportError):
    """The broker does not take or give records now: away, full, read-only. ``kind`` says which.

    >>> BrokerUnavailable("no connection", kind="broker_away").retryable
    True
    """


class Taken(StreamflowError):
    """The stream has, or had, a producer; read it instead. ``state`` says how far it is.

    >>> Taken("stream 'a' has a producer", state=None).kind
    'taken'
    """

    def __init__(self, message: str, *, state: "StreamState | None") -> None:
        super().__init__(message, kind="taken")
        self.state = state


class Fenced(StreamflowError):
    """Somebody else took the stream over, or ended it; nothing more can be written with this claim.

    >>> Fenced("epoch 2 is over").kind
    'fenced'
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="fenced")


class UnknownStream(StreamflowError, KeyError):
    """There is no stream of this id, or no more.

    >>> UnknownStream("no stream 'a'").kind
    'unknown_stream'
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="unknown_stream")

    __str__ = Exception.__str__  # KeyError would quote the message


class StreamState(msgspec.Struct, frozen=True):
    """What a journal knows of a stream. ``epoch`` is that of its first producer, ``last_seq`` its newest record.

    >>> StreamState("a", epoch=2).last_seq
    -1
    """

    id: str
    owner: str = ""
    epoch: int = 0
    last_seq: int = -1
    ended: bool = False


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """How long things last, in seconds. All of it follows from ``lease_s``, so that a lost producer is known in time.

    The lease runs out after three heartbeats that did not come. A reader then waits a little longer than one heartbeat
    (a producer whose lease fell to a jump of the broker's clock renews it meanwhile) before it ends the stream: with
    the default all that takes 4.7 s at most.

    >>> timing = Timing(lease_s=3.0)
    >>> timing.heartbeat_s, timing.lease_s + timing.grace_s + 2 * timing.check_s < 5
    (1.0, True)
    """

    lease_s: float = 3.0
    keep_s: float = 3600.0  # how long a stream can be read after its end

    def __post_init__(self) -> None:
        for name in ("lease_s", "keep_s"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
                raise UsageError(f"{name} must be a positive number of seconds, not {value!r}")
        if self.keep_s < self.lease_s:
            raise UsageError(f"keep_s={self.keep_s!r} must not be shorter than lease_s={self.lease_s!r}")

    @property
    def heartbeat_s(self) -> float:
        """How often a producer renews its lease."""
        return self.lease_s / 3

    @property
    def grace_s(self) -> float:
        """How long a lease must be missing before the producer counts as lost."""
        return self.lease_s * 0.4

    @property
    def check_s(self) -> float:
        """How often readers look at the leases of silent streams."""
        return self.lease_s / 12


class Claim(Protocol):
    """The right to write one stream, until somebody else has it."""

    stream_id: str
    epoch: int
    next_seq: int  # the number of the first record to write; 0 in a new stream

    async def append(self, records: Sequence[Stamped]) -> int:
        """Write records; the newest number that the journal has now.

        A record that is there already is not written twice, so a batch whose answer got lost is simply sent again. A
        batch that would leave a gap is not written at all. A terminal record ends the stream. Raises `Fenced` and
        `BrokerUnavailable`.
        """
        ...

    async def let_go(self, through: int, snapshot: Response) -> None:
        """Drop the records up to ``through``; whoever asks for them gets a reset with the snapshot."""
        ...

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call back when somebody asks for the end of the stream, also when that was before now."""
        ...

    async def release(self) -> None:
        """Give the right back. A stream that has not ended counts as lost, unless somebody takes it over."""
        ...


class Tail(Protocol):
    """One reader's place in a stream."""

    @property
    def ended(self) -> bool:
        """True when the terminal record has been read."""
        ...

    async def read(self, wait_s: float) -> list[Stamped]:
        """The next records, in order, without a gap; an empty list when none came in ``wait_s``.

        Where the past is gone, ``Notice("reset")`` with a snapshot comes in its place.
        """
        ...

    def close(self) -> None:
        """Leave."""
        ...


class Journal(Protocol):
    """Streams of records."""

    async def claim(self, stream_id: str, *, owner: str = "", takeover: bool = False) -> Claim:
        """Become the producer of a stream. Raises `Taken`; with ``takeover`` only where a producer is alive."""
        ...

    async def state(self, stream_id: str) -> StreamState | None:
        """How far a stream is; None where there is none."""
        ...

    async def tail(self, stream_id: str, after: int = -1) -> Tail:
        """Read a stream behind a record, past and future alike. Raises `UnknownStream`."""
        ...

    async def stop(self, stream_id: str) -> None:
        """Ask the producer, wherever it is, to end the stream."""
        ...

    async def aclose(self) -> None:
        """Let everything go; claims that are left count as lost."""
        ...


def checked_stream_id(stream_id: str) -> str:
    """The id, if it can be one.

    >>> checked_stream_id("a{b}")
    Traceback (most recent call last):
    streamflow.errors.UsageError: 'a{b}' is no stream id: 1 to 128 letters, digits, - and _
    """
    if not isinstance(stream_id, str) or _STREAM_ID.fullmatch(stream_id) is None:
        raise UsageError(f"{stream_id!r} is no stream id: 1 to 128 letters, digits, - and _")
    return stream_id


def checked_position(state: StreamState, after: int) -> int:
    """The place, if the stream has it.

    >>> checked_position(StreamState("a", last_seq=3), 4)
    Traceback (most recent call last):
    streamflow.errors.UsageError: after=4: give the number of the last record that was seen, up to 3, or -1
    """
    if not isinstance(after, int) or isinstance(after, bool) or not -1 <= after <= state.last_seq:
        raise UsageError(
            f"after={after!r}: give the number of the last record that was seen, up to {state.last_seq}, or -1"
        )
    return after


def record_id(text: str) -> tuple[int, int]:
    """Epoch and number of ``<epoch>-<seq>``, to be compared as two numbers: as text ``9-1`` is behind ``10-1``.

    >>> record_id("9-1") < record_id("10-1")
    True
    """
    match = _RECORD_ID.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is no record id: <epoch>-<seq>")
    return int(match[1]), int(match[2])
