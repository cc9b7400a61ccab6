"""Paced streams over real sockets: CPU for each token beside a bare aiohttp loop and the openai SDK.

The server runs in a process of its own and sends one token a write to every stream, at a steady pace; each client
runs in a process of its own too, and only its CPU time counts.
"""

import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from bench.wires import openai_events

STREAMS = 40
TOKENS = 300
WARM_UP_TOKENS = 10
TOKENS_EACH_SECOND = 60
ROUNDS = 3


class Row(msgspec.Struct, frozen=True):
    """One contender: microseconds of CPU a token, how many times the bare loop's, and the bar if it has one."""

    contender: str
    us: float
    ratio: float
    bar: str = ""
    met: bool = True


# -- the server


async def serve() -> None:
    """Answer every request with a paced stream of as many tokens as the model's name says."""
    wires = {
        count: [b"%x\r\n%s\r\n" % (len(event), event) for event in openai_events(count)]
        for count in (TOKENS, WARM_UP_TOKENS)
    }
    phases = random.Random(1)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            length = request.lower().split(b"content-length:")[1].split(b"\r\n")[0]
            body = await reader.readexactly(int(length))
            chunks = wires[int(body.split(b"bench-")[1].split(b'"')[0])]
            writer.write(head)
            # Streams of different users do not tick together: each has its own phase.
            begun = time.monotonic() + phases.random() / TOKENS_EACH_SECOND
            for number, chunk in enumerate(chunks):
                await asyncio.sleep(max(0.0, begun + number / TOKENS_EACH_SECOND - time.monotonic()))
                writer.write(chunk)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client of this round is done
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


# -- the contenders: a function that makes the session and gives a function that reads one stream


async def bare_loop(url: str, model: str) -> int:
    """aiohttp and orjson, and nothing that a program needs beside them."""
    import aiohttp
    import orjson

    async def one(session: aiohttp.ClientSession) -> int:
        count = 0
        body = {"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": True}
        async with session.post(f"{url}/chat/completions", json=body) as response:
            pending = b""
            async for read in response.content.iter_any():
                *blocks, pending = (pending + read).split(b"\n\n")
                for block in blocks:
                    data = block[6:]
                    if data != b"[DONE]":
                        choices = orjson.loads(data)["choices"]
                        count += bool(choices and choices[0]["delta"].get("content"))
        return count

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        return sum(await asyncio.gather(*(one(session) for _ in range(STREAMS))))


async def streamflow_iterated(url: str, model: str) -> int:
    """Our client, read with ``async for``."""
    import streamflow as sf
    from streamflow.events import Chunk

    async def one(llm: Any) -> int:
        count = 0
        async for event in llm.stream("hi"):
            count += event.__class__ is Chunk
        return count

    async with sf.connect("openai", model=model, api_key="bench", base_url=url) as llm:
        return sum(await asyncio.gather(*(one(llm) for _ in range(STREAMS))))


async def streamflow_subscribed(url: str, model: str) -> int:
    """Our client, pushing to a subscriber."""
    import streamflow as sf
    from streamflow.events import Chunk

    async def one(llm: Any) -> int:
        chunks: list[Chunk] = []
        over = asyncio.get_running_loop().create_future()
        llm.stream("hi").subscribe(
            lambda event: chunks.append(event) if event.__class__ is Chunk else None,
            over.set_exception,
            lambda: over.set_result(None),
        )
        await over
        return len(chunks)

    async with sf.connect("openai", model=model, api_key="bench", base_url=url) as llm:
        return sum(await asyncio.gather(*(one(llm) for _ in range(STREAMS))))


async def openai_sdk(url: str, model: str) -> int:
    """The vendor's own client."""
    import openai

    async def one(client: openai.AsyncOpenAI) -> int:
        count = 0
        messages: Any = [{"role": "user", "content": "hi"}]
        stream = await client.chat.completions.create(model=model, messages=messages, stream=True)
        async for event in stream:
            count += bool(event.choices and event.choices[0].delta.content)
        return count

    async with openai.AsyncOpenAI(api_key="bench", base_url=url) as client:
        return sum(await asyncio.gather(*(one(client) for _ in range(STREAMS))))


BARE, OURS, SDK = "bare aiohttp + orjson loop", "streamflow", "openai SDK"
MOST_OF_BARE, LEAST_OF_OURS = 1.4, 4
CONTENDERS: dict[str, Callable[[str, str], Awaitable[int]]] = {
    BARE: bare_loop,
    OURS: streamflow_iterated,
    f"{OURS}, subscribed": streamflow_subscribed,
    SDK: openai_sdk,
}


async def _measured(name: str, url: str) -> float:
    """Microseconds of CPU a token, imports and connections not counted: a short round goes before."""
    contender = CONTENDERS[name]
    await contender(url, f"bench-{WARM_UP_TOKENS}")
    begun = time.process_time()
    tokens = await contender(url, f"bench-{TOKENS}")
    used = time.process_time() - begun
    assert tokens == STREAMS * TOKENS, f"{name} read {tokens} of {STREAMS * TOKENS} tokens"
    return used / tokens * 1e6


# -- the rows


def rows(rounds: int = ROUNDS) -> list[Row]:
    """Measure every contender in interleaved rounds; the bars are those of the project."""
    server = subprocess.Popen([sys.executable, "-m", "bench.sockets", "serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        samples: dict[str, list[float]] = {name: [] for name in CONTENDERS}
        for _ in range(rounds):
            for name in CONTENDERS:
                done = subprocess.run(
                    [sys.executable, "-m", "bench.sockets", name, url], capture_output=True, text=True, check=True
                )
                samples[name].append(float(done.stdout))
    finally:
        server.terminate()
        server.wait()

    def times(name: str, other: str) -> float:
        """How many times `other`: the median over the rounds, in each of which the machine was equally busy."""
        return statistics.median(one / two for one, two in zip(samples[name], samples[other], strict=True))

    found = []
    for name, taken in samples.items():
        ratio = times(name, BARE)
        bar, met = "", True
        if name.startswith(OURS):
            bar, met = f"<= {MOST_OF_BARE}x the bare loop", ratio <= MOST_OF_BARE
        elif name == SDK:
            bar, met = f">= {LEAST_OF_OURS}x ours", times(SDK, OURS) >= LEAST_OF_OURS
        found.append(Row(name, round(statistics.median(taken), 2), round(ratio, 2), bar, met))
    return found


def main(arguments: list[str]) -> None:
    """Without arguments: the rows. The others are for the processes that the rows start."""
    if not arguments:
        print(json.dumps([msgspec.to_builtins(row) for row in rows()], indent=1))
    elif arguments == ["serve"]:
        asyncio.run(serve())
    else:
        print(asyncio.run(_measured(*arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])
