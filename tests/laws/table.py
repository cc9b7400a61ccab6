"""Every operator with how to make it and what it takes. A new operator needs a row here: a test says so."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from streamflow import operators as ops
from tests.laws import nasty_bytes

Make = Callable[[], Any]


class Row(NamedTuple):
    """One operator.

    ``makes`` are the ways to make it. ``takes`` is bytes, frames or events; what takes events takes plain strings too.
    ``gives`` is frames, events (the grammar holds), stamped (the same in envelopes) or a view (other items in the place
    of chunks). ``forwards``: what it does not own passes at once. ``same_text``: the visible text leaves as it came.
    ``splits``: text becomes blocks, and their ``raw`` is where they came from.
    ``elsewhere``: the tests that hold the laws of an operator that cannot be run step by step.
    """

    makes: tuple[Make, ...]
    takes: str = "events"
    gives: str = "events"
    forwards: bool = True
    same_text: bool = False
    body: Callable[[Any], bytes] | None = None
    elsewhere: str = ""
    splits: bool = False


ROWS: dict[str, Row] = {
    "sse_decode": Row(
        (lambda: ops.sse_decode(), lambda: ops.sse_decode(tail="deliver")), "bytes", "frames", body=nasty_bytes.sse
    ),
    "ndjson_decode": Row((lambda: ops.ndjson_decode(),), "bytes", "frames", body=nasty_bytes.ndjson),
    "json_array_decode": Row((lambda: ops.json_array_decode(),), "bytes", "frames", body=nasty_bytes.json_array),
    "eventstream_decode": Row((lambda: ops.eventstream_decode(),), "bytes", "frames", body=nasty_bytes.eventstream),
    "wire_decode": Row((lambda: ops.wire_decode("openai"),), "bytes", "frames", body=nasty_bytes.sse),
    "normalize_provider": Row(
        (lambda: ops.normalize_provider("openai"), lambda: ops.normalize_provider("openai", on_bad_frame="skip")),
        "frames",
    ),
    "tool_accumulate": Row((lambda: ops.tool_accumulate(),), same_text=True),
    "to_response": Row((lambda: ops.to_response(),), same_text=True),
    "sequence": Row((lambda: ops.sequence(),), gives="stamped", same_text=True),
    "visible_filter": Row((lambda: ops.visible_filter(),), gives="view", forwards=False, same_text=True),
    "reorder": Row((lambda: ops.reorder(),), same_text=True),
    "speakable": Row((lambda: ops.speakable(),), gives="view"),
    "segments": Row((lambda: ops.segments(),), gives="view", same_text=True),
    "invocations": Row((lambda: ops.invocations(),), same_text=True),
    "smooth": Row((), elsewhere="tests/operators/test_smooth.py"),  # it holds complete blocks until their time comes
    "record": Row((), elsewhere="tests/operators/test_record.py"),  # a tap that writes a file
    "seam": Row((), elsewhere="tests/operators/test_seam.py"),  # it goes on with a second source
    "speak": Row((), elsewhere="tests/operators/test_speak.py"),  # its items are made by tasks, in their own time
    "stop_sequences": Row(
        (
            lambda: ops.stop_sequences(["\nUser:", "<|eot|>"]),
            lambda: ops.stop_sequences(["İİ", "</thinking>", "secsecret", "sec"]),
        )
    ),
    "marker_filter": Row((lambda: ops.marker_filter(), lambda: ops.marker_filter(["f", "g"]))),
    "field_stream": Row((lambda: ops.field_stream("content", after="path"),), same_text=True),
    "partial_json": Row((lambda: ops.partial_json(),), same_text=True),
    "sentence_segment": Row((lambda: ops.sentence_segment(),), gives="view"),
    "tag_holdback": Row(
        (lambda: ops.tag_holdback(["thinking", "<|eot|>"]), lambda: ops.tag_holdback(["İ", "tool", "[[SEG_"])),
        same_text=True,
    ),
    "xml_block_split": Row(
        (
            lambda: ops.xml_block_split(),
            lambda: ops.xml_block_split(tables=("thinking", "files", "tool")),
            lambda: ops.xml_block_split(tables=("thinking", "tool_call", "dsml"), case_sensitive=False),
            lambda: ops.xml_block_split(tables=("channels",)),
            lambda: ops.xml_block_split(on_unclosed="show", code="ignore"),
            lambda: ops.xml_block_split(on_unclosed="error", starts_open="think"),
        ),
        splits=True,
    ),
    "sentinel_split": Row((lambda: ops.sentinel_split(),), splits=True),
    "json_tool_split": Row(
        (
            lambda: ops.json_tool_split(),
            lambda: ops.json_tool_split(profile="openai"),
            lambda: ops.json_tool_split(profile="gemini"),
            lambda: ops.json_tool_split(profile="any"),
        ),
        splits=True,
    ),
    "block_split": Row((lambda: ops.block_split(strategies=["xml", "json", "sentinel"]),), splits=True),
    "redact": Row(
        (
            lambda: ops.redact(["secret", r"sk-\d{4,8}"]),
            lambda: ops.redact([re.compile(r"\b4111 ?\d{0,4}"), "İ", "<think"], replacement="*"),
        )
    ),
}
"""Rows of operators that exist; `ROWS` may run ahead of them."""


def present() -> dict[str, Row]:
    """The rows of what is exported now."""
    return {name: row for name, row in ROWS.items() if name in ops.__all__ and row.makes}


KNOWN_OPEN: set[tuple[str, str]] = set()
"""Pairs of law and operator that are being mended; empty in a release."""
