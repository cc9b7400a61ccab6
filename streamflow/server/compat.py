"""The routes that SDKs of others use: any of their clients becomes a client of any provider."""

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from streamflow.events import ErrorInfo, Response, StreamCompleted, StreamFailed
from streamflow.fold import Fold
from streamflow.server import anthropic_compat, openai_compat
from streamflow.server.access import OWNER
from streamflow.server.bodies import decoded, read_body
from streamflow.server.keys import SERVICE
from streamflow.server.refusals import Refused, answer, status_of
from streamflow.server.service import Service
from streamflow.server.sse import HEADERS, EventWriter, Gone, deliver, write_event
from streamflow.server.store import FlowState
from streamflow.server.upstream import Ask
from streamflow.server.views import Item, View

_TICK_S = 1.0
LINGER_S = 0.1  # these protocols have no way back to an answer: who leaves, stops it
_NEVER_ASK_AGAIN = {"x-should-retry": "false"}
ErrorBody = Callable[[Any], dict[str, Any]]


async def chat_completions(request: web.Request) -> web.StreamResponse:
    """OpenAI's chat completions, streamed and not."""
    service = request.app[SERVICE]
    try:
        raw = decoded(await read_body(request, service.limits.request_bytes), dict)
        body, more = openai_compat.chat_body(raw)
        options = {**openai_compat.options_of(body), **more}
        ask = _ask(request, body.messages, body.tools, body.model, options)
        state = await service.begin(ask, linger_s=LINGER_S)
    except Refused as refusal:
        return _refused(service, refusal, openai_compat.error_body)
    id, created, model = f"chatcmpl-{secrets.token_hex(12)}", int(time.time()), body.model
    if not body.stream:
        make = lambda response: openai_compat.completion(response, id, created, model)
        return await _whole(request, state, make, openai_compat.error_body)
    chunks = openai_compat.ChatChunks(id, created, model, body.wants_usage)

    def write(item: Item) -> bytes:
        return b"".join(
            write_event(openai_compat.DONE if chunk == openai_compat.DONE else msgspec.json.encode(chunk))
            for chunk in chunks.feed(item.event)
        )

    return await _streamed(request, state, write, openai_compat.error_body)


async def messages(request: web.Request) -> web.StreamResponse:
    """Anthropic's messages, streamed and not."""
    service = request.app[SERVICE]
    try:
        raw = decoded(await read_body(request, service.limits.request_bytes), dict)
        body, more = anthropic_compat.messages_body(raw)
        options = {**anthropic_compat.options_of(body), **more}
        ask = _ask(request, anthropic_compat.asked_messages(body), body.tools, body.model, options)
        state = await service.begin(ask, linger_s=LINGER_S)
    except Refused as refusal:
        return _refused(service, refusal, anthropic_compat.error_body)
    id, model = f"msg_{secrets.token_hex(12)}", body.model
    if not body.stream:
        make = lambda response: anthropic_compat.whole_message(response, id, model)
        return await _whole(request, state, make, anthropic_compat.error_body)
    events = anthropic_compat.MessageEvents(id, model)

    def write(item: Item) -> bytes:
        made = events.feed(item.event)
        return b"".join(write_event(msgspec.json.encode(event), event=event["type"]) for event in made)

    return await _streamed(request, state, write, anthropic_compat.error_body)


async def models(request: web.Request) -> web.Response:
    """A model by the name ``default`` is whatever the server was started with."""
    row = {"id": "default", "object": "model", "type": "model", "created": 0, "owned_by": "streamflow"}
    return web.json_response({"object": "list", "data": [row], "has_more": False})


def _ask(request: web.Request, said: Any, tools: Any, model: str, options: dict[str, Any]) -> Ask:
    return Ask(
        messages=said,
        tools=list(tools or ()),
        model=model if model not in ("", "default") else None,
        options=options,
        owner=request[OWNER],
    )


def _refused(service: Service, refusal: Refused, error_body: ErrorBody) -> web.Response:
    service.metrics.add("refused_total", status=refusal.status)
    response = answer(refusal)
    response.body = msgspec.json.encode(error_body(refusal))
    return response


def _failed(error: ErrorInfo, error_body: ErrorBody) -> web.Response:
    headers = {} if error.retryable else _NEVER_ASK_AGAIN
    return web.json_response(error_body(error), status=status_of(error), headers=headers)


async def _whole(
    request: web.Request, state: FlowState, make: Callable[[Response], dict[str, Any]], error_body: ErrorBody
) -> web.Response:
    service = request.app[SERVICE]
    fold = Fold()
    end: Any = None
    with service.reading(state, "whole"):
        view = await service.open(state, None, service.position(state, None, None))
        try:
            while not view.ended:
                if request.transport is None or request.transport.is_closing():
                    raise asyncio.CancelledError
                for item in await view.read(_TICK_S):
                    fold.add(item.event)
                    end = item.event
        finally:
            view.close()
    if isinstance(end, StreamFailed):
        return _failed(end.error, error_body)
    if not isinstance(end, StreamCompleted) or end.stop_reason == "cancelled":
        return _failed(openai_compat.CANCELLED, error_body)
    return web.json_response(make(fold.response()))


async def _streamed(
    request: web.Request, state: FlowState, write: Callable[[Item], bytes], error_body: ErrorBody
) -> web.StreamResponse:
    service = request.app[SERVICE]
    with service.reading(state, "compat"):
        view = await service.open(state, None, service.position(state, None, None))
        try:
            first, failed = await _first_words(view, write, service.limits.heartbeat_s)
            if failed is not None:
                # Nothing was said yet: the status can still tell, and the client may ask again by itself.
                return _failed(failed, error_body)
            response = web.StreamResponse(headers=HEADERS)
            await response.prepare(request)
            writer = EventWriter(request, response, service.limits, service.metrics)
            try:
                await writer.send([first])
                await deliver(view, writer, write, lambda: service.closing, lambda count: None)
                await response.write_eof()
            except (Gone, ConnectionError):
                pass
            return response
        finally:
            view.close()


async def _first_words(view: View, write: Callable[[Item], bytes], wait_s: float) -> tuple[bytes, ErrorInfo | None]:
    """The first bytes to send, or the failure that came before there were any; not later than the first heartbeat."""
    until = time.monotonic() + wait_s
    while not view.ended and time.monotonic() < until:
        said = b""
        for item in await view.read(_TICK_S):
            if isinstance(item.event, StreamFailed) and not said:
                return b"", item.event.error
            said += write(item)
        if said:
            return said, None
    return b"", None
