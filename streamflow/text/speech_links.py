"""Links, images, citation marks and bare URLs to speech."""

from streamflow.text import speech_marks as marks
from streamflow.text.speech_scan import NEED_MORE, NOT_FOUND, Region, Scan
from streamflow.text.speech_skips import Skips


class LinkReader:
    """Readers of "[", "![", "【", private citation marks and URLs."""

    def __init__(self, scan: Scan, skips: Skips) -> None:
        self._scan = scan
        self._skips = skips

    def bang(self, start: int) -> int:
        """An image, if a bracket follows."""
        scan = self._scan
        stop, fixed = scan.reach(start)
        if start + 1 == stop:
            return scan.say(start, stop) if fixed else NEED_MORE
        return self._bracket(start, start + 1)

    def bracket(self, start: int) -> int:
        """A link, a citation mark, or text in brackets."""
        return self._bracket(start, start)

    def _bracket(self, start: int, opening: int) -> int:
        scan = self._scan
        text = scan.text
        is_image = opening > start
        closing = self._label_end(opening)
        if closing == NEED_MORE:
            return NEED_MORE
        if closing == NOT_FOUND:
            return scan.say(start, opening + 1)
        stop, fixed = scan.reach(closing, marks.HOLD_LIMIT - (closing - start))
        after = closing + 1
        if after >= stop and not fixed:
            return NEED_MORE
        label = text[opening + 1 : closing]
        follows = text[after] if after < stop else ""
        is_citation = not is_image and marks.CITATION.fullmatch(label) is not None
        if follows == "(":
            end = self._target(start, opening, closing, stop, fixed, is_citation)
            if end != NOT_FOUND:
                return end
        if is_citation:
            return scan.remove(after)
        if follows == "[" and (is_image or not marks.is_word(text[start - 1])):
            match = marks.REFERENCE.match(text, after, stop)
            if match:
                return self._enter(opening, closing, match.end())
            if not fixed and marks.REFERENCE_BEGUN.match(text, after, stop):
                return NEED_MORE
        if label[:1] == "[" and label[-1:] == "]" and len(label) > 2 and not is_image:  # [[wiki link]]
            return self._enter(opening + 1, closing - 1, after)
        return scan.say(start, opening + 1)

    def _target(
        self, start: int, opening: int, closing: int, stop: int, fixed: bool, is_citation: bool
    ) -> int:
        scan = self._scan
        after = closing + 1
        if match := marks.DESTINATION.match(scan.text, after, stop):
            if is_citation:
                return scan.remove(match.end())
            group = 1 if match[1] is not None else 2
            label = scan.text[opening + 1 : closing].strip()
            says_url = scan.options.links == "url" and opening == start and label not in ("", match[group])
            return self._enter(opening, closing, match.end(), match.span(group) if says_url else None)
        if fixed and stop - start == marks.HOLD_LIMIT and marks.LONG_TARGET.match(scan.text, after, stop):
            scan.regions.append(Region(scan.base + closing, scan.base + after + 1, open_target=True))
            return opening + 1
        if not fixed and marks.DESTINATION_BEGUN.match(scan.text, after, stop):
            return NEED_MORE
        return NOT_FOUND

    def _enter(self, opening: int, closing: int, end: int, url: tuple[int, int] | None = None) -> int:
        """Read the label text[opening + 1:closing] as text, then jump to `end`."""
        base = self._scan.base
        said = None if url is None or url[0] == url[1] else (base + url[0], base + url[1])
        self._scan.regions.append(Region(base + closing, base + end, said))
        return opening + 1

    def leave(self) -> None:
        """The end of a label was reached, or passed by a construct that began inside."""
        scan = self._scan
        region = scan.regions.pop()
        passed = scan.base + scan.pos > region.start
        scan.pos = max(scan.pos, region.end - scan.base)
        if passed:
            return
        if region.url is not None:
            start, end = region.url
            scan.voice.insert(", ")
            scan.say_raw(start - scan.base, end - scan.base)
        if region.open_target:
            if scan.options.links == "url":
                scan.voice.insert(", ")
            scan.mode = "target"

    def _label_end(self, opening: int) -> int:
        scan = self._scan
        stop, fixed = scan.reach(opening)
        depth = 0
        at = opening
        while match := marks.LABEL_TOKENS.search(scan.text, at, stop):
            token, at = match[0], match.end()
            if token == "[":
                depth += 1
                if depth > marks.DEEPEST_LABEL:
                    return NOT_FOUND
            elif token == "]":
                depth -= 1
                if not depth:
                    return match.start()
            elif token[0] == "`":
                close = marks.code_end(scan.text, match.start(), at, stop, fixed)
                if close == NEED_MORE:
                    return NEED_MORE
                at = max(at, close)
            elif token[0] == "\n":
                return NOT_FOUND
        return NOT_FOUND if fixed else NEED_MORE

    def lenticular(self, start: int) -> int:
        """A citation mark of an assistant with file search, `【4:0†source】`; other text in such brackets stays."""
        scan = self._scan
        stop, fixed = scan.reach(start)
        if match := marks.LENTICULAR.match(scan.text, start, stop):
            if marks.LENTICULAR_CITATION.fullmatch(match[1]):
                return scan.remove(match.end())
        elif not fixed and marks.LENTICULAR_BEGUN.match(scan.text, start, stop):
            return NEED_MORE
        return scan.say(start, start + 1)

    def private_citation(self, start: int) -> int:
        """A citation between private use characters, U+E200 ... U+E201."""
        scan = self._scan
        stop, fixed = scan.reach(start)
        end = scan.text.find("\ue201", start, stop)
        if end >= 0:
            return scan.remove(end + 1)
        return scan.remove(start + 1) if fixed else NEED_MORE

    def url(self, start: int) -> int:
        """A bare URL; `http` or `www` alone is a word."""
        scan = self._scan
        stop, fixed = scan.reach(start)
        if not fixed and marks.URL_BEGUN.match(scan.text, start, stop):
            return NEED_MORE
        match = marks.URL_START.match(scan.text, start, stop)
        if match is None:
            return scan.say(start, start + 1)
        if scan.options.links == "url":
            scan.say(*match.span())
        self._skips.begin_url()
        return match.end()
