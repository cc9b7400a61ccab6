"""Runs one call. Whatever a tool does, the outcome is a result that the model can read."""

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel

from streamflow.errors import redact_secrets
from streamflow.events import ToolCall
from streamflow.requests.blocks import DocumentBlock, GeneratedImageBlock, ImageBlock, TextBlock, ToolResultBlock
from streamflow.requests.draft import image_of
from streamflow.requests.json_bytes import json_bytes
from streamflow.tools.registry import InvalidArguments, Tool, ToolContext

MAX_RESULT_BYTES = 1_000_000
DRAWN = "drawn"  # where a result keeps the pictures that its tool made
_BLOCKS = (TextBlock, ImageBlock, DocumentBlock)


def failed(call: ToolCall, message: str) -> ToolResultBlock:
    """A result that says what went wrong, without keys in it.

    >>> failed(ToolCall("c", "f"), "no such city").is_error
    True
    """
    return ToolResultBlock(
        tool_id=call.id,
        tool_name=call.name,
        content=redact_secrets(message),
        is_error=True,
        custom=call.kind == "custom",
    )


def result_of(call: ToolCall, value: Any, max_bytes: int = MAX_RESULT_BYTES) -> ToolResultBlock:
    """What a tool returned, as a result: text as it is, blocks as they are, anything else as JSON.

    >>> result_of(ToolCall("c", "f"), {"ok": True}).content
    '{"ok":true}'
    """
    if isinstance(value, ToolResultBlock):
        return value.model_copy(update={"tool_id": call.id, "tool_name": call.name, "custom": call.kind == "custom"})
    content: Any = value
    drawn: list[GeneratedImageBlock] = []
    parts = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(part, (*_BLOCKS, GeneratedImageBlock)) for part in parts):
        parts = [TextBlock(text=part) if isinstance(part, str) else part for part in parts]
    if parts and all(isinstance(part, (*_BLOCKS, GeneratedImageBlock)) for part in parts):
        drawn = [part for part in parts if isinstance(part, GeneratedImageBlock)]
        content = [image_of(part) if isinstance(part, GeneratedImageBlock) else part for part in parts]
        content = [part for part in content if part is not None]
    else:
        text = _written(value)
        if text is None:
            return failed(call, f"the tool returned {type(value).__name__}, which is neither text nor JSON")
        content = text
    size = len(content) if isinstance(content, str) else sum(_size(block) for block in content)
    if size > max_bytes:
        return failed(call, f"the result has {size} bytes; at most {max_bytes} are passed on. Ask for less.")
    return ToolResultBlock(
        tool_id=call.id,
        tool_name=call.name,
        content=content,
        custom=call.kind == "custom",
        opaque={DRAWN: drawn} if drawn else None,
    )


def _written(value: Any) -> str | None:
    if isinstance(value, str):
        # A lone surrogate cannot be sent; it is shown as such.
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, bytes | bytearray):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            return None
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    try:
        return json_bytes(value).decode()
    except (TypeError, ValueError, RecursionError):
        return None


def _size(block: TextBlock | ImageBlock | DocumentBlock) -> int:
    # Pictures are large by nature, and providers have bounds of their own for them.
    return len(block.text) if isinstance(block, TextBlock) else 0


async def run_call(
    tools: dict[str, Tool],
    call: ToolCall,
    context: ToolContext,
    *,
    timeout_s: float | None,
    max_result_bytes: int = MAX_RESULT_BYTES,
) -> ToolResultBlock:
    """Run a call and wait for its result. Only being cancelled gets out of here as an exception."""
    if call.error is not None:
        return failed(call, f"the call was not run: {call.error}. What was written: {call.raw[:500]}")
    tool = tools.get(call.name)
    if tool is None:
        return failed(call, f"there is no tool {call.name!r}; known: {', '.join(tools) or 'none'}")
    try:
        work = tool.prepare(call.arguments, context)
    except InvalidArguments as error:
        return failed(call, f"the arguments do not fit: {error}")
    running = asyncio.ensure_future(_outcome(work, tool.is_async, call, max_result_bytes))
    try:
        await asyncio.wait({running}, timeout=timeout_s)
    except asyncio.CancelledError:
        running.cancel()
        raise
    if not running.done():
        running.cancel()  # not waited for: a tool may refuse to end, and a thread cannot be ended at all
        running.add_done_callback(_forget)
        return failed(call, f"the tool gave no result within {timeout_s:g} s")
    if running.cancelled():
        return failed(call, "the tool was cancelled from inside")
    return running.result()


def _forget(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()


async def _outcome(work: Callable[[], Any], is_async: bool, call: ToolCall, max_bytes: int) -> ToolResultBlock:
    try:
        value = await work() if is_async else await in_thread(work, f"tool {call.name}")
        if inspect.isawaitable(value):
            value = await value
    except (Exception, SystemExit) as error:
        return failed(call, f"{type(error).__name__}: {error}")
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | list | dict | tuple | BaseModel):
        return failed(call, f"the tool returned {type(value).__name__}, which is neither text nor JSON")
    return result_of(call, value, max_bytes)


def in_thread(work: Callable[[], Any], name: str) -> "asyncio.Future[Any]":
    """Run something in a thread of its own: a pool could be filled up by tools that hang."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    variables = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            # A future refuses StopIteration, and must not end the loop with SystemExit.
            unfit = isinstance(error, StopIteration) or not isinstance(error, Exception)
            future.set_exception(RuntimeError(f"{type(error).__name__}: {error}") if unfit else error)
        else:
            future.set_result(value)

    def body() -> None:
        value, fault = None, None
        try:
            value = variables.run(work)
        except BaseException as error:
            fault = error
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(settle, value, fault)

    threading.Thread(target=body, name=name, daemon=True).start()
    return future
