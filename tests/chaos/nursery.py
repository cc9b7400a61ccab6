"""A process that has everything imported and forks workers in milliseconds: ``python -m tests.chaos.nursery``."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Worker:
    """A process, and the file with what it said."""

    def __init__(self, pid: int, path: Path) -> None:
        self.pid = pid
        self._path = path
        self._read = 0
        self._lines: list[str] = []

    def lines(self) -> list[str]:
        """What it said so far; a line that death cut short does not count."""
        if self._path.exists():
            with self._path.open("rb") as said:
                said.seek(self._read)
                whole, newline, _ = said.read().rpartition(b"\n")
            self._read += len(whole) + len(newline)
            self._lines += whole.decode().splitlines()
        return self._lines

    def signal(self, number: int) -> None:
        """Stop it, let it go on, kill it."""
        os.kill(self.pid, number)

    @property
    def alive(self) -> bool:
        """False when it is gone."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


class Nursery:
    """Makes workers."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="sfchaos")
        self._made: list[Worker] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def worker(self, role: str, *arguments: Any) -> Worker:
        """A new process."""
        path = Path(self._directory.name) / f"{len(self._made)}.{role}"
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([role, str(path), arguments]) + "\n")
        self._process.stdin.flush()
        worker = Worker(int(self._process.stdout.readline()), path)
        self._made.append(worker)
        return worker

    def close(self) -> None:
        """End everything that is left."""
        for worker in self._made:
            if worker.alive:
                worker.signal(signal.SIGKILL)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._directory.cleanup()


def main() -> None:
    """Fork a worker for each line."""
    from tests.chaos import workers

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are not waited for
    for line in sys.stdin:
        role, path, arguments = json.loads(line)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                workers.run(role, path, arguments)
            finally:
                sys.stderr.flush()
                os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
