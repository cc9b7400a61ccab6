"""A line of 100 MB and a body that inflates to 300 MB end in `LimitExceeded`, and the process stays small."""

import subprocess
import sys

import pytest

from tests.test_architecture import ROOT

EVENT_MIB = 32  # the largest event that is taken by default
BOUND_MIB = 3 * EVENT_MIB  # the pieces of an event, the event, and as much again for the sockets and the runtime
PROGRAM = """
import asyncio, re, resource, sys
import streamflow as sf
from streamflow.testing import Answer, FakeProvider, gzip_bomb
from tests.support.raw_server import CHUNKED, RawServer, chat, chunk

def most_mib():
    # The high water mark of this program alone; getrusage would start from that of the one that began it.
    try:
        return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
    except (OSError, TypeError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20)

async def long_line(connection):
    await connection.send(CHUNKED + chunk(chat("Hello", finish=None, done=False) + b"data: "))
    piece = chunk(b"x" * 65536)
    for _ in range(1600):
        await connection.send(piece)
    await connection.closed()

async def ask(url):
    async with sf.connect("openai", model="m", api_key="k", base_url=url, max_retries=0) as llm:
        return await llm.collect("hi")

async def main():
    async with FakeProvider(Answer("Hello.")) as fake:
        assert (await ask(fake.base_url("openai"))).text == "Hello."
    if sys.argv[1] == "bomb":
        server = FakeProvider(gzip_bomb(300_000_000))
    else:
        server = RawServer(long_line)
    async with server:
        before = most_mib()
        try:
            await ask(server.base_url("openai") if sys.argv[1] == "bomb" else server.url)
        except sf.LimitExceeded as error:
            print(error.kind, error.partial.text or "-", round(most_mib() - before))

asyncio.run(main())
"""


CASES = [("line", ["max_event_bytes"], "Hello"), ("bomb", ["max_ratio", "max_event_bytes"], "-")]


@pytest.mark.parametrize(("what", "limits", "text"), CASES)
def test_a8_it_ends_in_a_limit_within_the_memory_bound(what, limits, text):
    done = subprocess.run([sys.executable, "-c", PROGRAM, what], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    kind, partial, grown_mib = done.stdout.split()
    assert kind in limits
    assert partial == text
    assert int(grown_mib) < BOUND_MIB
