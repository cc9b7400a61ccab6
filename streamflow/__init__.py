"""Streams of language models as Observables: one event vocabulary, composable operators, many subscribers.

>>> import streamflow as sf
>>> wire = b'data: {"id":"1","choices":[{"delta":{"content":"Hi"}}]}\\n\\ndata: [DONE]\\n\\n'
>>> sf.read("openai", wire).text
'Hi'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamflow import errors, events, operators
from streamflow.audio import AudioSegment
from streamflow.blobs import BlobStore, MemoryBlobStore, restore_from_storage, sanitize_for_storage
from streamflow.bridge import aiter  # noqa: A004  the contract names it so
from streamflow.callbacks import subscribe
from streamflow.encoding import from_json, to_json
from streamflow.errors import (
    LimitExceeded,
    ProtocolError,
    ProviderError,
    StreamflowError,
    StreamStalled,
    StreamTruncated,
    TransportError,
    UsageError,
)
from streamflow.events import Event, Frame, Response, Sentence, Stamped, ToolCall, Usage
from streamflow.fold import collect
from streamflow.operators.speaking import Synthesizer
from streamflow.pipeline import Feeder, decode, read, run
from streamflow.providers.table import providers
from streamflow.stage import Operator, Stage, lift
from streamflow.text.segment_events import Invocation, SegmentContent, SegmentEnd, SegmentStart
from streamflow.text.segment_syntax import register_syntax
from streamflow.text.spoken import Spoken
from streamflow.text.tags import Tag, register_table
from streamflow.views import ArgumentsView, Field, PartialArguments

if TYPE_CHECKING:
    from streamflow.conversation import parse_response, prefill_operators
    from streamflow.flow import Flow, Policy, block, conflate, drop_oldest, error, unbounded
    from streamflow.flow.embedded import EmbeddedJournal
    from streamflow.flow.publish import publish
    from streamflow.flow.redis_journal import RedisJournal
    from streamflow.flow.remote import remote_flow
    from streamflow.probing import probe
    from streamflow.recordings import Recording, load_recording
    from streamflow.requests import (
        History,
        Message,
        Request,
        Suppression,
        answer_open_calls,
        as_messages,
        build_request,
        externalize_images,
        history_of,
        message_of,
        participant_stops,
        resolve_blobs,
    )
    from streamflow.requests.blocks import (
        AudioBlock,
        Base64Source,
        BlobSource,
        DocumentBlock,
        GeneratedImageBlock,
        ImageBlock,
        TextBlock,
        ThinkingBlock,
        ToolCallBlock,
        ToolResultBlock,
        UrlSource,
    )
    from streamflow.sinks.espeak import Espeak
    from streamflow.sinks.openai_speech import OpenAISpeech
    from streamflow.sinks.player import Player
    from streamflow.sinks.telemetry import telemetry
    from streamflow.sinks.transcript import Transcript, read_transcript
    from streamflow.sources.blob_directory import DirectoryBlobStore
    from streamflow.sources.client import Client, connect
    from streamflow.sources.context import StreamContext
    from streamflow.sources.externalize import externalized
    from streamflow.sources.fallback import fallback
    from streamflow.sources.media import fetch_media
    from streamflow.sources.replay import replay
    from streamflow.tools import Tool, ToolContext, ToolLoop, tool_loop

# Names whose modules load pydantic or an optional part: they are imported when first asked for.
_LAZY = {
    "AudioBlock": "streamflow.requests.blocks",
    "Base64Source": "streamflow.requests.blocks",
    "BlobSource": "streamflow.requests.blocks",
    "Client": "streamflow.sources.client",
    "DirectoryBlobStore": "streamflow.sources.blob_directory",
    "DocumentBlock": "streamflow.requests.blocks",
    "EmbeddedJournal": "streamflow.flow.embedded",
    "Espeak": "streamflow.sinks.espeak",
    "Flow": "streamflow.flow",
    "GeneratedImageBlock": "streamflow.requests.blocks",
    "History": "streamflow.requests",
    "ImageBlock": "streamflow.requests.blocks",
    "Message": "streamflow.requests",
    "OpenAISpeech": "streamflow.sinks.openai_speech",
    "Player": "streamflow.sinks.player",
    "Policy": "streamflow.flow",
    "Recording": "streamflow.recordings",
    "RedisJournal": "streamflow.flow.redis_journal",
    "Request": "streamflow.requests",
    "StreamContext": "streamflow.sources.context",
    "Suppression": "streamflow.requests",
    "TextBlock": "streamflow.requests.blocks",
    "ThinkingBlock": "streamflow.requests.blocks",
    "Tool": "streamflow.tools",
    "ToolCallBlock": "streamflow.requests.blocks",
    "ToolContext": "streamflow.tools",
    "ToolLoop": "streamflow.tools",
    "ToolResultBlock": "streamflow.requests.blocks",
    "Transcript": "streamflow.sinks.transcript",
    "UrlSource": "streamflow.requests.blocks",
    "answer_open_calls": "streamflow.requests",
    "as_messages": "streamflow.requests",
    "block": "streamflow.flow",
    "build_request": "streamflow.requests",
    "conflate": "streamflow.flow",
    "connect": "streamflow.sources.client",
    "drop_oldest": "streamflow.flow",
    "error": "streamflow.flow",
    "externalize_images": "streamflow.requests",
    "externalized": "streamflow.sources.externalize",
    "fallback": "streamflow.sources.fallback",
    "fetch_media": "streamflow.sources.media",
    "history_of": "streamflow.requests",
    "load_recording": "streamflow.recordings",
    "message_of": "streamflow.requests",
    "parse_response": "streamflow.conversation",
    "participant_stops": "streamflow.requests",
    "prefill_operators": "streamflow.conversation",
    "probe": "streamflow.probing",
    "publish": "streamflow.flow.publish",
    "read_transcript": "streamflow.sinks.transcript",
    "remote_flow": "streamflow.flow.remote",
    "replay": "streamflow.sources.replay",
    "resolve_blobs": "streamflow.requests",
    "telemetry": "streamflow.sinks.telemetry",
    "tool_loop": "streamflow.tools",
    "unbounded": "streamflow.flow",
}


# Packages that `import streamflow` does not load.
_PACKAGES = ("flows", "notebook", "server", "testing")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"streamflow.{name}")
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


__all__ = [
    "ArgumentsView",
    "AudioBlock",
    "AudioSegment",
    "Base64Source",
    "BlobSource",
    "BlobStore",
    "Client",
    "DirectoryBlobStore",
    "DocumentBlock",
    "EmbeddedJournal",
    "Espeak",
    "Event",
    "Feeder",
    "Field",
    "Flow",
    "Frame",
    "GeneratedImageBlock",
    "History",
    "ImageBlock",
    "Invocation",
    "LimitExceeded",
    "MemoryBlobStore",
    "Message",
    "OpenAISpeech",
    "Operator",
    "PartialArguments",
    "Player",
    "Policy",
    "ProtocolError",
    "ProviderError",
    "Recording",
    "RedisJournal",
    "Request",
    "Response",
    "SegmentContent",
    "SegmentEnd",
    "SegmentStart",
    "Sentence",
    "Spoken",
    "Stage",
    "Stamped",
    "StreamContext",
    "StreamStalled",
    "StreamTruncated",
    "StreamflowError",
    "Suppression",
    "Synthesizer",
    "Tag",
    "TextBlock",
    "ThinkingBlock",
    "Tool",
    "ToolCall",
    "ToolCallBlock",
    "ToolContext",
    "ToolLoop",
    "ToolResultBlock",
    "Transcript",
    "TransportError",
    "UrlSource",
    "Usage",
    "UsageError",
    "aiter",
    "answer_open_calls",
    "as_messages",
    "block",
    "build_request",
    "collect",
    "conflate",
    "connect",
    "decode",
    "drop_oldest",
    "error",
    "errors",
    "events",
    "externalize_images",
    "externalized",
    "fallback",
    "fetch_media",
    "from_json",
    "history_of",
    "lift",
    "load_recording",
    "message_of",
    "operators",
    "parse_response",
    "participant_stops",
    "prefill_operators",
    "probe",
    "providers",
    "publish",
    "read",
    "read_transcript",
    "register_syntax",
    "register_table",
    "remote_flow",
    "replay",
    "resolve_blobs",
    "restore_from_storage",
    "run",
    "sanitize_for_storage",
    "subscribe",
    "telemetry",
    "to_json",
    "tool_loop",
    "unbounded",
]
