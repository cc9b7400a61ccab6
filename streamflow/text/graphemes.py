"""Where a text may be cut so that no sign is torn: the rules of Unicode's extended grapheme clusters (UAX #29).

The table is made of the properties that Python knows (general category) and of a few ranges that it does not.
"""

import unicodedata

_ZWJ = "\u200d"
_ZWNJ = "\u200c"
_LEADING_JAMO = (0x1100, 0x115F)
_VOWEL_JAMO = (0x1160, 0x11A7)
_TRAILING_JAMO = (0x11A8, 0x11FF)
_SYLLABLES = (0xAC00, 0xD7A3)
_PREPENDED = frozenset(range(0x0600, 0x0606)) | {0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD}
# Virama signs that tie the next consonant to the one before (Indic conjuncts, rule GB9c).
_LINKERS = frozenset("\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d")
_MODIFIERS = ("\U0001f3fb", "\U0001f3ff")
_TAGS = ("\U000e0020", "\U000e007f")
_FLAG_LETTERS = ("\U0001f1e6", "\U0001f1ff")


def _is_extending(char: str) -> bool:
    if char in (_ZWJ, _ZWNJ) or _MODIFIERS[0] <= char <= _MODIFIERS[1] or _TAGS[0] <= char <= _TAGS[1]:
        return True
    return char in "\u0e33\u0eb3\uff9e\uff9f" or unicodedata.category(char)[0] == "M"


def _is_control(char: str) -> bool:
    if unicodedata.category(char) not in ("Cc", "Cf", "Zl", "Zp"):
        return False
    return not (char in (_ZWJ, _ZWNJ) or ord(char) in _PREPENDED or _TAGS[0] <= char <= _TAGS[1])


def _is_flag_letter(char: str) -> bool:
    return _FLAG_LETTERS[0] <= char <= _FLAG_LETTERS[1]


def _in(code: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= code <= bounds[1]


def _joins_hangul(before: int, after: int) -> bool:
    if _in(before, _LEADING_JAMO):
        return _in(after, _LEADING_JAMO) or _in(after, _VOWEL_JAMO) or _in(after, _SYLLABLES)
    has_no_tail = _in(before, _VOWEL_JAMO) or (_in(before, _SYLLABLES) and (before - _SYLLABLES[0]) % 28 == 0)
    if has_no_tail and _in(after, _VOWEL_JAMO):
        return True
    return (has_no_tail or _in(before, _SYLLABLES) or _in(before, _TRAILING_JAMO)) and _in(after, _TRAILING_JAMO)


def _ties_pictograph(text: str, at: int, floor: int) -> bool:
    """Whether the joiner before `at` follows a picture sign, and one comes after it."""
    place = at - 2
    while place >= floor and _is_extending(text[place]):
        place -= 1
    return place >= floor and _is_picture(text[place]) and _is_picture(text[at])


def _is_picture(char: str) -> bool:
    code = ord(char)
    return (
        0x1F000 <= code <= 0x1FAFF and not _is_flag_letter(char) and not _MODIFIERS[0] <= char <= _MODIFIERS[1]
    ) or (code >= 0xA9 and unicodedata.category(char) == "So" and code < 0x3300)


def _ties_consonants(text: str, at: int, floor: int) -> bool:
    place = at - 1
    is_linked = False
    while place > floor and _is_extending(text[place]):
        is_linked = is_linked or text[place] in _LINKERS
        place -= 1
    return is_linked and unicodedata.category(text[at]) == "Lo" and unicodedata.category(text[place]) == "Lo"


def is_boundary(text: str, at: int, floor: int = 0) -> bool:
    """Whether a cut before ``text[at]`` tears no sign; `floor` is a boundary before it.

    >>> is_boundary("ab", 1), is_boundary("e\\u0301", 1), is_boundary("👩\\u200d👧", 2), is_boundary("🇫🇷🇮🇹", 2)
    (True, False, False, True)
    """
    before, after = text[at - 1], text[at]
    if before < "\x7f" and after < "\x7f":
        return not (before == "\r" and after == "\n")
    if _is_control(before) or _is_control(after):
        return True
    if _is_extending(after):
        return False
    if before == _ZWJ and _ties_pictograph(text, at, floor):
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        place = at
        while place > floor and _is_flag_letter(text[place - 1]):
            place -= 1
        return (at - place) % 2 == 0
    if ord(before) in _PREPENDED or _joins_hangul(ord(before), ord(after)):
        return False
    return not _ties_consonants(text, at, floor)


def may_go_on(text: str) -> bool:
    """Whether the last sign of a text looks unfinished: a joiner, half a flag, a picture, a linking virama.

    >>> may_go_on("👩\\u200d"), may_go_on("🇫"), may_go_on("🇫🇷"), may_go_on("a"), may_go_on("")
    (True, True, False, False, False)
    """
    if not text or text[-1] < "\x7f":
        return False
    last = text[-1]
    if _is_flag_letter(last):
        return (len(text) - len(text.rstrip("".join(map(chr, range(0x1F1E6, 0x1F200)))))) % 2 == 1
    return last == _ZWJ or last in _LINKERS or _is_picture(last) or last == "\r"


def graphemes(text: str) -> list[str]:
    """The signs of a text, as a reader sees them.

    >>> [len(sign) for sign in graphemes("ae\\u0301👨‍👩‍👧🇫🇷")]
    [1, 2, 5, 2]
    """
    signs, start = [], 0
    for at in range(1, len(text)):
        if is_boundary(text, at, start):
            signs.append(text[start:at])
            start = at
    if text:
        signs.append(text[start:])
    return signs
