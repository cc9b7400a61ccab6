"""Callbacks for those who want them: one function for each thing that happens, thin over the same events."""

import inspect
from collections.abc import Callable
from typing import Any

from reactivex import Observable
from reactivex.abc import DisposableBase, SchedulerBase

from streamflow.errors import UsageError, error_from_info
from streamflow.events import (
    BlockComplete,
    BlockStart,
    Chunk,
    Citation,
    GeneratedImage,
    Image,
    ImagePreview,
    ImageStart,
    Notice,
    Response,
    Retrying,
    Stamped,
    StreamCompleted,
    StreamFailed,
    StreamStart,
    ToolCall,
    ToolCallsReady,
    Usage,
)
from streamflow.fold import Fold
from streamflow.operators import tool_accumulate

# What a callback is given of its event, for those that are given something else than the event itself.
_GIVEN: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "on_chunk": lambda event: (event.text, event),
    "on_tool_calls": lambda event: (event.calls,),
    "on_image_start": lambda event: (event.prompt,),
    "on_image_preview": lambda event: (event.image,),
    "on_image": lambda event: (event.image,),
}

_CALLED_FOR: dict[type, str] = {
    StreamStart: "on_start",
    Chunk: "on_chunk",
    BlockStart: "on_block",
    BlockComplete: "on_block",
    ToolCallsReady: "on_tool_calls",
    Usage: "on_usage",
    ImageStart: "on_image_start",
    ImagePreview: "on_image_preview",
    Image: "on_image",
    Citation: "on_citation",
    Notice: "on_notice",
    Retrying: "on_retrying",
}


class _Caller:
    """One subscription: what each event calls, and what must be remembered for later calls."""

    def __init__(self, callbacks: dict[str, Callable[..., Any]]) -> None:
        self._callbacks = callbacks
        self._calls = tool_accumulate().make_stage()
        self._fold = Fold() if "on_complete" in callbacks else None
        self._before_calls = _TextBeforeCalls() if "on_pre_tool_content" in callbacks else None
        self._ended = False

    def on_next(self, item: Any) -> None:
        event = item.event if isinstance(item, Stamped) else item
        if isinstance(event, str):
            event = Chunk(0, "text", event)
        for ready in self._calls.feed(event):
            self._on_event(ready)

    def _on_event(self, event: Any) -> None:
        if self._fold is not None:
            if isinstance(event, Retrying) and event.discard:
                self._fold = Fold()
            self._fold.add(event)
        if self._before_calls is not None and (text := self._before_calls.read(event)):
            self._callbacks["on_pre_tool_content"](text)
        kind = event.__class__
        name = _CALLED_FOR.get(kind)
        if name is not None:
            callback = self._callbacks.get(name)
            if callback is not None:
                given = _GIVEN.get(name)
                callback(*(given(event) if given is not None else (event,)))
        elif kind is StreamCompleted:
            self._complete()
        elif kind is StreamFailed:
            self._fail(event)

    def on_completed(self) -> None:
        if not self._ended:
            self._complete()

    def _complete(self) -> None:
        self._ended = True
        if self._fold is not None:
            fold, self._fold = self._fold, Fold()
            self._callbacks["on_complete"](fold.response())

    def _fail(self, event: StreamFailed) -> None:
        self._ended = True
        error = error_from_info(event.error, event.partial)
        if "on_error" not in self._callbacks:
            raise error
        self._callbacks["on_error"](error)


class _TextBeforeCalls:
    """The visible text of a turn that stands before its last call."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._before = 0

    def read(self, event: Any) -> str:
        """Take one event; the text when the calls are ready, if there is any but white space."""
        if isinstance(event, Chunk):
            if event.visible:
                self._texts.append(event.text)
        elif isinstance(event, BlockStart):
            if event.kind == "tool_call" and "server" not in event.attributes:
                self._before = len(self._texts)
        elif isinstance(event, ToolCallsReady | StreamStart | StreamCompleted | StreamFailed | Retrying):
            if isinstance(event, Retrying) and not event.discard:
                return ""
            text = "".join(self._texts[: self._before])
            self._texts, self._before = [], 0
            if isinstance(event, ToolCallsReady) and text.strip():
                return text
        return ""


def subscribe(
    source: Any,
    *,
    on_start: Callable[[StreamStart], Any] | None = None,
    on_chunk: Callable[[str, Chunk], Any] | None = None,
    on_block: Callable[[BlockStart | BlockComplete], Any] | None = None,
    on_complete: Callable[[Response], Any] | None = None,
    on_tool_calls: Callable[[list[ToolCall]], Any] | None = None,
    on_pre_tool_content: Callable[[str], Any] | None = None,
    on_usage: Callable[[Usage], Any] | None = None,
    on_image_start: Callable[[str], Any] | None = None,
    on_image_preview: Callable[[GeneratedImage], Any] | None = None,
    on_image: Callable[[GeneratedImage], Any] | None = None,
    on_citation: Callable[[Citation], Any] | None = None,
    on_notice: Callable[[Notice], Any] | None = None,
    on_retrying: Callable[[Retrying], Any] | None = None,
    on_error: Callable[[Exception], Any] | None = None,
    scheduler: SchedulerBase | None = None,
) -> DisposableBase:
    """Subscribe with one function for each thing that happens; dispose of what is returned to stop.

    ``on_chunk`` gets the text and the chunk with its kind, visibility, block and tool: ``if chunk.visible: say(text)``.
    ``on_block`` gets the start and the completion of each block, around its chunks. Before a turn's proper end
    ``on_pre_tool_content`` gets the visible text before the calls, unless it is blank, and then ``on_tool_calls`` all
    calls; `tool_accumulate` in the source is not needed. ``on_complete`` gets the whole `Response` at the end marker,
    or when the source ends without one (``complete`` is false then). ``on_error`` gets what ended the stream; without
    it errors are raised, as in reactivex. Callbacks are plain functions; for coroutines there is ``sf.aiter(source)``.

    >>> import reactivex as rx
    >>> events = (BlockStart(0, "text"), Chunk(0, "text", "Hi"), BlockComplete(0, "text", "Hi"), StreamCompleted())
    >>> stop = subscribe(
    ...     rx.of(*events),
    ...     on_chunk=lambda text, chunk: print(chunk.kind, text),
    ...     on_complete=lambda response: print(response.text, response.complete),
    ... )
    text Hi
    Hi True
    """
    given = {name: value for name, value in locals().items() if name.startswith("on_") and value is not None}
    for name, callback in given.items():
        if not callable(callback) or inspect.iscoroutinefunction(callback):
            raise UsageError(f"{name} must be a plain function, not {callback!r}; for coroutines use sf.aiter(source)")
    observable = source if isinstance(source, Observable) else getattr(source, "events", None)
    if not isinstance(observable, Observable):
        raise UsageError(f"subscribe() takes an Observable or a flow, not {type(source).__name__}")
    caller = _Caller(given)
    return observable.subscribe(caller.on_next, on_error, caller.on_completed, scheduler=scheduler)
