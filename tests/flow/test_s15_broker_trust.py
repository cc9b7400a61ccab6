"""S15: what comes out of Redis is not believed, tenants are apart, a user needs few rights, and TLS is checked."""

import asyncio
import secrets
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from streamflow.encoding import to_json
from streamflow.errors import ProtocolError, StreamflowError, UsageError
from streamflow.events import Chunk, Notice, Stamped, StreamCompleted
from streamflow.flow.ports import BrokerUnavailable, Timing, UnknownStream
from streamflow.flow.redis_journal import RedisJournal
from tests.flow.events import answer
from tests.support.redis_server import RedisServer, require_redis

FAST = Timing(lease_s=0.5, keep_s=60)
Opened = Callable[..., RedisJournal]
# What docs/scaling.md gives a user of Redis.
RIGHTS = "+eval +evalsha +hget +hmget +hset +set +get +del +exists +expire +pexpire +xadd +xread +xrange +xtrim +time"


async def read_all(journal: RedisJournal, stream: str) -> list[Stamped]:
    tail = await journal.tail(stream)
    read: list[Stamped] = []
    async with asyncio.timeout(20):
        while not tail.ended:
            read += await tail.read(1.0)
    return read


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    """Makes journals, and closes them."""
    made: list[RedisJournal] = []

    def make(server: RedisServer | str, **options: Any) -> RedisJournal:
        url = server if isinstance(server, str) else server.url
        made.append(RedisJournal(url, timing=FAST, **options))
        return made[-1]

    yield make
    for journal in made:
        await journal.aclose()


async def live(journal: RedisJournal) -> tuple[str, Any]:
    stream = secrets.token_hex(8)
    claim = await journal.claim(stream)
    await claim.append([Stamped(seq, 0.0, event) for seq, event in enumerate(answer(3)[:3])])
    return stream, claim


BAD_RECORDS: dict[str, dict[str, bytes]] = {
    "no event": {"x": b"1"},
    "no time": {"e": to_json(Notice("a"))},
    "time is no number": {"e": to_json(Notice("a")), "t": b"soon"},
    "no JSON": {"e": b"\x80\x04\x95pickle", "t": b"0"},
    "cut JSON": {"e": b'{"type":"Chunk","index":0', "t": b"0"},
    "unknown type": {"e": b'{"type":"Shell","command":"rm"}', "t": b"0"},
    "wrong fields": {"e": b'{"type":"Chunk","index":"no","kind":[],"text":5}', "t": b"0"},
    "a list": {"e": b"[]", "t": b"0"},
    "very deep": {"e": b'{"type":"Notice","code":"a","raw":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "t": b"0"},
}


@pytest.mark.parametrize("record", BAD_RECORDS)
async def test_s15_a_record_that_is_none_is_refused(opened: Opened, shared_redis: RedisServer, record: str) -> None:
    journal = opened(shared_redis)
    stream, claim = await live(journal)
    tail = await journal.tail(stream)  # it reads on live, and a second one from the past
    fields = [word for pair in BAD_RECORDS[record].items() for word in pair]
    shared_redis.command("XADD", claim.keys.log, f"{claim.epoch}-3", *fields)
    shared_redis.command("HSET", claim.keys.meta, "last", "3")
    for reader in (tail, await journal.tail(stream)):
        seen: list[Stamped] = []
        with pytest.raises(ProtocolError) as refused:
            await _exhaust(reader, seen)
        assert refused.value.kind == "bad_record"
        assert len(seen) <= 3


async def _exhaust(tail: Any, seen: list[Stamped]) -> None:
    async with asyncio.timeout(20):
        while not tail.ended:
            seen += await tail.read(1.0)


async def test_s15_a_record_after_the_end_is_never_read(opened: Opened, shared_redis: RedisServer) -> None:
    journal = opened(shared_redis)
    stream, claim = await live(journal)
    tail = await journal.tail(stream)
    await claim.append([Stamped(3, 0.0, StreamCompleted())])
    more = ["e", to_json(Chunk(0, "text", "injected")), "t", "0"]
    shared_redis.command("XADD", claim.keys.log, f"{claim.epoch}-4", *more)
    seen: list[Stamped] = []
    await _exhaust(tail, seen)
    assert [stamped.seq for stamped in seen] == [0, 1, 2, 3]
    assert [stamped.seq for stamped in await read_all(journal, stream)] == [0, 1, 2, 3]


async def test_s15_a_stream_of_another_version_is_refused(opened: Opened, shared_redis: RedisServer) -> None:
    journal = opened(shared_redis)
    stream, claim = await live(journal)
    shared_redis.command("HSET", claim.keys.meta, "schema", "2")
    for asking in (journal.state(stream), journal.tail(stream), journal.claim(stream), journal.fetch(stream, -1)):
        with pytest.raises(ProtocolError, match="another version"):
            await asking


async def test_s15_keys_of_another_kind_are_a_typed_error(opened: Opened, shared_redis: RedisServer) -> None:
    journal = opened(shared_redis)
    stream, claim = await live(journal)
    for key in (claim.keys.log, claim.keys.meta):
        shared_redis.command("DEL", key)
        shared_redis.command("SET", key, "not ours")
    for asking in (journal.state(stream), journal.fetch(stream, -1), claim.append([Stamped(3, 0.0, Notice("a"))])):
        with pytest.raises(StreamflowError):
            await asking


async def test_s15_tenants_do_not_see_each_other(opened: Opened, shared_redis: RedisServer) -> None:
    ours, theirs = (opened(shared_redis, prefix=prefix) for prefix in ("ours", "theirs"))
    stream, _ = await live(ours)
    assert await theirs.state(stream) is None
    for asking in (theirs.tail(stream), theirs.stop(stream)):
        with pytest.raises(UnknownStream):
            await asking
    for wrong in ("a:b", "a{b", "*", "", "a b", "x\n"):
        with pytest.raises(UsageError, match="prefix"):
            RedisJournal(shared_redis.url, prefix=wrong)


async def test_s15_a_user_with_few_rights_and_one_prefix_is_enough(opened: Opened, own_redis: RedisServer) -> None:
    own_redis.start()
    own_redis.command("ACL", "SETUSER", "flows", "on", ">p4ss", "~sf:*", *RIGHTS.split())
    url = own_redis.url.replace("unix://", "unix://flows:p4ss@")
    journal = opened(url)
    stream, claim = await live(journal)
    reading = asyncio.create_task(read_all(journal, stream))
    await journal.stop(stream)
    await claim.renew()
    await claim.let_go(1, answer_so_far())
    await claim.append([Stamped(3, 0.0, StreamCompleted("cancelled"))])
    assert (await reading)[-1].seq == 3
    assert (await read_all(journal, stream))[0].event.code == "reset"
    lost, claim = await live(journal)
    await claim.release()
    assert (await read_all(journal, lost))[-1].event.error.kind == "producer_lost"
    outside = opened(url, prefix="other")
    with pytest.raises(BrokerUnavailable) as refused:
        await outside.claim("a")
    assert (refused.value.kind, refused.value.retryable) == ("broker_refused", False)
    wrong = opened(url.replace("p4ss", "wr0ng"))
    with pytest.raises(BrokerUnavailable) as refused:
        await wrong.claim("a")
    assert (refused.value.kind, refused.value.retryable) == ("broker_refused", False)
    assert "wr0ng" not in str(refused.value)


def answer_so_far() -> Any:
    from streamflow.fold import collect

    return collect(answer(3)[:2])


@pytest.fixture(scope="module")
def certificate() -> Iterator[Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    with TemporaryDirectory(prefix="sf") as directory:
        command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem"
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        subprocess.run([*command.split(), *names], cwd=directory, check=True, capture_output=True)
        yield Path(directory)


async def test_s15_over_tls_only_with_a_known_certificate(opened: Opened, certificate: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = RedisServer(
        require_redis(),
        tmp_path,
        **{
            "tls-port": str(port),
            "tls-cert-file": str(certificate / "cert.pem"),
            "tls-key-file": str(certificate / "key.pem"),
            "tls-ca-cert-file": str(certificate / "cert.pem"),
            "tls-auth-clients": "no",
        },
    )
    try:
        server.start()
    except AssertionError:
        pytest.skip("this redis-server was built without TLS")
    try:
        known = f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={certificate / 'cert.pem'}"
        journal = opened(known)
        stream, claim = await live(journal)
        await claim.append([Stamped(3, 0.0, StreamCompleted())])
        assert len(await read_all(journal, stream)) == 4
        stranger = opened(f"rediss://127.0.0.1:{port}/0")
        with pytest.raises(BrokerUnavailable):
            await stranger.claim("a")
    finally:
        server.kill()
