import math
import re
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from streamflow.errors import UsageError
from streamflow.events import BlockComplete, BlockStart, Chunk, Retrying, StreamCompleted, StreamFailed, StreamStart
from streamflow.operators.timed import Clock, TimedOperator, lift_timed
from streamflow.text.graphemes import graphemes, is_boundary, may_go_on

_TICK_S = 0.01  # no more often than this; more units leave together instead
_SLOWEST_S = 0.05  # no pause between two units that are there is longer
_END_S = 0.2  # the rest after the end leaves within this time
_LONGEST_UNIT = 64
_ROUNDING_S = 1e-6  # schedulers count in microseconds
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]{{1,{_LONGEST_UNIT}}}\s*|\s+")
_NOT_SHOWN = frozenset({"tool_call", "thinking"})


def words(text: str) -> list[str]:
    """The words of a text, each with the space after it; ideographs stand alone, and no sign is torn.

    >>> words("Hello big  world"), words("日本 e\\u0301")[:2]
    (['Hello ', 'big  ', 'world'], ['日', '本'])
    """
    out, start = [], 0
    while start < len(text):
        match = _WORD.match(text, start)
        assert match is not None
        end = match.end()
        while end < len(text) and end - start < 2 * _LONGEST_UNIT and not is_boundary(text, end, start):
            end += 1
        out.append(text[start:end])
        start = end
    return out


_SPLITTERS: dict[str, Callable[[str], list[str]]] = {"word": words, "grapheme": graphemes}


class _Unit(msgspec.Struct, gc=False):
    """What leaves together: a word or a sign, and the chunk that it came in (None for a plain string)."""

    text: str
    chunk: Chunk | None
    start: int
    deadline: float

    def adjoins(self, other: "_Unit") -> bool:
        """Whether the other goes on where this one ends, so that both can be one chunk."""
        if self.chunk is None or other.chunk is None:
            return self.chunk is other.chunk
        place = self.start + len(self.text) if self.start >= 0 else -1
        return self.chunk.index == other.chunk.index and place == other.start

    def item(self) -> Any:
        """The chunk or string of this text."""
        if self.chunk is None:
            return self.text
        return msgspec.structs.replace(self.chunk, text=self.text, start=self.start)


class Smooth:
    """Text leaves unit by unit, at the even pace at which the last of it is just in time."""

    def __init__(self, target_lag_s: float, by: str, clock: Clock) -> None:
        self._lag_s = target_lag_s
        self._split = _SPLITTERS[by]
        self._clock = clock
        self._last_s = -math.inf  # when text left last
        self._forget()

    def _forget(self) -> None:
        self._queue: deque[Any] = deque()  # units, and the events that wait for them
        self._units = 0
        self._groups: deque[list[float]] = deque()  # [deadline, how many units in the queue have it]
        self._open: _Unit | None = None  # the last unit, which may go on in the next chunk
        self._open_until = 0.0  # when its last character is late
        self._end_by = math.inf
        self.due_s: float | None = None

    def feed(self, item: Any) -> list[Any]:
        """Queue text and what must not overtake it; pass the rest."""
        if item.__class__ is str:
            return self._take(_Unit(item, None, -1, self._clock() + self._lag_s))
        if isinstance(item, Chunk) and item.visible and item.kind not in _NOT_SHOWN:
            return self._take(_Unit(item.text, item, item.start, self._clock() + self._lag_s))
        if isinstance(item, Retrying) and item.discard:
            self._forget()
            return [item]
        if isinstance(item, StreamFailed):
            return [*self.flush(), item]
        if not self._waits(item):
            return [item]
        self._close()
        self._queue.append(item)
        return self.end() if isinstance(item, StreamCompleted) else self.wake()

    def end(self) -> list[Any]:
        """The rest leaves soon."""
        self._close()
        self._end_by = min(self._end_by, self._clock() + _END_S)
        return self.wake()

    def flush(self) -> list[Any]:
        """All at once."""
        self._close()
        out = self._release(self._units, math.inf)
        self._forget()
        return out

    def abort(self, error: BaseException) -> list[Any]:
        """All at once: the error must not wait."""
        return self.flush()

    def wake(self) -> list[Any]:
        """Release what is due by now, and say when the next is."""
        now = self._clock()
        if self._open is not None and self._open.deadline <= now:
            self._release_open(self._open, now)
        out = self._release(self._due_units(now), now)
        if out:
            self._last_s = now
        if self._units:
            self.due_s = max(now, self._last_s + max(_TICK_S, self._interval(now)))
        elif self._open is not None and not (self._open.deadline <= now and may_go_on(self._open.text)):
            self.due_s = max(now, self._open.deadline)
        else:
            self.due_s = None
        return out

    def _release_open(self, held: _Unit, now: float) -> None:
        """A word is late before its end has come: let go of it, but for a last sign that may not be whole yet."""
        if self._open_until <= now:
            if not may_go_on(held.text):
                self._close()
            return
        signs = graphemes(held.text)
        begun = "".join(signs[:-1])
        if begun:
            self._enqueue(_Unit(begun, held.chunk, held.start, held.deadline))
        start = held.start + len(begun) if held.start >= 0 else -1
        self._open = _Unit(signs[-1], held.chunk, start, self._open_until)

    def _waits(self, item: Any) -> bool:
        """Whether an event has to keep its place among the text: what begins or ends a text or a message."""
        if not self._queue and self._open is None:
            return False
        if isinstance(item, BlockStart | BlockComplete):
            return item.kind not in _NOT_SHOWN
        return isinstance(item, StreamStart | StreamCompleted)

    def _take(self, new: _Unit) -> list[Any]:
        if not new.text:
            return []
        held, self._open, self._open_until = self._open, None, new.deadline
        text, start, older = new.text, new.start, 0  # the first `older` characters came before
        if held is not None and held.adjoins(new):
            text, start, older = held.text + text, held.start, len(held.text)
        elif held is not None:
            self._enqueue(held)
        at = 0
        for part in self._split(text):
            self._close()
            deadline = held.deadline if held is not None and at < older else new.deadline
            self._open = _Unit(part, new.chunk, start + at if start >= 0 else -1, deadline)
            at += len(part)
        assert self._open is not None
        if self._open.text[-1].isspace() or len(self._open.text) >= _LONGEST_UNIT:
            self._close()
        return self.wake()

    def _close(self) -> None:
        if self._open is not None:
            self._enqueue(self._open)
            self._open = None

    def _enqueue(self, unit: _Unit) -> None:
        self._queue.append(unit)
        self._units += 1
        if self._groups and self._groups[-1][0] == unit.deadline:
            self._groups[-1][1] += 1
        else:
            self._groups.append([unit.deadline, 1])

    def _interval(self, now: float) -> float:
        """The pace at which both the oldest text and all of it are just in time."""
        deadline, count = self._groups[0]
        pace = min((deadline - now) / count, (min(self._groups[-1][0], self._end_by) - now) / self._units)
        return min(_SLOWEST_S, max(0.0, pace))

    def _due_units(self, now: float) -> int:
        if not self._units:
            return 0
        interval = self._interval(now)
        since = now - self._last_s
        if since < max(_TICK_S, interval) - _ROUNDING_S:
            return 0
        if interval <= 0:
            return self._units if self._end_by <= now else 1
        return max(1, int(min(since, _TICK_S) / interval + _ROUNDING_S))

    def _release(self, count: int, now: float) -> list[Any]:
        """That many units and all that are late, joined where they adjoin, and the events up to the next unit."""
        out: list[Any] = []
        run: _Unit | None = None
        while self._queue:
            entry = self._queue[0]
            is_unit = isinstance(entry, _Unit)
            if is_unit and count <= 0 and entry.deadline > now:
                break
            self._queue.popleft()
            if is_unit:
                count -= 1
                self._left()
                if run is not None and run.adjoins(entry):
                    run.text += entry.text
                    continue
            if run is not None:
                out.append(run.item())
            run = entry if is_unit else None
            if not is_unit:
                out.append(entry)
        if run is not None:
            out.append(run.item())
        if not self._queue and self._open is None:
            self._end_by = math.inf
        return out

    def _left(self) -> None:
        self._units -= 1
        self._groups[0][1] -= 1
        if not self._groups[0][1]:
            self._groups.popleft()


def smooth(target_lag_s: float = 0.3, by: str = "word") -> TimedOperator[Any, Any]:
    """Bursts of text become an even flow for the screen; no character is later than ``target_lag_s``.

    ```
    in   --abcdef-------------ghijkl-------------|
    out  --a--b--c--d--e--f---g--h--i--j--k--l---|
    ```

    Text leaves by ``"word"`` or by ``"grapheme"`` (signs as a reader sees them, never torn). What begins or ends the
    held text keeps its place; all other events (tool calls, usage, notices, hidden text) overtake it. After the end of
    the stream the rest leaves within a quarter of a second, on an error at once. The clock is that of the scheduler of
    the subscription. For a voice it is of no use: place it in the branch of the screen.

    >>> import streamflow as sf
    >>> sf.run(["Hello wor", "ld"], smooth(0.5))
    ['Hello ', 'world']
    """
    if not target_lag_s > 0:
        raise UsageError(f"smooth(target_lag_s={target_lag_s!r}): more than 0 seconds are needed")
    if by not in _SPLITTERS:
        raise UsageError(f"smooth(by={by!r}): allowed are {', '.join(map(repr, _SPLITTERS))}")
    return lift_timed(lambda clock: Smooth(target_lag_s, by, clock), "smooth")
