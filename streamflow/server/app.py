"""The application: routes, and what happens around every request."""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

from aiohttp import web
from reactivex import operators as ops

from streamflow.events import Chunk, ToolCallsReady
from streamflow.operators import sentence_segment, speakable, visible_filter
from streamflow.operators.speaking import Synthesizer
from streamflow.server import chat_ui, compat, flows, inspector
from streamflow.server.access import OWNER, SECURITY_HEADERS, Access, Authenticate
from streamflow.server.keys import EXAMPLES, SERVICE
from streamflow.server.limits import Limits
from streamflow.server.refusals import Refused, answer
from streamflow.server.service import Operators, Service
from streamflow.server.store import FlowStore, MemoryFlowStore
from streamflow.server.upstream import source_of
from streamflow.server.voice import Voices
from streamflow.server.websocket import websocket

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
# Names of routes that anybody may ask.
PUBLIC = frozenset(("healthz", "readyz", "page", "page_file", "page_settings", "inspector", "inspector_file"))
_ID = r"/flows/{id:[A-Za-z0-9_-]{1,64}}"


def app(
    source: Any,
    *,
    tokens: Iterable[str] | Mapping[str, str] = (),
    authenticate: Authenticate | None = None,
    origins: Iterable[str] = (),
    operators: Operators = (),
    branches: Mapping[str, Operators] | None = None,
    synthesizer: Synthesizer | None = None,
    language: str = "auto",
    limits: Limits | None = None,
    store: FlowStore | None = None,
    record: str | os.PathLike[str] | None = None,
    examples: Iterable[str] = (),
) -> web.Application:
    """A web application that serves flows: run it, or mount it in one's own with ``add_subapp``.

    ``source`` is a client of `sf.connect`, several of them by name, or a function of an `Ask`. ``tokens`` are bearer
    tokens, or a mapping from tokens to owners; without any only programs of this machine are served.
    ``authenticate`` takes their place: a coroutine function from a request to its owner, or None. ``operators`` run
    on every flow, ``branches`` adds views by name, ``synthesizer`` gives the flows a voice. ``record`` is a directory
    for the bytes of every flow, which the inspector then shows too. ``examples`` are questions that the page suggests.

    >>> from streamflow.events import StreamStart, StreamCompleted
    >>> served = app(lambda ask: [StreamStart(), StreamCompleted()])
    >>> {"create", "events", "websocket"} <= {route.name for route in served.router.routes()}
    True
    """
    bounds = (limits or Limits()).checked()
    kept = inspector.Watched(store or MemoryFlowStore(bounds), record)
    service = Service(
        kept.source(source_of(source)),
        kept,
        Access(tokens, origins, authenticate),
        bounds,
        operators,
        {**_branches(language), **(branches or {})},
        None if synthesizer is None else Voices(kept, synthesizer, bounds, language),
    )
    made = web.Application(middlewares=[_guard])
    made[SERVICE] = service
    made[EXAMPLES] = tuple(examples)
    for method, path, handler, name in ROUTES:
        made.router.add_route(method, path, handler, name=name)
    made.on_response_prepare.append(_headers)
    made.on_shutdown.append(_drain)
    made.on_cleanup.append(_close)
    return made


def _branches(language: str) -> dict[str, Sequence[Any]]:
    return {
        "ui": (visible_filter(),),
        "thinking": (ops.filter(lambda event: isinstance(event, Chunk) and event.kind == "thinking"),),
        "tools": (ops.filter(lambda event: isinstance(event, ToolCallsReady)),),
        "sentences": (speakable(), sentence_segment(language=language, ids=lambda: "s"), ops.filter(_is_sentence)),
    }


def _is_sentence(item: Any) -> bool:
    return type(item).__name__ == "Sentence"


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Who asks, and what they are told when they may not."""
    service = request.app[SERVICE]
    try:
        if request.method == "OPTIONS":
            cors = service.access.cors(request)
            return web.Response(status=204 if cors else 405)
        if request.match_info.route.name not in PUBLIC:
            request[OWNER] = await service.access.owner(request)
        return await handler(request)
    except Refused as refusal:
        service.metrics.add("refused_total", status=refusal.status)
        return answer(refusal)


async def _headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(SECURITY_HEADERS)
    response.headers.update(request.app[SERVICE].access.cors(request))


async def healthz(request: web.Request) -> web.Response:
    """The process is alive."""
    return web.json_response({"status": "ok"})


async def readyz(request: web.Request) -> web.Response:
    """New flows are welcome."""
    draining = request.app[SERVICE].draining
    return web.json_response({"status": "draining" if draining else "ready"}, status=503 if draining else 200)


async def metrics(request: web.Request) -> web.Response:
    """Counters for Prometheus."""
    service = request.app[SERVICE]
    gauges = {"flows_live": await service.store.live(), "subscribers": service.readers}
    return web.Response(text=service.metrics.text(gauges))


_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


async def settings(request: web.Request) -> web.Response:
    """What the page should know before it begins."""
    return web.json_response({"voice": request.app[SERVICE].has_voice, "examples": request.app[EXAMPLES]})


async def page(request: web.Request) -> web.Response:
    """A file of the page."""
    name = request.match_info.get("file", "index.html")
    file = resources.files("streamflow.server") / "page" / name
    kind = _TYPES.get(name.rpartition(".")[2])
    if kind is None or not file.is_file():
        raise Refused(404, "not_found", "there is no such file")
    return web.Response(
        body=file.read_bytes(), content_type=kind, charset="utf-8", headers={"cache-control": "no-cache"}
    )


async def _drain(made: web.Application) -> None:
    await made[SERVICE].drain()


async def _close(made: web.Application) -> None:
    await made[SERVICE].close()


ROUTES: tuple[tuple[str, str, Handler, str], ...] = (
    ("POST", "/flows", flows.create, "create"),
    ("GET", _ID, flows.show, "show"),
    ("DELETE", _ID, flows.stop, "stop"),
    ("GET", _ID + "/events", flows.events, "events"),
    ("GET", _ID + "/ws", websocket, "websocket"),
    ("POST", "/v1/chat/completions", compat.chat_completions, "chat_completions"),
    ("POST", "/v1/messages", compat.messages, "messages"),
    ("GET", "/v1/models", compat.models, "models"),
    ("POST", "/api/chat", chat_ui.begin_chat, "begin_chat"),
    ("GET", "/api/chat/{id}/stream", chat_ui.resume_chat, "resume_chat"),
    ("DELETE", "/api/chat/{id}", chat_ui.stop_chat, "stop_chat"),
    ("POST", "/agui", chat_ui.run_agent, "run_agent"),
    ("GET", "/healthz", healthz, "healthz"),
    ("GET", "/readyz", readyz, "readyz"),
    ("GET", "/metrics", metrics, "metrics"),
    ("GET", "/", page, "page"),
    ("GET", "/page/settings.json", settings, "page_settings"),
    ("GET", r"/page/{file:[a-z_]+\.[a-z]+}", page, "page_file"),
    ("GET", "/inspector", inspector.page, "inspector"),
    ("GET", r"/inspector/{file:[a-z_]+\.[a-z]+}", inspector.page, "inspector_file"),
    ("GET", "/inspector/flows", inspector.flows, "inspector_flows"),
    ("GET", "/inspector" + _ID, inspector.trace, "inspector_trace"),
)
