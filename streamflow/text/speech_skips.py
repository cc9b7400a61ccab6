"""Modes of the speech machine that read on until an end mark: code fences, comments, formulas, rules, URLs.

They hold back no more than their end mark can be long, however long the content is.
"""

import re

from streamflow.text import speech_marks as marks
from streamflow.text.speech_scan import Scan
from streamflow.text.speech_voice import SPACES

CODE_OMITTED = "code omitted."
FORMULA = "formula"


class Skips:
    """Readers of the modes "skip", "drop", "rule", "fence", "url" and "target".

    Each step answers whether it decided something.
    """

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._until = re.compile("")
        self._longest_end = 0
        self._reads = False
        self._is_formula = False
        self._fence = ""
        self._fence_quotes = 0
        self._quotes_seen = 0
        self._in_fence_line = False
        self._in_host = False
        self._url_depth = 0

    def begin_comment(self, end_mark: str) -> None:
        """Speak nothing until `end_mark`, in any case."""
        self._until = re.compile(re.escape(end_mark), re.IGNORECASE)
        self._longest_end = len(end_mark)
        self._reads = self._is_formula = False
        self._scan.mode = "skip"

    def begin_formula(self, start: int, end: int, end_mark: str) -> int:
        """A displayed formula begins with the mark text[start:end]; a blank line ends it too."""
        scan = self._scan
        scan.new_block()
        if scan.options.latex == "say":
            scan.voice.replace(FORMULA + ".", scan.base + start, scan.base + end)
        self._until = re.compile(rf"{re.escape(end_mark)}|\n(?=[{SPACES}]{{0,8}}\n)")
        self._longest_end = max(len(end_mark), 10)
        self._reads = scan.options.latex == "read"
        self._is_formula = True
        scan.mode = "skip"
        return end

    def skip(self) -> bool:
        """Content up to an end mark."""
        scan = self._scan
        match = self._until.search(scan.text, scan.pos)
        if match is None:
            end = len(scan.text) if scan.final else len(scan.text) - self._longest_end + 1
            if end <= scan.pos:
                return False
        else:
            end = match.start()
        if self._reads:
            scan.say_raw(scan.pos, end)
        scan.pos = end
        if match is not None:
            if match[0] != "\n":
                scan.pos = match.end()
            if self._is_formula:
                scan.voice.pause()
            scan.remove(scan.pos)
            scan.mode = "text"
        return True

    def drop(self) -> bool:
        """The rest of a line that is not spoken."""
        scan = self._scan
        end = scan.text.find("\n", scan.pos)
        if end < 0:
            scan.pos = len(scan.text)
        else:
            scan.pos = end
            scan.mode = "text"
        return True

    def rule(self) -> bool:
        """The rest of a horizontal rule or of the line under a heading."""
        scan = self._scan
        if scan.noise:
            scan.drop_noise()
        elif match := marks.RULE_REST.match(scan.text, scan.pos):
            scan.pos = match.end()
        elif scan.text[scan.pos] == "\n":
            if not scan.table:
                scan.voice.newline(scan.base + scan.pos)
            scan.pos += 1
            scan.new_line()
        else:
            scan.mode = "line"
        return True

    def begin_fence(self, start: int, end: int, fence: str) -> int:
        """A code block begins with the marks text[start:end]; the rest of the line is its info string."""
        scan = self._scan
        scan.new_block()
        if scan.options.code == "say":
            scan.voice.replace(CODE_OMITTED, scan.base + start, scan.base + end)
        self._fence = fence
        self._fence_quotes = scan.quotes
        self._reads = False
        self._in_fence_line = True
        scan.mode = "fence"
        return end

    def fence(self) -> bool:
        """Lines of a code block."""
        scan = self._scan
        if not self._in_fence_line:
            return self._fence_line_start()
        end = scan.text.find("\n", scan.pos)
        stop = len(scan.text) if end < 0 else end
        if self._reads:
            scan.say_raw(scan.pos, stop)
        scan.pos = stop
        if end >= 0:
            if scan.options.code == "read":
                scan.voice.newline(scan.base + end)
            scan.pos = end + 1
            self._in_fence_line = False
            self._quotes_seen = 0
            self._reads = scan.options.code == "read"
        return True

    def _fence_line_start(self) -> bool:
        scan = self._scan
        text, start = scan.text, scan.pos
        if match := marks.SPACE_RUN.match(text, start):
            scan.pos = match.end()
            return True
        char = text[start]
        if self._quotes_seen < self._fence_quotes:
            if char != ">":  # the quotation ended, and its code block with it
                scan.voice.pause()
                scan.new_line()
            else:
                self._quotes_seen += 1
                scan.pos += 1
            return True
        if char != self._fence[0]:
            self._in_fence_line = True
            return True
        end = start
        stop, fixed = scan.reach(start)
        while end < stop and text[end] == char:
            end += 1
        if match := marks.SPACE_RUN.match(text, end, stop):
            end = match.end()
        if end == stop and not fixed:
            return False
        if text.startswith(self._fence, start) and (end == stop or text[end] == "\n"):
            scan.pos = end
            scan.voice.pause()
            scan.mode = "text"
        else:
            self._in_fence_line = True
        return True

    def begin_url(self) -> None:
        """A URL's host follows."""
        self._in_host = True
        self._url_depth = 0
        self._scan.mode = "url"

    def url(self) -> bool:
        """A bare URL: its host is spoken, or all of it (links="url")."""
        scan = self._scan
        text, start = scan.text, scan.pos
        stop = scan.stop
        char = text[start] if start < stop else ""
        if match := marks.URL_SAFE.match(text, start, stop):
            self._pass_url(start, match.end())
        elif char == "(":
            self._url_depth += 1
            self._pass_url(start, start + 1)
        elif char == ")" and self._url_depth:
            self._url_depth -= 1
            self._pass_url(start, start + 1)
        elif match := marks.URL_TRAILING.match(text, start, min(stop, start + marks.LONGEST_MARK)):
            # Punctuation belongs to a URL only if the URL goes on after it (GitHub's rule for bare links).
            end = match.end()
            too_long = end - start == marks.LONGEST_MARK
            if end == stop and not scan.final and not scan.regions and not too_long:
                return False
            if end < stop and not too_long and (marks.URL_SAFE.match(text, end) or text[end] == "("):
                self._pass_url(start, end)
            else:
                scan.mode = "text"
        else:
            scan.mode = "text"
        return True

    def _pass_url(self, start: int, end: int) -> None:
        scan = self._scan
        scan.pos = end
        if scan.options.links == "url":
            scan.say(start, end)
        elif self._in_host:
            match = marks.URL_HOST.match(scan.text, start, end)
            host_end = match.end() if match else start + (scan.text[start:end] == ".")
            if host_end > start:
                scan.say(start, host_end)
            self._in_host = host_end == end

    def target(self) -> bool:
        """The rest of a link's target that was too long to wait for."""
        scan = self._scan
        start = scan.pos
        match = marks.TARGET_END.search(scan.text, start)
        end = match.start() if match else len(scan.text)
        if scan.options.links == "url":
            scan.say_raw(start, end)
        scan.pos = end
        if match:
            scan.pos += match[0] == ")"
            scan.mode = "text"
        return True
