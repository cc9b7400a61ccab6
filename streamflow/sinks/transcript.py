"""Transcripts: a flow on disk as it streams, as JSON lines or as markdown.

Each event is one write of the operating system, so that a process that is killed leaves whole lines behind; only the
last may be torn, and whoever reads or continues the file leaves such a line out.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reactivex.abc import ObserverBase

from streamflow.encoding import to_json
from streamflow.errors import UsageError
from streamflow.events import BlockComplete, BlockStart, Chunk, Stamped, StreamCompleted, StreamFailed, StreamStart

_HIDDEN_QUOTE = "> "


class Transcript(ObserverBase[Any]):
    """An observer that writes what it sees: ``flow.subscribe(Transcript("talk.jsonl"))``.

    The ending of the path chooses the form: ``.md`` is for people, anything else is JSON lines. A file that exists is
    continued; a torn last line, left by a full disk or a kill, is cut off first.

    >>> import tempfile, streamflow as sf
    >>> path = Path(tempfile.mkdtemp()) / "talk.jsonl"
    >>> with Transcript(path) as transcript:
    ...     transcript.on_next(Stamped(0, 0.0, StreamStart("id", "model", "openai")))
    >>> [stamped.event.model for stamped in read_transcript(path)]
    ['model']
    """

    def __init__(self, path: str | os.PathLike[str], *, sync: bool = False) -> None:
        self.path = Path(path)
        self._sync = sync
        self._line: Callable[[Any], str] = _Markdown() if self.path.suffix in (".md", ".markdown") else _json_line
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise UsageError(f"cannot write the transcript {self.path}: {error.strerror}") from error
        if self._line is _json_line:
            _cut_torn_line(self._file)

    def on_next(self, value: Any) -> None:
        """Write one event."""
        text = self._line(value)
        if not text:
            return
        data = text.encode("utf-8", "replace")
        written = os.write(self._file, data)
        if written != len(data):
            # A full disk may take half a line: what stays in the file must be whole.
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise OSError(f"the disk took {written} of {len(data)} bytes for {self.path}")
        if self._sync:
            os.fsync(self._file)

    def on_error(self, error: Exception) -> None:
        """Close the file."""
        self.close()

    def on_completed(self) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; more than once is fine."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __enter__(self) -> "Transcript":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def read_transcript(path: str | os.PathLike[str]) -> list[Any]:
    """The events of a JSON lines transcript; a torn last line is left out."""
    from streamflow.encoding import from_json

    data = Path(path).read_bytes()
    whole, _, _ = data.rpartition(b"\n")
    return [from_json(line) for line in whole.split(b"\n") if line]


def _json_line(event: Any) -> str:
    return to_json(event).decode() + "\n"


def _cut_torn_line(file: int) -> None:
    size = os.fstat(file).st_size
    keep = size
    while keep:
        step = min(keep, 4096)
        found = os.pread(file, step, keep - step).rfind(b"\n")
        if found >= 0:
            keep = keep - step + found + 1
            break
        keep -= step
    if keep != size:
        os.ftruncate(file, keep)


class _Markdown:
    """Events for people: text as it comes, thought as a quotation, calls as code."""

    def __init__(self) -> None:
        self._kind = ""
        self._fresh_line = True

    def __call__(self, item: Any) -> str:
        event = item.event if isinstance(item, Stamped) else item
        write = _MARKDOWN.get(type(event))
        return "" if write is None else write(self, event)

    def _on_start(self, event: StreamStart) -> str:
        return f"## {event.model or event.provider or 'answer'}\n\n"

    def _on_block(self, event: BlockStart) -> str:
        self._kind = event.kind
        self._fresh_line = True
        return ""

    def _on_chunk(self, event: Chunk) -> str:
        if event.visible:
            return event.text
        if event.part is not None:
            return ""
        text = event.text.replace("\n", "\n" + _HIDDEN_QUOTE)
        quoted = (_HIDDEN_QUOTE if self._fresh_line else "") + text
        self._fresh_line = False
        return quoted

    def _on_complete(self, event: BlockComplete) -> str:
        note = " (incomplete)" if event.incomplete else ""
        if event.kind in ("tool_call", "tool_result"):
            name = event.tool_name or event.tool_id or event.kind
            fence = "`" * max(3, _longest_run(event.content) + 1)
            return f"\n**{event.kind} {name}**{note}\n\n{fence}json\n{event.content}\n{fence}\n\n"
        return f"{note}\n\n" if event.content else ""

    def _on_end(self, event: StreamCompleted) -> str:
        return f"---\n\n*{event.stop_reason}*\n\n"

    def _on_failed(self, event: StreamFailed) -> str:
        return f"\n\n---\n\n*{event.error.type}: {event.error.message}*\n\n"


_MARKDOWN: dict[type, Callable[[_Markdown, Any], str]] = {
    StreamStart: _Markdown._on_start,
    BlockStart: _Markdown._on_block,
    Chunk: _Markdown._on_chunk,
    BlockComplete: _Markdown._on_complete,
    StreamCompleted: _Markdown._on_end,
    StreamFailed: _Markdown._on_failed,
}


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
