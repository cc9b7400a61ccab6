"""``python -m bench.server_load [--flows 20] [--readers 10] [--tokens 300] [--pace 20]``: a server under load.

Three processes: a provider that streams paced tokens to every flow, `streamflow serve`, and this one with all readers.
Each token carries its number and the time at which it was written, by the clock that all processes of a machine share:
the time until a reader has it is what the server adds, together with two sockets and the queues of all three
processes. Every reader's text is compared token by token.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import aiohttp

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def main() -> None:
    """Measure once, print a JSON object."""
    parser = argparse.ArgumentParser(description="Load for `streamflow serve`.")
    parser.add_argument("--flows", type=int, default=20)
    parser.add_argument("--readers", type=int, default=10, help="of each flow")
    parser.add_argument("--tokens", type=int, default=300, help="of each flow")
    parser.add_argument("--pace", type=float, default=20.0, help="tokens a second of each flow")
    parser.add_argument("--redis", default=None, help="address of a Redis to keep the journal in")
    parser.add_argument("--play-provider", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play_provider:
        asyncio.run(Provider(options.tokens, options.pace).run())
    else:
        print(json.dumps(asyncio.run(measure(options)), indent=1))


class Provider:
    """Streams of tokens ``flow.number@time``, all of them begun by a line on stdin."""

    def __init__(self, tokens: int, pace: float) -> None:
        self._tokens = tokens
        self._pace = pace
        self._begun = 0
        self._go = asyncio.Event()

    async def run(self) -> None:
        """Listen until stdin ends."""
        listener = await asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=4096)
        print(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        self._go.set()
        await asyncio.to_thread(sys.stdin.readline)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            length = request.lower().split(b"content-length:")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            await self._stream(writer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the server is done
        finally:
            writer.close()

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        flow, self._begun = self._begun, self._begun + 1
        writer.write(HEAD)
        self._send(writer, {"delta": {"role": "assistant"}, "finish_reason": None})
        await self._go.wait()  # every reader is there
        # Answers of different users do not tick together: each has its own phase.
        begun = time.monotonic() + (flow * 0.618 % 1.0) / self._pace
        for number in range(self._tokens):
            await asyncio.sleep(max(0.0, begun + number / self._pace - time.monotonic()))
            self._send(writer, {"delta": {"content": f"{flow}.{number}@{time.monotonic()} "}, "finish_reason": None})
        self._send(writer, {"delta": {}, "finish_reason": "stop"})
        event = b"data: [DONE]\n\n"
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(event), event))

    def _send(self, writer: asyncio.StreamWriter, choice: dict[str, Any]) -> None:
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        event = b"data: " + json.dumps({**chunk, "choices": [{"index": 0, **choice}]}).encode() + b"\n\n"
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The whole trial."""
    pipe = subprocess.PIPE
    own = [sys.executable, "-m", "bench.server_load", "--play-provider"]
    own += ["--tokens", str(options.tokens), "--pace", str(options.pace)]
    provider = subprocess.Popen(own, stdin=pipe, stdout=pipe, text=True)
    assert provider.stdin is not None
    assert provider.stdout is not None
    url = provider.stdout.readline().strip()
    command = [sys.executable, "-m", "streamflow", "serve", "--port", "0", "--voice", "none", "--model", "m"]
    command += ["--provider", "openai", "--base-url", url]
    command += ["--redis", options.redis] if options.redis else []
    server = subprocess.Popen(command, stdout=pipe, text=True, env={**os.environ, "OPENAI_API_KEY": "none"})
    try:
        assert server.stdout is not None
        root = server.stdout.readline().strip()
        return await _trial(options, provider.stdin, server.pid, root)
    finally:
        server.terminate()
        server.wait(60)
        provider.kill()
        provider.communicate()


async def _trial(options: argparse.Namespace, provider: IO[str], pid: int, root: str) -> dict[str, Any]:
    empty_mb, delays = _memory(pid)["VmRSS"], []
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
        flows = []
        for _ in range(options.flows):
            async with session.post(f"{root}/flows", json={"messages": ["go"]}) as response:
                flows.append((await response.json())["id"])
        host, port = root.removeprefix("http://").split(":")
        loop, readers = asyncio.get_running_loop(), []
        for flow in flows:
            for _ in range(options.readers):
                _, reader = await loop.create_connection(lambda flow=flow: Reader(root, flow), host, int(port))
                readers.append(reader)
        while await _subscribers(session, root) < len(readers):
            await asyncio.sleep(0.05)
        cpu, begun = _cpu_s(pid), time.monotonic()
        provider.write("go\n")
        provider.flush()
        exact = 0
        wanted = [str(number) for number in range(options.tokens)]
        await asyncio.gather(*(reader.ended for reader in readers))
        took, cpu = time.monotonic() - begun, _cpu_s(pid) - cpu
        for arrived in (reader.arrived() for reader in readers):
            names = [token.partition("@")[0].partition(".") for token, _ in arrived]
            exact += [number for _, _, number in names] == wanted and len({flow for flow, _, _ in names}) == 1
            delays += [(at - float(token.partition("@")[2])) * 1000 for token, at in arrived]
        memory = _memory(pid)
    cuts = statistics.quantiles(delays, n=1000)
    return {
        "flows": options.flows,
        "readers": len(readers),
        "tokens_a_second_of_a_flow": options.pace,
        "journal": "redis" if options.redis else "memory",
        "texts_exact": exact,
        "events_delivered": len(delays),
        "events_a_second": round(len(delays) / took),
        "p50_ms": round(cuts[499], 2),
        "p99_ms": round(cuts[989], 2),
        "max_ms": round(max(delays), 2),
        "server_cpu_percent": round(100 * cpu / took),
        "server_cpu_us_each_event": round(cpu / len(delays) * 1e6),
        "server_rss_empty_mb": empty_mb,
        "server_rss_peak_mb": memory["VmHWM"],
        "kb_each_reader": round((memory["VmHWM"] - empty_mb) * 1024 / len(readers)),
    }


class Reader(asyncio.Protocol):
    """Notes when bytes come, and looks into them afterwards: reading must cost next to nothing here."""

    def __init__(self, root: str, flow: str) -> None:
        self._request = f"GET /flows/{flow}/events HTTP/1.0\r\nhost: {root.partition('//')[2]}\r\n\r\n".encode()
        self._pieces: list[tuple[float, bytes]] = []
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Note."""
        self._pieces.append((time.monotonic(), data))

    def connection_lost(self, exc: Exception | None) -> None:
        """The end."""
        if not self.ended.done():
            self.ended.set_result(None)

    def arrived(self) -> list[tuple[str, float]]:
        """Each token, and when it was there."""
        found, held = [], b""
        for at, piece in self._pieces:
            *lines, held = (held + piece).split(b"\n")
            found += [(json.loads(line[6:])["text"], at) for line in lines if line.startswith(b'data: {"type":"Chunk"')]
        return found


async def _subscribers(session: aiohttp.ClientSession, root: str) -> int:
    async with session.get(f"{root}/metrics") as response:
        for line in (await response.text()).splitlines():
            if line.startswith("streamflow_subscribers "):
                return int(line.split()[1])
    return 0


def _memory(pid: int) -> dict[str, float]:
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Vm"))
    return {name.rstrip(":"): round(int(size) / 1024, 1) for name, size, *_ in lines}


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
