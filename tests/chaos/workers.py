"""The processes that are killed: a producer and a reader. What they saw is in a file, line by line, until they die."""

import asyncio
import hashlib
import logging
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from streamflow.encoding import to_json
from streamflow.events import Stamped, StreamCompleted
from streamflow.flow import Flow
from streamflow.flow.ports import BrokerUnavailable, Taken, Timing
from streamflow.flow.publish import publish
from streamflow.flow.redis_journal import RedisJournal
from streamflow.flow.redis_lease import RedisClaim
from streamflow.fold import collect
from tests.flow.events import answer

Say = Callable[[str], None]


def digest(record: Stamped) -> str:
    """What a reader writes down of a record."""
    return f"{record.seq} {hashlib.sha1(to_json(record.event)).hexdigest()}"


async def _slowly(words: int, pause_s: float) -> AsyncIterator[Any]:
    for event in answer(words):
        await asyncio.sleep(pause_s)
        yield event


async def produce(say: Say, url: str, stream: str, lease_s: float, words: int, pause_s: float) -> None:
    """Publish an answer; say what was acknowledged, and how it ended."""
    journal = RedisJournal(url, timing=Timing(lease_s=lease_s, keep_s=600))
    publication = await publish(Flow(_slowly(words, pause_s)), journal, stream)
    acked = -1
    while not publication.over:
        if publication.acked > acked:
            acked = publication.acked
            say(f"acked {acked}")
        await asyncio.sleep(0.001)
    say(f"acked {publication.acked}")
    say(f"state {publication.state}")
    await journal.aclose()


async def read(say: Say, url: str, stream: str, lease_s: float, after: int) -> None:
    """Follow a stream; say each record."""
    journal = RedisJournal(url, timing=Timing(lease_s=lease_s, keep_s=600))
    while True:
        try:
            tail = await journal.tail(stream, after)
            break
        except BrokerUnavailable:
            await asyncio.sleep(0.02)
    while not tail.ended:
        for record in await tail.read(1.0):
            say(digest(record))
            await asyncio.sleep(0)
    say("end")
    await journal.aclose()


async def replace(say: Say, url: str, stream: str, lease_s: float, words: int) -> None:
    """Take a stream over as soon as its producer is gone, and write what is missing."""
    journal = RedisJournal(url, timing=Timing(lease_s=lease_s, keep_s=600))
    while True:
        try:
            claim = await journal.claim(stream, takeover=True)
            break
        except Taken as taken:
            if taken.state is not None and taken.state.ended:
                say("late")
                return
            await asyncio.sleep(0.01)
    say(f"won {claim.next_seq}")
    events = [*answer(words)[:-1], StreamCompleted("end_turn", response=collect(answer(words)))]
    await claim.append([Stamped(seq, 0.0, event) for seq, event in enumerate(events)][claim.next_seq :])
    say("end")
    await journal.aclose()


async def race(say: Say, url: str, stream: str, go: str, racers: int) -> None:
    """Try to become the producer, so many times at once, when a file appears."""
    journal = RedisJournal(url, timing=Timing(lease_s=30, keep_s=600))
    await journal.state(stream)  # connected, and on its marks
    say("ready")
    while not Path(go).exists():
        await asyncio.sleep(0.001)
    claims = await asyncio.gather(*(journal.claim(stream) for _ in range(racers)), return_exceptions=True)
    for claim in claims:
        say("lost" if isinstance(claim, Taken) else "won" if isinstance(claim, RedisClaim) else repr(claim))
    tail = await journal.tail(stream)  # whoever lost is a reader
    say("reads")
    tail.close()
    say("end")
    await asyncio.Event().wait()  # a winner that left would be a lost producer


WORKERS = {"produce": produce, "read": read, "replace": replace, "race": race}


def run(role: str, path: str, arguments: list[Any]) -> None:
    """Be a worker, writing to a file."""
    logging.getLogger("streamflow").setLevel(logging.ERROR)  # that the broker is away is the point
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def say(line: str) -> None:
        os.write(out, f"{line}\n".encode())

    asyncio.run(WORKERS[role](say, *arguments))
