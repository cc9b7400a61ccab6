"""The event vocabulary: what every provider's stream becomes.

Events are immutable ``msgspec`` structs. They carry deltas only: whoever wants the whole answer folds them
(`streamflow.collect`). This module imports nothing of ours, so that everything else may import it.
"""

from typing import Any, Literal

import msgspec

StopReason = Literal[
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "refusal",
    "content_filter",
    "pause",
    "cancelled",
    "malformed_call",
    "no_progress",
    "round_limit",
    "other",
]


class StreamStart(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Once, first: who answers.

    >>> StreamStart(id="msg_1", model="m", provider="anthropic").model
    'm'
    """

    id: str = ""
    model: str = ""
    provider: str = ""


class BlockStart(msgspec.Struct, frozen=True, tag=True):
    """A logical region opens; indices count up over the whole flow.

    >>> BlockStart(0, "thinking").kind
    'thinking'
    """

    index: int
    kind: str
    attributes: dict[str, Any] = {}


class Chunk(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A piece of content of an open block.

    ``part`` is ``name``, ``id`` or ``input`` inside a tool call. ``start`` is the offset of the text in the raw
    text that the model wrote in this turn, or -1 where the content was never part of that text.

    >>> Chunk(0, "text", "Hel").visible
    True
    """

    index: int
    kind: str
    text: str
    visible: bool = True
    depth: int = 0
    part: str | None = None
    tool_id: str | None = None
    tool_name: str | None = None
    start: int = -1


class BlockComplete(msgspec.Struct, frozen=True, tag=True):
    """The region closed. ``incomplete`` when the stream ended inside it.

    ``raw`` is the verbatim source for replay, ``opaque`` is provider material that must round-trip
    (signatures, encrypted reasoning), ``attributes`` are those of the block's start.

    >>> BlockComplete(0, "text", "Hello").incomplete
    False
    """

    index: int
    kind: str
    content: str = ""
    tool_id: str | None = None
    tool_name: str | None = None
    input: Any = None
    error: str | None = None
    incomplete: bool = False
    raw: str | None = None
    opaque: Any = None
    attributes: dict[str, Any] = {}


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a client's tool. A call with ``error`` must never be run; ``raw`` is what the model wrote.

    >>> ToolCall("call_1", "weather", {"city": "Rome"}).runnable
    True
    """

    id: str
    name: str
    arguments: Any = None
    raw: str = ""
    error: str | None = None
    kind: str = "function"

    @property
    def runnable(self) -> bool:
        """True when nothing is known against running it."""
        return self.error is None


class ToolCallsReady(msgspec.Struct, frozen=True, tag=True):
    """All calls of a turn, after the last of them is complete.

    >>> len(ToolCallsReady([ToolCall("c", "f", {})]).calls)
    1
    """

    calls: list[ToolCall]


class Citation(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A source that the model names. ``start`` and ``end`` span the cited text in the block, -1 where unknown.

    >>> Citation(0, url="https://example.org").title
    ''
    """

    index: int
    url: str = ""
    title: str = ""
    text: str = ""
    start: int = -1
    end: int = -1


class GeneratedImage(msgspec.Struct, frozen=True):
    """A picture that the model made: base64 ``data``, or the ``url`` or ``blob_id`` under which it is kept.

    >>> GeneratedImage("image/png", data="aGk=").blob_id is None
    True
    """

    media_type: str = "image/png"
    data: str | None = None
    blob_id: str | None = None
    url: str | None = None
    id: str | None = None
    generation: dict[str, Any] = {}


class ImageStart(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The model begins to make a picture.

    >>> ImageStart(prompt="a cat").prompt
    'a cat'
    """

    prompt: str = ""
    id: str | None = None


class ImagePreview(msgspec.Struct, frozen=True, tag=True):
    """An early, partial version of a picture.

    >>> ImagePreview(GeneratedImage(data="aGk=")).image.data
    'aGk='
    """

    image: GeneratedImage


class Image(msgspec.Struct, frozen=True, tag=True):
    """A finished picture.

    >>> Image(GeneratedImage(data="aGk=")).image.media_type
    'image/png'
    """

    image: GeneratedImage


class Usage(msgspec.Struct, frozen=True, tag=True):
    """Token counts so far, in the provider's own numbers: set, never added. What was never sent is None.

    >>> Usage(input_tokens=3).output_tokens is None
    True
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: Any = None


class Retrying(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A new attempt follows. ``discard`` true: throw away what was shown.

    >>> Retrying(1, 3, "429").discard
    False
    """

    attempt: int
    max_attempts: int
    reason: str = ""
    discard: bool = False


class Notice(msgspec.Struct, frozen=True, tag=True):
    """Something worth knowing that does not end the stream: a skipped frame, an unknown event, a gap.

    >>> Notice("unknown_event", "ping2").code
    'unknown_event'
    """

    code: str
    message: str = ""
    raw: Any = None


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One message of the wire, before it is understood.

    ``data`` is text; AWS frames have ``headers`` and ``payload`` (bytes) instead. ``start`` and ``end`` are byte
    offsets in the stream. ``unfinished`` says that the bytes ended before the frame did.

    >>> Frame("message", "{}").id
    ''
    """

    event: str = "message"
    data: str = ""
    id: str = ""
    retry: int | None = None
    headers: dict[str, Any] | None = None
    payload: bytes | None = None
    start: int = -1
    end: int = -1
    unfinished: bool = False


class Raw(msgspec.Struct, frozen=True, tag=True):
    """What the wire said, on request (``normalize_provider(..., raw=True)``).

    >>> Raw(Frame(data="{}")).frame.data
    '{}'
    """

    frame: Frame


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as data, for places where an exception cannot go.

    >>> ErrorInfo("StreamTruncated", "cut").type
    'StreamTruncated'
    """

    type: str
    message: str
    provider: str | None = None
    retryable: bool = False
    emitted: bool = False
    status: int | None = None
    kind: str | None = None
    position: int | None = None


class ServerTool(msgspec.Struct, frozen=True):
    """A tool that the provider ran itself, or its result.

    >>> ServerTool("web_search_call", "ws_1").name is None
    True
    """

    type: str
    id: str | None = None
    name: str | None = None
    content: str = ""
    input: Any = None


class Response(msgspec.Struct, frozen=True):
    """The whole answer, built by one fold over the events.

    ``complete`` is true only after the provider's own end marker. ``error`` is a
    `streamflow.errors.StreamflowError` when the stream failed, so that ``raise response.error`` works.
    ``image_places`` tells for each picture how many blocks were complete before it came.

    >>> Response(text="hi", complete=True).tool_calls
    []
    """

    text: str = ""
    thinking: str = ""
    refusal: str = ""
    tool_calls: list[ToolCall] = []
    server_tools: list[ServerTool] = []
    blocks: list[BlockComplete] = []
    citations: list[Citation] = []
    images: list[GeneratedImage] = []
    usage: Usage | None = None
    stop_reason: str | None = None
    raw_stop_reason: str | None = None
    model: str = ""
    id: str = ""
    complete: bool = False
    error: Any = None
    image_places: list[int] = []


class StreamCompleted(msgspec.Struct, frozen=True, tag=True):
    """Last, exactly once, only after the provider's own end marker.

    ``response`` is None until a fold fills it (`to_response()`, a flow, the client).

    >>> StreamCompleted("end_turn").response is None
    True
    """

    stop_reason: str = "end_turn"
    raw_stop_reason: str | None = None
    response: Response | None = None


class StreamFailed(msgspec.Struct, frozen=True, tag=True):
    """The stream's error as data, with what came before it.

    >>> StreamFailed(ErrorInfo("StreamTruncated", "cut")).error.type
    'StreamTruncated'
    """

    error: ErrorInfo
    partial: Response | None = None


class Sentence(msgspec.Struct, frozen=True, gc=False, tag=True, eq=False):
    """A sentence for a voice; ``start`` and ``end`` span it in the raw text. ``id`` is no part of equality.

    >>> Sentence(0, "Hi.", 0, 3, id="seq1_a") == Sentence(0, "Hi.", 0, 3, id="seq1_b")
    True
    """

    index: int
    text: str
    start: int = -1
    end: int = -1
    id: str = ""
    final: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sentence):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[int, str, int, int, bool]:
        return (self.index, self.text, self.start, self.end, self.final)


Event = (
    StreamStart
    | BlockStart
    | Chunk
    | BlockComplete
    | ToolCallsReady
    | Citation
    | ImageStart
    | ImagePreview
    | Image
    | Usage
    | Retrying
    | Notice
    | Raw
    | StreamCompleted
    | StreamFailed
    | Sentence
)


class Stamped(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The journal's envelope: ``seq`` counts from 0 without gaps, ``t`` is seconds since the start.

    >>> Stamped(0, 0.0, StreamStart()).seq
    0
    """

    seq: int
    t: float
    event: Any


TERMINAL = (StreamCompleted, StreamFailed)
"""The two classes that end a stream."""

METADATA = (Usage, Notice, Raw, Citation, ImageStart, ImagePreview, Image, Retrying)
"""Events that say something about the stream and may overtake held text."""
