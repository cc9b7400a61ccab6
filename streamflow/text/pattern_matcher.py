"""Finds bounded patterns in text that arrives in pieces, and holds back exactly what may still become a match.

All begun matches are followed at once. A state of the machine says which places of the automaton are alive and how
long ago each of their matches began; it does not depend on where in the text that is, so states and the moves
between them are computed once and then looked up. Text in which no match can begin is skipped at the speed of `re`.
"""

import re

import msgspec

from streamflow.text.patterns import ACCEPT, Automaton

_MAX_PLACES = 300_000  # of all states together; then what was found is forgotten
_MAX_MOVES = 1_000
_WORD = re.compile(r"\w")


class Span(msgspec.Struct, frozen=True, gc=False):
    """A piece of the text: the text itself, its offset in all that was fed, and whether it is a match.

    A match that is certain though its end is not (``secret`` may still become ``secretary``) is announced first, as a
    span without text; when it is over the whole match follows, as ``announced``.

    >>> Span("secret", 4, True).announced
    False
    """

    text: str
    start: int
    matched: bool = False
    announced: bool = False


class _State:
    """Places that are alive, each with the age of its match; and the best finished match, if there is one."""

    __slots__ = ("after_word", "age", "certain", "decided", "held", "idle", "moves", "since", "threads")

    def __init__(self, threads: dict[int, int], age: int, since: int, after_word: bool) -> None:
        self.threads = threads
        self.age = age  # how long ago the best match began; 0 when there is none
        self.since = since  # how long ago it ended
        self.after_word = after_word
        self.held = max(max(threads.values(), default=0), age)
        self.certain = bool(age) and self.held == age  # no match that began earlier is alive
        self.decided = bool(age) and not threads
        self.idle = not self.held
        self.moves: dict[str, _State] = {}


class MatchTable:
    """The states of an automaton, found as they are needed and shared by all matchers of an operator.

    ``first_end`` takes the match that ends first (a stop sequence stops at once); otherwise the match that begins first
    wins, and of those the longest.
    """

    def __init__(self, automaton: Automaton, first_end: bool = False) -> None:
        self.automaton = automaton
        self._first_end = first_end
        self._states: dict[tuple[object, ...], _State] = {}
        self._places = 0
        self._idle = (_State({}, 0, 0, False), _State({}, 0, 0, True))

    def idle(self, before: str) -> _State:
        """The state in which nothing is alive, after this character."""
        return self._idle[bool(before) and self.automaton.has_edges and _WORD.match(before) is not None]

    def move(self, state: _State, char: str) -> _State:
        """The state after one more character."""
        is_word = self.automaton.has_edges and _WORD.match(char) is not None
        alive, age, since = self._at_edge(state, is_word, starting=True)
        after: dict[int, int] = {}
        for node, began in alive.items():
            test = self.automaton.nodes[node][0]
            if isinstance(test, re.Pattern) and test.match(char):
                for target in self.automaton.after(node):
                    if after.get(target, 0) <= began:
                        after[target] = began + 1
        if age:
            age, since = age + 1, since + 1
        following = self._settled(after, age, since, is_word)
        if len(state.moves) < _MAX_MOVES:
            state.moves[char] = following
        return following

    def finish(self, state: _State) -> _State:
        """The state when the text is over: only a finished match counts."""
        _, age, since = self._at_edge(state, False, starting=False)
        return _State({}, age, since, False)

    def _at_edge(self, state: _State, is_word: bool, starting: bool) -> tuple[dict[int, int], int, int]:
        """Let word edges through, now that both sides are known; new matches begin here unless one is finished."""
        alive = dict(state.threads)
        if starting and not state.age:
            for node in self.automaton.starts:
                alive.setdefault(node, 0)
        if not self.automaton.has_edges:
            return alive, state.age, state.since
        edge = state.after_word != is_word
        age, since = state.age, state.since
        waiting = list(alive)
        for node in waiting:
            if self.automaton.nodes[node][0] is edge:
                for target in self.automaton.after(node):
                    if alive.get(target, -1) < alive[node]:
                        alive[target] = alive[node]
                        waiting.append(target)
        finished = alive.pop(ACCEPT, 0)
        if finished and finished >= age:
            age, since = finished, 0
            alive = {node: began for node, began in alive.items() if began >= age}
        return alive, age, since

    def _settled(self, threads: dict[int, int], age: int, since: int, after_word: bool) -> _State:
        finished = threads.pop(ACCEPT, 0)
        if finished and finished >= age:
            age, since = finished, 0
            threads = {} if self._first_end else threads
        if age:
            threads = {node: began for node, began in threads.items() if began >= age}
        elif not threads:
            return self._idle[after_word]
        key = (age, since, after_word, *sorted(threads.items()))
        state = self._states.get(key)
        if state is None:
            self._places += len(threads) + 1
            if self._places > _MAX_PLACES:
                self._places = 0
                self._states.clear()
                for idle in self._idle:
                    idle.moves.clear()  # from here all states can be reached
            state = self._states[key] = _State(threads, age, since, after_word)
        return state


class PatternMatcher:
    """Cuts text into matches and what is between them; each character is given out as soon as it is decided.

    >>> from streamflow.text.patterns import compile_patterns
    >>> matcher = PatternMatcher(MatchTable(compile_patterns(["secret"])))
    >>> [span.text for span in matcher.feed("my sec")], matcher.held
    (['my '], 'sec')
    >>> [(span.text, span.matched) for span in matcher.feed("ret!")]
    [('secret', True), ('!', False)]
    """

    __slots__ = ("_announced", "_before", "_fed", "_first", "_state", "_table", "held")

    def __init__(self, table: MatchTable) -> None:
        self._table = table
        self._first = table.automaton.first
        self._state = table.idle("")
        self._before = ""  # the character before the held text
        self._fed = 0  # the offset of the held text
        self._announced = False
        self.held = ""

    def feed(self, text: str) -> list[Span]:
        """Take more text; what is decided now."""
        out: list[Span] = []
        position = len(self.held)
        if position:
            text = self.held + text
        self._scan(text, position, out)
        return out

    def flush(self) -> list[Span]:
        """What is held is over; the rest of it. More text may follow, as after a pause: no match reaches across."""
        out: list[Span] = []
        while self.held:
            end = self._table.finish(self._state)
            text, length = self.held, len(self.held)
            if not end.age:
                self._give(out, text, 0, length)
                self._settle(text, length)
                break
            begins, ends = length - end.age, length - end.since
            self._give(out, text, 0, begins)
            self._match(out, text, begins, ends)
            self._state = self._table.idle(text[ends - 1])
            self._settle(text, ends)
            self._scan(self.held, 0, out)
        self._state = self._table.idle(self._before)
        return out

    def passes(self, text: str) -> bool:
        """Take text of which every character is decided at once, and say so; otherwise do nothing."""
        if self.held or self._first.search(text):
            return False
        self._fed += len(text)
        self._before = text[-1:] or self._before
        if self._table.automaton.has_edges:
            self._state = self._table.idle(self._before)
        return True

    def _scan(self, text: str, position: int, out: list[Span]) -> None:
        table, state = self._table, self._state
        given, end = 0, len(text)
        while position < end:
            if state.idle:
                match = self._first.search(text, position)
                if match is None:
                    state = table.idle(text[-1])
                    break
                if match.start() > position:
                    position = match.start()
                    state = table.idle(text[position - 1])
            char = text[position]
            state = state.moves.get(char) or table.move(state, char)
            position += 1
            if state.certain:
                begins = position - state.age
                self._give(out, text, given, begins)
                given = begins
                if state.decided:
                    given = position = position - state.since
                    self._match(out, text, begins, position)
                    state = table.idle(text[position - 1])
                elif not self._announced:
                    out.append(Span("", self._fed + begins, True))
                    self._announced = True
        self._state = state
        keep = end - state.held
        self._give(out, text, given, keep)
        self._settle(text, keep)

    def _give(self, out: list[Span], text: str, start: int, end: int) -> None:
        if end > start:
            out.append(Span(text[start:end], self._fed + start))

    def _match(self, out: list[Span], text: str, start: int, end: int) -> None:
        out.append(Span(text[start:end], self._fed + start, True, self._announced))
        self._announced = False

    def _settle(self, text: str, keep: int) -> None:
        if keep:
            self._before = text[keep - 1]
        self._fed += keep
        self.held = text[keep:]
