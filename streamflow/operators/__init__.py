"""The operators. Each is an ordinary reactivex operator: ``source.pipe(sse_decode(), tool_accumulate())``."""

from streamflow.operators._block_split import block_split
from streamflow.operators._eventstream_decode import eventstream_decode
from streamflow.operators._field_stream import field_stream
from streamflow.operators._invocations import invocations
from streamflow.operators._json_array_decode import json_array_decode
from streamflow.operators._json_tool_split import json_tool_split
from streamflow.operators._marker_filter import marker_filter
from streamflow.operators._ndjson_decode import ndjson_decode
from streamflow.operators._normalize_provider import normalize_provider
from streamflow.operators._partial_json import partial_json
from streamflow.operators._record import record
from streamflow.operators._redact import redact
from streamflow.operators._reorder import reorder
from streamflow.operators._seam import seam
from streamflow.operators._segments import segments
from streamflow.operators._sentence_segment import sentence_segment
from streamflow.operators._sentinel_split import sentinel_split
from streamflow.operators._sequence import sequence
from streamflow.operators._smooth import smooth
from streamflow.operators._speak import speak
from streamflow.operators._speakable import speakable
from streamflow.operators._sse_decode import sse_decode
from streamflow.operators._stop_sequences import stop_sequences
from streamflow.operators._tag_holdback import tag_holdback
from streamflow.operators._to_response import to_response
from streamflow.operators._tool_accumulate import tool_accumulate
from streamflow.operators._visible_filter import visible_filter
from streamflow.operators._wire_decode import wire_decode
from streamflow.operators._xml_block_split import xml_block_split

__all__ = [
    "block_split",
    "eventstream_decode",
    "field_stream",
    "invocations",
    "json_array_decode",
    "json_tool_split",
    "marker_filter",
    "ndjson_decode",
    "normalize_provider",
    "partial_json",
    "record",
    "redact",
    "reorder",
    "seam",
    "segments",
    "sentence_segment",
    "sentinel_split",
    "sequence",
    "smooth",
    "speak",
    "speakable",
    "sse_decode",
    "stop_sequences",
    "tag_holdback",
    "to_response",
    "tool_accumulate",
    "visible_filter",
    "wire_decode",
    "xml_block_split",
]
