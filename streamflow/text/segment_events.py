"""Segments: the view of an answer as numbered pieces that a front end draws, each with a start, content and an end.

The JSON form of these events is their own schema: ``"type"`` is ``SEGMENT_START``, ``SEGMENT_CONTENT`` or
``SEGMENT_END``.
"""

from typing import Any

import msgspec


class SegmentStart(msgspec.Struct, frozen=True, tag="SEGMENT_START"):
    """A segment opens. ``payload["metadata"]`` is what a front end shows before the content: a path, a tool's name.

    >>> start = SegmentStart("seg_1", "write_file", {"metadata": {"path": "/a.py"}})
    >>> start.type, start.metadata
    ('SEGMENT_START', {'path': '/a.py'})
    """

    segment_id: str
    segment_type: str
    payload: dict[str, Any] = msgspec.field(default_factory=lambda: {"metadata": {}})

    @property
    def type(self) -> str:
        """The name in the JSON form."""
        return "SEGMENT_START"

    @property
    def metadata(self) -> dict[str, Any]:
        """What is known of the segment before its content."""
        metadata: dict[str, Any] = self.payload.get("metadata", {})
        return metadata


class SegmentContent(msgspec.Struct, frozen=True, tag="SEGMENT_CONTENT"):
    """A piece of the segment's content. ``payload["metadata"]`` is there only for arguments that came late.

    >>> SegmentContent("seg_1", {"delta": "print('hi')"}).delta
    "print('hi')"
    """

    segment_id: str
    payload: dict[str, Any]

    @property
    def type(self) -> str:
        """The name in the JSON form."""
        return "SEGMENT_CONTENT"

    @property
    def delta(self) -> str:
        """The text."""
        delta: str = self.payload.get("delta", "")
        return delta

    @property
    def metadata(self) -> dict[str, Any]:
        """Arguments beside the content that were not known at the start; mostly empty."""
        metadata: dict[str, Any] = self.payload.get("metadata", {})
        return metadata


class SegmentEnd(msgspec.Struct, frozen=True, tag="SEGMENT_END"):
    """The segment closed; the payload is empty, or says that the end of the stream closed it.

    >>> SegmentEnd("seg_1").incomplete, SegmentEnd("seg_1", {"incomplete": True}).incomplete
    (False, True)
    """

    segment_id: str
    payload: dict[str, Any] = {}

    @property
    def type(self) -> str:
        """The name in the JSON form."""
        return "SEGMENT_END"

    @property
    def incomplete(self) -> bool:
        """True when the segment is not certainly whole."""
        return bool(self.payload.get("incomplete"))


class Invocation(msgspec.Struct, frozen=True, tag=True):
    """A tool to run, with the id of the segment that it came from; runnable only when nothing is against it.

    >>> Invocation("seg_1", "run_bash", {"command": "ls"}).runnable
    True
    >>> Invocation("seg_1", "run_bash", {"command": "rm -r /tm"}, incomplete=True).runnable
    False
    """

    id: str
    name: str
    arguments: Any = None
    incomplete: bool = False
    error: str | None = None
    tool_id: str | None = None

    @property
    def runnable(self) -> bool:
        """True when nothing is known against running it."""
        return self.error is None and not self.incomplete
