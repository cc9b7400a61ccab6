"""What goes wrong between a server and its clients, row by row of the fault matrix."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import msgspec
import pytest

from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart
from streamflow.server import Limits
from streamflow.testing import Answer, Stall, Text
from streamflow.wire.sse import SseDecoder
from tests.server.processes import begin, programs, read
from tests.server.serving import serving, text_of, until
from tests.support.redis_server import RedisServer, require_redis

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def long_text(words: int) -> str:
    """What the simulator says to `sim:long`."""
    return " ".join(f"{NUMBERS[number % 10]}{number}" for number in range(words))


@pytest.fixture
def broker() -> Iterator[RedisServer]:
    with TemporaryDirectory(prefix="sf") as directory:
        server = RedisServer(require_redis(), Path(directory))
        yield server.start()
        server.kill()


async def test_b6_leaving_is_not_stopping_and_any_node_can_stop(broker: RedisServer) -> None:
    async with programs(2, "--redis", broker.url) as (owner, other), aiohttp.ClientSession() as session:
        left = await begin(session, owner.root, "sim:long 60 5")
        await read(session, owner.root, left, limit=3)  # and gone
        stopped = await begin(session, owner.root, "sim:long 100000 5")
        seen = await read(session, owner.root, stopped, limit=20)
        for root in (other.root, other.root, owner.root):
            async with session.delete(f"{root}/flows/{stopped}") as response:
                assert response.status == 204
        ends = [await read(session, root, stopped) for root in (owner.root, other.root)]
        assert ends[0] == ends[1]
        assert ends[0][:20] == seen
        end = ends[0][-1][1]
        assert (end["type"], end["stop_reason"], end["response"]["complete"]) == ("StreamCompleted", "cancelled", False)
        assert end["response"]["text"] == text_of(ends[0])
        assert text_of(await read(session, other.root, left)) == long_text(60)


CLIENT = """
import socket, sys
host, port, flow, after = sys.argv[1:]
wire = socket.create_connection((host, int(port)))
last = f"last-event-id: {after}\\r\\n" if after else ""
wire.sendall(f"GET /flows/{flow}/events HTTP/1.0\\r\\nhost: localhost\\r\\n{last}\\r\\n".encode())
while piece := wire.recv(4096):
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
"""


async def test_c1_a_client_killed_at_a_hundred_points_reads_everything_once() -> None:
    draw = random.Random(21)
    async with serving() as served:
        flow = await served.begin("sim:long 2500 2")
        port = served.root.rpartition(":")[2]
        items: list = []
        for _ in range(100):
            items += await asyncio.to_thread(_read_and_die, port, flow, items[-1][0] if items else "", draw)
        killed_at = len(items)
        items += await served.events(flow, after=items[-1][0])
        assert items == await served.events(flow)
        assert text_of(items) == long_text(2500)
        assert killed_at > 100
        assert served.service.metrics.get("resumes_total") >= 99
        await until(lambda: served.service.readers == 0)


def _read_and_die(port: str, flow: str, after: str, draw: random.Random) -> list:
    """The events that a client had whole when SIGKILL hit it, somewhere in the middle of a byte stream."""
    command = [sys.executable, "-S", "-E", "-c", CLIENT, "127.0.0.1", port, flow, after]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), True)
        head, wanted = b"", draw.randint(150, 2500)
        while b"\r\n\r\n" not in head or len(head) - head.index(b"\r\n\r\n") < wanted:
            piece = os.read(process.stdout.fileno(), 64)
            if not piece:
                break
            head += piece
        process.send_signal(signal.SIGKILL)
    frames = SseDecoder().feed(head.partition(b"\r\n\r\n")[2])
    return [(frame.id, msgspec.json.decode(frame.data)) for frame in frames]


async def test_c2_a_place_that_is_none_is_told_never_guessed() -> None:
    async with serving(limits=Limits(drain_s=0.0, journal_events=40)) as served:
        flow, foreign = await served.begin("sim:text " + "word " * 80), await served.begin("hello")
        items, others = await served.events(flow), await served.events(foreign)
        epoch, last = items[-1][0].split("-")
        wrong = ["garbage", others[-1][0], f"{epoch}-{int(last) + 1}", f"{int(epoch) + 2}-0", f"{epoch}-1e3", "0-0"]
        for place in wrong:
            for path in ("events", "events?branch=ui", "ws"):
                joined = "&" if "?" in path else "?"
                async with served.session.get(f"{served.root}/flows/{flow}/{path}{joined}after={place}") as response:
                    assert response.status == 409, (path, place)
        trimmed = await served.events(flow, after=f"{epoch}-1")
        assert (trimmed[0][1]["type"], trimmed[0][1]["code"]) == ("Notice", "reset")
        assert trimmed[0][1]["raw"]["text"] + text_of(trimmed) == ("word " * 80).strip()


async def test_c7_sigterm_with_a_hundred_answers_and_another_node(broker: RedisServer) -> None:
    """Half of the answers are short enough to finish in time, the others go on elsewhere with what was said."""
    options = ("--redis", broker.url, "--drain-s", "4")
    connector = aiohttp.TCPConnector(limit=0)
    async with programs(2, *options) as (one, other), aiohttp.ClientSession(connector=connector) as session:
        flows = [await begin(session, one.root, f"sim:long {50 if n % 2 else 20_000} 20") for n in range(100)]
        readers = [asyncio.create_task(read(session, one.root, flow)) for flow in flows]
        await _live(session, one.root, 100)
        one.terminate()
        await _draining(session, one.root)
        async with session.post(f"{one.root}/flows", json={"messages": ["hello"]}) as response:
            assert (response.status, "retry-after" in response.headers) == (503, True)
        here = await asyncio.gather(*readers)
        assert await one.exit_code() == 0
        for place, (flow, items) in enumerate(zip(flows, here, strict=True)):
            rest = await read(session, other.root, flow, after=items[-1][0])
            union = items + rest
            assert [id for id, _ in union] == [id for id, _ in await read(session, other.root, flow)]
            end = union[-1][1]
            assert end["type"] in ("StreamCompleted", "StreamFailed")
            if place % 2:
                assert (end["stop_reason"], text_of(union)) == ("end_turn", long_text(50))
            else:
                assert end.get("stop_reason") != "end_turn"
                assert long_text(20_000).startswith(text_of(union))
                assert len(text_of(items)) > 100


async def _live(session: aiohttp.ClientSession, root: str, count: int) -> None:
    async with asyncio.timeout(60):
        while True:
            async with session.get(f"{root}/metrics") as response:
                if f"streamflow_subscribers {count}\n" in await response.text():
                    return
            await asyncio.sleep(0.02)


async def _draining(session: aiohttp.ClientSession, root: str) -> None:
    async with asyncio.timeout(60):
        while True:
            async with session.get(f"{root}/readyz") as response:
                if response.status == 503:
                    return
            await asyncio.sleep(0.005)


async def test_c8_clients_that_never_read_are_cut_off_and_nobody_else_notices() -> None:
    pieces = [f"{number} " + "word " * 4000 for number in range(400)]
    text = "".join(pieces)
    events = [StreamStart(), BlockStart(0, "text"), *(Chunk(0, "text", piece) for piece in pieces)]
    events += [BlockComplete(0, "text", text), StreamCompleted()]
    async with serving(limits=Limits(drain_s=0.0, stalled_s=2.0), source=lambda ask: events) as served:
        flow = await served.begin("hello")
        lazy = []
        for _ in range(5):
            wire = socket.create_connection(("127.0.0.1", int(served.root.rpartition(":")[2])))
            wire.sendall(f"GET /flows/{flow}/events HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            lazy.append(wire)
        await until(lambda: served.service.readers == 5)
        assert text_of(await served.events(flow)) == text
        # What waits for them stays small: a batch, and what the transport had before it told to wait.
        held = [c.transport.get_write_buffer_size() for c in served.runner.server.connections if c.transport]
        assert max(held, default=0) < 4 * Limits().batch_bytes
        await until(lambda: served.service.metrics.get("cut_off_total") == 5, timeout_s=30)
        assert served.service.readers == 0
        for wire in lazy:
            got = b""
            wire.settimeout(10)
            try:
                while piece := wire.recv(1 << 20):
                    got += piece
            except ConnectionResetError:
                pass
            wire.close()
            whole = _whole_events(got)
            rest = await served.events(flow, after=whole[-1][0] if whole else "")
            assert text_of(whole + rest) == text


def _whole_events(response: bytes) -> list:
    body, left = b"", response.partition(b"\r\n\r\n")[2]
    while left:  # chunked; the last piece may be cut
        size, _, left = left.partition(b"\r\n")
        body, left = body + left[: int(size, 16)], left[int(size, 16) + 2 :]
    return [(frame.id, msgspec.json.decode(frame.data)) for frame in SseDecoder().feed(body)]


async def test_c9_a_thousand_streams_at_once() -> None:
    """Every text is exact, and no descriptor is left behind. `bench/server_load.py` measures the same as programs."""
    before = _descriptors()
    async with serving() as served, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        gate = asyncio.Semaphore(100)  # connections begin one after the other, as they do in life

        async def one() -> str:
            async with gate:
                flow = await begin(session, served.root, "sim:long 10 200")
            return text_of(await read(session, served.root, flow))

        assert await asyncio.gather(*(one() for _ in range(1000))) == [long_text(10)] * 1000
        await until(lambda: served.service.readers == 0, timeout_s=20)
    await until(lambda: _descriptors() <= before + 5, timeout_s=20)


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


async def test_a_stall_of_the_provider_is_no_end() -> None:
    async with serving(Answer(Text("Hello "), Stall()), limits=Limits(drain_s=0.0, heartbeat_s=0.01)) as served:
        flow = await served.begin("go on")
        items = await served.events(flow, limit=3)
        assert not any(item["type"].startswith("StreamC") for _, item in items)
        again = await served.events(flow, limit=3)
        assert again == items
