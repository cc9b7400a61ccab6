"""The journal of one process: no broker, the same contract."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice

from streamflow.events import TERMINAL, Notice, Response, Stamped
from streamflow.flow.closing import PRODUCER_LOST, closing_events
from streamflow.flow.ports import (
    Fenced,
    StreamState,
    Taken,
    Timing,
    UnknownStream,
    checked_position,
    checked_stream_id,
)

_PAGE = 512


class _Stream:
    """The records of one stream and who writes them."""

    def __init__(self, stream_id: str, owner: str, epoch: int) -> None:
        self.id = stream_id
        self.owner = owner
        self.first_epoch = self.epoch = epoch
        self.records: list[Stamped] = []
        self.first = 0  # the number of records[0]
        self.snapshot: Response | None = None
        self.claimed = True
        self.ended = False
        self.stop_asked = False
        self.on_stop: list[Callable[[], None]] = []
        self.readers: set[asyncio.Event] = set()

    @property
    def last(self) -> int:
        return self.first + len(self.records) - 1

    def state(self) -> StreamState:
        return StreamState(self.id, self.owner, self.first_epoch, self.last, self.ended)

    def add(self, records: Sequence[Stamped]) -> None:
        self.records.extend(records)
        self.ended = bool(self.records) and isinstance(self.records[-1].event, TERMINAL)
        self.wake()

    def wake(self) -> None:
        for reader in self.readers:
            reader.set()

    def page(self, after: int, limit: int) -> list[Stamped]:
        if after + 1 < self.first:
            return [reset_record(after, self.first, self.records[0].t if self.records else 0.0, self.snapshot)]
        return list(islice(self.records, after + 1 - self.first, after + 1 - self.first + limit))


def reset_record(after: int, first: int, t: float, snapshot: Response | None) -> Stamped:
    """What stands for records that are gone.

    >>> reset_record(3, 10, 0.5, None).event.message
    '6 older records are gone; raw holds the answer up to record 9'
    """
    message = f"{first - after - 1} older records are gone; raw holds the answer up to record {first - 1}"
    return Stamped(first - 1, t, Notice("reset", message, snapshot))


class EmbeddedJournal:
    """Streams in memory, for one process.

    >>> from streamflow.events import StreamStart, StreamCompleted
    >>> async def main():
    ...     journal = EmbeddedJournal()
    ...     claim = await journal.claim("answer-1")
    ...     await claim.append([Stamped(0, 0.0, StreamStart()), Stamped(1, 0.1, StreamCompleted())])
    ...     tail = await journal.tail("answer-1", after=0)
    ...     return [record.seq for record in await tail.read(1.0)], tail.ended
    >>> asyncio.run(main())
    ([1], True)
    """

    def __init__(self, timing: Timing | None = None) -> None:
        self.timing = timing or Timing()
        self._streams: dict[str, _Stream] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._epochs = 0

    async def claim(self, stream_id: str, *, owner: str = "", takeover: bool = False) -> "EmbeddedClaim":
        """Become the producer of a stream."""
        stream = self._streams.get(checked_stream_id(stream_id))
        self._epochs += 2
        if stream is None:
            stream = self._streams[stream_id] = _Stream(stream_id, owner, self._epochs)
        elif stream.ended or stream.claimed or not takeover:
            raise Taken(f"the stream {stream_id!r} has a producer, or had one", state=stream.state())
        else:
            stream.epoch, stream.claimed, stream.on_stop = self._epochs, True, []
        return EmbeddedClaim(self, stream)

    async def state(self, stream_id: str) -> StreamState | None:
        """How far a stream is."""
        stream = self._streams.get(checked_stream_id(stream_id))
        return None if stream is None else stream.state()

    async def tail(self, stream_id: str, after: int = -1) -> "EmbeddedTail":
        """Read a stream behind a record."""
        stream = self._find(stream_id)
        return EmbeddedTail(stream, checked_position(stream.state(), after))

    async def stop(self, stream_id: str) -> None:
        """Ask the producer for the end."""
        stream = self._find(stream_id)
        stream.stop_asked = True
        for callback in stream.on_stop:
            callback()

    async def aclose(self) -> None:
        """Let everything go."""
        for timer in self._timers:
            timer.cancel()
        for stream in self._streams.values():
            stream.claimed = False
            self._end_lost(stream)

    def _find(self, stream_id: str) -> _Stream:
        stream = self._streams.get(checked_stream_id(stream_id))
        if stream is None:
            raise UnknownStream(f"there is no stream {stream_id!r}")
        return stream

    def later(self, wait_s: float, action: Callable[[_Stream], None], stream: _Stream) -> None:
        """Act on a stream after a while."""
        loop = asyncio.get_running_loop()

        def act() -> None:
            self._timers.discard(timer)
            action(stream)

        timer = loop.call_later(wait_s, act)
        self._timers.add(timer)

    def released(self, stream: _Stream) -> None:
        """The producer of a stream left, or the stream ended."""
        if stream.ended:
            self.later(self.timing.keep_s, self._forget, stream)
        elif not stream.claimed:
            self.later(self.timing.grace_s, self._end_lost, stream)

    def _forget(self, stream: _Stream) -> None:
        self._streams.pop(stream.id, None)

    def _end_lost(self, stream: _Stream) -> None:
        if stream.ended or stream.claimed:
            return
        self._epochs += 2
        stream.epoch = self._epochs
        t = stream.records[-1].t if stream.records else 0.0
        past = [*stream.page(-1, 1), *stream.records] if stream.first else stream.records
        events = closing_events(past, PRODUCER_LOST)
        stream.add([Stamped(stream.last + 1 + number, t, event) for number, event in enumerate(events)])
        self.released(stream)


class EmbeddedClaim:
    """The right to write a stream in memory; made by `EmbeddedJournal.claim`."""

    def __init__(self, journal: EmbeddedJournal, stream: _Stream) -> None:
        self._journal = journal
        self._stream = stream
        self.stream_id = stream.id
        self.epoch = stream.epoch
        self.next_seq = stream.last + 1

    async def append(self, records: Sequence[Stamped]) -> int:
        """Write records."""
        stream = self._stream
        self._check()
        new = [record for record in records if record.seq > stream.last]
        if stream.ended:
            if new:
                raise Fenced(f"the stream {stream.id!r} has ended")
        elif new and new[0].seq == stream.last + 1:
            stream.add(new)
            if stream.ended:
                self._journal.released(stream)
        return stream.last

    async def let_go(self, through: int, snapshot: Response) -> None:
        """Drop the oldest records."""
        self._check()
        stream = self._stream
        if through >= stream.first:
            del stream.records[: through + 1 - stream.first]
            stream.first, stream.snapshot = through + 1, snapshot
            stream.wake()

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call back when the end is asked for."""
        self._stream.on_stop.append(callback)
        if self._stream.stop_asked:
            callback()

    async def release(self) -> None:
        """Give the right back."""
        if self._stream.epoch == self.epoch and not self._stream.ended and self._stream.claimed:
            self._stream.claimed = False
            self._journal.released(self._stream)

    def _check(self) -> None:
        if self._stream.epoch != self.epoch or not self._stream.claimed:
            raise Fenced(f"epoch {self.epoch} of the stream {self.stream_id!r} is over")


class EmbeddedTail:
    """A place in a stream in memory; made by `EmbeddedJournal.tail`."""

    def __init__(self, stream: _Stream, after: int) -> None:
        self._stream = stream
        self._seq = after
        self._ended = False
        self._news = asyncio.Event()
        stream.readers.add(self._news)

    @property
    def ended(self) -> bool:
        """True when the terminal record has been read."""
        return self._ended

    async def read(self, wait_s: float) -> list[Stamped]:
        """The next records."""
        stream = self._stream
        if self._ended:
            return []
        if stream.last <= self._seq and not stream.ended:
            self._news.clear()
            timer = asyncio.get_running_loop().call_later(wait_s, self._news.set)
            try:
                await self._news.wait()
            finally:
                timer.cancel()
        page = stream.page(self._seq, _PAGE)
        if page:
            self._seq = page[-1].seq
        if stream.ended and self._seq >= stream.last:
            self._ended = True
            self.close()
        return page

    def close(self) -> None:
        """Leave."""
        self._stream.readers.discard(self._news)
