"""Whether a run of "*", "_" or "~" is emphasis, arithmetic or part of a name.

The rules are CommonMark's flanking rules with three departures for speech: a mark that opens is dropped at once and
need not be closed later (a voice must not wait for it), a single "*" between word characters is a product
(`2*3*4`), and marks that CommonMark leaves over next to CJK punctuation (`**「語」**は`) are still marks.
"""

from typing import Literal

from streamflow.text.speech_marks import is_word
from streamflow.text.speech_voice import is_cjk

Role = Literal["open", "close", "text", "look"]

_OPENS_BEFORE = frozenset("\"'([{<`$*_~\\!#@&¿¡“‘«„「『《（【+-–—…")


def _can_open(count: int, after: str) -> bool:
    return count > 1 or is_word(after) or after in _OPENS_BEFORE or after > "\u2190"


def emphasis_role(mark: str, count: int, before: str, after: str, is_open: bool) -> Role:
    """What a run of one to three marks does, from its neighbours; `after` is empty at the end of the text.

    "look" means: inside a word; it opens if the same word has a second run.

    >>> emphasis_role("*", 2, " ", "b", False), emphasis_role("*", 1, "2", "3", False)
    ('open', 'text')
    >>> emphasis_role("_", 1, "e", "c", False), emphasis_role("*", 2, "d", "!", True)
    ('text', 'close')
    """
    if mark == "~" and count == 1:
        return "text"
    space_before, space_after = before.isspace(), not after or after.isspace()
    if space_before and space_after:
        return "close" if count == 3 or (count == 2 and is_open) else "text"
    if space_after:
        return "close" if is_open or (count > 1 and mark == "*") else "text"
    if space_before:
        return "open" if _can_open(count, after) else "text"
    if is_word(before):
        return _role_after_word(mark, count, before, after, is_open)
    if is_open:
        return "close"
    if count == 1 and before in (")]}" if mark == "*" else ")]}./\\@"):
        return "text"
    return "open" if _can_open(count, after) else "text"


def _role_after_word(mark: str, count: int, before: str, after: str, is_open: bool) -> Role:
    number = before.isdigit() or after.isdigit()
    if is_word(after):
        if mark == "_" or (count == 1 and before.isdigit() and after.isdigit()):
            return "text"
        if is_open:
            return "close"
        if is_cjk(before) or is_cjk(after):
            return "open"
        return "text" if count == 1 or number else "look"
    if is_open:
        return "close"
    return "text" if count == 1 or number or mark == "_" else "open"
