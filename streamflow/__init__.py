"""Streams of language models as Observables: one event vocabulary, composable operators, many subscribers.

>>> import streamflow as sf
>>> wire = b'data: {"id":"1","choices":[{"delta":{"content":"Hi"}}]}\\n\\ndata: [DONE]\\n\\n'
>>> sf.read("openai", wire).text
'Hi'
"""

from streamflow import errors, events, operators
from streamflow.bridge import aiter  # noqa: A004  the contract names it so
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
from streamflow.pipeline import Feeder, decode, read, run
from streamflow.providers.table import providers
from streamflow.stage import Operator, Stage, lift
from streamflow.text.segment_events import Invocation, SegmentContent, SegmentEnd, SegmentStart
from streamflow.text.segment_syntax import register_syntax

__all__ = [
    "Event",
    "Feeder",
    "Frame",
    "Invocation",
    "LimitExceeded",
    "Operator",
    "ProtocolError",
    "ProviderError",
    "Response",
    "SegmentContent",
    "SegmentEnd",
    "SegmentStart",
    "Sentence",
    "Stage",
    "Stamped",
    "StreamStalled",
    "StreamTruncated",
    "StreamflowError",
    "ToolCall",
    "TransportError",
    "Usage",
    "UsageError",
    "aiter",
    "collect",
    "decode",
    "errors",
    "events",
    "from_json",
    "lift",
    "operators",
    "providers",
    "read",
    "register_syntax",
    "run",
    "to_json",
]
