"""One run: a request, its retries, the answer as it is read, and every way to end it.

Reading is pulled: nothing is taken from the socket before somebody asks for more, so a consumer that stops reading
stops the provider. The request itself runs in a task of its own, because it must be possible to give it up while
somebody else waits for it; the body is read by whoever asks.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from logging import DEBUG
from typing import Any

import msgspec

from streamflow.errors import StreamflowError, UsageError
from streamflow.events import Response, Retrying
from streamflow.loops import run_on_loop
from streamflow.recordings import RecordingWriter
from streamflow.requests.request import Request
from streamflow.sources.answer import Answer
from streamflow.sources.clocks import Clock, LoopClock, Timeouts, Watch, sleep
from streamflow.sources.context import StreamContext
from streamflow.sources.credentials import Secret
from streamflow.sources.faults import BODY_FAULTS
from streamflow.sources.http import Http, Refused, Reply
from streamflow.sources.logs import LOGGER
from streamflow.sources.retry import NO_HEADERS, RetryPolicy
from streamflow.stage import Operator

POLL_S = 0.02  # how often `is_cancelled` is asked while nothing comes


class Settings(msgspec.Struct, frozen=True):
    """What every stream of a client has in common."""

    provider: str
    http: Http
    secret: Secret
    timeouts: Timeouts
    policy: RetryPolicy
    max_event_bytes: int
    max_events: int | None
    clock: Clock | None = None
    draw: Callable[[], float] = random.random
    wall_time: Callable[[], float] = time.time


class Stats(msgspec.Struct):
    """What one run did, in numbers; times are seconds since its beginning."""

    attempts: int = 0
    reads: int = 0
    bytes: int = 0
    frames: int = 0
    events: int = 0
    first_event_s: float | None = None
    total_s: float | None = None


class Run:
    """A stream in progress. `read` gives the next events until it gives None; `error` then says why."""

    def __init__(
        self,
        settings: Settings,
        make_request: Callable[[], Request | Awaitable[Request]],
        operators: Sequence[Operator[Any, Any]],
        context: StreamContext,
        options: Mapping[str, Any],
        tape: RecordingWriter | None = None,
    ) -> None:
        self._settings = settings
        self._make_request = make_request
        self._operators = operators
        self._context = context
        self._options = options
        self._tape = tape
        self._loop = asyncio.get_running_loop()
        clock = settings.clock or LoopClock(self._loop)
        self._clock = clock
        self._watch = Watch(clock, settings.timeouts, self._expired, limit_s=context.timeout_s)
        self._answer = self._new_answer(None)
        self._reply: Reply | None = None
        self._pieces: Iterator[bytes] | None = None
        self._first_piece = True
        self._reading = False
        self._opening: asyncio.Task[Reply] | None = None
        self._headers: Mapping[str, str] = NO_HEADERS
        self._delay_s = 0.0
        self._stop_error: StreamflowError | None = None
        self._stopped = False
        self._on_over: list[Callable[[], None]] = [context.listen(self.cancel)]
        self._poll: asyncio.TimerHandle | None = None
        self._debugging = LOGGER.isEnabledFor(DEBUG)
        self.stats = Stats()
        self.stopping = False
        """True from the moment in which somebody stopped the run until `read` has dealt with it."""
        self.over = False
        self.error: BaseException | None = None
        self.asks_context = context.is_cancelled is not None
        self.pumped_by: asyncio.Task[None] | None = None
        if self.asks_context:
            self._poll = self._loop.call_later(POLL_S, self._ask_context)

    # -- reading

    async def read(self) -> Iterator[Any] | None:
        """The next events, None when there are no more. A cancelled reader disposes of the run."""
        watch, stats = self._watch, self.stats
        if self._reading:
            raise UsageError("two tasks read one iterator of a live stream; give each its own: aiter(stream)")
        self._reading = True
        try:
            while not self.over:
                answer, reply = self._answer, self._reply
                if reply is None or self.stopping or answer.ended or answer.error or self._pieces is not None:
                    events = await self._step(answer)
                    if events is not None:
                        return events
                    continue
                # The short way, which nearly every read takes: there are as few calls in it as possible.
                watch.waiting = True
                if watch.lapsed:
                    watch.resume()
                fault = None
                try:
                    data = await reply.readany()
                except BODY_FAULTS as cause:
                    data, fault = reply.broke(cause, stats.bytes)
                watch.waiting = False
                watch.heard_at = watch.now()
                stats.reads += 1
                stats.bytes += len(data)
                if self._debugging:
                    self._note_read(data)
                if stats.bytes > reply.max_bytes:
                    fault, data = reply.too_long(), b""
                if fault is not None and not data:
                    self._break(fault)
                elif not data:
                    return answer.finish()
                elif reply.is_plain:
                    if self._tape is not None:
                        self._tape.write(watch.elapsed_s, data)
                    return answer.feed(data)
                else:
                    self._pieces = reply.inflate(data)
        except asyncio.CancelledError:
            self.dispose()
            raise
        finally:
            self._reading = False
        return None

    async def _step(self, answer: Answer) -> Iterator[Any] | None:
        """Whatever has to be done besides reading."""
        if self.stopping:
            self.stopping = False
            return self._stopped_events(self._stop_error)
        if answer.error is not None:
            return self._retry_or_finish(answer.error)
        if answer.ended:
            self._finish(None)
        elif self._pieces is not None:
            return await self._next_piece(answer, self._pieces)
        elif self._context.cancelled:
            self._stop(None)
        else:
            await self._open()
        return None

    async def _open(self) -> None:
        """Send the request; a failure is left in the answer."""
        self._headers = NO_HEADERS
        opening = self._opening = self._loop.create_task(self._attempt())
        try:
            self._reply = await opening
        except asyncio.CancelledError:
            if opening.done() and not opening.cancelled() and opening.exception() is None:
                opening.result().close()
            task = asyncio.current_task()
            if (task is not None and task.cancelling()) or not (self.stopping or self.over):
                raise
        except Refused as refusal:
            self._headers = refusal.headers
            self._break(refusal.error)
        except StreamflowError as error:
            self._break(error)
        except Exception as error:
            self._finish(error)
        else:
            self._headers = self._reply.headers
            self._answer = self._new_answer(self._reply.content_type)
            if self.stopping or self.over:
                self._close_reply()
        finally:
            self._opening = None

    async def _attempt(self) -> Reply:
        if self._delay_s:
            await sleep(self._clock, self._delay_s)
        self.stats.attempts += 1
        made = self._make_request()
        request = made if isinstance(made, Request) else await made
        self._watch.attempt()
        LOGGER.debug("%s: request %d, %d bytes", self._settings.provider, self.stats.attempts, len(request.body))
        reply = await self._settings.http.send(request)
        LOGGER.debug("%s: HTTP %d after %.3f s", self._settings.provider, reply.status, self._watch.elapsed_s)
        return reply

    async def _next_piece(self, answer: Answer, pieces: Iterator[bytes]) -> Iterator[Any] | None:
        try:
            piece = next(pieces, None)
        except StreamflowError as error:
            self._break(error)
            return None
        if piece is None:
            self._pieces = None
            self._first_piece = True
            return None
        if not self._first_piece:
            # A compressed read can be a thousand times larger than it looks: others have their turn in between.
            await asyncio.sleep(0)
        self._first_piece = False
        if self._tape is not None:
            self._tape.write(self._watch.elapsed_s, piece)
        return answer.feed(piece)

    def _break(self, error: StreamflowError) -> None:
        """The transport failed: what may be shown is shown by the next read."""
        if self.stopping or self.over:
            return  # somebody closed the connection on purpose
        if not self._answer.emitted:
            for _ in self._answer.fail(error):
                raise AssertionError("nothing was shown, so nothing can be released")
        else:
            self._stop(error)

    # -- retrying

    def _retry_or_finish(self, error: BaseException) -> Iterator[Any] | None:
        retrying = self._try_again(error) if isinstance(error, StreamflowError) and not self._answer.emitted else None
        if retrying is None:
            self._finish(error)
        return retrying

    def _try_again(self, error: StreamflowError) -> Iterator[Any] | None:
        """Announce a new attempt, if this failure deserves one."""
        settings = self._settings
        retry = self.stats.attempts
        delay_s = settings.policy.delay_s(
            error, retry, draw=settings.draw(), headers=self._headers, wall_time_s=settings.wall_time()
        )
        if delay_s is None:
            return None
        settings.secret.scrub_error(error)
        LOGGER.info("%s: retry %d in %.3f s: %s", settings.provider, retry, delay_s, error)
        self._watch.rest()
        self._close_reply()
        self._pieces = None
        self._first_piece = True
        self._delay_s = delay_s
        self._answer = self._new_answer(None)
        reason = error.message if error.kind is None else f"{error.kind}: {error.message}"
        return iter(self._answer.announce(Retrying(retry, 1 + settings.policy.max_retries, reason)))

    def _new_answer(self, content_type: str | None) -> Answer:
        settings = self._settings
        return Answer(
            settings.provider,
            self._operators,
            content_type=content_type,
            max_event_bytes=settings.max_event_bytes,
            max_events=settings.max_events,
            on_progress=self._watch.progress,
            scrub=settings.secret.scrub,
            **self._options,
        )

    # -- stopping

    def cancel(self) -> None:
        """End with ``cancelled`` and what came; safe from any thread."""
        run_on_loop(self._loop, self._stop, None)

    def fail(self, error: StreamflowError) -> None:
        """End with this error and what came; safe from any thread."""
        run_on_loop(self._loop, self._stop, error)

    def dispose(self) -> None:
        """Close the connection and say nothing more; safe from any thread, any number of times."""
        run_on_loop(self._loop, self._dispose)

    def check_context(self) -> None:
        """Ask ``is_cancelled``, between events; only needed where `asks_context`."""
        if self._context.cancelled:
            self._stop(None)

    def _stop(self, error: StreamflowError | None) -> None:
        if self.over or self._stopped or self._answer.delivered:
            return
        self.stopping = self._stopped = True
        self._stop_error = error
        self._watch.stop()
        if self._opening is not None:
            self._opening.cancel()
        self._close_reply()

    def _stopped_events(self, error: StreamflowError | None) -> Iterator[Any]:
        if error is None:
            yield from self._answer.cancel()
        else:
            self._settings.secret.scrub_error(error)
            yield from self._answer.fail(error)
        self._finish(error)

    def _dispose(self) -> None:
        if not self.over:
            self._answer.drop()
            if self._opening is not None:
                self._opening.cancel()
            self._finish(None)

    def _expired(self, error: StreamflowError) -> None:
        self._stop(error)

    def _ask_context(self) -> None:
        self.check_context()
        if not self.over and not self.stopping:
            self._poll = self._loop.call_later(POLL_S, self._ask_context)

    # -- ending

    def _finish(self, error: BaseException | None) -> None:
        self.over = True
        self.stopping = False
        if error is not None:
            self._settings.secret.scrub_error(error)
        self.error = error
        self.stats.total_s = self._watch.elapsed_s
        self._count()
        if self._tape is not None:
            is_whole = self._answer.ended and not self._stopped
            how = "error" if error is not None else "completed" if is_whole else "cancelled"
            self._tape.end(how, self.stats.total_s, error)
        self._watch.stop()
        if self._poll is not None:
            self._poll.cancel()
        reply, self._reply = self._reply, None
        if reply is not None:
            if self._answer.ended and error is None:
                reply.finish()
            else:
                reply.close()
        for leave in self._on_over:
            leave()
        self._on_over.clear()
        LOGGER.debug("%s: over, %s, %s", self._settings.provider, self.stats, error or "no error")

    def when_over(self, callback: Callable[[], None]) -> None:
        """Be told, once, that nothing more will come."""
        self._on_over.append(callback)

    def _close_reply(self) -> None:
        reply, self._reply = self._reply, None
        if reply is not None:
            reply.close()

    def response(self) -> Response:
        """What was given out so far."""
        return self._answer.response(self.error)

    # -- notes

    def _count(self) -> None:
        self.stats.first_event_s = self._watch.first_event_s
        self.stats.frames = self._answer.frames
        self.stats.events = self._answer.events

    def _note_read(self, data: bytes) -> None:
        self._count()
        LOGGER.debug(
            "%s: read %d, %d bytes at %.3f s; before it %d frames, %d events",
            self._settings.provider,
            self.stats.reads,
            len(data),
            self._watch.elapsed_s,
            self.stats.frames,
            self.stats.events,
        )
