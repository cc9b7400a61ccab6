"""The clocks, in virtual time: alone, and over a socket."""

import asyncio
import gc

import pytest

import streamflow as sf
from streamflow.events import Chunk
from streamflow.sources.clocks import LoopClock, Timeouts, VirtualClock, Watch, sleep
from streamflow.sources.run import Run
from tests.sources.test_client import client
from tests.support.raw_server import CHUNKED, Connection, RawServer, chat, chunk

LIMITS = Timeouts(first_event_timeout_s=30, idle_timeout_s=10, no_progress_timeout_s=20, total_timeout_s=100)


class Watched:
    def __init__(self, limits: Timeouts = LIMITS, **options) -> None:
        self.clock = VirtualClock()
        self.errors: list = []
        self.watch = Watch(self.clock, limits, self.errors.append, **options)

    @property
    def kinds(self) -> list:
        return [error.kind for error in self.errors]

    def heard(self, progress: bool = True) -> None:
        self.watch.waiting = False
        self.watch.heard_at = self.clock.now()
        if progress:
            self.watch.progress()

    def wait(self) -> None:
        self.watch.waiting = True
        if self.watch.lapsed:
            self.watch.resume()

    def read(self, progress: bool = True) -> None:
        self.heard(progress)
        self.wait()


def test_the_first_event_has_a_clock_of_its_own():
    watched = Watched()
    watched.watch.attempt()
    watched.clock.advance(29.9)
    assert watched.kinds == []
    watched.clock.advance(0.2)
    assert watched.kinds == ["first_event_timeout_s"]
    assert isinstance(watched.errors[0], sf.StreamStalled)
    watched.clock.advance(1000)
    assert len(watched.errors) == 1


def test_pings_do_not_count_as_the_first_event():
    watched = Watched()
    watched.watch.attempt()
    for _ in range(7):
        watched.clock.advance(4.5)
        watched.read(progress=False)
    assert watched.kinds == ["first_event_timeout_s"]


def test_silence_after_the_first_event():
    watched = Watched()
    watched.watch.attempt()
    watched.clock.advance(25)
    watched.read()
    watched.clock.advance(9.9)
    watched.read()
    watched.clock.advance(9.9)
    assert watched.kinds == []
    watched.clock.advance(0.2)
    assert watched.kinds == ["idle_timeout_s"]


@pytest.mark.parametrize(("keep_alive", "kind"), [(True, "no_progress_timeout_s"), (False, "idle_timeout_s")])
def test_a7_pings_are_no_progress(keep_alive, kind):
    watched = Watched(Timeouts(30, 10, 20, 100, pings_keep_alive=keep_alive))
    watched.watch.attempt()
    watched.read()
    while not watched.kinds:
        watched.clock.advance(3)
        watched.read(progress=False)
    assert watched.kinds == [kind]
    assert watched.clock.now() == (21 if keep_alive else 12)


def test_a_consumer_that_takes_its_time_is_no_silence_of_the_provider():
    watched = Watched()
    watched.watch.attempt()
    watched.read()
    watched.heard()
    watched.clock.advance(60)
    watched.wait()
    watched.clock.advance(9.9)
    assert watched.kinds == []
    watched.clock.advance(0.2)
    assert watched.kinds == ["idle_timeout_s"]


def test_a_short_absence_at_the_moment_of_the_timer_does_not_stop_the_clock():
    watched = Watched()
    watched.watch.attempt()
    watched.read()
    watched.clock.advance(9.999)
    watched.heard()
    watched.clock.advance(0.002)
    watched.wait()
    watched.clock.advance(10)
    assert watched.kinds == ["idle_timeout_s"]


def test_the_total_runs_while_nobody_waits():
    watched = Watched()
    watched.watch.attempt()
    watched.heard()
    watched.clock.advance(101)
    assert watched.kinds == ["total_timeout_s"]


def test_the_total_runs_always():
    watched = Watched()
    watched.clock.advance(40)
    watched.watch.attempt()
    watched.watch.rest()
    watched.clock.advance(59.9)
    assert watched.kinds == []
    watched.clock.advance(0.2)
    assert watched.kinds == ["total_timeout_s"]
    assert isinstance(watched.errors[0], sf.LimitExceeded)


def test_the_shorter_of_two_totals_counts():
    watched = Watched(limit_s=5)
    watched.clock.advance(6)
    assert watched.kinds == ["timeout_s"]


def test_without_limits_there_is_no_timer():
    watched = Watched(Timeouts(None, None, None, None))
    watched.watch.attempt()
    watched.read()
    assert watched.clock.next_due_s is None


async def test_the_loop_is_a_clock():
    clock = LoopClock(asyncio.get_running_loop())
    before = clock.now()
    await sleep(clock, 0.001)
    assert clock.now() > before


# -- over a socket


async def stalled(script, steps, **limits) -> tuple[sf.StreamflowError, float]:
    """The error, and the virtual time at which it came; the server saw the close."""
    clock = VirtualClock()
    closed = asyncio.get_running_loop().create_future()

    async def serve(connection: Connection) -> None:
        await script(connection)
        await connection.closed()
        closed.set_result(None)

    async with RawServer(serve) as server, client(server, clock=clock, **limits) as llm:
        events: list = []
        failed = asyncio.get_running_loop().create_future()
        llm.stream("hi").subscribe(events.append, failed.set_result)
        while not failed.done():
            await asyncio.sleep(0.002)
            clock.advance(steps)
        await asyncio.wait_for(closed, 1)
        error = failed.result()
    assert error.partial.text == "".join(event.text for event in events if isinstance(event, Chunk))
    assert len(server.requests) == 1
    return error, clock.now()


async def nothing(connection: Connection) -> None:
    pass


async def headers_only(connection: Connection) -> None:
    await connection.send(CHUNKED)


async def some_text(connection: Connection) -> None:
    await connection.send(CHUNKED + chunk(chat("Hel", finish=None, done=False)))


async def pings(connection: Connection) -> None:
    await some_text(connection)

    async def ping() -> None:
        while not connection.writer.is_closing():
            await connection.send(chunk(b": ping\n\n"))
            await asyncio.sleep(0.001)

    pinging = asyncio.get_running_loop().create_task(ping())
    pinging.add_done_callback(lambda task: task.cancelled() or task.exception())


@pytest.mark.parametrize("script", [nothing, headers_only])
async def test_a6_a_provider_that_never_begins(script):
    error, at = await stalled(script, 1.0, first_event_timeout_s=30, idle_timeout_s=5)
    assert (type(error), error.kind, error.emitted) == (sf.StreamStalled, "first_event_timeout_s", False)
    assert 30 <= at < 40


async def test_a6_a_provider_that_falls_silent():
    error, at = await stalled(some_text, 1.0, idle_timeout_s=20, no_progress_timeout_s=100)
    assert (type(error), error.kind, error.emitted) == (sf.StreamStalled, "idle_timeout_s", True)
    assert error.partial.text == "Hel"
    assert 20 <= at < 60


async def test_a7_a_provider_that_only_keeps_alive():
    error, at = await stalled(pings, 1.0, idle_timeout_s=30, no_progress_timeout_s=60)
    assert (type(error), error.kind) == (sf.StreamStalled, "no_progress_timeout_s")
    assert at >= 60


async def test_a8_a_provider_that_takes_too_long_altogether():
    error, at = await stalled(pings, 1.0, total_timeout_s=50)
    assert (type(error), error.kind) == (sf.LimitExceeded, "total_timeout_s")
    assert 50 <= at < 60


def _runs_alive() -> int:
    gc.collect()
    return sum(isinstance(kept, Run) for kept in gc.get_objects())


async def test_streams_that_stalled_are_not_kept():
    before = _runs_alive()
    for _ in range(3):
        await stalled(some_text, 1.0, idle_timeout_s=20)
    assert _runs_alive() == before
