"""The inspector as a page of the server: the flows of this node, listed live, each to be looked into while it runs."""

import asyncio
import os
import secrets
import time
import weakref
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from streamflow.errors import UsageError
from streamflow.events import Chunk, StreamStart
from streamflow.flow import Flow
from streamflow.inspector.page import entry_of, script_json
from streamflow.inspector.trace import trace_of
from streamflow.recordings import Piece, Recording, load_recording
from streamflow.server.access import OWNER
from streamflow.server.keys import SERVICE
from streamflow.server.refusals import Refused
from streamflow.server.store import FlowState, FlowStore, Subscription
from streamflow.server.upstream import Ask, Source
from streamflow.stage import Operator

NOTED = 200  # flows that the list remembers
_TAIL = 80  # characters of an answer in the list
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}


class FlowRow(msgspec.Struct):
    """A flow in the list. ``age_s`` is how long ago it began, ``seconds`` how long it ran."""

    id: str
    provider: str = ""
    model: str = ""
    age_s: float = 0.0
    seconds: float = 0.0
    events: int = 0
    readers: int = 0
    ended: bool = False
    failed: str = ""
    tail: str = ""
    recorded: bool = False


class _Note:
    __slots__ = ("began", "flow", "owner", "path", "row")

    def __init__(self, owner: str, flow: Flow, row: FlowRow, began: float, path: Path | None) -> None:
        self.owner = owner
        self.flow = weakref.ref(flow)  # the store decides how long a flow is kept
        self.row = row
        self.began = began
        self.path = path


class Watched:
    """A store that notes the flows which begin here, so that they can be listed; everything else it passes on.

    With a directory the bytes of every flow are recorded there, and the inspector shows them too.

    >>> import asyncio
    >>> from streamflow.events import StreamCompleted
    >>> from streamflow.server.store import MemoryFlowStore
    >>> async def main():
    ...     store = Watched(MemoryFlowStore())
    ...     await store.create("local", Flow([StreamStart("1", "m", "openai"), StreamCompleted()]))
    ...     return [(row.model, row.events, row.ended) for row in store.rows("local")], store.rows("another")
    >>> asyncio.run(main())
    ([('m', 2, True)], [])
    """

    def __init__(
        self,
        store: FlowStore,
        record: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._record = None if record is None else Path(record)
        self._clock = clock
        self._notes: dict[str, _Note] = {}
        self._paths: weakref.WeakKeyDictionary[Any, Path] = weakref.WeakKeyDictionary()
        if self._record is not None:
            try:
                self._record.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"cannot record into {self._record}: {error.strerror}") from error

    # -- what is noted

    def source(self, source: Source) -> Source:
        """The source, told to record where that is wanted: a client takes ``record`` among its options."""
        directory = self._record
        if directory is None:
            return source

        def recorded(ask: Ask) -> Any:
            path = directory / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.jsonl"
            stream = source(msgspec.structs.replace(ask, options={**ask.options, "record": path}))
            self._paths[stream] = path
            return stream

        return recorded

    def rows(self, owner: str) -> list[FlowRow]:
        """The flows of an owner, the newest first."""
        now = self._clock()
        out = []
        for note in reversed(self._notes.values()):
            if note.owner == owner:
                self._look(note)
                note.row.age_s = round(now - note.began, 3)
                out.append(note.row)
        return out

    def note(self, flow_id: str, owner: str) -> _Note:
        """A flow of this owner; anybody else's is unknown."""
        note = self._notes.get(flow_id)
        if note is None or note.owner != owner:
            raise Refused(404, "unknown_flow", "there is no such flow here")
        return note

    def _look(self, note: _Note) -> None:
        flow, row = note.flow(), note.row
        if flow is None:
            row.ended = True
            return
        journal = flow.journal
        row.events, row.ended, row.readers = journal.next_seq, flow.ended, flow.subscriber_count
        row.failed = "" if flow.error is None else type(flow.error).__name__
        latest = journal.page(max(journal.first_seq - 1, journal.next_seq - 40), 40)
        if latest:
            row.seconds = round(latest[-1].t, 3)
        if not row.model and journal.first_seq == 0:
            for stamped in journal.page(-1, 3):
                if isinstance(stamped.event, StreamStart):
                    row.provider, row.model = stamped.event.provider or "", stamped.event.model or ""
        said = [stamped.event.text for stamped in latest if isinstance(stamped.event, Chunk) and stamped.event.visible]
        if said:
            row.tail = "".join(said)[-_TAIL:]

    # -- the store

    async def create(self, owner: str, flow: Flow, *, alias: str | None = None) -> FlowState:
        """Take over a flow, and note it."""
        state = await self._store.create(owner, flow, alias=alias)
        path = self._paths.get(flow.source) if self._record is not None else None
        self._notes[state.id] = _Note(owner, flow, FlowRow(state.id, recorded=path is not None), self._clock(), path)
        while len(self._notes) > NOTED:
            del self._notes[next(iter(self._notes))]
        return state

    async def get(self, flow_id: str) -> FlowState | None:
        """The state of a flow."""
        return await self._store.get(flow_id)

    async def find(self, owner: str, alias: str) -> FlowState | None:
        """The newest flow under an alias."""
        return await self._store.find(owner, alias)

    async def subscribe(self, flow_id: str, after: int) -> Subscription:
        """Read a flow behind an event."""
        return await self._store.subscribe(flow_id, after)

    async def stop(self, flow_id: str) -> None:
        """End a flow."""
        await self._store.stop(flow_id)

    async def live(self) -> int:
        """How many flows run here."""
        return await self._store.live()

    async def close(self) -> None:
        """Let everything go."""
        await self._store.close()


# -- the routes


async def flows(request: web.Request) -> web.Response:
    """The flows of whoever asks."""
    return _json({"flows": _watched(request).rows(request[OWNER])})


async def trace(request: web.Request) -> web.Response:
    """Everything the page shows of one flow, as it is now."""
    note = _watched(request).note(request.match_info["id"], request[OWNER])
    flow = note.flow()
    if flow is None and note.path is None:
        raise Refused(410, "gone", "this flow is over and was let go; record flows to keep them")
    live = flow is not None and not flow.ended
    operators = [] if flow is None else [made for made in flow.operators if isinstance(made, Operator)]
    name = note.row.model or note.row.id[:8]
    if note.path is None:
        assert flow is not None
        start = flow.journal.page(-1, 1)
        provider = getattr(start[0].event, "provider", "") or "" if start else ""
        # A copy: the journal goes on while another thread reads.
        pieces = tuple(Piece(stamped.t, stamped.event) for stamped in flow.journal.after(-1))
        work = _Work(name, None, Recording(provider, pieces, "completed", pieces[-1].t if pieces else 0.0), [], live)
    else:
        work = _Work(name, note.path, None, operators, live)
    # A long answer takes a second to go through the chain: the other flows must not wait for that.
    return web.Response(body=await asyncio.to_thread(work.body), content_type="application/json", charset="utf-8")


class _Work(msgspec.Struct):
    name: str
    path: Path | None
    recording: Recording | None
    operators: list[Any]
    live: bool

    def body(self) -> bytes:
        recording = self.recording if self.path is None else load_recording(self.path)
        assert recording is not None
        if self.live:
            recording = msgspec.structs.replace(recording, end="completed", error=None)
        made = trace_of(recording, self.name, blocks="none", operators=self.operators or None, live=self.live)
        return script_json(entry_of(made)).encode()


async def page(request: web.Request) -> web.Response:
    """The page, or a file of it."""
    name = request.match_info.get("file", "live.html")
    file = resources.files("streamflow.inspector") / "static" / name
    kind = _TYPES.get(name.rpartition(".")[2])
    if kind is None or not file.is_file():
        raise Refused(404, "not_found", "there is no such file")
    headers = {"cache-control": "no-cache"}
    return web.Response(body=file.read_bytes(), content_type=kind, charset="utf-8", headers=headers)


def _watched(request: web.Request) -> Watched:
    store = request.app[SERVICE].store
    if not isinstance(store, Watched):
        raise Refused(404, "not_found", "this server keeps no list of its flows")
    return store


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json", charset="utf-8")
