"""A flow over WebSocket: the same items, with their ids inside, and a way to say stop."""

import asyncio
from typing import Any

import msgspec
from aiohttp import WSCloseCode, WSMsgType, web

from streamflow.encoding import to_json
from streamflow.events import Notice
from streamflow.server.access import OWNER, WS_TOKEN
from streamflow.server.keys import SERVICE
from streamflow.server.service import Service
from streamflow.server.store import FlowState
from streamflow.server.views import Item, View

_TICK_S = 1.0


def write_message(item: Item) -> str:
    """An item as a JSON object with its id. An id that the event has of its own is called ``own_id`` here.

    >>> write_message(Item("7-1", Notice("gap")))
    '{"id":"7-1","type":"Notice","code":"gap","message":"","raw":null}'
    """
    event = item.event
    written = to_json(event)
    if hasattr(event, "id"):
        fields = msgspec.json.decode(written)
        written = msgspec.json.encode({"own_id" if name == "id" else name: value for name, value in fields.items()})
    return '{"id":"' + item.id + '",' + written[1:].decode()


async def websocket(request: web.Request) -> web.StreamResponse:
    """A flow, or a branch of it; ``?after=`` is the id of the last item that was seen."""
    service = request.app[SERVICE]
    state = await service.find(request.match_info["id"], request[OWNER])
    branch = request.query.get("branch") or None
    place = request.query.get("after")
    after = service.position(state, place, branch)
    with service.reading(state, "websocket", resumed=bool(place)):
        view = await service.open(state, branch, after)
        try:
            return await _serve(request, service, state, view)
        finally:
            view.close()


async def _serve(request: web.Request, service: Service, state: FlowState, view: View) -> web.StreamResponse:
    limits = service.limits
    offered = [name.strip() for name in request.headers.get("sec-websocket-protocol", "").split(",")]
    socket = web.WebSocketResponse(
        heartbeat=limits.heartbeat_s,
        # aiohttp refuses a message that reaches the bound; ours may reach it.
        max_msg_size=limits.message_bytes + 1,
        protocols=[name for name in offered if name and not name.startswith(WS_TOKEN)] or ["streamflow"],
    )
    await socket.prepare(request)
    listening = asyncio.create_task(_listen(socket, service, state))
    try:
        while not view.ended and not socket.closed:
            items = await view.read(_TICK_S)
            async with asyncio.timeout(limits.stalled_s):
                for item in items:
                    await socket.send_str(write_message(item))
            service.metrics.add("events_sent_total", len(items))
            if service.closing and not view.ended:
                await socket.close(code=WSCloseCode.SERVICE_RESTART, message=b"the server goes away; come back")
                return socket
        await socket.close()
    except TimeoutError:
        service.metrics.add("cut_off_total")
        if request.transport is not None:
            request.transport.abort()
    except ConnectionError:
        pass
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    return socket


async def _listen(socket: web.WebSocketResponse, service: Service, state: FlowState) -> None:
    async for message in socket:
        said = _read(message.data) if message.type == WSMsgType.TEXT else {}
        action = _ACTIONS.get(str(said.get("type")))
        if action is None:
            known = ", ".join(_ACTIONS)
            await socket.send_str(to_json(Notice("unknown_message", f"known messages: {known}")).decode())
        else:
            await action(socket, service, state, said)


def _read(text: str) -> dict[str, Any]:
    try:
        said = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


async def _stop(socket: web.WebSocketResponse, service: Service, state: FlowState, said: dict[str, Any]) -> None:
    await service.stop(state)


async def _interrupt(socket: web.WebSocketResponse, service: Service, state: FlowState, said: dict[str, Any]) -> None:
    played_s = said.get("played_s", 0.0)
    if not isinstance(played_s, int | float) or isinstance(played_s, bool) or not 0 <= played_s < 1e9:
        await socket.send_str(to_json(Notice("bad_message", "played_s must be a number of seconds")).decode())
        return
    heard = await service.interrupt(state, float(played_s))
    await socket.send_json({"type": "Heard", "played_s": played_s, "text": heard})


_ACTIONS = {"stop": _stop, "interrupt": _interrupt}
