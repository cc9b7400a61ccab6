"""Which lines of the project a run reached that no run before it had reached."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Line = tuple[CodeType, int]


class Coverage:
    """Collects lines under a folder. ``new`` are those that were reached for the first time since it was cleared."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._inside: dict[CodeType, bool] = {}
        self._open: dict[CodeType, set[int]] = {}  # lines that were not reached yet
        self.seen = 0
        self.new: set[Line] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While a target runs."""
        if sys.version_info >= (3, 12):
            with self._monitoring():
                yield
            return
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _is_inside(self, code: CodeType) -> bool:
        known = self._inside.get(code)
        if known is None:
            known = self._inside[code] = code.co_filename.startswith(self._folder)
        return known

    def _reach(self, code: CodeType, line: int) -> None:
        still = self._open.get(code)
        if still is None:
            still = self._open[code] = {line for _, _, line in code.co_lines() if line is not None}
        if line in still:
            still.discard(line)
            self.new.add((code, line))
            self.seen += 1

    # Before 3.12: a function is traced until all of its lines were reached.

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not self._is_inside(code) or self._open.get(code) == set():
            return None
        self._reach(code, frame.f_lineno)
        return self._trace

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._reach(frame.f_code, frame.f_lineno)
        return self._trace

    # Since 3.12: the interpreter tells each line once.

    @contextmanager
    def _monitoring(self) -> Iterator[None]:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        tool, lines = 4, monitoring.events.LINE

        def reach(code: CodeType, line: int) -> Any:
            if self._is_inside(code):
                self._reach(code, line)
            return monitoring.DISABLE

        monitoring.use_tool_id(tool, "streamflow fuzz")
        monitoring.register_callback(tool, lines, reach)
        monitoring.set_events(tool, lines)
        try:
            yield
        finally:
            monitoring.set_events(tool, 0)
            monitoring.register_callback(tool, lines, None)
            monitoring.free_tool_id(tool)
