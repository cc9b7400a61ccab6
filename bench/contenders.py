"""Ours and the peers, each as a function from reads to text. Equal text is asserted before anything is timed."""

from collections.abc import Callable, Iterator

import anthropic
import httpx
import httpx2
import httpx_sse
import openai
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
    for read in reads:
        *blocks, pending = (pending + read).split(b"\n\n")
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


class _Body(httpx.SyncByteStream):
    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._reads)


def httpx_sse_decode(reads: Reads) -> str:
    """Framing only."""
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body(reads))
    for event in httpx_sse.EventSource(response).iter_sse():
        assert event.data
    return ""


def _answering(reads: Reads) -> httpx2.Client:
    headers = {"content-type": "text/event-stream"}

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers=headers, stream=_Body2(reads))

    return httpx2.Client(transport=httpx2.MockTransport(answer))


class _Body2(httpx2.SyncByteStream):
    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._reads)


def openai_sdk(reads: Reads) -> str:
    """The raw stream of the SDK."""
    client = openai.OpenAI(api_key="bench", http_client=_answering(reads), max_retries=0)
    stream = client.chat.completions.create(model="bench", messages=[], stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def anthropic_sdk(reads: Reads) -> str:
    """The raw stream of the SDK."""
    client = anthropic.Anthropic(api_key="bench", http_client=_answering(reads), max_retries=0)
    stream = client.messages.create(model="bench", messages=[], max_tokens=1, stream=True)
    return "".join(event.delta.text for event in stream if event.type == "content_block_delta")
