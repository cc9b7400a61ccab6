"""A storm: clients and flows over a fake provider, each with faults of a seeded plan, and what must still hold."""

import asyncio
import gc
import os
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamflow as sf
from streamflow.errors import ProtocolError, ProviderError, StreamflowError, TransportError
from streamflow.events import Chunk, Stamped
from streamflow.operators import visible_filter, xml_block_split
from streamflow.testing import (
    Answer,
    Bytes,
    Cut,
    Drop,
    ErrorEvent,
    FakeProvider,
    HttpError,
    Pause,
    Reset,
    Stall,
    Text,
    assert_grammar,
    encode,
)

PROVIDERS = ("openai", "anthropic", "gemini", "cohere", "ollama")
AT_ONCE = 8
STALLED_S = 0.3  # where silence is the fault
PATIENT_S = 30.0  # where it is only a busy machine
WARM_ROUNDS = 5
MOST_GROWTH_MIB = 16


@dataclass
class Report:
    """What was injected, and what came of it."""

    injected: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    events: int = 0
    rss_begin_mib: float = 0.0
    rss_end_mib: float = 0.0
    tasks_left: int = 0
    descriptors_left: int = 0


Plan = tuple[list[Any], tuple[type[StreamflowError], ...]]  # the replies, and the errors that may come of them


def _breaking(how: Any) -> Callable[[random.Random, str, str], Plan]:
    def plan(chance: random.Random, provider: str, text: str) -> Plan:
        size = len(b"".join(encode(provider, Answer(text))))
        reply = Answer(text, break_at=chance.randrange(size), break_with=how, seed=chance.randrange(10**6))
        return [reply], (TransportError, ProviderError)

    return plan


def _nothing(chance: random.Random, provider: str, text: str) -> Plan:
    return [Answer(text, seed=chance.randrange(10**6))], ()


def _refused_first(chance: random.Random, provider: str, text: str) -> Plan:
    soon = {"retry-after-ms": "1"}
    refusals = [HttpError(chance.choice((429, 500, 503)), headers=soon) for _ in range(chance.randrange(1, 3))]
    return [*refusals, Answer(text, seed=chance.randrange(10**6))], ()


def _paused(chance: random.Random, provider: str, text: str) -> Plan:
    size = len(b"".join(encode(provider, Answer(text))))
    return [Answer(text, break_at=chance.randrange(size), break_with=Pause(chance.random() * 0.2))], ()


def _error_event(chance: random.Random, provider: str, text: str) -> Plan:
    return [Answer(Text(text[: chance.randrange(len(text))] or "a"), ErrorEvent())], (ProviderError, TransportError)


def _bad_bytes(chance: random.Random, provider: str, text: str) -> Plan:
    spoilt = Bytes(bytes(chance.randrange(256) for _ in range(40)) + b"\n\n")
    return [Answer(Text(text[: chance.randrange(1, len(text))]), spoilt, Drop())], (ProtocolError, TransportError)


PROVIDER_FAULTS: dict[str, Callable[[random.Random, str, str], Plan]] = {
    "no fault": _nothing,
    "refused, then answered": _refused_first,
    "pause": _paused,
    "reset": _breaking(Reset()),
    "connection dropped": _breaking(Drop()),
    "clean cut": _breaking(Cut()),
    "stall": _breaking(Stall()),
    "error event": _error_event,
    "random bytes": _bad_bytes,
}


# -- what readers do


async def _read(flow: sf.Flow, name: str, chance: random.Random, pause_s: float = 0.0) -> str:
    text = []
    async for item in flow[name]:
        if isinstance(item, Chunk):
            text.append(item.text)
        if pause_s and chance.random() < 0.2:
            await asyncio.sleep(pause_s)
    return "".join(text)


async def _leave(flow: sf.Flow, name: str, after: int) -> str:
    text = []
    async for item in flow[name]:
        if isinstance(item, Chunk):
            text.append(item.text)
        if len(text) > after:
            break
    return "".join(text)


def _raising(chance: random.Random) -> Callable[[Any], None]:
    left = chance.randrange(20)

    def on_next(_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise RuntimeError("a subscriber of the storm")

    return on_next


READER_FAULTS = ("all read", "slow reader", "reader leaves", "subscriber raises", "stop", "late reader")


@dataclass
class Scene:
    """One answer with one fault of the provider and one of a reader."""

    chance: random.Random
    directory: Path
    report: Report

    async def play(self) -> None:
        """Run it, and hold it to the promises."""
        chance = self.chance
        provider = chance.choice(PROVIDERS)
        fault, reading = chance.choice(list(PROVIDER_FAULTS)), chance.choice(READER_FAULTS)
        words = [chance.choice(("sun", "rain", "Überfluß", "雨", "🙂", "<b>", "and")) for _ in range(300)]
        text = " ".join(words)
        replies, errors = PROVIDER_FAULTS[fault](chance, provider, text)
        self.report.injected[fault] += 1
        self.report.injected[reading] += 1
        idle_s = STALLED_S if fault == "stall" else PATIENT_S
        path = self.directory / f"{chance.getrandbits(64):x}.jsonl"
        async with (
            FakeProvider(*replies) as fake,
            sf.connect(
                provider,
                model="storm",
                api_key="sk-storm-0123456789",
                base_url=fake.base_url(provider),
                idle_timeout_s=idle_s,
                first_event_timeout_s=idle_s,
            ) as llm,
        ):
            await self._flow(sf.Flow(llm.stream("hello"), xml_block_split()), text, errors, reading, path)
        path.unlink(missing_ok=True)

    async def _flow(
        self, flow: sf.Flow, text: str, errors: tuple[type[StreamflowError], ...], reading: str, path: Path
    ) -> None:
        chance = self.chance
        flow.branch("ui", visible_filter())
        flow.branch("transcript", policy=sf.block())
        flow.branch("other", visible_filter(), policy=sf.unbounded())
        flow.subscribe(sf.Transcript(path))
        if reading == "subscriber raises":
            flow.subscribe(_raising(chance), lambda error: None)
        readers = [
            _read(flow, "ui", chance, 0.002 if reading == "slow reader" else 0.0),
            _read(flow, "transcript", chance),
            _leave(flow, "other", chance.randrange(50)) if reading == "reader leaves" else _read(flow, "other", chance),
        ]
        tasks = [asyncio.ensure_future(reader) for reader in readers]
        if reading == "stop":
            target = chance.randrange(60)
            while flow.journal.next_seq < target and not flow.ended:
                await asyncio.sleep(0)
            flow.stop()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        response = await flow.response()
        stamped: list[Stamped] = list(flow.journal.after(-1))
        if reading == "late reader":
            late: list[Any] = []
            flow.subscribe(late.append, lambda error: None)
            assert late == stamped
        self.report.events += len(stamped)
        events = [item.event for item in stamped]
        assert_grammar(events)
        assert [item.seq for item in stamped] == list(range(len(stamped)))
        assert sf.read_transcript(path) == stamped, "the transcript is what was said"
        said = response.text
        for place, result in enumerate(results):
            if isinstance(result, BaseException):
                assert result is flow.error, result
            elif not (place == 2 and reading == "reader leaves"):
                assert result == said, "every reader saw all of it"
            else:
                assert said.startswith(result)
        if response.complete:
            assert said == text, "what looks finished is whole"
            outcome = "whole"
        elif response.stop_reason == "cancelled":
            assert reading == "stop"
            assert text.startswith(said)
            outcome = "stopped"
        else:
            assert isinstance(flow.error, errors), (flow.error, errors)
            assert text.startswith(said) or isinstance(flow.error, ProtocolError)
            outcome = type(flow.error).__name__
        self.report.outcomes[outcome] += 1
        assert "sk-storm" not in str(flow.error)


# -- faults of the whole process: one at a time


async def _full_disk(chance: random.Random, directory: Path, report: Report) -> None:
    """Files can grow no more: the transcript fails, the answer does not."""
    text = "word " * 200
    transcript = directory / "full.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with (
        FakeProvider(Answer(text, seed=chance.randrange(10**6))) as fake,
        sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai")) as llm,
    ):
        faults: list[Exception] = []
        flow = sf.Flow(llm.stream("hello"))
        flow.branch("ui", visible_filter())
        observer = sf.Transcript(transcript)
        flow.subscribe(observer.on_next, lambda error: (faults.append(error), observer.close()), observer.on_completed)
        resource.setrlimit(resource.RLIMIT_FSIZE, (chance.randrange(100, 5000), hard))
        try:
            assert await _read(flow, "ui", chance) == text
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert [type(fault) for fault in faults] == [OSError], "only the transcript knows"
        kept = sf.read_transcript(transcript)
        assert kept == list(flow.journal.after(-1))[: len(kept)], "what is in the file is whole"
        report.outcomes["whole"] += 1
    transcript.unlink()


async def _no_descriptors(chance: random.Random, directory: Path, report: Report) -> None:
    """Nothing can be opened any more: a typed error, and later it works again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with (
        FakeProvider(Answer("hello")) as fake,
        sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai"), max_retries=0) as llm,
    ):
        lowest_free = os.open(os.devnull, os.O_RDONLY)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        try:
            response = await sf.Flow(llm.stream("hi")).response()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert isinstance(response.error, TransportError), response.error
        report.outcomes["TransportError"] += 1
        response = await sf.Flow(llm.stream("hi")).response()
        assert (response.complete, response.text) == (True, "hello")


PROCESS_FAULTS: dict[str, Callable[[random.Random, Path, Report], Awaitable[None]]] = {
    "full disk": _full_disk,
    "no descriptors": _no_descriptors,
}


# -- rounds, and what must be gone after each


async def _round(chance: random.Random, directory: Path, report: Report) -> None:
    scenes = [Scene(random.Random(chance.random()), directory, report) for _ in range(AT_ONCE)]
    await asyncio.gather(*(scene.play() for scene in scenes))
    name = chance.choice(list(PROCESS_FAULTS))
    report.injected[name] += 1
    await PROCESS_FAULTS[name](chance, directory, report)
    report.rounds += 1


def _descriptors() -> Counter[str]:
    """What is open, by what it is: a file with its path, a socket, a pipe."""
    found: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # that of the listing itself
            target = os.readlink(f"/proc/self/fd/{name}")
            found[target if target.startswith("/") else target.split(":")[0]] += 1
    return found


def rss_mib(pid: int | str = "self") -> float:
    """The memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


async def _settled(before: Counter[str], report: Report) -> None:
    """Tasks and sockets are as few as before."""
    deadline = time.monotonic() + 10
    while True:
        gc.collect()
        report.tasks_left = len(asyncio.all_tasks()) - 1
        left = _descriptors() - before
        report.descriptors_left = left.total()
        if report.tasks_left <= 0 and not left:
            return
        assert time.monotonic() < deadline, (asyncio.all_tasks(), left)
        await asyncio.sleep(0.02)


async def storm(seed: int, *, rounds: int | None = None, seconds: float = 0.0, first: int = 0) -> Report:
    """Rounds of a plan, so many or for so long; each has its own seed, so that one that failed can be had again."""
    report = Report()
    begun, number = time.monotonic(), first
    with tempfile.TemporaryDirectory(prefix="sf") as directory:
        await asyncio.sleep(0)
        descriptors = _descriptors()
        while report.rounds < rounds if rounds is not None else time.monotonic() - begun < seconds:
            try:
                await _round(random.Random(f"{seed}-{number}"), Path(directory), report)
                await _settled(descriptors, report)
            except BaseException as fault:
                fault.add_note(f"round {number} of seed {seed}: python -m tests.chaos --seed {seed} --round {number}")
                raise
            number += 1
            if report.rounds == WARM_ROUNDS:
                report.rss_begin_mib = rss_mib()
    report.rss_end_mib = rss_mib()
    if report.rss_begin_mib:
        grown = report.rss_end_mib - report.rss_begin_mib
        assert grown < MOST_GROWTH_MIB, f"{grown:.1f} MiB more after {report.rounds} rounds"
    return report
