"""The producer's side of a journal: what a flow says is written down for readers everywhere."""

import asyncio
import logging
import random
from typing import Any, Literal

from streamflow.errors import StreamflowError, UsageError
from streamflow.events import TERMINAL, ErrorInfo, Stamped
from streamflow.flow.closing import closing_events
from streamflow.flow.flow import Flow
from streamflow.flow.ports import BrokerUnavailable, Claim, Fenced, Journal
from streamflow.loops import run_on_loop

logger = logging.getLogger("streamflow")

BATCH_S = 0.015
BATCH_EVENTS = 64
_LEAST_LET_GO = 64
_OUTAGES = ("stop", "continue")

PublicationState = Literal["live", "waiting", "ended", "fenced", "failed"]


class Publication:
    """A flow on its way into a journal; made by `publish`.

    ``acked`` is the newest event that the journal has. ``state`` is ``live``, ``waiting`` (the broker is away, events
    wait here), and at the end ``ended``, ``fenced`` (somebody else took the stream) or ``failed``.
    """

    def __init__(
        self, flow: Flow, claim: Claim, *, batch_s: float, on_outage: str, buffer_events: int, give_up_s: float
    ) -> None:
        self.flow = flow
        self.stream_id = claim.stream_id
        self.epoch = claim.epoch
        self.acked = claim.next_seq - 1
        self.state: PublicationState = "live"
        self.error: StreamflowError | None = None
        self._claim = claim
        self._batch_s = batch_s
        self._on_outage = on_outage
        self._buffer_events = buffer_events
        self._give_up_s = give_up_s
        self._first_kept = 0  # the oldest event that the journal still has
        self._away_since = 0.0
        self._failures = 0
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._gate = asyncio.Event()
        claim.on_stop(flow.stop)
        self._subscription = flow.attach(self._wake, self._ended, self._ended, flow.journal.next_seq - 1)
        self._task = self._loop.create_task(self._run(), name="streamflow publication")

    @property
    def over(self) -> bool:
        """True when everything is written, or never will be."""
        return self._task.done()

    async def done(self) -> PublicationState:
        """Wait until everything is written, or never will be; how it ended."""
        await asyncio.shield(self._task)
        return self.state

    async def aclose(self) -> None:
        """Stop the flow, and write its end while the broker takes it."""
        self.flow.stop()
        self._give_up_s = 0.0
        await asyncio.gather(self._task, return_exceptions=True)

    def __repr__(self) -> str:
        return f"Publication({self.stream_id!r}, {self.state}, {self.acked + 1} events written)"

    # -- the loop

    async def _run(self) -> None:
        try:
            while not await self._step():
                pass
            self.state = "ended"
        except Fenced as fenced:
            self.state, self.error = "fenced", fenced
            logger.warning("stream %s is no longer ours: %s", self.stream_id, fenced.message)
        except BrokerUnavailable as away:
            self.state, self.error = "failed", away
            logger.warning("stream %s could not be written: %s", self.stream_id, away.message)
        except (TypeError, ValueError) as fault:
            self.state = "failed"
            self.error = UsageError(f"an event of stream {self.stream_id!r} has no JSON form: {fault}")
            logger.warning("%s", self.error.message)
        finally:
            self._subscription.dispose()
            if self.state != "ended":
                self.flow.stop()
                await self._let_lapse()

    async def _step(self) -> bool:
        """Write the next batch; true when the end is written."""
        journal = self.flow.journal
        page = journal.page(self.acked, BATCH_EVENTS)
        if page and page[0].seq != self.acked + 1:
            # The flow let go of events that were never written: readers are told so.
            return await self._let_go(page[0].seq)
        if not page:
            if not self.flow.ended:
                self._news.clear()
                await self._news.wait()
                return False
            page = self._missing_end()
        sent_at = self._loop.time()
        if not await self._written(self._claim.append(page)):
            return False
        if page[-1].seq <= self.acked and isinstance(page[-1].event, TERMINAL):
            return True
        first = journal.first_seq
        if first - self._first_kept >= max(_LEAST_LET_GO, (journal.next_seq - first) // 8) and first <= self.acked:
            await self._let_go(first - 1)
        if len(page) < BATCH_EVENTS and not self.flow.ended:
            await self._pause(self._batch_s - (self._loop.time() - sent_at))
        return False

    async def _written(self, writing: Any) -> bool:
        try:
            last = await writing
        except BrokerUnavailable as away:
            await self._outlast(away)
            return False
        self.state, self._failures = "live", 0
        if last is not None:
            # Where a broker came back with less than it had acknowledged, this goes back too.
            self.acked = last
        return True

    async def _let_go(self, through: int) -> bool:
        if await self._written(self._claim.let_go(through, self.flow.journal.snapshot())):
            self._first_kept = through + 1
            self.acked = max(self.acked, through)
        return False

    async def _outlast(self, away: BrokerUnavailable) -> None:
        """Wait a little, with what may wait here; more than that ends the flow, or stays with its own readers."""
        if self.state != "waiting":
            self.state, self._away_since = "waiting", self._loop.time()
            logger.warning("stream %s waits for its broker: %s", self.stream_id, away.message)
        self._failures += 1
        waiting = self.flow.journal.next_seq - 1 - self.acked
        if self._on_outage == "stop" and waiting > self._buffer_events:
            self.flow.stop()
        waited = self._loop.time() - self._away_since
        if not away.retryable or (self.flow.ended and waited >= self._give_up_s):
            raise away
        await asyncio.sleep(min(0.4, 0.02 * 2 ** min(self._failures, 5)) * (0.5 + random.random() / 2))

    async def _pause(self, wait_s: float) -> None:
        """Let deltas gather; the end does not wait for them."""
        if wait_s > 0:
            self._gate.clear()
            timer = self._loop.call_later(wait_s, self._gate.set)
            try:
                await self._gate.wait()
            finally:
                timer.cancel()

    def _missing_end(self) -> list[Stamped]:
        """An end for a source that had none, so that a cut stream never looks finished."""
        journal, fault = self.flow.journal, self.flow.error
        text = "the source ended without saying so" if fault is None else f"the source failed: {type(fault).__name__}"
        past = list(journal.after(-1))
        events = closing_events(past, ErrorInfo("StreamTruncated", text, retryable=True))
        t = past[-1].t if past else 0.0
        return [Stamped(journal.next_seq + number, t, event) for number, event in enumerate(events)]

    async def _let_lapse(self) -> None:
        try:
            await self._claim.release()
        except StreamflowError:
            # It runs out by itself.
            logger.debug("the lease of stream %s could not be given back", self.stream_id)

    # -- from the flow, in any thread

    def _wake(self, _: object = None) -> None:
        self._tell(self._news)

    def _ended(self, _: object = None) -> None:
        self._tell(self._news)
        self._tell(self._gate)

    def _tell(self, event: asyncio.Event) -> None:
        run_on_loop(self._loop, event.set)


async def publish(
    flow: Flow,
    journal: Journal,
    stream_id: str,
    *,
    owner: str = "",
    batch_s: float = BATCH_S,
    on_outage: Literal["stop", "continue"] = "stop",
    buffer_events: int = 10_000,
    give_up_s: float = 30.0,
) -> Publication:
    """Run a flow and write its events under an id, where every node can read them, go on reading, and stop it.

    The first event is written at once, later ones gather for ``batch_s``. While the broker is away at most
    ``buffer_events`` wait here; then ``on_outage="stop"`` ends the flow, and ``"continue"`` lets it go on for its own
    readers (whoever reads the journal gets the rest, or a reset, when the broker is back). A flow that has ended is
    given up ``give_up_s`` after the broker left. Raises `Taken` where the stream has a producer, and
    `BrokerUnavailable` where there is no broker to begin with.

    >>> from streamflow.events import StreamStart, StreamCompleted
    >>> from streamflow.flow.embedded import EmbeddedJournal
    >>> async def main():
    ...     publication = await publish(Flow([StreamStart(), StreamCompleted()]), EmbeddedJournal(), "answer-1")
    ...     return await publication.done(), publication.acked
    >>> asyncio.run(main())
    ('ended', 1)
    """
    if on_outage not in _OUTAGES:
        raise UsageError(f"on_outage={on_outage!r}: choose one of {', '.join(_OUTAGES)}")
    for name, value in (("batch_s", batch_s), ("buffer_events", buffer_events), ("give_up_s", give_up_s)):
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise UsageError(f"{name} must be a number from 0 on, not {value!r}")
    claim = await journal.claim(stream_id, owner=owner)
    try:
        return Publication(
            flow,
            claim,
            batch_s=batch_s,
            on_outage=on_outage,
            buffer_events=int(buffer_events),
            give_up_s=give_up_s,
        )
    except BaseException:
        await claim.release()
        raise
