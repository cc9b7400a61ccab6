"""``streamflow decode``: a Unix filter from provider bytes to events."""

import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from streamflow.cli.output import nowhere
from streamflow.encoding import to_json
from streamflow.errors import UsageError
from streamflow.events import Chunk, Sentence, StreamFailed
from streamflow.fold import Fold
from streamflow.operators import (
    block_split,
    json_tool_split,
    normalize_provider,
    segments,
    sentence_segment,
    sentinel_split,
    tool_accumulate,
    wire_decode,
)
from streamflow.stage import Chain, Operator
from streamflow.text.json_calls import PROFILES
from streamflow.text.segment_events import SegmentContent, SegmentEnd, SegmentStart

READ_BYTES = 65536
_EMIT_HELP = "JSON lines of events, sentences or segments; one response object; or the text."
_BLOCKS_HELP = "Take out what the model wrote into its text: tags, sentinels or JSON calls."


class Emit(StrEnum):
    """What to print."""

    events = "events"
    response = "response"
    text = "text"
    sentences = "sentences"
    segments = "segments"


class Blocks(StrEnum):
    """How structure is written in the text."""

    none = "none"
    xml = "xml"
    sentinel = "sentinel"
    json = "json"


class Framing(StrEnum):
    """How frames are cut out of the bytes."""

    auto = "auto"
    sse = "sse"
    ndjson = "ndjson"
    json_array = "json_array"
    eventstream = "eventstream"


def decode(
    provider: Annotated[str, typer.Argument(help="Whose stream it is: openai, anthropic, gemini, bedrock, ...")],
    file: Annotated[str, typer.Argument(help="A file with the body of the response; - is standard input.")] = "-",
    framing: Annotated[Framing, typer.Option(help="How the bytes are framed.")] = Framing.auto,
    blocks: Annotated[Blocks, typer.Option(help=_BLOCKS_HELP)] = Blocks.none,
    cut: Annotated[int, typer.Option(help="Feed N bytes at a time (0: as they come).", min=0)] = 0,
    emit: Annotated[Emit, typer.Option(help=_EMIT_HELP)] = Emit.events,
    on_bad_frame: Annotated[str, typer.Option(help="error, or skip: go on without a broken frame.")] = "error",
    json: Annotated[bool, typer.Option("--json", help="JSON lines with --emit text too.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing; the exit code tells.")] = False,
) -> None:
    """Turn a provider's bytes into events, the whole response, the visible text, its sentences, or segments.

    Exit code 0: the stream is complete. 3: it failed or was cut (the error is the last line). 2: wrong usage.

    Examples:

      curl -N https://api.example/v1/messages ... | streamflow decode anthropic

      streamflow decode gemini answer.json --emit text

      streamflow decode openai answer.sse --blocks xml --emit segments
    """
    operators: list[Operator[Any, Any]] = [
        wire_decode(provider, framing=framing.value),
        normalize_provider(provider, on_bad_frame=on_bad_frame),
        *_SPLITTERS[blocks](provider),
        tool_accumulate(),
        *_VIEWS.get(emit, ()),
    ]
    chain = Chain([operator.make_stage() for operator in operators])
    made = _VisibleChunks if json and emit is Emit.text else _PRINTERS[emit]
    printer = made(nowhere() if quiet else sys.stdout.buffer)
    with _opened(file) as source:
        for event in _events(chain, _pieces(source, cut)):
            printer.show(event)
    sys.exit(printer.close())


def _opened(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except OSError as error:
        hint = "give the path of a recorded body, or - for stdin"
        raise UsageError(f"cannot read {file}: {error.strerror}; {hint}") from error


def _pieces(source: BinaryIO, cut: int) -> Iterator[bytes]:
    read = getattr(source, "read1", source.read)
    while data := read(READ_BYTES):
        if cut:
            for start in range(0, len(data), cut):
                yield data[start : start + cut]
        else:
            yield data


def _events(chain: Chain, pieces: Iterator[bytes]) -> Iterator[Any]:
    for piece in pieces:
        yield from chain.feed(piece)
        if chain.error is not None:
            break
    else:
        yield from chain.finish()
    if chain.error is not None:
        if isinstance(chain.error, UsageError) or not hasattr(chain.error, "info"):
            raise chain.error
        yield StreamFailed(chain.error.info())


class _Events:
    """One JSON line for each event, as it comes; the error itself is the last line of a failed stream."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._failed = False

    def show(self, event: Any) -> None:
        self._failed = isinstance(event, StreamFailed)
        self._out.write(to_json(event) + b"\n")
        self._out.flush()

    def close(self) -> int:
        return 3 if self._failed else 0


class _Segments(_Events):
    """One JSON line for each segment event; of all others only the error."""

    shown: tuple[type, ...] = (SegmentStart, SegmentContent, SegmentEnd, StreamFailed)

    def show(self, event: Any) -> None:
        if isinstance(event, self.shown):
            super().show(event)


class _Sentences(_Segments):
    """One JSON line for each sentence; of all other events only the error."""

    shown = (Sentence, StreamFailed)


class _VisibleChunks(_Segments):
    """One JSON line for each piece of visible text; of all other events only the error."""

    shown = (Chunk, StreamFailed)

    def show(self, event: Any) -> None:
        if not isinstance(event, Chunk) or event.visible:
            super().show(event)


class _Response:
    """One JSON object at the end."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._fold = Fold()

    def show(self, event: Any) -> None:
        self._fold.add(event)

    def close(self) -> int:
        response = self._fold.response()
        self._out.write(to_json(response) + b"\n")
        self._out.flush()
        return 0 if response.complete else 3


class _Text:
    """The visible text, as it comes; an error goes to standard error."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._failed = False

    def show(self, event: Any) -> None:
        if isinstance(event, Chunk):
            if event.visible:
                self._out.write(event.text.encode())
                self._out.flush()
        elif isinstance(event, StreamFailed):
            self._failed = True
            print(f"\n{to_json(event.error).decode()}", file=sys.stderr)

    def close(self) -> int:
        return 3 if self._failed else 0


_PRINTERS: dict[Emit, Callable[[BinaryIO], Any]] = {
    Emit.events: _Events,
    Emit.response: _Response,
    Emit.text: _Text,
    Emit.segments: _Segments,
    Emit.sentences: _Sentences,
}
# JSON calls are written as each vendor taught its models.
_SPLITTERS: dict[Blocks, Callable[[str], list[Operator[Any, Any]]]] = {
    Blocks.none: lambda provider: [],
    Blocks.xml: lambda provider: [block_split(["xml"])],
    Blocks.sentinel: lambda provider: [sentinel_split()],
    Blocks.json: lambda provider: [json_tool_split(provider if provider in PROFILES else "default")],
}
_VIEWS: dict[Emit, tuple[Operator[Any, Any], ...]] = {
    Emit.segments: (segments(),),
    Emit.sentences: (sentence_segment(),),
}
