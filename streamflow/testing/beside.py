"""What a simulated service answers beside the models themselves: a list of models, a voice, a word about itself."""

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from streamflow.testing.script import HttpError
from streamflow.testing.simulator import COMMANDS_HELP
from streamflow.testing.speech import MAX_INPUT, samples_of, spoken
from streamflow.testing.wires import encode_error
from streamflow.testing.wires.wire import CREATED, dumps

MODELS = ("simulated", "simulated-thinking")


async def answer_beside(request: web.BaseRequest, body: Any) -> web.Response:
    """The answer to a request that asks no model; 404 where there is nothing."""
    for ending, method, handler in _HANDLERS:
        if request.path.endswith(ending) and request.method == method:
            return await handler(request, body)
    return refused(404, f"There is nothing at {request.method} {request.path}.")


def refused(status: int, message: str) -> web.Response:
    """An error in the words of OpenAI."""
    return web.Response(
        body=encode_error("openai", HttpError(status, message)), status=status, content_type="application/json"
    )


async def _speech(request: web.BaseRequest, body: Any) -> web.Response:
    text = body.get("input") if isinstance(body, dict) else None
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_INPUT:
        return refused(400, f"input must be a text of 1 to {MAX_INPUT} characters.")
    sound = await spoken(text, float(body.get("speed") or 1.0))
    if body.get("response_format") == "pcm":
        return web.Response(body=samples_of(sound), content_type="audio/pcm")
    return web.Response(body=sound, content_type="audio/wav")


async def _models(request: web.BaseRequest, body: Any) -> web.Response:
    rows = [{"id": name, "object": "model", "created": CREATED, "owned_by": "streamflow"} for name in MODELS]
    # The lists of OpenAI and Anthropic share one body: each reads its own fields.
    shared = [{**row, "type": "model", "display_name": row["id"], "created_at": "2026-01-01T00:00:00Z"} for row in rows]
    page = {"object": "list", "data": shared, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
    return web.Response(body=dumps(page), content_type="application/json")


async def _tags(request: web.BaseRequest, body: Any) -> web.Response:
    rows = [{"name": name, "model": name, "modified_at": "2026-01-01T00:00:00Z", "size": 0} for name in MODELS]
    return web.Response(body=dumps({"models": rows}), content_type="application/json")


async def _about(request: web.BaseRequest, body: Any) -> web.Response:
    return web.Response(text=f"streamflow simulate: a model that is not there.\n\n{COMMANDS_HELP}\n")


_HANDLERS: tuple[tuple[str, str, Callable[[web.BaseRequest, Any], Awaitable[web.Response]]], ...] = (
    ("/audio/speech", "POST", _speech),
    ("/models", "GET", _models),
    ("/api/tags", "GET", _tags),
    ("/", "GET", _about),
)
