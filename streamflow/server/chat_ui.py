"""The routes of user interfaces: Vercel's AI SDK with resume and stop, and AG-UI."""

from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from streamflow.server import agui, vercel
from streamflow.server.access import OWNER
from streamflow.server.bodies import decoded, read_body
from streamflow.server.compat import LINGER_S
from streamflow.server.keys import SERVICE
from streamflow.server.positions import BEGINNING
from streamflow.server.refusals import Refused
from streamflow.server.sse import HEADERS, EventWriter, Gone, deliver, write_event
from streamflow.server.store import FlowState
from streamflow.server.upstream import Ask
from streamflow.server.views import Item

_MAX_CHAT_ID = 256


async def begin_chat(request: web.Request) -> web.StreamResponse:
    """A message of the user; the answer as a UI message stream."""
    service = request.app[SERVICE]
    body = decoded(await read_body(request, service.limits.request_bytes), vercel.UIChatBody)
    if len(body.id) > _MAX_CHAT_ID:
        raise Refused(400, "bad_request", f"the id of a chat has at most {_MAX_CHAT_ID} characters")
    ask = Ask(
        messages=vercel.conversation(body.messages),
        tools=list(body.tools),
        model=body.model,
        provider=body.provider,
        owner=request[OWNER],
    )
    state = await service.begin(ask, alias=_alias(body.id) if body.id else None)
    return await _send_chat(request, state)


async def resume_chat(request: web.Request) -> web.StreamResponse:
    """The answer that is being given, from its beginning; 204 where there is none."""
    service = request.app[SERVICE]
    state = await service.store.find(request[OWNER], _alias(request.match_info["id"]))
    if state is None or state.ended:
        return web.Response(status=204)
    return await _send_chat(request, state)


async def stop_chat(request: web.Request) -> web.Response:
    """End the answer that is being given. Again is fine."""
    service = request.app[SERVICE]
    state = await service.store.find(request[OWNER], _alias(request.match_info["id"]))
    if state is not None:
        await service.stop(state)
    return web.Response(status=204)


async def run_agent(request: web.Request) -> web.StreamResponse:
    """A run of AG-UI."""
    service = request.app[SERVICE]
    run = decoded(await read_body(request, service.limits.request_bytes), agui.RunInput)
    ask = Ask(messages=agui.conversation(run), tools=agui.tool_definitions(run), owner=request[OWNER])
    state = await service.begin(ask, linger_s=LINGER_S)
    events = agui.RunEvents(run.thread_id, run.run_id)

    def write(item: Item) -> bytes:
        # LF only, and no end mark: both would end this protocol's client with an error.
        return b"".join(write_event(msgspec.json.encode(event)) for event in events.feed(item.event))

    return await _send(request, state, write, {})


def _alias(chat_id: str) -> str:
    return f"chat:{chat_id}"


async def _send_chat(request: web.Request, state: FlowState) -> web.StreamResponse:
    stream = vercel.UIMessageStream(f"msg-{state.id}")

    def write(item: Item) -> bytes:
        return b"".join(
            write_event(vercel.DONE if part == vercel.DONE else msgspec.json.encode(part))
            for part in stream.feed(item.event)
        )

    return await _send(request, state, write, vercel.HEADER)


async def _send(
    request: web.Request, state: FlowState, write: Callable[[Item], bytes], headers: dict[str, Any]
) -> web.StreamResponse:
    service = request.app[SERVICE]
    with service.reading(state, "ui"):
        view = await service.open(state, None, BEGINNING)
        response = web.StreamResponse(headers={**HEADERS, **headers})
        try:
            await response.prepare(request)
            writer = EventWriter(request, response, service.limits, service.metrics)
            await deliver(view, writer, write, lambda: service.closing, lambda count: None)
            await response.write_eof()
        except (Gone, ConnectionError):
            pass
        finally:
            view.close()
        return response
