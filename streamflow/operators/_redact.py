import re
from collections.abc import Sequence
from typing import Any

from streamflow.errors import UsageError
from streamflow.stage import Operator, lift
from streamflow.text.pattern_matcher import MatchTable
from streamflow.text.patterns import compile_patterns
from streamflow.text.rewriting import TextRewrite


def redact(patterns: Sequence[str | re.Pattern[str]], replacement: str = "[redacted]") -> Operator[Any, Any]:
    r"""Replace secrets in text; not one character of a match leaves before it is decided.

    ```
    strings  --"key s"--"k-12"--"34 ok"------------|
    out      --"key "-------------"[redacted] ok"--|     (redact([r"sk-\d{4}"]))
    ```

    Patterns are regular expressions whose matches have a bounded length (at most 1024 characters): characters, sets,
    escapes, ``\d \w \s``, ``\b``, groups, ``|``, ``?``, ``{n}``, ``{m,n}``, as text or compiled with the flags
    IGNORECASE, ASCII, DOTALL. Text without special characters is a pattern for itself; ``re.escape`` makes one of any
    text. Of all patterns the match that begins first counts, and of those the longest; reading goes on after it.

    Every block of text is read (thought too), its ``content`` and ``raw`` follow, so do the words of citations. Tool
    calls are data and stay, and so does what must go back to the provider as it came (``opaque``).

    >>> import streamflow as sf
    >>> sf.run(["key s", "k-12", "34 ok"], redact([r"sk-\d{4}"]))
    ['key ', '[redacted] ok']
    """
    if isinstance(patterns, str | bytes | re.Pattern) or not isinstance(patterns, Sequence) or not patterns:
        raise UsageError(f"patterns must be a list of at least one pattern, not {patterns!r}")
    if not isinstance(replacement, str):
        raise UsageError(f"replacement must be text, not {type(replacement).__name__}")
    table = MatchTable(compile_patterns(patterns))
    return lift(lambda: TextRewrite(table, replacement), "redact")
