"""The stage that turns frames into events: picks the dialect, reads the JSON, watches over the end."""

from collections.abc import Sequence
from typing import Any

import orjson

from streamflow.errors import ProtocolError, StreamTruncated, UsageError
from streamflow.events import Event, Frame, Notice, Raw, Response
from streamflow.providers.payload import excerpt, load_torn, wrong_shape
from streamflow.providers.provider import Dialect, Provider
from streamflow.providers.turn import Turn

BAD_FRAME_POLICIES = ("error", "skip")
_DOCUMENT_STARTS = ("{", "[", "")
_loads = orjson.loads


class Normalizer:
    """Frames of one provider in, events out. The end is known: bytes that stop before it raise `StreamTruncated`."""

    takes, gives = "frames", "events"

    def __init__(
        self, row: Provider, *, choice: int = 0, on_bad_frame: str = "error", raw: bool = False
    ) -> None:
        if on_bad_frame not in BAD_FRAME_POLICIES:
            raise UsageError(f"on_bad_frame={on_bad_frame!r}: choose one of {', '.join(BAD_FRAME_POLICIES)}")
        self._row = row
        self._choice = choice
        self._skips = on_bad_frame == "skip"
        self._raw = raw
        self._turn = Turn(row.name)
        self._dialect: Dialect | None = None
        self._last: Frame | None = None
        self._frames = 0
        self._said_after_end = False
        self._said: list[Event] = []  # by the frame that broke
        self._foreign: Frame | None = None  # the first frame, when it is of no dialect of this provider

    def feed(self, frame: Frame) -> list[Event]:
        """Take one frame. What a frame said before it broke comes with `abort`."""
        out: list[Event] = []
        try:
            self.feed_all((frame,), out)
        except BaseException:
            self._said = out
            raise
        return out

    def feed_all(self, frames: Sequence[Frame], out: list[Event]) -> None:
        """Take frames that came together."""
        turn = self._turn
        turn.out = out
        for frame in frames:
            if turn.ended:
                self._read_after_end(frame)
                continue
            self._frames += 1
            self._last = frame
            if self._raw:
                turn.remark(Raw(frame))
            try:
                data = frame.data
            except AttributeError:
                raise UsageError(
                    f"normalize_provider() takes frames, not {type(frame).__name__}: put sse_decode() or "
                    "wire_decode(...) before it"
                ) from None
            try:
                if data == "[DONE]":
                    self._known_dialect({}, frame).done()
                    continue
                try:
                    payload = _loads(data)
                except ValueError:
                    payload = load_torn(frame, turn.provider)
                    turn.has_torn_text = True
                if payload.__class__ is not dict:
                    raise wrong_shape(frame, turn.provider, f"{type(payload).__name__} instead of an object")
                (self._dialect or self._known_dialect(payload, frame)).read(payload, frame)
            except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
                # Dialects read by the documented shape; whatever does not fit it lands here.
                self._refuse(wrong_shape(frame, turn.provider, f"{type(error).__name__}: {error}"), frame, error)
            except ProtocolError as error:
                self._refuse(error, frame, None)

    def _refuse(self, error: ProtocolError, frame: Frame, cause: Exception | None) -> None:
        # A frame that the end of the bytes tore is no fault of the format: `flush` says whether it was a cut.
        if frame.unfinished and frame.data.lstrip()[:1] in _DOCUMENT_STARTS:
            return
        if not self._skips:
            raise error from cause
        self._turn.notice("bad_frame", error.message, excerpt(frame))

    def _known_dialect(self, payload: dict[str, Any], frame: Frame) -> Dialect:
        if self._dialect is None:
            kinds = self._row.dialects
            kind = next((kind for kind in kinds if kind.recognises(payload, frame)), None)
            if kind is None:
                self._foreign = frame
            self._dialect = (kind or kinds[0])(self._turn, self._row, self._choice)
        return self._dialect

    def _read_after_end(self, frame: Frame) -> None:
        if not self._said_after_end and frame.data != "[DONE]":
            self._said_after_end = True
            where = f"data after the end of the stream was ignored, from byte {frame.start}"
            self._turn.out.append(Notice("data_after_end", where))

    def flush(self) -> list[Event]:
        """The bytes ended: properly, or not."""
        turn = self._turn
        turn.out = []
        if not turn.ended:
            if self._dialect is None or not self._dialect.may_end():
                if self._foreign is not None and turn.unknown_events == self._frames and not self._skips:
                    raise wrong_shape(self._foreign, turn.provider, "it is no event of it, and none followed")
                position = 0 if self._last is None else self._last.end
                raise StreamTruncated(
                    f"{turn.provider}: the stream ended before its end marker, after {self._frames} frames "
                    f"({position} bytes)",
                    provider=turn.provider,
                    position=position,
                )
            turn.complete()
        return turn.take()

    def abort(self, error: BaseException) -> list[Event]:
        """The stream failed: close what is open."""
        turn = self._turn
        turn.out = self._said  # what it had before belongs to whoever fed the last frame
        turn.abort()
        if isinstance(error, ProtocolError | StreamTruncated) and error.provider is None:
            error.provider = self._row.name
        return turn.take()

    def partial(self, error: BaseException | None = None) -> Response:
        """What came so far."""
        return self._turn.partial(error)

    @property
    def emitted(self) -> bool:
        """True once an event left."""
        return self._turn.emitted
