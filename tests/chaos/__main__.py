"""``python -m tests.chaos``: many kills, with a seed that makes them again, and a report."""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.nursery import Nursery
from tests.chaos.trials import TRIALS
from tests.support.redis_server import RedisServer


def main() -> None:
    """Run the trials."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each: reader, producer, broker")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--only", choices=list(TRIALS))
    options = parser.parse_args()
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        sys.exit("redis-server is not installed")
    nursery = Nursery()
    print(f"seed {options.seed}, {options.kills} kills each")
    try:
        for name, trial in TRIALS.items():
            if options.only in (None, name):
                with tempfile.TemporaryDirectory(prefix="sf") as directory:
                    server = RedisServer(program, Path(directory)).start()
                    began = time.monotonic()
                    try:
                        result = asyncio.run(trial(nursery, server, options.seed, options.kills))
                    finally:
                        server.kill()
                    print(f"{result} ({time.monotonic() - began:.1f} s)", flush=True)
    finally:
        nursery.close()


if __name__ == "__main__":
    main()
