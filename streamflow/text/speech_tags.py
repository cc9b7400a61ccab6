"""HTML and SSML in running text: tags and comments go, their text stays; entities become their characters."""

from html import unescape
from html.entities import html5

from streamflow.text import speech_marks as marks
from streamflow.text.speech_scan import NEED_MORE, Region, Scan
from streamflow.text.speech_skips import Skips

_COMMENT = "<!--"
_CDATA = "<![CDATA["
_RAW_CONTENT = frozenset({"script", "style"})


class TagReader:
    """Readers of "<" and "&"."""

    def __init__(self, scan: Scan, skips: Skips) -> None:
        self._scan = scan
        self._skips = skips

    def tag(self, start: int) -> int:
        """A tag, a comment, a declaration, `<https://...>` - or a comparison."""
        scan = self._scan
        stop, fixed = scan.reach(start)
        if start + 1 == stop:
            return scan.say(start, stop) if fixed else NEED_MORE
        kind = scan.text[start + 1]
        if kind == "!":
            return self._declaration(start, stop, fixed)
        if kind == "?":
            return self._instruction(start, stop, fixed)
        if not (kind == "/" or kind.isalnum()):
            return scan.say(start, start + 1)
        if match := marks.TAG.match(scan.text, start, stop):
            name = match[2].lower()
            known = (name in marks.KNOWN_TAGS and name == match[2]) or ":" in name
            if known or match[1] or not marks.is_word(scan.text[start - 1]):
                return self._apply(name, match.start(3), match.end(3), start, match.end())
            return scan.say(start, start + 1)
        if match := marks.AUTOLINK.match(scan.text, start, stop):
            return self._autolink(match.start(1), match.span(2), start, match.end())
        if not fixed and any(
            begun.match(scan.text, start, stop) for begun in (marks.TAG_BEGUN, marks.AUTOLINK_BEGUN)
        ):
            return NEED_MORE
        return scan.say(start, start + 1)

    def _apply(self, name: str, attributes: int, attributes_end: int, start: int, end: int) -> int:
        scan = self._scan
        effect = marks.TAG_EFFECT.get(name, "")
        if effect == ".":
            scan.new_block()
        elif effect == ",":
            scan.voice.cell()
        if effect:
            scan.voice.separate(scan.base + start)
        scan.voice.gap()
        if name in _RAW_CONTENT and scan.text[start + 1] != "/" and scan.text[end - 2] != "/":
            self._skips.begin_comment(f"</{name}>")
        if name == "img" and (match := marks.ALT.search(scan.text, attributes, attributes_end)):
            scan.say_raw(*match.span(1 if match[1] is not None else 2))
        return end

    def _autolink(self, url: int, address: tuple[int, int], start: int, end: int) -> int:
        scan = self._scan
        if url < 0:
            scan.say(*address)
        elif scan.options.links == "url":
            scan.say(start + 1, end - 1)
        elif host := marks.AUTOLINK_HOST.match(scan.text, url, end):
            scan.say(*host.span(1))
        return scan.remove(end)

    def _declaration(self, start: int, stop: int, fixed: bool) -> int:
        scan = self._scan
        text = scan.text[start:stop]
        if text.startswith(_COMMENT):
            self._skips.begin_comment("-->")
            return scan.remove(start + len(_COMMENT))
        if text.startswith(_CDATA):
            end = scan.text.find("]]>", start, stop)
            if end >= 0:
                scan.regions.append(Region(scan.base + end, scan.base + end + 3))
                return start + len(_CDATA)
            return scan.say(start, start + 1) if fixed else NEED_MORE
        if match := marks.DECLARATION.match(scan.text, start, stop):
            return scan.remove(match.end())
        begun = _COMMENT.startswith(text) or _CDATA.startswith(text)
        if not fixed and (begun or marks.DECLARATION_BEGUN.match(scan.text, start, stop)):
            return NEED_MORE
        return scan.say(start, start + 1)

    def _instruction(self, start: int, stop: int, fixed: bool) -> int:
        scan = self._scan
        end = scan.text.find("?>", start, stop)
        if end >= 0:
            return scan.remove(end + 2)
        return scan.say(start, start + 1) if fixed else NEED_MORE

    def entity(self, start: int) -> int:
        """`&amp;` and its kin; any other "&" is text."""
        scan = self._scan
        stop, fixed = scan.reach(start)
        match = marks.ENTITY.match(scan.text, start, stop)
        if match is None:
            if not fixed and marks.ENTITY_BEGUN.match(scan.text, start, stop):
                return NEED_MORE
            return scan.say(start, start + 1)
        name, span = match[0], (scan.base + start, scan.base + match.end())
        if name[1] != "#" and name[1:] not in html5:
            return scan.say(start, start + 1)
        char = unescape(name)
        if char.isspace():
            scan.voice.space(" ", *span)
        elif marks.INVISIBLE_RUN.fullmatch(char) or not char:
            pass
        elif scan.options.emoji == "skip" and marks.EMOJI_RUN.fullmatch(char):
            scan.voice.gap()
        else:
            scan.voice.replace(char, *span)
        return match.end()
