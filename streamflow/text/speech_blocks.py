"""The beginning of a line to speech: quotations, lists, headings, tables, rules, code fences, displayed formulas.

A line's markers are taken one by one; the first character that is none of them hands over to running text.
Indented code is not recognised: models indent lists far more often.
"""

from collections.abc import Callable

from streamflow.text import speech_marks as marks
from streamflow.text.speech_scan import NEED_MORE, NOT_FOUND, Scan
from streamflow.text.speech_skips import Skips
from streamflow.text.speech_voice import SPACES

_LONGEST_FENCE = 64


class Blocks:
    """Reader of line beginnings."""

    def __init__(self, scan: Scan, skips: Skips) -> None:
        self._scan = scan
        self._skips = skips
        self._readers: dict[str, Callable[[int], int]] = {
            "\n": self._blank_line,
            ">": self._quote,
            "#": self._heading,
            "|": self._row,
            ":": self._delimiter,
            "`": self._fence,
            "~": self._fence,
            "=": self._rule,
            "_": self._rule,
            "$": self._formula,
            "\\": self._formula,
            "[": self._bracket,
            **dict.fromkeys(SPACES, self._indent),
            **dict.fromkeys("0123456789", self._number),
            **dict.fromkeys(marks.BULLETS, self._bullet),
        }

    def step(self) -> bool:
        """Take one marker of the line; answers whether something was decided."""
        scan = self._scan
        reader = self._readers.get(scan.text[scan.pos])
        end = reader(scan.pos) if reader else NOT_FOUND
        if end == NEED_MORE:
            return False
        if end == NOT_FOUND:
            self._text_line()
        else:
            scan.pos = end
        return True

    def _text_line(self) -> None:
        scan = self._scan
        scan.mode = "text"
        if scan.table == "bare":
            scan.row = True
            if scan.options.tables == "skip":
                scan.mode = "drop"
        elif scan.table:
            scan.table = ""
            scan.new_block()
        if scan.item and not scan.marked and not scan.indented:
            scan.item = False
            scan.new_block()

    def _run(self, start: int, limit: int) -> tuple[int, bool]:
        """The end of the run of equal characters at `start`, and whether it is known that it ends there."""
        scan = self._scan
        stop, fixed = scan.reach(start, limit)
        end, mark = start, scan.text[start]
        while end < stop and scan.text[end] == mark:
            end += 1
        return end, end < stop or fixed

    def _indent(self, start: int) -> int:
        scan = self._scan
        match = marks.SPACE_RUN.match(scan.text, start)
        assert match is not None
        scan.indented = True
        scan.voice.space(scan.text[start], scan.base + start, scan.base + start + 1)
        return match.end()

    def _blank_line(self, start: int) -> int:
        scan = self._scan
        if scan.item or scan.table:
            scan.voice.pause()
        scan.table = ""
        scan.open_marks.clear()
        scan.voice.newline(scan.base + start)
        scan.new_line()
        return start + 1

    def _quote(self, start: int) -> int:
        scan = self._scan
        end, known = self._run(start, 2)
        if not known:
            return NEED_MORE
        if scan.text[end : end + 1] == "=" and end == start + 1:
            return NOT_FOUND
        if not scan.quoted_before and not scan.quotes:
            scan.new_block()
        scan.quotes += 1
        scan.indented = False
        return start + 1

    def _heading(self, start: int) -> int:
        scan = self._scan
        end, known = self._run(start, 7)
        if not known:
            return NEED_MORE
        after = scan.text[end : end + 1]
        if end - start == 1 and after and not after.isspace():
            return NOT_FOUND  # a hashtag
        if end - start == 7:
            scan.noise = "#"
            return self._begin_text(end)
        scan.new_block()
        scan.heading = True
        return self._begin_text(end)

    def _begin_text(self, end: int) -> int:
        """Running text follows; answers `end`."""
        self._text_line()
        return end

    def _bullet(self, start: int) -> int:
        scan = self._scan
        char = scan.text[start]
        if char in "-*+":
            end, known = self._run(start, 4)
            if not known:
                return NEED_MORE
            if end - start > 1 or (char == "+" and scan.text[end : end + 1] in ("-", "=")):
                return self._rule(start)
            if scan.text[end : end + 1] not in ("", "\n", *SPACES):
                return NOT_FOUND
        self._begin_item()
        return start + 1

    def _begin_item(self) -> None:
        scan = self._scan
        scan.new_block()
        scan.table = ""
        scan.item = scan.marked = True

    def _number(self, start: int) -> int:
        """An ordered item keeps its number: answers refer to "step 2"."""
        scan = self._scan
        stop, fixed = scan.reach(start, 12)
        match = marks.DIGITS.match(scan.text, start, stop)
        assert match is not None
        end = match.end()
        if end - start > 9:
            return NOT_FOUND
        if end == stop:
            return NOT_FOUND if fixed else NEED_MORE
        if scan.text[end] not in ".)":
            return NOT_FOUND
        end += 1
        if end == stop:
            if not fixed:
                return NEED_MORE
        elif scan.text[end] != "\n" and scan.text[end] not in SPACES:
            return NOT_FOUND
        self._begin_item()
        return scan.say(start, end)

    def _rule(self, start: int) -> int:
        """`---`, `***`, `___`, `===`, `+--+`: not spoken; it ends what is before."""
        scan = self._scan
        mark = scan.text[start]
        if mark == "+":
            return self._begin_rule(start + 1)
        end, known = self._run(start, 4)
        if not known:
            return NEED_MORE
        if end - start < 3:
            return self._delimiter(start) if mark == "-" else NOT_FOUND
        if mark in "*_" and end - start == 3 and not scan.text[end : end + 1].isspace() and end < len(scan.text):
            return NOT_FOUND  # ***emphasis***
        if mark in "*_":
            scan.noise = mark
        elif scan.table == "bare":
            return self._delimiter(start)
        return self._begin_rule(end)

    def _begin_rule(self, end: int) -> int:
        self._scan.new_block()
        self._scan.mode = "rule"
        return end

    def _delimiter(self, start: int) -> int:
        """The line between a table's head and its body."""
        scan = self._scan
        if not scan.table and scan.text[start] != "|":
            return NOT_FOUND
        stop, fixed = scan.reach(start)
        match = marks.DELIMITER_ROW.match(scan.text, start, stop)
        assert match is not None
        end = match.end()
        if end == stop and not fixed:
            return NEED_MORE
        if end < stop and scan.text[end] != "\n":
            return NOT_FOUND
        scan.mode = "rule"
        return end

    def _row(self, start: int) -> int:
        scan = self._scan
        end, known = self._run(start, 2)
        if not known:
            return NEED_MORE
        if end - start > 1:
            return NOT_FOUND
        delimiter = self._delimiter(start)
        if delimiter != NOT_FOUND:
            if delimiter != NEED_MORE and not scan.table:
                scan.new_block()
            return delimiter
        if scan.table != "piped":
            scan.new_block()
            scan.table = "piped"
        if scan.options.tables == "skip":
            scan.mode = "drop"
        else:
            scan.row = True
            scan.mode = "text"
        return start + 1

    def _fence(self, start: int) -> int:
        scan = self._scan
        end, known = self._run(start, _LONGEST_FENCE)
        if not known:
            return NEED_MORE
        if not 3 <= end - start < _LONGEST_FENCE:
            return NOT_FOUND
        fence = scan.text[start:end]
        if fence[0] == "`":
            # ```code``` on one line is a code span: the info string of a fence has no backtick.
            stop, fixed = scan.reach(start)
            newline = scan.text.find("\n", end, stop)
            if scan.text.find("`", end, newline if newline >= 0 else stop) >= 0:
                return NOT_FOUND
            if newline < 0 and not fixed:
                return NEED_MORE
        return self._skips.begin_fence(start, end, fence)

    def _formula(self, start: int) -> int:
        """`$$` and `\\[` at the beginning of a line display a formula that may be long."""
        scan = self._scan
        stop, fixed = scan.reach(start, 4)
        opening = scan.text[start:stop]
        if len(opening) < 3 and not fixed:
            return NEED_MORE
        if opening[:2] == "$$" and opening[2:3] != "$" and len(opening) > 2:
            return self._skips.begin_formula(start, start + 2, "$$")
        if opening[:2] == "\\[" and opening[2:3].isspace():
            return self._skips.begin_formula(start, start + 2, "\\]")
        return NOT_FOUND

    def _bracket(self, start: int) -> int:
        """Check boxes, alerts, and definitions of links and footnotes."""
        scan = self._scan
        stop, fixed = scan.reach(start)
        if scan.marked:
            if match := marks.TASK.match(scan.text, start, stop):
                return match.end()
            if not fixed and marks.TASK_BEGUN.match(scan.text, start, stop):
                return NEED_MORE
        if scan.quotes:
            if match := marks.ALERT.match(scan.text, start, stop):
                scan.say(*match.span(1))
                scan.new_block()
                return match.end()
            if not fixed and marks.ALERT_BEGUN.match(scan.text, start, stop):
                return NEED_MORE
        if match := marks.DEFINITION.match(scan.text, start, stop):
            return self._definition(match[1], match.end())
        if not fixed and marks.DEFINITION_BEGUN.match(scan.text, start, stop):
            return NEED_MORE
        return NOT_FOUND

    def _definition(self, label: str, end: int) -> int:
        scan = self._scan
        stop, fixed = scan.reach(end, 8)
        if marks.TARGET.match(scan.text, end, stop):
            scan.mode = "drop"
            return end
        if not fixed:
            return NEED_MORE
        return self._begin_text(end) if marks.CITATION.fullmatch(label) else NOT_FOUND
