"""Many flows in one process: each with a paced source and three branches, and how late their tokens arrive."""

import asyncio
import random
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from bench.measure import Row, at_most
from bench.wires import openai_events
from streamflow.events import Chunk
from streamflow.flow import Flow
from streamflow.operators import (
    normalize_provider,
    sentence_segment,
    sse_decode,
    tool_accumulate,
    visible_filter,
    xml_block_split,
)

FLOWS = 500
TOKENS_EACH_SECOND = 30
SECONDS = 6.0


class Crowd(msgspec.Struct, frozen=True):
    """What one run showed; latencies in milliseconds, from the source's hand to the reader's."""

    flows: int
    tokens: int
    exact: bool
    p50_ms: float
    p99_ms: float
    cpu_share: float
    growth_mib: float


async def _paced(events: list[bytes], sent: list[float], phase: float) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    begun = loop.time() + phase
    for number, event in enumerate(events):
        await asyncio.sleep(max(0.0, begun + number / TOKENS_EACH_SECOND - loop.time()))
        sent.append(time.perf_counter())
        yield event


async def _transcript(flow: Flow, sent: list[float], late: list[float]) -> str:
    text = []
    async for event in flow["transcript"]:
        if isinstance(event, Chunk):
            late.append(time.perf_counter() - sent[-1])
            text.append(event.text)
    return "".join(text)


async def _drain(branch: Any) -> str:
    return "".join([item.text async for item in branch if getattr(item, "text", None)])


async def _one(events: list[bytes], phase: float, late: list[float]) -> tuple[str, str, str]:
    sent: list[float] = []
    flow = Flow(
        _paced(events, sent, phase),
        sse_decode(),
        normalize_provider("openai"),
        xml_block_split(),
        tool_accumulate(),
    )
    flow.branch("ui", visible_filter())
    flow.branch("tts", visible_filter(), sentence_segment(language="en"))
    flow.branch("transcript")
    return await asyncio.gather(_drain(flow["ui"]), _drain(flow["tts"]), _transcript(flow, sent, late))


async def _bare(events: list[bytes], phase: float, late: list[float]) -> tuple[str, str, str]:
    """The same pace through a plain queue, with no operator at all: what the machine and asyncio add by themselves."""
    sent: list[float] = []
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def pump() -> None:
        async for event in _paced(events, sent, phase):
            queue.put_nowait(event)
        queue.put_nowait(None)

    task = asyncio.create_task(pump())
    while await queue.get() is not None:
        late.append(time.perf_counter() - sent[-1])
    await task
    return "", "", ""


async def _all(flows: int, seconds: float, one: Any = _one) -> Crowd:
    rng = random.Random(1)
    events = openai_events(int(seconds * TOKENS_EACH_SECOND))
    late: list[float] = []
    before = resource.getrusage(resource.RUSAGE_SELF)
    begun = time.perf_counter()
    texts = await asyncio.gather(*(one(events, rng.random(), late) for _ in range(flows)))
    took = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_SELF)
    late.sort()
    return Crowd(
        flows,
        len(late),
        len({text for three in texts for text in three}) == 1,
        1e3 * late[len(late) // 2],
        1e3 * late[int(len(late) * 0.99)],
        (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / took,
        (after.ru_maxrss - before.ru_maxrss) / 1024,
    )


def crowd(flows: int = FLOWS, seconds: float = SECONDS, one: Any = _one) -> Crowd:
    """Run so many flows for so long."""
    return asyncio.run(_all(flows, seconds, one))


def _apart(one: str) -> Crowd:
    """A crowd in a process of its own, as a server is one: the peers in this one would weigh on the collector."""
    done = subprocess.run([sys.executable, "-m", "bench.flows", one], capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=Crowd)


def rows() -> list[Row]:
    """The crowd."""
    seen, bare = _apart("flows"), _apart("queues")
    measure = f"{seen.flows} flows x {TOKENS_EACH_SECOND} tokens/s x 3 branches"
    return [
        Row(f"{measure}: texts exact", "streamflow", float(seen.exact), "= 1", seen.exact),
        Row(f"{measure}: p50 added, ms", "streamflow", seen.p50_ms),
        Row(f"{measure}: p50 added, ms", "plain queues, no operator", bare.p50_ms),
        Row(f"{measure}: p99 added, ms", "plain queues, no operator", bare.p99_ms),
        at_most(f"{measure}: p99 added, ms", "streamflow", seen.p99_ms, 5),
        Row(f"{measure}: share of one core", "streamflow", seen.cpu_share),
        Row(f"{measure}: MiB for {seen.tokens} journaled tokens", "streamflow", seen.growth_mib),
    ]


if __name__ == "__main__":
    print(msgspec.json.encode(crowd(one={"flows": _one, "queues": _bare}[sys.argv[1]])).decode())
