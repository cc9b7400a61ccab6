"""Facts about characters: scripts, emoji, and where a cut breaks nothing that a reader sees as one sign."""

import re
import unicodedata
from bisect import bisect_right

# Start of each run of Unicode blocks and its script; "" marks runs whose letters do not matter here.
_SCRIPT_RUNS: tuple[tuple[int, str], ...] = (
    (0x0041, "Latin"), (0x02B0, ""), (0x0370, "Greek"), (0x0400, "Cyrillic"), (0x0530, "Armenian"), (0x0590, "Hebrew"),
    (0x0600, "Arabic"), (0x0700, ""), (0x0750, "Arabic"), (0x0780, ""), (0x08A0, "Arabic"), (0x0900, "Devanagari"),
    (0x0980, "Indic"), (0x0E00, "Thai"), (0x0F00, ""), (0x1000, "Myanmar"), (0x10A0, ""), (0x1100, "Hangul"),
    (0x1200, "Ethiopic"), (0x13A0, ""), (0x1780, "Khmer"), (0x1800, ""), (0x1C80, "Cyrillic"), (0x1C90, ""),
    (0x1E00, "Latin"), (0x1F00, "Greek"), (0x2000, ""), (0x2DE0, "Cyrillic"), (0x2E00, ""), (0x3005, "Han"),
    (0x3040, "Kana"), (0x3100, ""), (0x3130, "Hangul"), (0x3190, ""), (0x31F0, "Kana"), (0x3200, ""), (0x3400, "Han"),
    (0xA000, ""), (0xA640, "Cyrillic"), (0xA6A0, ""), (0xAC00, "Hangul"), (0xD7B0, ""), (0xF900, "Han"),
    (0xFB00, ""), (0xFB50, "Arabic"), (0xFE00, ""), (0xFE70, "Arabic"), (0xFF00, ""), (0xFF21, "Latin"), (0xFF5B, ""),
    (0xFF66, "Kana"), (0xFFA0, ""), (0x20000, "Han"), (0x32000, ""),
)  # fmt: skip
_STARTS = [start for start, _ in _SCRIPT_RUNS]

_EMOJI_RUNS = (
    (0x200D, 0x200D), (0x20E3, 0x20E3), (0x2600, 0x27BF), (0x2B05, 0x2B07), (0x2B1B, 0x2B1C), (0x2B50, 0x2B55),
    (0xFE0F, 0xFE0F), (0x1F000, 0x1FAFF), (0xE0020, 0xE007F), (0x231A, 0x231B), (0x23E9, 0x23FA),
)  # fmt: skip
#: The emoji as the inside of a regular expression's class.
EMOJI_CLASS = "".join(f"{chr(first)}-{chr(last)}" for first, last in _EMOJI_RUNS)
_EMOJI = re.compile(f"[{EMOJI_CLASS}]")
#: The vowels of the alphabets with capitals.
VOWELS = frozenset("aeiouyáàâäãåæéèêëíìîïóòôöõøœúùûüýąęěůıаеёиоуыэюяіїєүұөәαεηιουωάέήίόύώ")
_VIRAMAS = frozenset("्্੍્୍్್്්္្")


def script_of(letter: str) -> str:
    """Name the script of one letter, "" when it has none that matters here.

    >>> [script_of(sign) for sign in "aжあ中5"]
    ['Latin', 'Cyrillic', 'Kana', 'Han', '']
    """
    place = bisect_right(_STARTS, ord(letter)) - 1
    return _SCRIPT_RUNS[place][1] if place >= 0 and letter.isalpha() else ""


def is_emoji(sign: str) -> bool:
    """Tell whether a character is an emoji or glues emoji together.

    >>> is_emoji("🎉"), is_emoji("A")
    (True, False)
    """
    return sign > "\u200c" and _EMOJI.match(sign) is not None


def has_case(sign: str) -> bool:
    """Tell whether a letter belongs to a script with capitals.

    >>> has_case("Ж"), has_case("あ")
    (True, False)
    """
    return sign.isupper() or sign.islower() or sign.istitle()


def joins_previous(text: str, at: int) -> bool:
    """Tell whether a cut before ``text[at]`` would fall inside one visible sign or inside a number.

    >>> joins_previous("e\\u0301", 1), joins_previous("12", 1), joins_previous("ab", 1)
    (True, True, False)
    """
    before, after = text[at - 1], text[at]
    if before.isdigit() and after.isdigit():
        return True
    if before < "\x80" and after < "\x80":
        return before == "\r" and after == "\n"
    if after == "\u200d" or before == "\u200d" or before in _VIRAMAS or unicodedata.category(after)[0] == "M":
        return True
    return 0x1F3FB <= ord(after) <= 0x1F3FF or (_is_flag_letter(before) and _is_flag_letter(after))


def _is_flag_letter(sign: str) -> bool:
    return 0x1F1E6 <= ord(sign) <= 0x1F1FF


def sign_boundary(text: str, at: int, floor: int) -> int:
    """Return the last place in ``(floor, at]`` that splits no visible sign and no number, else ``at``.

    >>> sign_boundary("abc123", 5, 0)
    3
    """
    place = at
    lowest = max(floor, at - 32)
    while place > lowest and place < len(text) and joins_previous(text, place):
        place -= 1
    return place if place > lowest else at
