"""S15: a server does not believe what lies in its broker. The journal itself: tests/flow/test_s15_broker_trust.py."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis import asyncio as aioredis

import streamflow as sf
from streamflow.flow.ports import Timing
from streamflow.flow.redis_journal import RedisJournal
from streamflow.server import Limits
from streamflow.server.redis_store import RedisFlowStore
from tests.server.serving import serving
from tests.support.redis_server import RedisServer, require_redis

LIMITS = Limits(drain_s=0.0, linger_s=5.0)
FAST = Timing(lease_s=0.5, keep_s=60)
MALICIOUS = {
    "no fields": {"x": "y"},
    "no event": {"t": "0.1"},
    "no JSON": {"t": "0.1", "e": "hello"},
    "half JSON": {"t": "0.1", "e": '{"type": "Chunk", '},
    "deep JSON": {"t": "0.1", "e": '{"type": "Notice", "code": "x", "raw": ' + "[" * 100_000 + "]" * 100_000 + "}"},
    "unknown type": {"t": "0.1", "e": '{"type": "Exec", "code": "x"}'},
    "wrong shape": {"t": "0.1", "e": '{"type": "Chunk", "index": "a", "kind": 1, "text": []}'},
    "a pickle": {"t": "0.1", "e": b"\x80\x04\x95\x0c\x00"},
    "wrong time": {"t": "soon", "e": '{"type": "Notice", "code": "x"}'},
    "a huge text": {"t": "0.1", "e": '{"type": "Notice", "code": ' + "9" * 100_000 + "}"},
    "invalid UTF-8": {"t": "0.1", "e": b'{"type": "Notice", "code": "\xff"}'},
}


@pytest.fixture(scope="module")
def broker() -> Iterator[RedisServer]:
    with TemporaryDirectory(prefix="sf") as directory:
        server = RedisServer(require_redis(), Path(directory)).start()
        yield server
        server.kill()


@pytest.fixture
async def redis(broker: RedisServer) -> AsyncIterator[aioredis.Redis]:
    client = aioredis.Redis.from_url(broker.url)
    yield client
    await client.aclose()


@pytest.mark.parametrize("name", MALICIOUS)
async def test_s15_a_record_of_somebody_else_ends_the_stream_with_one_typed_error(name, broker, redis):
    async with serving(limits=LIMITS, store=RedisFlowStore(broker.url, LIMITS, timing=FAST)) as served:
        flow_id = await served.begin("sim:text Hello there.")
        whole = await served.events(flow_id)
        key = f"sf:{{{flow_id}}}:log"
        # Another flow goes on while this one is being spoilt.
        other = await served.begin("sim:long 40 2")
        last = (await redis.xrevrange(key, count=1))[0][0].decode()
        await redis.xdel(key, last)
        epoch, seq = last.split("-")
        await redis.xadd(key, MALICIOUS[name], id=f"{epoch}-{int(seq) + 1}")
        # A node that has read nothing yet.
        async with serving(limits=LIMITS, store=RedisFlowStore(broker.url, LIMITS, timing=FAST)) as fresh:
            async with asyncio.timeout(20):
                items = await fresh.events(flow_id)
            assert items[: len(whole) - 1] == whole[:-1]
            assert [item["type"] for _, item in items[len(whole) - 1 :]] in ([], ["StreamFailed"])
            assert not any(item["type"] == "StreamCompleted" for _, item in items)
            # The shared reader of the node lives on.
            text = await fresh.text(await fresh.begin("sim:text still here"))
            assert "still here" in text
        assert (await served.events(other))[-1][1]["type"] == "StreamCompleted"


@pytest.mark.parametrize("prefix", ["", "a:b", "a{b}", "a b", "a\n", "a*", "a?"])
def test_s15_a_prefix_cannot_reach_into_another(prefix, broker):
    with pytest.raises(sf.UsageError, match="prefix"):
        RedisJournal(broker.url, prefix=prefix)


def test_s15_no_password_of_the_broker_is_shown():
    journal = RedisJournal("rediss://user:canary@localhost:1/0")
    assert "canary" not in repr(journal) + str(journal)
