"""Calls written as JSON: found in prose by the first member of their object, or standing between tags.

In prose an object is a call only when its name and its arguments are seen (or, where the tools are known, its name is
one of theirs); until then it is held, and one member that no call has releases it.
"""

import json
import re
from collections.abc import Callable, Collection
from typing import Any

from streamflow.errors import UsageError
from streamflow.text.block_writer import BlockWriter, OpenBlock
from streamflow.text.code_marks import CodeMarks
from streamflow.text.holdback import Candidate
from streamflow.text.json_values import (
    ARGUMENTS,
    BAD,
    BLANKS,
    END,
    MAX_HEAD,
    MORE,
    CallFrame,
    PassingValue,
    RestReader,
)
from streamflow.text.regions import OVER, Detector, Source, Step

BROKEN = "the call is not valid JSON"

_OBJECT = ("{",)
_ARRAY = ("[", "{")
_LISTED = ("[", "{")
_OPENAI = (
    (*_OBJECT, '"tool"', ":"),
    (*_OBJECT, '"tool_calls"', ":", *_LISTED),
    (*_OBJECT, '"tools"', ":", *_LISTED),
    (*_OBJECT, '"function"', ":"),
    (*_ARRAY, '"tool"', ":"),
    (*_ARRAY, '"function"', ":"),
)
_GEMINI = ((*_OBJECT, '"name"', ":"), (*_ARRAY, '"name"', ":"))

PROFILES: dict[str, tuple[tuple[str, ...], ...]] = {
    "default": ((*_OBJECT, '"tool"', ":"), (*_OBJECT, '"function"', ":")),
    "openai": _OPENAI,
    "mistral": _OPENAI,
    "deepseek": _OPENAI,
    "xai": _OPENAI,
    "gemini": _GEMINI,
    "any": (*_OPENAI, *_GEMINI),
}
"""The signatures of each profile, as the tokens with which a call begins; white space may stand between them."""


class _JsonCandidate(Candidate):
    """An object that may be a call; `read` counts from its start."""

    __slots__ = ("call_at", "frame", "shape", "signatures")

    def __init__(self, start: int, signatures: tuple[tuple[str, ...], ...] = ()) -> None:
        super().__init__(start)
        self.signatures = [_Signature(tokens) for tokens in signatures]  # those that may still match
        self.frame: CallFrame | None = None
        self.shape = ""
        self.call_at = 0  # where the object of the call begins

    def moved(self, by: int) -> "_JsonCandidate":
        self.start -= by
        return self


class _Signature:
    """How far one signature is matched; each character is looked at once."""

    __slots__ = ("_place", "places", "tokens")

    def __init__(self, tokens: tuple[str, ...]) -> None:
        self.tokens = tokens
        self.places: list[int] = []  # where each token stands
        self._place = 0

    def match(self, window: str) -> str:
        for token in self.tokens[len(self.places) :]:
            place = self._place = BLANKS.match(window, self._place).end()  # type: ignore[union-attr]
            if not window.startswith(token, place):
                return MORE if token.startswith(window[place : place + len(token)]) else BAD
            self.places.append(place)
            self._place += len(token)
        return END


class JsonFound:
    """A call that is certain: everything up to `end` is its frame."""

    __slots__ = ("call_at", "end", "frame", "is_over", "shape", "start")

    def __init__(self, candidate: _JsonCandidate, frame: CallFrame, is_over: bool) -> None:
        self.start = candidate.start
        self.end = candidate.start + candidate.read
        self.call_at = candidate.start + candidate.call_at
        self.frame = frame
        self.shape = candidate.shape
        self.is_over = is_over


class JsonDetector:
    """Finds calls in prose by the signatures of a profile."""

    def __init__(
        self, writer: BlockWriter, signatures: tuple[tuple[str, ...], ...], names: Collection[str] | None
    ) -> None:
        self._writer = writer
        self._signatures = signatures
        self._names = names
        self.first = "".join(sorted({signature[0] for signature in signatures}))
        self._start = re.compile(f"[{re.escape(self.first)}]")
        # Most brackets in prose begin no call, and the first sign after them tells.
        keys = "".join({token[1] for signature in signatures for token in signature if token[0] == '"'})
        member = rf'\{{[ \t\r\n]*(?:\Z|"(?:\Z|[{keys}]))'
        self._likely = re.compile(rf"{member}|\[[ \t\r\n]*(?:\Z|{member})")

    def search(self, text: str, place: int, candidate: Any, final: bool, stop: int) -> Any:
        """The first call, or an object that may still be one."""
        while True:
            if candidate is None:
                start = self._start.search(text, place, stop)
                if start is None:
                    return None
                if self._likely.match(text, start.start()) is None:
                    place = start.end()
                    continue
                candidate = _JsonCandidate(start.start(), self._signatures)
            # Only so much is looked at, however the text is cut.
            window = text[candidate.start : candidate.start + MAX_HEAD]
            status = self._sign(window, candidate) if candidate.frame is None else END
            if status == END:
                frame = candidate.frame
                candidate.read, status = frame.read(window, candidate.read)
                if self.is_call(frame, status):
                    return JsonFound(candidate, frame, status == END)
            if status == MORE and len(window) < MAX_HEAD and not final:
                return candidate
            place = candidate.start + 1
            candidate = None

    def frame(self) -> CallFrame:
        """What reads the object of one call."""
        return CallFrame(strict=True, names=self._names)

    def is_call(self, frame: CallFrame, status: str) -> bool:
        """Whether a frame that was read so far is that of a call, for certain."""
        if not frame.name:
            return False
        return status == ARGUMENTS or (status == END and self._names is not None)

    def _sign(self, window: str, candidate: _JsonCandidate) -> str:
        alive = []
        for signature in candidate.signatures:
            status = signature.match(window)
            if status == END:
                tokens, places = signature.tokens, signature.places
                listed = tokens[-1] == "{"
                candidate.shape = "list" if listed else "array" if tokens[0] == "[" else "object"
                # The frame is read from the first sign after the bracket of the call's own object.
                candidate.call_at = places[-1] if listed else places[tokens.index("{")]
                candidate.read = candidate.call_at + 1
                candidate.frame = self.frame()
                return END
            if status == MORE:
                alive.append(signature)
        candidate.signatures = alive
        return MORE if alive else BAD

    def enter(self, found: JsonFound, text: str) -> Step:
        """Begin the call."""
        return JsonCalls(self._writer, self, found)


class ArgumentsValue:
    """The arguments of a call as they pass: JSON as it comes, a string of JSON when it is whole."""

    def __init__(self, writer: BlockWriter, block: OpenBlock) -> None:
        self._writer = writer
        self._block = block
        self._value = PassingValue()
        self._parts: list[str] | None = None
        self._began = False

    def read(self, text: str, place: int) -> tuple[int, str]:
        """Pass on what belongs to the value."""
        if not self._began and place < len(text):
            self._began = True
            self._parts = [] if text[place] == '"' else None
        end, status = self._value.follow(text, place)
        if self._parts is None:
            self._writer.add(self._block, text[place:end], place)
        else:
            self._parts.append(text[place:end])
            if status == END:
                self._writer.add(self._block, decoded("".join(self._parts)), -1)
        return end, status


def decoded(text: str) -> str:
    """Arguments that are a JSON document inside a JSON string.

    >>> decoded('"{}"'), decoded("{}")
    ('{}', '{}')
    """
    if not text.startswith('"'):
        return text
    try:
        value: Any = json.loads(text, strict=False)
    except ValueError:
        return text
    return str(value)


class JsonCalls:
    """One call, or the calls of one list, from the first certain one to the last bracket."""

    is_call = True

    def __init__(self, writer: BlockWriter, detector: JsonDetector, found: JsonFound) -> None:
        self._writer = writer
        self._detector = detector
        self._shape = found.shape
        self._candidate: _JsonCandidate | None = None
        self._rest = RestReader()
        self._read: Callable[[str, int, bool], tuple[int, Step | str]]
        self._begin(found)

    def _begin(self, found: JsonFound) -> None:
        frame = self._frame = found.frame
        self._source = Source(found.call_at)
        self._block: OpenBlock | None = self._writer.open_call(frame.name, frame.id)
        self._is_over = found.is_over
        if frame.early is not None or found.is_over:
            self._writer.add(self._block, "{}" if frame.early is None else decoded(frame.early), -1)
            self._read = self._read_end
        else:
            self._value = ArgumentsValue(self._writer, self._block)
            self._read = self._read_value

    def read(self, text: str, place: int, final: bool) -> tuple[int, Step]:
        """Go on until more is needed or the last bracket is seen."""
        while True:
            place, step = self._read(text, place, final)
            if step is None and final:
                return len(text), None
            if not isinstance(step, str):
                return place, step

    def _read_value(self, text: str, place: int, final: bool) -> tuple[int, Step | str]:
        place, status = self._value.read(text, place)
        if status == MORE:
            return place, None
        if status == BAD:
            return self._break(text, place)
        self._read = self._read_end
        return place, "next"

    def _read_end(self, text: str, place: int, final: bool) -> tuple[int, Step | str]:
        """The members after the arguments, and the last bracket of the call."""
        if not self._is_over:
            place, status = self._frame.read(text, place)
            if status == MORE:
                return place, None
            if status != END:
                return self._break(text, place)
        assert self._block is not None
        self._writer.close(self._block, raw=self._source.upto(text, place))
        self._block = None
        self._read = self._read_next
        return place, OVER if self._shape == "object" else "next"

    def _break(self, text: str, place: int) -> tuple[int, Step]:
        assert self._block is not None
        self._writer.close(self._block, raw=self._source.upto(text, place), error=BROKEN)
        self._block = None
        return place, OVER

    def _read_next(self, text: str, place: int, final: bool) -> tuple[int, Step | str]:
        """Between the calls of a list: another one, or its last bracket. Anything else is text again."""
        place = BLANKS.match(text, place).end()  # type: ignore[union-attr]
        if place == len(text):
            return place, None
        if text[place] == "]":
            self._read = self._read_rest
            return place + 1, "next" if self._shape == "list" else OVER
        window = text[place : place + MAX_HEAD]
        candidate = self._candidate or _JsonCandidate(place, ((",", "{"),))
        self._candidate = candidate
        candidate.start = place
        signature = candidate.signatures[0]
        status = signature.match(window)
        if status == END:
            frame = candidate.frame
            if frame is None:
                frame = candidate.frame = self._detector.frame()
                candidate.shape = self._shape
                candidate.call_at = signature.places[-1]
                candidate.read = candidate.call_at + 1
            candidate.read, status = frame.read(window, candidate.read)
            if self._detector.is_call(frame, status):
                found = JsonFound(candidate, frame, status == END)
                self._candidate = None
                self._begin(found)
                return found.end, "next"
        if status == MORE and len(window) < MAX_HEAD and not final:
            return place, None
        return place, OVER

    def _read_rest(self, text: str, place: int, final: bool) -> tuple[int, Step | str]:
        """The members of the outer object after the list of calls."""
        place, status = self._rest.read(text, place)
        return place, None if status == MORE else OVER

    def keep(self, text: str, place: int) -> None:
        """Keep the source."""
        self._source.keep(text, place)

    def unclosed(self) -> None:
        """The text ended inside."""
        if self._block is not None:
            self._writer.unclosed(self._block, raw=self._source.upto("", 0))


def json_detectors(
    profile: str, names: Collection[str] | None
) -> Callable[[BlockWriter, CodeMarks | None], list[Detector]]:
    """What finds calls by the signatures of a profile, only those of the tools named, if any are."""
    if not isinstance(profile, str) or profile not in PROFILES:
        raise UsageError(f"profile={profile!r}: choose one of {', '.join(PROFILES)}")
    lowered = None if names is None else frozenset(name.lower() for name in names)

    def make(writer: BlockWriter, code: CodeMarks | None) -> list[Detector]:
        return [JsonDetector(writer, PROFILES[profile], lowered)]

    return make
