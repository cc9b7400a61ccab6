"""A subset of regular expressions in which every match has a bounded length, made into a small automaton.

What is understood: plain characters, escapes, ``.``, character sets, ``\\d \\w \\s`` and their opposites, word edges
(``\\b``, ``\\B``), groups (their text is not kept), ``|``, and the bounded repeats ``?``, ``{n}``, ``{m,n}``. The flags
are IGNORECASE, ASCII and DOTALL, given by a compiled pattern or as ``(?i)`` at the start. What one character
matches is asked of `re`, so sets and flags mean what they mean there; how characters follow each other is read here,
because `re` cannot be asked whether a text may still become a match.
"""

import re
import warnings
from collections.abc import Iterable, Sequence

from streamflow.errors import UsageError

MAX_LENGTH = 1024
"""The longest match that a pattern may allow."""

_MAX_NODES = 20_000
_FLAGS = {"i": re.IGNORECASE, "a": re.ASCII, "s": re.DOTALL, "u": re.UNICODE}
_LEADING_FLAGS = re.compile(r"\(\?([aisu]+)\)")
_REPEAT = re.compile(r"\{(\d+)\}|\{(\d*),(\d+)\}")
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")
_GROUP = re.compile(r"\((?:\?:|\?P<\w+>|(?!\?))")
_SET = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]+\}|[dwsDWSnrtfva]|[^0-9a-zA-Z])", re.DOTALL
)
_SET_SIGN = re.compile(r"\\.|[\[&~|]", re.DOTALL)

Node = tuple["re.Pattern[str] | bool | None", tuple[int, ...]]
"""A place: a character to read, a word edge (True) or its opposite (False), or nothing; and where to go from there."""

ACCEPT = 0
"""The node of a finished match."""


class _Tree:
    """A parsed piece of a pattern: what it is, and how short and how long its matches are."""

    __slots__ = ("items", "kind", "longest", "repeat", "shortest", "test")

    def __init__(self, kind: str, shortest: int, longest: int) -> None:
        self.kind = kind
        self.shortest = shortest
        self.longest = longest
        self.items: list[_Tree] = []
        self.test: re.Pattern[str] | bool | None = None
        self.repeat = (1, 1)


class _Parser:
    """Reads one pattern that `re` has accepted already."""

    def __init__(self, text: str, flags: int, option: str) -> None:
        self._text = text
        self._flags = flags
        self._option = option
        self._position = 0

    def parse(self) -> _Tree:
        if match := _LEADING_FLAGS.match(self._text):
            for letter in match[1]:
                self._flags |= _FLAGS[letter]
            self._position = match.end()
        return self._alternatives()

    def refuse(self, what: str) -> UsageError:
        return UsageError(
            f"{self._option}: {self._text!r} has {what}; allowed are characters, sets, escapes, groups, |, ?, {{n}}, "
            f"{{m,n}} and \\b, with matches of 1 to {MAX_LENGTH} characters (re.escape() makes any text a pattern)"
        )

    def _alternatives(self) -> _Tree:
        options = [self._sequence()]
        while self._text.startswith("|", self._position):
            self._position += 1
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        tree = _Tree("or", min(o.shortest for o in options), max(o.longest for o in options))
        tree.items = options
        return tree

    def _sequence(self) -> _Tree:
        items: list[_Tree] = []
        while self._position < len(self._text) and self._text[self._position] not in "|)":
            items.append(self._repeated(self._atom()))
        tree = _Tree("sequence", sum(i.shortest for i in items), sum(i.longest for i in items))
        tree.items = items
        return tree

    def _repeated(self, atom: _Tree) -> _Tree:
        text, start = self._text, self._position
        if _UNBOUNDED.match(text, start):
            raise self.refuse(f"{_UNBOUNDED.match(text, start)[0]!r}, which has no bound")  # type: ignore[index]
        if text.startswith("?", start):
            least, most = 0, 1
            self._position += 1
        elif match := _REPEAT.match(text, start):
            least = int(match[1] or match[2] or 0)
            most = int(match[1] or match[3])
            self._position = match.end()
        else:
            return atom
        if text[self._position : self._position + 1] in ("?", "+", "*"):
            raise self.refuse("a lazy or possessive repeat")
        tree = _Tree("repeat", atom.shortest * least, atom.longest * most)
        tree.items = [atom]
        tree.repeat = (least, most)
        return tree

    def _atom(self) -> _Tree:
        text, start = self._text, self._position
        char = text[start]
        if char == "(":
            return self._group()
        if char in "^$":
            raise self.refuse(f"the anchor {char!r}")
        if text.startswith(("\\b", "\\B"), start):
            self._position += 2
            tree = _Tree("one", 0, 0)
            tree.test = text[start + 1] == "b"
            return tree
        if char in "[\\":
            match = (_SET if char == "[" else _ESCAPE).match(text, start)
            if match is None:
                raise self.refuse(f"{text[start : start + 2]!r}")
            self._position = match.end()
            source = match[0]
            if char == "[":
                source = _plain_set(source)
        else:
            self._position += 1
            source = char if char == "." else re.escape(char)
        tree = _Tree("one", 1, 1)
        tree.test = re.compile(source, self._flags)
        return tree

    def _group(self) -> _Tree:
        match = _GROUP.match(self._text, self._position)
        if match is None:
            raise self.refuse(f"{self._text[self._position : self._position + 3]!r}")
        self._position = match.end()
        tree = self._alternatives()
        self._position += 1  # `re` has seen to it that the bracket is there
        return tree


def _plain_set(source: str) -> str:
    # `re` warns of brackets and doubled signs inside sets, which may mean set operations one day.
    head = 2 if source.startswith("[^") else 1
    body = source[head:-1]
    return source[:head] + _SET_SIGN.sub(lambda sign: sign[0].rjust(2, "\\"), body) + "]"


class Automaton:
    """All patterns as one automaton; node `ACCEPT` ends a match, `starts` are where matches begin.

    >>> Automaton([parse_pattern("ab?")]).first.pattern
    'a'
    """

    def __init__(self, trees: Iterable[_Tree]) -> None:
        self.nodes: list[Node] = [(None, ())]
        self._after: dict[int, tuple[int, ...]] = {}
        self.has_edges = False
        self.starts = self.reach([self._build(tree, ACCEPT) for tree in trees])
        self.first = self._first_characters()

    def _build(self, tree: _Tree, after: int) -> int:
        """Add the nodes of a tree that goes on at `after`; the node at which it begins."""
        if tree.kind == "one":
            self.has_edges = self.has_edges or isinstance(tree.test, bool)
            return self._add(tree.test, (after,))
        if tree.kind == "or":
            return self._add(None, tuple(self._build(item, after) for item in tree.items))
        if tree.kind == "sequence":
            for item in reversed(tree.items):
                after = self._build(item, after)
            return after
        least, most = tree.repeat
        end = after
        for _ in range(most - least):
            after = self._add(None, (self._build(tree.items[0], after), end))
        for _ in range(least):
            after = self._build(tree.items[0], after)
        return after

    def _add(self, test: "re.Pattern[str] | bool | None", targets: tuple[int, ...]) -> int:
        if len(self.nodes) >= _MAX_NODES:
            raise UsageError(f"the patterns are too large together: more than {_MAX_NODES} places")
        self.nodes.append((test, targets))
        return len(self.nodes) - 1

    def reach(self, nodes: Iterable[int]) -> tuple[int, ...]:
        """The reading, edge and accepting nodes that can be reached without reading anything."""
        seen: set[int] = set()
        found: list[int] = []
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                test, targets = self.nodes[node]
                if test is None and node != ACCEPT:
                    waiting += targets
                else:
                    found.append(node)
        return tuple(found)

    def after(self, node: int) -> tuple[int, ...]:
        """Where a reading or edge node leads."""
        found = self._after.get(node)
        if found is None:
            found = self._after[node] = self.reach(self.nodes[node][1])
        return found

    def _first_characters(self) -> "re.Pattern[str]":
        """What a match may begin with, so that all other text is skipped at the speed of `re`."""
        waiting = list(self.starts)
        seen = set(waiting)
        sources: set[str] = set()
        for node in waiting:
            test = self.nodes[node][0]
            if isinstance(test, re.Pattern):
                flags = "".join(letter for letter in "ais" if test.flags & _FLAGS[letter])
                sources.add(f"(?{flags}:{test.pattern})" if flags else test.pattern)
            else:
                new = [target for target in self.after(node) if target not in seen]
                seen.update(new)
                waiting += new
        return re.compile("|".join(sorted(sources)))


def parse_pattern(pattern: "str | re.Pattern[str]", option: str = "patterns") -> _Tree:
    """Read one pattern of the subset; anything else is a `UsageError` that says what is not allowed.

    >>> parse_pattern(r"sk-[a-z]{2,4}").longest
    7
    >>> parse_pattern("a+")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    streamflow.errors.UsageError: patterns: 'a+' has '+', which has no bound; allowed are ...
    """
    if isinstance(pattern, re.Pattern):
        text, flags = pattern.pattern, int(pattern.flags & ~re.MULTILINE)
    else:
        text, flags = pattern, 0
    if not isinstance(text, str):
        raise UsageError(f"{option} takes text or compiled patterns of text, not {type(pattern).__name__}: {pattern!r}")
    parser = _Parser(text, flags & ~re.UNICODE, option)
    if flags & (re.VERBOSE | re.LOCALE | re.DEBUG):
        raise parser.refuse("a flag other than IGNORECASE, ASCII and DOTALL")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(text, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"{option}: {text!r} is no regular expression: {error}") from None
    tree = parser.parse()
    if tree.shortest == 0:
        raise parser.refuse("a match of no characters at all")
    if tree.longest > MAX_LENGTH:
        raise parser.refuse(f"matches of up to {tree.longest} characters")
    return tree


def literal_pattern(text: str, flags: int = 0) -> _Tree:
    """The pattern that matches just this text.

    >>> literal_pattern("a+b").longest
    3
    """
    tree = _Tree("sequence", len(text), len(text))
    for char in text:
        one = _Tree("one", 1, 1)
        one.test = re.compile(re.escape(char), flags)
        tree.items.append(one)
    return tree


def compile_patterns(patterns: Sequence["str | re.Pattern[str]"], option: str = "patterns") -> Automaton:
    """All patterns of an option as one automaton.

    >>> compile_patterns(["ab", "c"]).first.pattern
    'a|c'
    """
    return Automaton([parse_pattern(pattern, option) for pattern in patterns])
