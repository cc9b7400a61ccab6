"""``python -m tests.chaos``: kills and storms for some minutes, with seeds that make them again, and a report."""

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.chaos.nodes import weather
from tests.chaos.nursery import Nursery
from tests.chaos.storm import Report, storm
from tests.chaos.trials import TRIALS
from tests.support.redis_server import RedisServer

_LEAST_S = 20.0  # of a storm, where the kills took all the time


def main() -> None:
    """Run the kills, then storms for the rest of the time. Whatever does not hold is an exception, and exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for everything together")
    parser.add_argument("--kills", type=int, default=100, help="of each: reader, producer, broker, stopped producer")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--only", choices=[*TRIALS, "storm", "servers"])
    parser.add_argument("--round", type=int, help="one round of the storm again")
    options = parser.parse_args()
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        sys.exit("redis-server is not installed: apt-get install redis-server")
    logging.getLogger("streamflow").setLevel(logging.CRITICAL)  # faults are the point
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # the fake provider's client broke off
    console, begun = Console(), time.monotonic()
    if options.round is not None:
        console.print(asyncio.run(storm(options.seed, rounds=1, first=options.round)))
        return
    console.print(f"seed {options.seed}, {options.minutes:g} minutes, {options.kills} kills of each kind")
    _kills(console, program, options)
    left_s = max(_LEAST_S, (60 * options.minutes - (time.monotonic() - begun)) / 2)
    if options.only in (None, "storm"):
        console.print(_table("clients and flows", asyncio.run(storm(options.seed, seconds=left_s))))
    if options.only in (None, "servers"):
        console.print(_table("servers", asyncio.run(weather(program, options.seed, seconds=left_s))))
    held = "nothing lost, nothing doubled, one end each, no task and no descriptor left"
    console.print(f"{time.monotonic() - begun:.0f} s; {held}")


def _kills(console: Console, program: str, options: argparse.Namespace) -> None:
    chosen = {name: trial for name, trial in TRIALS.items() if options.only in (None, name)}
    if not chosen:
        return
    nursery = Nursery()
    try:
        for trial in chosen.values():
            with tempfile.TemporaryDirectory(prefix="sf") as directory:
                server = RedisServer(program, Path(directory)).start()
                begun = time.monotonic()
                try:
                    result = asyncio.run(trial(nursery, server, options.seed, options.kills))
                finally:
                    server.kill()
                console.print(f"{result} ({time.monotonic() - begun:.1f} s)")
    finally:
        nursery.close()


def _table(title: str, report: Report) -> Table:
    table = Table("injected", "times", "what came of it", "times ", title=f"{title}: {report.rounds} rounds")
    injected, outcomes = report.injected.most_common(), report.outcomes.most_common()
    for place in range(max(len(injected), len(outcomes))):
        cells = [(name, str(count)) for name, count in (*injected[place : place + 1],)] or [("", "")]
        cells += [(name, str(count)) for name, count in (*outcomes[place : place + 1],)] or [("", "")]
        table.add_row(*(word for pair in cells for word in pair))
    memory = f"{report.rss_end_mib:.0f} MiB"
    if report.rss_begin_mib:
        grown = report.rss_end_mib - report.rss_begin_mib
        memory = f"{report.rss_begin_mib:.0f} MiB when warm, {memory} at the end, {grown:+.0f}"
        left = f"; tasks left {report.tasks_left}, descriptors left {report.descriptors_left}"
    else:
        left = ""
    table.caption = f"{report.events} events, every text exact or an honest beginning; {memory}{left}"
    return table


if __name__ == "__main__":
    main()
