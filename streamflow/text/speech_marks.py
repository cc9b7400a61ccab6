"""Constants, patterns and tables of the speech machine: what counts as markup, and how far it may wait.

Patterns that decide something come in pairs: the construct itself, and its beginning cut off by the end of the
text (`*_BEGUN`, anchored at the end). Text that matches neither is decided at once.
"""

import re
import unicodedata

from streamflow.text.speech_voice import SPACES

HOLD_LIMIT = 400
"""No construct is waited for longer than this many characters: beyond it, its opening mark is taken as text."""

NEED_MORE = -1  # answer of a reader whose decision depends on characters that have not come yet
NOT_FOUND = -2  # answer of a search that no further text can change

LONGEST_MARK = 16  # a longer run of backticks, or of punctuation after a URL, is never a delimiter
INSIDE_WORD_LIMIT = 64  # how far `foo**bar**baz` is looked through for its second mark
LABEL_LIMIT = 100  # longest label of a reference definition, `[label]: url`
DEEPEST_LABEL = 4  # brackets inside link texts; keeps a run of "[" linear

# Emoji_Presentation characters and the pictographic blocks of Unicode. Circled digits (U+2776..U+2793) and marks that
# are read as text (©, ®, ™, arrows of U+2190) stay.
_PICTOGRAPHS = (
    "\U0001f000-\U0001f0ff\U0001f170-\U0001f1ff\U0001f200-\U0001faff"
    "\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe"
    "\u2600-\u2775\u2794-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
)
_EMOJI_PARTS = "\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f"  # variation selectors, keycap, flag tags
_INVISIBLE = "\x00-\x08\x0e-\x1f\x7f\u00ad\u200b\u2060\ufeff\ue201-\ue20f"
PICTOGRAPH = re.compile(f"[{_PICTOGRAPHS}]")
EMOJI_RUN = re.compile(f"[{_PICTOGRAPHS}{_EMOJI_PARTS}\u200d]+")
INVISIBLE_RUN = re.compile(f"[{_INVISIBLE}]+")

# A URL and what may still become one at the end of the text. Letters of other scripts may stand right before it.
URL_START = re.compile(r"(?:[hH][tT][tT][pP][sS]?://(?:[wW]{3}\.)?|[wW]{3}\.)(?=[^\W_])")
_URL_BEGUN = (
    r"(?:[hH](?:[tT](?:[tT](?:[pP](?:[sS]?(?::(?:/(?:/(?:[wW]{1,3}|[wW]{3}\.)?)?)?)?)?)?)?)?|[wW]{1,3}|[wW]{3}\.)"
)
URL_BEGUN = re.compile(_URL_BEGUN + r"\Z")
_URL_HINT = rf"(?<![A-Za-z0-9_])(?:[hH][tT][tT][pP][sS]?://|[wW]{{3}}\.|{_URL_BEGUN}\Z)"
URL_HOST = re.compile(r"[A-Za-z0-9\u00c0-\u1fff-]+")
URL_SAFE = re.compile(r"[A-Za-z0-9\u00c0-\u1fff/#=&%+@$-]+")
URL_TRAILING = re.compile(r"[.,;:!?'*_~]+")


def _special(extra: str) -> re.Pattern[str]:
    marks = rf"*_~`\[<&$\\|\n【\ue200{_INVISIBLE}{extra}"
    space = rf"[{SPACES}](?=[{SPACES}\n]|\Z)"
    joiner = f"(?<=[{_PICTOGRAPHS}\ufe0f])\u200d" if _PICTOGRAPHS in extra else r"(?!)"
    return re.compile(rf"[{marks}]|!(?=\[|\Z)|{space}|{_URL_HINT}|{joiner}")


_EMOJI = _PICTOGRAPHS + _EMOJI_PARTS
SPECIAL = {
    (emoji, heading): _special((_EMOJI if emoji == "skip" else "") + ("#" if heading else ""))
    for emoji in ("skip", "say")
    for heading in (False, True)
}
"""The next character that is not plain text, by emoji policy and whether the line is a heading."""

SPACE_RUN = re.compile(f"[{SPACES}]+")
PARAGRAPH_END = re.compile(
    rf"\n[{SPACES}]*(?:\n|[-*+•][{SPACES}]|[0-9]{{1,9}}[.)][{SPACES}]|#{{1,6}}[{SPACES}]|>|```|~~~|\|)"
)

# Inline constructs.
TICKS = re.compile(r"`+")
CODE_CLOSE = tuple(re.compile(rf"(?<!`)`{{{count}}}(?!`)") for count in range(LONGEST_MARK + 1))
NOT_SPACE = re.compile(r"\S+")
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
ENTITY_BEGUN = re.compile(r"&(?:#(?:[0-9]{0,7}|[xX][0-9a-fA-F]{0,6})|[A-Za-z][A-Za-z0-9]{0,31})?\Z")
MATH_CLOSE = re.compile(r"(?<![\s\\$])\$(?![0-9$])")
MATH_LIKE = re.compile(r"[\\^_={}+*/<>0-9]|^\s*[A-Za-z]\s*$")
# "$5 and $6" is money: where a formula begins with a number, an operator follows the first space.
MONEY = re.compile(r"[0-9][^\s$]*\s+(?=[^-+*/=<>^\\\s])")
ENVIRONMENT = re.compile(r"\\begin\{([A-Za-z]{1,24}\*?)\}")
ENVIRONMENT_BEGUN = re.compile(r"\\b(?:e(?:g(?:i(?:n(?:\{(?:[A-Za-z]{1,24}\*?)?)?)?)?)?)?\Z")
ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

# Links and citations.
LABEL_TOKENS = re.compile(rf"\\.|`+|\[|\]|{PARAGRAPH_END.pattern}", re.DOTALL)
_NO_PARENS = r"[^\s()<]"
DESTINATION = re.compile(
    rf"\([ \n]*(?:<([^<>\n]*)>|({_NO_PARENS}*(?:\({_NO_PARENS}*\){_NO_PARENS}*)*))"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
DESTINATION_BEGUN = re.compile(
    rf"\([ \n]*(?:<[^<>\n]*\Z|{_NO_PARENS}*(?:\({_NO_PARENS}*\){_NO_PARENS}*)*(?:\({_NO_PARENS}*)?\Z"
    rf"|(?:<[^<>\n]*>|{_NO_PARENS}*(?:\({_NO_PARENS}*\){_NO_PARENS}*)*)"
    r"\s*(?:(?:\"[^\"]*\"?|'[^']*'?|\([^()]*\)?)\s*)?\Z)"
)
REFERENCE = re.compile(r"\[[^\[\]\n]*\]")
REFERENCE_BEGUN = re.compile(r"\[[^\[\]\n]*\Z")
LONG_TARGET = re.compile(r"\((?:<[^<>\n]*|[^\s()<]*)\Z")  # cut off by the limit inside the URL itself
TARGET_END = re.compile(r"[)\n]")
CITATION = re.compile(r"\^[^\s\]]{1,40}|[1-9][0-9]{0,2}(?:\s*[,;–-]\s*[1-9][0-9]{0,2}){0,20}")
LENTICULAR = re.compile(r"【([^【】\n]{0,80})】")
LENTICULAR_BEGUN = re.compile(r"【[^【】\n]{0,80}\Z")
LENTICULAR_CITATION = re.compile(r"[^†]*†.*|[0-9][0-9:,\s-]*")

# Tags. Attributes without a value are only known ones, so that "a <b and c> d" stays a comparison.
_BOOLEAN = (
    "allowfullscreen|async|autoplay|checked|controls|default|defer|disabled|hidden|loop|multiple|muted|nowrap|open"
    "|readonly|required|reversed|selected"
)
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|[^\s"'<>=`]++)"""
_ATTRIBUTES = rf"(?:\s++(?:[A-Za-z_@:][\w:.-]*+\s*+=\s*+{_VALUE}|(?:{_BOOLEAN})(?=[\s/>])))*+"
TAG = re.compile(rf"<(/?)([A-Za-z][\w:.-]*+)({_ATTRIBUTES})\s*+/?>")
TAG_BEGUN = re.compile(
    rf"</?(?:[A-Za-z][\w:.-]*+{_ATTRIBUTES}(?:\s*+/?|\s++[A-Za-z_@:][\w:.-]*+"
    r"""(?:\s*+(?:=\s*+(?:"[^"]*+|'[^']*+|[^\s"'<>=`]*+))?)?))?\Z"""
)
ALT = re.compile(r"""\salt\s*=\s*(?:"([^"]*)"|'([^']*)')""")
DECLARATION = re.compile(r"<![A-Za-z][^<>]*>")
DECLARATION_BEGUN = re.compile(r"<!(?:[A-Za-z][^<>]*)?\Z")
AUTOLINK = re.compile(r"<(?:(?:https?|ftp)://([^\s<>]+)|(?:mailto:)?([\w.+-]+@[\w.-]+))>", re.IGNORECASE)
AUTOLINK_HOST = re.compile(r"(?:www\.)?([^/?#:\s<>]+)", re.IGNORECASE)
AUTOLINK_BEGUN = re.compile(r"<(?:(?:https?|ftp):\S*|(?:mailto:)?[\w.+-]*@?[\w.-]*)\Z", re.IGNORECASE)

_SENTENCE_TAGS = (
    "address article aside blockquote body caption dd details div dl dt figcaption figure footer form h1 h2 h3 h4 h5"
    " h6 head header hr html li main nav ol p pre section summary table tbody tfoot thead title tr ul"
)
TAG_EFFECT = dict.fromkeys(_SENTENCE_TAGS.split(), ".") | {"td": ",", "th": ","} | {"br": " ", "break": " "}
"""What a tag leaves behind: a sentence end, the end of a cell, or a space."""

_INLINE_TAGS = (
    "a abbr audio b bdi bdo big button center cite code data del dfn em emphasis express-as font i iframe img input"
    " ins kbd label lang lexicon link mark meta metadata option par phoneme picture prosody q rp rt ruby s samp"
    " say-as script select seq small source span speak strike strong style sub sup svg textarea time tt u"
    " var video voice w wbr"
)
KNOWN_TAGS = frozenset(TAG_EFFECT) | frozenset(_INLINE_TAGS.split())
"""Tags of HTML and SSML that may stand right after a letter; `List<String>` is no tag."""

# Blocks.
BULLETS = frozenset("-*+•◦▪‣●○■")
DELIMITER_ROW = re.compile(rf"[|:{SPACES}-]*")
BARE_DELIMITER = re.compile(rf"[{SPACES}]*:?-+:?[{SPACES}]*(?:\|[{SPACES}]*:?-+:?[{SPACES}]*)+\|?[{SPACES}]*(?=\n|\Z)")
RULE_REST = re.compile(rf"[-=:|+{SPACES}]+")
DIGITS = re.compile(r"[0-9]{1,10}")
TASK = re.compile(rf"\[[ xX]\](?=[{SPACES}\n])")
TASK_BEGUN = re.compile(r"\[(?:[ xX]\]?)?\Z")
ALERT = re.compile(r"\[!([A-Za-z]{1,20})\]")
ALERT_BEGUN = re.compile(r"\[(?:![A-Za-z]{0,20})?\Z")
DEFINITION = re.compile(rf"\[([^\[\]\n]{{1,{LABEL_LIMIT}}})\]:[{SPACES}]?")
DEFINITION_BEGUN = re.compile(rf"\[(?:[^\[\]\n]{{1,{LABEL_LIMIT}}}(?:\]:?)?)?\Z")
TARGET = re.compile(r"(?:https?:|mailto:|www\.|[<#/])", re.IGNORECASE)


def is_word(char: str) -> bool:
    """Whether a character can be inside a word: letters, digits, "_", and the vowel signs of Indic scripts.

    >>> is_word("é"), is_word("ि"), is_word("-")
    (True, True, False)
    """
    return char.isalnum() or char == "_" or (char > "\x7f" and unicodedata.category(char)[0] == "M")


def code_end(text: str, start: int, content: int, stop: int, fixed: bool) -> int:
    """Where the code span that begins with the backticks text[start:content] ends, looking no further than `stop`.

    NOT_FOUND where it has no end, NEED_MORE where the text after `stop` decides (`fixed` says that it cannot).

    >>> code_end("`a` b", 0, 1, 5, False), code_end("`a b", 0, 1, 4, False), code_end("`a b", 0, 1, 4, True)
    (3, -1, -2)
    """
    count = content - start
    if count > LONGEST_MARK:
        return NOT_FOUND
    if content == stop:
        return NOT_FOUND if fixed else NEED_MORE
    match = CODE_CLOSE[count].search(text, content, stop)
    end = match.end() if match else stop
    if PARAGRAPH_END.search(text, content, end):
        return NOT_FOUND
    if match and (end < stop or fixed):
        return end
    return NOT_FOUND if fixed else NEED_MORE
