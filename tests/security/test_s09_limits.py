"""S9: everything has a size, to the byte, and each size can be set.

What a server allows (requests, messages, headers, readers, flows, what is kept) is tested in
tests/server/test_access.py, tests/server/test_websocket.py and tests/cli/test_serve.py; here is what we take from
providers, and that no limit is missing.
"""

import inspect

import pytest

import streamflow as sf
from streamflow.server import Limits
from streamflow.sources.media import MAX_BYTES
from streamflow.wire.intake import MAX_EVENT_BYTES
from tests.sources.test_client import END, client
from tests.support.raw_server import CHUNKED, Connection, RawServer, chat, chunk

MIB = 1 << 20
LAST = chat("x" * 5000)  # its first event is by far the longest
FIRST = LAST.index(b"\n\n")


async def outcome(body: bytes, size: int = 700, **limits) -> sf.StreamflowError | sf.Response:
    async def send(connection: Connection) -> None:
        await connection.send(CHUNKED)
        for at in range(0, len(body), size):
            await connection.send(chunk(body[at : at + size]))
        await connection.send(END)

    async with RawServer(send) as server, client(server, max_retries=0, **limits) as llm:
        try:
            return await llm.collect("hi")
        except sf.StreamflowError as error:
            return error


def test_s09_the_defaults():
    defaults = {name: parameter.default for name, parameter in inspect.signature(sf.connect).parameters.items()}
    assert defaults["max_event_bytes"] == MAX_EVENT_BYTES == 32 * MIB
    assert defaults["max_stream_bytes"] == 256 * MIB
    assert defaults["max_events"] == 4_000_000
    assert MAX_BYTES == 20 * MIB
    assert Limits().request_bytes == MIB
    assert (Limits().header_bytes, Limits().message_bytes) == (8190, 64 << 10)
    assert (Limits().subscribers_per_flow, Limits().flows_per_owner) == (1000, 1000)


@pytest.mark.parametrize("size", [7, 700, 1 << 20])
@pytest.mark.parametrize(("name", "exact"), [("max_event_bytes", FIRST), ("max_stream_bytes", len(LAST))])
async def test_s09_a_limit_of_the_provider_side_holds_to_the_byte(name, exact, size):
    kept = await outcome(LAST, size, **{name: exact})
    assert isinstance(kept, sf.Response), kept
    assert kept.complete
    refused = await outcome(LAST, size, **{name: exact - 1})
    assert isinstance(refused, sf.LimitExceeded)
    assert refused.kind == name
    assert str(exact - 1) in str(refused)


async def test_s09_the_number_of_events_holds_to_one():
    body = chat(*"abcdefghij")
    counts = {}
    for most in range(8, 18):
        found = await outcome(body, max_events=most)
        counts[most] = isinstance(found, sf.Response)
        assert isinstance(found, sf.Response) or found.kind == "max_events"
    # Too few are refused, enough are not, and it changes once.
    assert list(counts.values()) == sorted(counts.values())
    assert set(counts.values()) == {False, True}


@pytest.mark.parametrize("name", ["max_event_bytes", "max_stream_bytes", "max_events"])
@pytest.mark.parametrize("wrong", [0, -1, "many", 1.5])
def test_s09_a_limit_that_is_none_is_refused_at_once(name, wrong):
    with pytest.raises(sf.UsageError, match=name):
        sf.connect("openai", model="m", api_key="k", **{name: wrong})


@pytest.mark.parametrize("name", Limits.__struct_fields__)
def test_s09_every_limit_of_a_server_can_be_set_and_is_checked(name):
    assert getattr(Limits(**{name: 7}).checked(), name) == 7
    for wrong in (-1, True, "many"):
        with pytest.raises(sf.UsageError, match=name):
            Limits(**{name: wrong}).checked()
