"""Markdown, HTML and SSML to what a voice should say, while the text is still coming."""

from collections.abc import Callable

import msgspec

from streamflow.errors import UsageError
from streamflow.text.speech_blocks import Blocks
from streamflow.text.speech_inline import Inline
from streamflow.text.speech_marks import HOLD_LIMIT
from streamflow.text.speech_scan import Mode, Scan, SpeechOptions
from streamflow.text.speech_skips import Skips
from streamflow.text.spoken import Spoken

__all__ = ["HOLD_LIMIT", "SpeechText", "Spoken"]

_CHOICES = {
    "code": ("skip", "say", "read"),
    "links": ("text", "url"),
    "tables": ("cells", "skip"),
    "emoji": ("skip", "say"),
    "latex": ("skip", "say", "read"),
}


class SpeechText:
    """Turns raw text into spoken pieces; however the text is cut, the joined pieces are the same.

    >>> speech = SpeechText()
    >>> pieces = speech.feed("# Plan\\nUse **bo") + speech.feed("ld** [links](https://a.b).") + speech.flush()
    >>> "".join(piece.text for piece in pieces)
    'Plan.\\nUse bold links.'
    """

    def __init__(
        self,
        *,
        code: str = "skip",
        links: str = "text",
        tables: str = "cells",
        emoji: str = "skip",
        latex: str = "skip",
    ) -> None:
        self._options = SpeechOptions(code=code, links=links, tables=tables, emoji=emoji, latex=latex)
        for name, value in msgspec.structs.asdict(self._options).items():
            if value not in _CHOICES[name]:
                allowed = ", ".join(repr(choice) for choice in _CHOICES[name])
                raise UsageError(f"{name}={value!r}: allowed are {allowed}")
        self._begin(0)

    def _begin(self, offset: int) -> None:
        self._scan = Scan(self._options, offset)
        skips = Skips(self._scan)
        self._inline = Inline(self._scan, skips)
        self._steps: dict[Mode, Callable[[], bool]] = {
            "line": Blocks(self._scan, skips).step,
            "text": self._inline.step,
            "url": skips.url,
            "fence": skips.fence,
            "skip": skips.skip,
            "drop": skips.drop,
            "rule": skips.rule,
            "target": skips.target,
        }

    @property
    def held(self) -> int:
        """How many raw characters wait for what follows; never more than HOLD_LIMIT and a few."""
        return self._scan.held

    def feed(self, text: str) -> list[Spoken]:
        """Read more raw text; answers what is decided by it."""
        self._scan.extend(text)
        self._read()
        return self._scan.voice.take()

    def flush(self) -> list[Spoken]:
        """The text ends here; answers the rest. A next text may follow, its offsets go on."""
        scan = self._scan
        scan.final = True
        self._read()
        if scan.heading or scan.row or scan.item or scan.table or scan.mode == "fence":
            scan.voice.pause()
        scan.voice.finish()
        pieces = scan.voice.take()
        self._begin(scan.base + len(scan.text))
        return pieces

    def _read(self) -> None:
        scan = self._scan
        while scan.pos < len(scan.text):
            if scan.regions and scan.mode in ("text", "line", "url"):
                self._inline.leave_passed_regions()
            if not self._steps[scan.mode]():
                break
