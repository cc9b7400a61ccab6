"""Pipelines without ceremony: run any items through any operators, decode a whole body, push piece by piece."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

import reactivex
from reactivex import Observable

from streamflow.errors import StreamflowError, UsageError
from streamflow.events import Response, StreamFailed
from streamflow.fold import collect
from streamflow.operators import normalize_provider, wire_decode
from streamflow.stage import Chain, Operator

AnyOperator = Callable[[Observable[Any]], Observable[Any]]


def run(items: Iterable[Any], *operators: AnyOperator) -> list[Any]:
    """Send any iterable through any operators and return what comes out; a fault is raised, with ``.partial``.

    >>> from streamflow.operators import sse_decode
    >>> [frame.data for frame in run([b"data: hi\\n\\n"], sse_decode())]
    ['hi']
    """
    out, error = _drive(items, operators)
    if error is not None:
        raise error
    return out


def decode(
    provider: str,
    chunks: bytes | str | Iterable[bytes],
    *operators: AnyOperator,
    framing: str = "auto",
    content_type: str | None = None,
    **options: Any,
) -> list[Any]:
    """Bytes of a provider to events. What went wrong on the wire is the last event, `StreamFailed`.

    Further options are those of `normalize_provider`.

    >>> events = decode("openai", b'data: {"choices":[{"delta":{"content":"Hi"}}]}\\n\\n')
    >>> events[-1].error.type
    'StreamTruncated'
    """
    chain: tuple[AnyOperator, ...] = (
        wire_decode(provider, content_type, framing=framing),
        normalize_provider(provider, **options),
        *operators,
    )
    out, error = _drive([chunks] if isinstance(chunks, bytes | bytearray | str) else chunks, chain)
    if error is not None:
        if isinstance(error, UsageError) or not isinstance(error, StreamflowError):
            raise error
        out.append(StreamFailed(error.info(), error.partial))
    return out


def read(provider: str, chunks: bytes | str | Iterable[bytes], framing: str = "auto", **options: Any) -> Response:
    """Bytes of a provider to the whole answer; a cut stream gives ``complete=False`` and a typed ``error``.

    >>> read("openai", b'data: {"choices":[{"delta":{"content":"Hi"}}]}\\n\\ndata: [DONE]\\n\\n').text
    'Hi'
    """
    return collect(decode(provider, chunks, framing=framing, **options))


class Feeder:
    """Push style without Rx: feed pieces, get what is ready.

    >>> from streamflow.operators import sse_decode
    >>> feeder = Feeder(sse_decode())
    >>> feeder.feed(b"data: a\\n"), feeder.feed(b"\\n")[0].data, feeder.finalize()
    ([], 'a', [])
    """

    def __init__(self, *operators: AnyOperator) -> None:
        stages = _stages(operators)
        if stages is None:
            foreign = next(operator for operator in operators if not isinstance(operator, Operator))
            raise UsageError(
                f"Feeder takes streamflow's own operators only, not {foreign!r}; "
                "build an Observable and use source.pipe(...) for reactivex operators"
            )
        self._chain = Chain(stages)
        self._finalized = False

    def feed(self, item: Any) -> list[Any]:
        """Take one item. A fault is raised; what was ready before it in this call is its ``ready`` attribute."""
        if self._finalized:
            raise UsageError("this Feeder was finalized; make a new one for a new stream")
        return self._checked(self._chain.feed(item))

    def finalize(self) -> list[Any]:
        """The input is over: the rest."""
        if self._finalized:
            raise UsageError("this Feeder was finalized already")
        self._finalized = True
        return self._checked(self._chain.finish())

    def _checked(self, ready: list[Any]) -> list[Any]:
        error = self._chain.error
        if error is not None:
            self._finalized = True
            error.ready = ready  # type: ignore[attr-defined]
            raise error
        return ready


def _stages(operators: Iterable[AnyOperator]) -> list[Any] | None:
    """Fresh stages, or None when an operator is not one of ours and needs Rx."""
    stages = []
    for operator in operators:
        if not isinstance(operator, Operator):
            if not callable(operator):
                raise UsageError(f"{operator!r} is not an operator; did you forget to call it, as in visible_filter()?")
            name = getattr(operator, "__name__", "")
            if getattr(operator, "__module__", "") == f"streamflow.operators._{name}":
                raise UsageError(f"{name} makes an operator and has to be called: write {name}(...)")
            return None
        stages.append(operator.make_stage())
    return stages


def _drive(items: Iterable[Any], operators: Iterable[AnyOperator]) -> tuple[list[Any], BaseException | None]:
    operators = tuple(operators)
    stages = _stages(operators)
    if stages is None:
        return _drive_rx(items, operators)
    chain = Chain(stages)
    out: list[Any] = []
    for item in items:
        out += chain.feed(item)
        if chain.error is not None:
            return out, chain.error
    out += chain.finish()
    return out, chain.error


def _drive_rx(items: Iterable[Any], operators: tuple[AnyOperator, ...]) -> tuple[list[Any], BaseException | None]:
    out: list[Any] = []
    errors: list[BaseException] = []
    over = threading.Event()
    running = _in_event_loop()

    def fail(error: BaseException) -> None:
        errors.append(error)
        over.set()

    reactivex.from_iterable(items).pipe(*operators).subscribe(out.append, fail, over.set)
    if running and not over.is_set():
        # Waiting here would stop the very loop that the operators wait for.
        raise UsageError("these operators need time, and this is the event loop: use `async for` over sf.aiter(...)")
    over.wait()
    return out, errors[0] if errors else None


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
