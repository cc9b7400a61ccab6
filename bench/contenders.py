"""Ours, and the least that anyone must do, each as a function from reads to text."""

from collections.abc import Callable

import orjson
from reactivex import Observable
from reactivex.abc import DisposableBase, ObserverBase
from reactivex.disposable import Disposable

from streamflow.events import Chunk, ToolCallsReady
from streamflow.flow import Flow
from streamflow.operators import normalize_provider, sse_decode, tool_accumulate, visible_filter
from streamflow.stage import Chain

Reads = list[bytes]


def orjson_limit(reads: Reads) -> str:
    """The least that anyone must do: split and parse."""
    pending = b""
    blank = b"\r\n\r\n" if b"\r" in reads[0] else b"\n\n"
    for read in reads:
        *blocks, pending = (pending + read).split(blank)
        for block in blocks:
            data = block[block.index(b"data: ") + 6 :]
            if data != b"[DONE]":
                orjson.loads(data)
    return ""


def ours(provider: str) -> Callable[[Reads], str]:
    """Bytes to events."""

    def decode(reads: Reads) -> str:
        chain = Chain([operator.make_stage() for operator in (sse_decode(), normalize_provider(provider))])
        text = []
        for read in reads:
            for event in chain.feed(read):
                if event.__class__ is Chunk:
                    text.append(event.text)
        chain.finish()
        return "".join(text)

    return decode


class _Reads(Observable[bytes]):
    """The least of a live source: it hands its observer out."""

    observer: ObserverBase[bytes]

    def _subscribe_core(self, observer: ObserverBase[bytes], scheduler: object = None) -> DisposableBase:
        self.observer = observer
        return Disposable()


def ours_three_branches(provider: str) -> Callable[[Reads], str]:
    """Bytes through a flow to three branches: visible text, tool calls, transcript."""

    def fan_out(reads: Reads) -> str:
        source = _Reads()
        flow = Flow(source, sse_decode(), normalize_provider(provider), tool_accumulate())
        text: list[str] = []
        calls: list[object] = []
        transcript: list[object] = []
        flow.branch("ui", visible_filter()).subscribe(lambda chunk: text.append(chunk.text))
        flow.events.subscribe(lambda event: calls.append(event) if event.__class__ is ToolCallsReady else None)
        flow.events.subscribe(transcript.append)
        for read in reads:
            source.observer.on_next(read)
        source.observer.on_completed()
        return "".join(text)

    return fan_out
