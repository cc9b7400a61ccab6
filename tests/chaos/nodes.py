"""Two servers over one Redis under faults: SIGTERM, kill -9, SIGSTOP, a broker that dies, clients that break off."""

import asyncio
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from streamflow.wire.sse import SseDecoder
from tests.chaos.nursery import ROOT
from tests.chaos.storm import Report, rss_mib
from tests.support.redis_server import RedisServer

FLOWS = 6
WORDS = 120
PAUSE_MS = 10
ENDS = ("StreamCompleted", "StreamFailed")
FAULTS = (
    "SIGTERM of a server",
    "kill -9 of a server",
    "SIGSTOP of a server",
    "kill -9 of the broker",
    "clients break off",
)
_SERVE = "from streamflow.cli import main; main()"


class Node:
    """A server process, and the next one in its place."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.root = ""
        self.process: Any = None

    async def start(self) -> None:
        """Start, and wait for its address."""
        options = ["--port", "0", "--simulate", "--voice", "none", "--drain-s", "1", "--redis", self._url]
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _SERVE, "serve", *options),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=ROOT,
        )
        self.root = (await self.process.stdout.readline()).decode().strip()
        assert self.root, "the server did not start"

    async def end(self) -> int:
        """SIGTERM, and its exit code."""
        if self.process.returncode is None:
            self.process.terminate()
        async with asyncio.timeout(30):
            return int(await self.process.wait())


class Follower:
    """A client that reads one answer to its end, on whichever node answers."""

    def __init__(self, session: aiohttp.ClientSession, nodes: list[Node], chance: random.Random, flow: str) -> None:
        self._session, self._nodes, self._chance = session, nodes, chance
        self.flow = flow
        self.items: list[tuple[str, Any]] = []
        self.breaks = 0  # how often it still breaks off by itself
        self.resumed = 0

    @property
    def ended(self) -> bool:
        """True when the end was read."""
        return bool(self.items) and self.items[-1][1]["type"] in ENDS

    async def follow(self) -> None:
        """Read, break off, come back with the last id."""
        async with asyncio.timeout(60):
            while not self.ended:
                try:
                    await self._read()
                except (aiohttp.ClientError, OSError):
                    await asyncio.sleep(0.05)
                self.resumed += 1

    async def _read(self) -> None:
        root = self._chance.choice(self._nodes).root
        headers = {"last-event-id": self.items[-1][0]} if self.items else {}
        limit = self._chance.randrange(5, 60) if self.breaks else 10**9
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=2, sock_read=20)
        async with self._session.get(f"{root}/flows/{self.flow}/events", headers=headers, timeout=timeout) as response:
            if response.status != 200:
                assert response.status in (204, 503), (response.status, await response.text())
                await asyncio.sleep(0.05)
                return
            decoder = SseDecoder()
            async for piece in response.content.iter_any():
                for frame in decoder.feed(piece):
                    self.items.append((frame.id, msgspec.json.decode(frame.data)))
                    limit -= 1
                if limit <= 0:
                    self.breaks -= 1
                    return

    def check(self) -> str:
        """No gap, no double, one end; what looks finished is whole."""
        numbers = [int(place.split("-")[1]) for place, _ in self.items]
        assert numbers == list(range(len(numbers))), f"{self.flow}: {numbers}"
        assert sum(item["type"] in ENDS for _, item in self.items) == 1
        end = self.items[-1][1]
        said = "".join(item["text"] for _, item in self.items if item["type"] == "Chunk" and item["visible"])
        if end["type"] == "StreamFailed":
            assert end["error"]["kind"] == "producer_lost", end["error"]
            assert end["partial"]["text"] == said
            return "producer_lost"
        assert end["response"]["text"] == said
        if end["stop_reason"] == "cancelled":
            return "stopped by its server"
        assert len(said.split()) == WORDS
        return "whole"


async def _inject(fault: str, nodes: list[Node], server: RedisServer, followers: list[Follower], number: int) -> None:
    node = nodes[number % 2]
    if fault == "SIGTERM of a server":
        assert await node.end() == 0, "a server that is asked to go goes cleanly"
        await node.start()
    elif fault == "kill -9 of a server":
        node.process.kill()
        await node.process.wait()
        await node.start()
    elif fault == "SIGSTOP of a server":
        node.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(0.5)
        node.process.send_signal(signal.SIGCONT)
    elif fault == "kill -9 of the broker":
        server.kill()
        await asyncio.to_thread(server.start)
    else:
        for follower in followers:
            follower.breaks = 3


async def _begin(session: aiohttp.ClientSession, nodes: list[Node], chance: random.Random) -> str:
    body = {"messages": [{"role": "user", "content": f"sim:long {WORDS} {PAUSE_MS}"}]}
    async with session.post(f"{chance.choice(nodes).root}/flows", json=body) as response:
        assert response.status == 201, await response.text()
        return str((await response.json())["id"])


def _allowed(fault: str) -> set[str]:
    ends = {"SIGTERM of a server": "stopped by its server", "kill -9 of a server": "producer_lost"}
    return {"whole", ends.get(fault, "whole")}


async def weather(program: str, seed: int, *, rounds: int | None = None, seconds: float = 0.0) -> Report:
    """Rounds of a plan: each begins answers, injects one fault among them, and reads them all to their ends."""
    report = Report()
    begun, number = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="sf") as directory:
        server = RedisServer(program, Path(directory)).start()
        nodes = [Node(server.url), Node(server.url)]
        try:
            for node in nodes:
                await node.start()
            async with aiohttp.ClientSession() as session:
                while report.rounds < rounds if rounds is not None else time.monotonic() - begun < seconds:
                    try:
                        await _round(session, nodes, server, seed, number, report)
                    except BaseException as fault:
                        fault.add_note(f"round {number} of seed {seed} of the servers")
                        raise
                    number += 1
            report.rss_end_mib = max(rss_mib(node.process.pid) for node in nodes)
            for node in nodes:
                assert await node.end() == 0
        finally:
            for node in nodes:
                if node.process is not None and node.process.returncode is None:
                    node.process.kill()
                    await node.process.wait()
            server.kill()
    return report


async def _round(
    session: aiohttp.ClientSession, nodes: list[Node], server: RedisServer, seed: int, number: int, report: Report
) -> None:
    chance = random.Random(f"{seed}-{number}")
    fault = FAULTS[number % len(FAULTS)]
    followers = [
        Follower(session, nodes, random.Random(chance.random()), await _begin(session, nodes, chance))
        for _ in range(FLOWS)
    ]
    reading = [asyncio.ensure_future(follower.follow()) for follower in followers]
    target = chance.randrange(5, 60)
    while not any(len(follower.items) > target for follower in followers):
        await asyncio.sleep(0.005)
    await _inject(fault, nodes, server, followers, chance.randrange(2))
    await asyncio.gather(*reading)
    outcomes = Counter(follower.check() for follower in followers)
    assert set(outcomes) <= _allowed(fault), (fault, outcomes)
    report.injected[fault] += 1
    report.outcomes += outcomes
    report.events += sum(len(follower.items) for follower in followers)
    report.rounds += 1
