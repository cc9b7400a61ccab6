"""What is tried again, and when."""

import asyncio

import pytest

import streamflow as sf
from streamflow.events import Retrying
from streamflow.sources.clocks import VirtualClock
from streamflow.sources.retry import RetryPolicy, asked_delay_s, is_worth_retrying
from tests.sources.test_client import client, hello
from tests.support.raw_server import Connection, RawServer, whole

NOON = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_passes_is_retried(status):
    assert is_worth_retrying(sf.ProviderError("x", status=status))


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
def test_what_stays_wrong_is_not(status):
    assert not is_worth_retrying(sf.ProviderError("x", status=status))


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (sf.TransportError("refused"), True),
        (sf.StreamTruncated("empty"), True),
        (sf.TransportError("certificate", retryable=False), False),
        (sf.StreamStalled("silent"), False),
        (sf.ProtocolError("html"), False),
        (sf.LimitExceeded("large"), False),
        (sf.UsageError("wrong"), False),
        (sf.ProviderError("overloaded", retryable=True), True),
        (sf.ProviderError("no such model"), False),
    ],
    ids=lambda value: getattr(value, "message", ""),
)
def test_errors_without_a_status(error, verdict):
    assert is_worth_retrying(error) is verdict


def test_a1_the_server_has_the_last_word():
    assert is_worth_retrying(sf.ProviderError("x", status=400), {"x-should-retry": "true"})
    assert not is_worth_retrying(sf.ProviderError("x", status=500), {"x-should-retry": "False"})
    assert is_worth_retrying(sf.ProviderError("x", status=500), {"x-should-retry": "perhaps"})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:47 GMT"}, 10.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:27 GMT"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1_0"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_a1_what_the_server_asks_for(headers, seconds):
    assert asked_delay_s(headers, NOON) == seconds


def test_the_wait_doubles_up_to_a_bound_and_is_only_shortened():
    policy = RetryPolicy(max_retries=9)
    waits = [policy.delay_s(sf.TransportError("x"), retry, draw=0.0) for retry in range(1, 8)]
    assert waits == [0.5, 1, 2, 4, 8, 8, 8]
    assert policy.backoff_s(5, draw=0.999) == pytest.approx(6.0, abs=0.01)
    assert policy.delay_s(sf.TransportError("x"), 10, draw=0.0) is None


@pytest.mark.parametrize(("asked", "waits"), [("120", 120.0), ("121", None)])
def test_a1_a_long_wait_is_refused(asked, waits):
    error = sf.ProviderError("x", status=429)
    assert RetryPolicy().delay_s(error, 1, draw=0.0, headers={"retry-after": asked}) == waits


# -- over a socket, in virtual time


async def test_a1_the_spacing_of_the_attempts():
    clock = VirtualClock()
    arrivals: list[float] = []

    async def busy(connection: Connection) -> None:
        arrivals.append(clock.now())
        await (connection.send(whole(529)) if connection.number < 5 else hello(connection))

    async with RawServer(busy) as server, client(server, clock=clock, random=lambda: 0.0, max_retries=5) as llm:
        events: list = []
        over = asyncio.Event()
        llm.stream("hi").subscribe(events.append, on_completed=over.set)
        while not over.is_set():
            await asyncio.sleep(0.001)
            due = clock.next_due_s
            if due is not None and due < 60:  # the timers of the stream itself are longer
                clock.advance(due)
    assert arrivals == pytest.approx([0, 0.5, 1.5, 3.5, 7.5, 15.5])
    assert [event.attempt for event in events if isinstance(event, Retrying)] == [1, 2, 3, 4, 5]
    assert events[-1].response.text == "Hello"


async def test_a1_two_retries_by_default_and_nothing_else_is_seen():
    async def busy(connection: Connection) -> None:
        await connection.send(whole(500, b'{"error": {"message": "oops"}}', retry_after_ms="0"))

    async with RawServer(busy) as server, client(server) as llm:
        events: list = []
        errors: list = []
        over = asyncio.Event()
        llm.stream("hi").subscribe(events.append, lambda error: (errors.append(error), over.set()))
        await over.wait()
    assert len(server.requests) == 3
    assert [type(event) for event in events] == [Retrying, Retrying]
    assert "oops" in events[0].reason
    assert (errors[0].status, errors[0].retryable) == (500, True)


@pytest.mark.parametrize(
    "headers", [{"retry_after": "121"}, {"x_should_retry": "false"}, {"retry_after": "Fri, 31 Dec 9999 23:59:59 GMT"}]
)
async def test_a1_when_the_server_wants_no_retry_the_error_comes_at_once(headers):
    async def busy(connection: Connection) -> None:
        await connection.send(whole(429, b"", **headers))

    async with RawServer(busy) as server, client(server) as llm:
        with pytest.raises(sf.ProviderError) as caught:
            await llm.collect("hi")
    assert caught.value.status == 429
    assert len(server.requests) == 1


async def test_cancelling_between_attempts_ends_it():
    async def busy(connection: Connection) -> None:
        await connection.send(whole(503, b"", retry_after="100"))

    async with RawServer(busy) as server, client(server) as llm:
        stream = llm.stream("hi")
        events: list = []
        over = asyncio.Event()
        stream.subscribe(lambda event: (events.append(event), stream.cancel()), on_completed=over.set)
        await asyncio.wait_for(over.wait(), 5)
    assert [type(event).__name__ for event in events] == ["Retrying", "StreamCompleted"]
    assert events[-1].stop_reason == "cancelled"
    assert len(server.requests) == 1
