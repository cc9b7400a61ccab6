"""The service behind all routes: begins flows, finds them for their owner, opens views, drains."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from streamflow.errors import StreamflowError
from streamflow.flow import Flow
from streamflow.operators import tool_accumulate
from streamflow.requests.messages import as_messages
from streamflow.server.access import Access
from streamflow.server.limits import Limits
from streamflow.server.metrics import Metrics
from streamflow.server.positions import BEGINNING, Position, read_id
from streamflow.server.refusals import Refused, refused
from streamflow.server.store import FlowState, FlowStore
from streamflow.server.upstream import Ask, Source
from streamflow.server.views import BranchView, JournalView, View
from streamflow.server.voice import VOICE, Voices

DRAIN_TICK_S = 0.05
LEAVE_S = 2.0  # for readers to be sent away; an idle one looks up once a second
Operators = Sequence[Any]


class Service:
    """What the routes share."""

    def __init__(
        self,
        source: Source,
        store: FlowStore,
        access: Access,
        limits: Limits,
        operators: Operators,
        branches: Mapping[str, Operators],
        voices: Voices | None,
    ) -> None:
        self._source = source
        self.store = store
        self.access = access
        self.limits = limits
        self._operators = operators or (tool_accumulate(),)
        self._branches = dict(branches)
        self._voices = voices
        self.metrics = Metrics()
        self.draining = False
        self.closing = False
        self._readers: Counter[str] = Counter()

    # -- flows

    async def begin(self, ask: Ask, *, linger_s: float | None = None, alias: str | None = None) -> FlowState:
        """Begin a flow for somebody. While the server drains it begins none."""
        if self.draining:
            raise Refused(503, "draining", "this server is going away; ask again", {"retry-after": "1"})
        limits = self.limits
        try:
            checked = Ask(
                messages=as_messages(ask.messages),
                tools=ask.tools,
                model=ask.model,
                provider=ask.provider,
                options=ask.options,
                owner=ask.owner,
            )
            flow = Flow(
                self._source(checked),
                *self._operators,
                max_events=limits.journal_events,
                max_bytes=limits.journal_bytes,
                linger_s=limits.linger_s if linger_s is None else linger_s,
            )
        except StreamflowError as error:
            raise refused(error) from error
        state = await self.store.create(ask.owner, flow, alias=alias)
        self.metrics.add("flows_created_total")
        return state

    async def find(self, flow_id: str, owner: str) -> FlowState:
        """A flow of this owner. Somebody else's flow is as unknown as one that never was."""
        state = await self.store.get(flow_id)
        if state is None or state.owner != owner:
            raise Refused(404, "unknown_flow", "there is no such flow")
        return state

    async def stop(self, state: FlowState) -> None:
        """End a flow and its voice, once or more often."""
        await self.store.stop(state.id)
        if self._voices is not None:
            self._voices.silence(state)
        self.metrics.add("stops_total")

    async def interrupt(self, state: FlowState, played_s: float) -> str | None:
        """Somebody speaks: silence, and an end to the answer. The text that was heard, where there is a voice."""
        heard = None
        if self._voices is not None:
            heard = await self._voices.heard(state, played_s)
        await self.stop(state)
        return heard

    # -- views

    def position(self, state: FlowState, text: str | None, branch: str | None) -> Position:
        """The place that a client names; anything that is not a place of this flow is refused, never guessed."""
        if not text:
            return BEGINNING
        read = read_id(text)
        if read is None:
            raise _conflict("this is no id of an event")
        epoch, position = read
        if epoch != (state.epoch + 1 if branch == VOICE else state.epoch):
            raise _conflict("this id is of another flow")
        if branch != VOICE and position.seq > state.last_seq:
            raise _conflict("this id lies in the future")
        return position

    async def open(self, state: FlowState, branch: str | None, after: Position) -> View:
        """A view of a flow from a place on."""
        if branch is None:
            return JournalView(state.epoch, await self.store.subscribe(state.id, after.seq))
        if branch == VOICE:
            if self._voices is None:
                raise Refused(404, "no_voice", "this server has no voice")
            voice = await self._voices.of(state)
            if after.seq >= voice.journal.next_seq:
                raise _conflict("this id lies in the future")
            return self._voices.view(state, voice, after.seq)
        operators = self._branches.get(branch)
        if operators is None:
            known = ", ".join([*self._branches, *([VOICE] if self._voices else [])])
            raise Refused(404, "unknown_branch", f"unknown branch; known: {known}")
        return BranchView(state.epoch, await self.store.subscribe(state.id, -1), operators, after)

    @contextmanager
    def reading(self, state: FlowState, kind: str, resumed: bool = False) -> Iterator[None]:
        """Count a reader; one too many is refused."""
        if self._readers[state.id] >= self.limits.subscribers_per_flow:
            raise Refused(429, "too_many_subscribers", "this flow has too many readers already", {"retry-after": "5"})
        self._readers[state.id] += 1
        self.metrics.add("subscriptions_total", kind=kind)
        if resumed:
            self.metrics.add("resumes_total")
        try:
            yield
        finally:
            self._readers[state.id] -= 1
            if not self._readers[state.id]:
                del self._readers[state.id]

    @property
    def has_voice(self) -> bool:
        """True when flows can be heard."""
        return self._voices is not None

    @property
    def readers(self) -> int:
        """How many connections read now."""
        return self._readers.total()

    # -- the end

    async def drain(self, deadline_s: float | None = None) -> bool:
        """Begin nothing more, let what runs finish and be read; True when everything did before the deadline."""
        self.draining = True
        if self.closing:
            return not await self.store.live()
        loop = asyncio.get_running_loop()
        until = loop.time() + (self.limits.drain_s if deadline_s is None else deadline_s)
        while busy := (await self.store.live() or self.readers):
            if loop.time() >= until:
                break
            await asyncio.sleep(min(DRAIN_TICK_S, max(0.0, until - loop.time())))
        self.closing = True  # from here on readers are sent away, with the id that they have
        until = loop.time() + LEAVE_S
        while self.readers and loop.time() < until:
            await asyncio.sleep(DRAIN_TICK_S)
        return not busy

    async def close(self) -> None:
        """Stop what is left."""
        self.draining = self.closing = True
        if self._voices is not None:
            self._voices.close()
        await self.store.close()


def _conflict(message: str) -> Refused:
    return Refused(409, "bad_event_id", message + "; read from the beginning, without Last-Event-ID")
