"""Inline markup to speech: emphasis, code, formulas, escapes, table cells, emoji; tags and links by their readers.

Every reader gets the index of its mark and answers the index up to which it decided, or NEED_MORE.
"""

from collections.abc import Callable

from streamflow.text import speech_marks as marks
from streamflow.text.speech_emphasis import emphasis_role
from streamflow.text.speech_links import LinkReader
from streamflow.text.speech_scan import NEED_MORE, NOT_FOUND, Scan
from streamflow.text.speech_skips import FORMULA, Skips
from streamflow.text.speech_tags import TagReader
from streamflow.text.speech_voice import SPACES


class Inline:
    """Reader of running text."""

    def __init__(self, scan: Scan, skips: Skips) -> None:
        self._scan = scan
        self._skips = skips
        self._links = LinkReader(scan, skips)
        tags = TagReader(scan, skips)
        self._readers: dict[str, Callable[[int], int]] = {
            "*": self._emphasis,
            "_": self._emphasis,
            "~": self._emphasis,
            "`": self._code,
            "$": self._dollar,
            "\\": self._backslash,
            "|": self._pipe,
            "#": self._closing_hashes,
            "\n": self._newline,
            "<": tags.tag,
            "&": tags.entity,
            "[": self._links.bracket,
            "!": self._links.bang,
            "【": self._links.lenticular,
            "\ue200": self._links.private_citation,
            **dict.fromkeys(SPACES, self._space),
            **dict.fromkeys("hHwW", self._links.url),
        }
        emoji = scan.options.emoji
        self._special = {heading: marks.SPECIAL[emoji, heading] for heading in (False, True)}

    def leave_passed_regions(self) -> None:
        """Forget link ends that a construct from inside the link went beyond."""
        scan = self._scan
        while scan.regions and scan.base + scan.pos > scan.regions[-1].start:
            self._links.leave()

    def step(self) -> bool:
        """Read plain text and the mark after it; answers whether something was decided."""
        scan = self._scan
        text, start = scan.text, scan.pos
        if scan.noise:
            scan.drop_noise()
            return True
        stop = scan.stop
        if start >= stop:
            self._links.leave()
            return True
        match = self._special[scan.heading].search(text, start, stop)
        at = match.start() if match else stop
        if at > start:
            scan.pos = scan.say(start, at)
        if match is None:
            return True
        end = self._readers.get(text[at], self._unspoken)(at)
        if end == NEED_MORE:
            return False
        scan.pos = end
        return True

    def _space(self, start: int) -> int:
        scan = self._scan
        match = marks.SPACE_RUN.match(scan.text, start)
        assert match is not None
        scan.voice.space(scan.text[start], scan.base + start, scan.base + start + 1)
        return match.end()

    def _newline(self, start: int) -> int:
        scan = self._scan
        if scan.heading or scan.row:
            scan.new_block()
            scan.heading = scan.row = False
        scan.voice.newline(scan.base + start)
        scan.new_line()
        return start + 1

    def _unspoken(self, start: int) -> int:
        """Emoji and invisible characters."""
        scan = self._scan
        if match := marks.INVISIBLE_RUN.match(scan.text, start):
            return match.end()
        match = marks.EMOJI_RUN.match(scan.text, start)
        assert match is not None
        if marks.PICTOGRAPH.match(scan.text, start):
            scan.voice.separate(scan.base + start)
        return scan.remove(match.end())

    def _emphasis(self, start: int) -> int:
        scan = self._scan
        text, mark = scan.text, scan.text[start]
        stop, fixed = scan.reach(start)
        end = start
        while end < stop and text[end] == mark:
            end += 1
        count = end - start
        if count > 3:
            scan.noise = mark
            return end
        if end == stop and not fixed:
            return NEED_MORE
        opened = scan.open_marks.get(mark, 0)
        role = emphasis_role(mark, count, text[start - 1], text[end : end + 1], opened > 0)
        if role == "look":
            role_end = self._second_mark(start, end)
            if role_end == NEED_MORE:
                return NEED_MORE
            role = "text" if role_end == NOT_FOUND else "open"
        if role == "text":
            return scan.say(start, end)
        scan.open_marks[mark] = opened + count if role == "open" else max(0, opened - count)
        return end

    def _second_mark(self, start: int, end: int) -> int:
        scan = self._scan
        stop, fixed = scan.reach(start, marks.INSIDE_WORD_LIMIT)
        match = marks.NOT_SPACE.match(scan.text, end, stop)
        word_end = match.end() if match else end
        found = scan.text.find(scan.text[start:end], end, word_end)
        if found < 0:
            return NEED_MORE if word_end == stop and not fixed else NOT_FOUND
        return found

    def _code(self, start: int) -> int:
        scan = self._scan
        stop, fixed = scan.reach(start)
        match = marks.TICKS.match(scan.text, start, stop)
        assert match is not None
        content = match.end()
        if content - start > marks.LONGEST_MARK:
            scan.noise = "`"
            return content
        end = marks.code_end(scan.text, start, content, stop, fixed)
        if end == NEED_MORE:
            return NEED_MORE
        if end == NOT_FOUND:
            return content
        scan.say_raw(content, end - (content - start))
        return end

    def _dollar(self, start: int) -> int:
        scan = self._scan
        text = scan.text
        stop, fixed = scan.reach(start)
        content = start + 1
        while content < stop and text[content] == "$":
            content += 1
            if content - start > marks.LONGEST_MARK:
                break
        count = content - start
        if content == stop and not fixed and count <= marks.LONGEST_MARK:
            return NEED_MORE
        if count > 2 or content == stop or (count == 1 and text[content].isspace()):
            return scan.say(start, content)
        if count == 2:
            return self._formula(start, content, "$$")
        line_end = text.find("\n", content, stop)
        line_end, fixed = (stop, fixed) if line_end < 0 else (line_end, True)
        if marks.MONEY.match(text, content, line_end):
            return scan.say(start, content)
        close = marks.MATH_CLOSE.search(text, content, line_end)
        if close and (close.end() < line_end or fixed):
            return self._say_formula(start, content, close.start(), close.end())
        return scan.say(start, content) if fixed else NEED_MORE

    def _formula(self, start: int, content: int, end_mark: str, math_only: bool = False) -> int:
        """A formula in running text, if its end mark follows in the same paragraph."""
        scan = self._scan
        stop, fixed = scan.reach(start)
        found = scan.text.find(end_mark, content, stop)
        if marks.PARAGRAPH_END.search(scan.text, content, found if found >= 0 else stop):
            found, fixed = -1, True
        if found < 0:
            return self._not_a_formula(start, content) if fixed else NEED_MORE
        if math_only and not marks.MATH_LIKE.search(scan.text[content:found]):
            return self._not_a_formula(start, content)
        return self._say_formula(start, content, found, found + len(end_mark))

    def _not_a_formula(self, start: int, content: int) -> int:
        """Dollars are text; `\\(` and `\\[` are escapes of their bracket."""
        is_escape = self._scan.text[start] == "\\"
        return self._scan.say(start + is_escape, content)

    def _say_formula(self, start: int, content: int, content_end: int, end: int) -> int:
        scan = self._scan
        policy = scan.options.latex
        if policy == "read":
            scan.say_raw(content, content_end)
        elif policy == "say":
            scan.voice.replace(FORMULA, scan.base + start, scan.base + end)
        return scan.remove(end)

    def _backslash(self, start: int) -> int:
        scan = self._scan
        stop, fixed = scan.reach(start)
        escaped = scan.text[start + 1 : min(start + 2, stop)]
        if not escaped:
            return scan.say(start, start + 1) if fixed else NEED_MORE
        if escaped == "\n":
            return start + 1
        if escaped == "(":
            return self._formula(start, start + 2, "\\)")
        if escaped == "[":
            return self._formula(start, start + 2, "\\]", math_only=True)
        if escaped in marks.ESCAPABLE:
            return scan.say(start + 1, start + 2)
        if match := marks.ENVIRONMENT.match(scan.text, start, stop):
            return self._skips.begin_formula(start, match.end(), f"\\end{{{match[1]}}}")
        if not fixed and marks.ENVIRONMENT_BEGUN.match(scan.text, start, stop):
            return NEED_MORE
        return scan.say(start, start + 1)

    def _pipe(self, start: int) -> int:
        """A cell's end in a table row; elsewhere perhaps a table without outer pipes."""
        scan = self._scan
        if scan.row:
            scan.voice.cell()
            scan.voice.separate(scan.base + start)
            return start + 1
        if scan.heading or scan.pipes_are_text or scan.regions:
            return scan.say(start, start + 1)
        stop, fixed = scan.reach(start)
        line_end = scan.text.find("\n", start, stop)
        match = marks.BARE_DELIMITER.match(scan.text, line_end + 1, stop) if line_end >= 0 else None
        if match and (match.end() < stop or fixed):
            scan.table = "bare"
            scan.row = scan.options.tables == "cells"
            if not scan.row:
                scan.mode = "drop"
            return start
        begun = marks.DELIMITER_ROW.match(scan.text, line_end + 1, stop)
        if not fixed and (line_end < 0 or (begun is not None and begun.end() == stop)):
            return NEED_MORE
        scan.pipes_are_text = True
        return scan.say(start, start + 1)

    def _closing_hashes(self, start: int) -> int:
        """`## Title ##`: the hashes at the end of a heading go."""
        scan = self._scan
        stop, fixed = scan.reach(start)
        text, end = scan.text, start
        if text[start - 1] not in SPACES:
            return scan.say(start, start + 1)
        while end < stop and text[end] == "#":
            end += 1
        hashes = end
        if match := marks.SPACE_RUN.match(text, end, stop):
            end = match.end()
        if end == stop:
            return end if fixed else NEED_MORE
        return end if text[end] == "\n" else scan.say(start, hashes)
