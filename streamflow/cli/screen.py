"""Events on a terminal: text as it comes, thinking dimmed, tools and ends in a line of their own."""

from typing import Any

import orjson
from rich.console import Console

from streamflow.cli.output import print_json
from streamflow.encoding import to_json
from streamflow.events import BlockComplete, BlockStart, Chunk, Citation, Image, Retrying, StreamCompleted

# A model must not move the cursor, ring the bell or set the title: control characters become visible.
VISIBLE = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


class Screen:
    """Shows the events of one answer after the other.

    >>> import io
    >>> console = Console(file=io.StringIO())
    >>> screen = Screen(console)
    >>> screen.show(Chunk(0, "text", "Hi\\x1b[2J")); screen.end()
    >>> console.file.getvalue()
    'Hi\\\\x1b[2J\\n'
    """

    def __init__(
        self, console: Console, thinking: bool = True, errors: Console | None = None, remarks: bool = True
    ) -> None:
        self._console = console
        self._errors = errors or console
        self._thinking = thinking
        self._remarks = remarks
        self._at_line_start = True

    def show(self, event: Any) -> None:
        """One event."""
        match event:
            case BlockStart():
                self._break()
            case Chunk(kind="thinking", text=text):
                if self._thinking:
                    self._write(text, "dim italic")
            case Chunk(kind="tool_call", part="name", text=text):
                self._write(f"-> {text} ", "yellow")
            case Chunk(kind="tool_call", part="input", text=text):
                self._write(text, "yellow")
            case Chunk(visible=True, text=text) | Chunk(kind="refusal", text=text):
                self._write(text)
            case BlockComplete(incomplete=True, kind="tool_call"):
                self.remark("the call was cut off")
            case Citation(url=url, title=title):
                self.remark(f"[{title or url}] {url}")
            case Image():
                self.remark(f"a picture ({event.image.media_type})")
            case Retrying():
                self.remark(f"{event.reason}; trying again ({event.attempt} of {event.max_attempts})")
            case StreamCompleted(stop_reason=reason) if reason not in ("end_turn", "tool_use"):
                self.remark(reason)

    def remark(self, text: str) -> None:
        """Something that the model did not say."""
        self._break()
        if self._remarks:
            self._write(f"({text})\n", "dim")

    def fail(self, text: str) -> None:
        """The answer failed."""
        self._break()
        self._errors.print(text.translate(VISIBLE), style="red", markup=False, highlight=False, emoji=False)

    def end(self) -> None:
        """The answer is over."""
        self._break()

    def _break(self) -> None:
        if not self._at_line_start:
            self._write("\n")

    def _write(self, text: str, style: str | None = None) -> None:
        text = text.translate(VISIBLE)
        if text:
            self._at_line_start = text.endswith("\n")
            self._console.print(text, style=style, end="", markup=False, highlight=False, soft_wrap=True, emoji=False)
            self._console.file.flush()


class JsonScreen:
    """The same for programs: a line of JSON for each event."""

    def show(self, event: Any) -> None:
        """One event."""
        print_json(orjson.Fragment(to_json(event)))

    def remark(self, text: str) -> None:
        """Said to people only."""

    def fail(self, text: str) -> None:
        """The answer failed."""
        print_json({"type": "StreamFailed", "error": {"message": text}})

    def end(self) -> None:
        """The answer is over."""
