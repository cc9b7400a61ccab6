"""The routes of flows: begin, read by server-sent events, look, stop."""

import msgspec
from aiohttp import web

from streamflow.server.access import OWNER
from streamflow.server.bodies import decoded, options_of, read_body
from streamflow.server.keys import SERVICE
from streamflow.server.service import Service
from streamflow.server.sse import HEADERS, EventWriter, Gone, deliver, write_item
from streamflow.server.store import FlowState
from streamflow.server.upstream import Ask
from streamflow.server.views import Item, View


class FlowBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``POST /flows`` takes."""

    messages: str | list[str | dict[str, object]]
    provider: str | None = None
    model: str | None = None
    tools: list[dict[str, object]] = []
    system: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    tool_choice: str | dict[str, object] | None = None


async def create(request: web.Request) -> web.Response:
    """Begin a flow: 201 and its id."""
    service = request.app[SERVICE]
    body = decoded(await read_body(request, service.limits.request_bytes), FlowBody)
    ask = Ask(
        messages=body.messages,
        tools=list(body.tools),
        model=body.model,
        provider=body.provider,
        options=options_of(body),
        owner=request[OWNER],
    )
    state = await service.begin(ask)
    place = str(request.url.path).rstrip("/") + "/" + state.id
    return web.json_response({"id": state.id}, status=201, headers={"location": place})


async def show(request: web.Request) -> web.Response:
    """What is known of a flow."""
    service = request.app[SERVICE]
    state = await service.find(request.match_info["id"], request[OWNER])
    return web.json_response({"id": state.id, "ended": state.ended, "last": f"{state.epoch}-{state.last_seq}"})


async def stop(request: web.Request) -> web.Response:
    """Stop a flow. Again is fine."""
    service = request.app[SERVICE]
    await service.stop(await service.find(request.match_info["id"], request[OWNER]))
    return web.Response(status=204)


async def events(request: web.Request) -> web.StreamResponse:
    """A flow, or a branch of it, as server-sent events."""
    service = request.app[SERVICE]
    state = await service.find(request.match_info["id"], request[OWNER])
    branch = request.query.get("branch") or None
    # The header is newer than the address: a browser that reconnects sends it and keeps the address as it was.
    place = request.headers.get("last-event-id") or request.query.get("after")
    after = service.position(state, place, branch)
    with service.reading(state, "sse", resumed=bool(place)):
        view = await service.open(state, branch, after)
        try:
            return await _send(request, service, state, view)
        finally:
            view.close()


async def _send(request: web.Request, service: Service, state: FlowState, view: View) -> web.StreamResponse:
    first: list[Item] = []
    while state.ended and not first and not view.ended:
        first = await view.read(1.0)
    if state.ended and not first:
        # Nothing is left, not even the end: 204 is how a browser learns not to come back.
        return web.Response(status=204)
    response = web.StreamResponse(headers=HEADERS)
    await response.prepare(request)
    writer = EventWriter(request, response, service.limits, service.metrics)
    try:
        await writer.send([f"retry: {service.limits.retry_ms}\n\n".encode(), *map(write_item, first)])
        service.metrics.add("events_sent_total", len(first))
        await deliver(
            view,
            writer,
            write_item,
            lambda: service.closing,
            lambda count: service.metrics.add("events_sent_total", count),
        )
        await response.write_eof()
    except (Gone, ConnectionError):
        pass
    return response
