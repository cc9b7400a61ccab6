"""A private redis-server for tests: on a socket of its own, with its append-only file on, to be killed at will."""

import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest


def require_redis() -> str:
    """The path of redis-server; skips where there is none, fails where everything is required."""
    path = shutil.which("redis-server") or shutil.which("valkey-server")
    if path is None:
        if os.environ.get("STREAMFLOW_REQUIRE_ALL") == "1":
            pytest.fail("redis-server is not installed")
        pytest.skip("redis-server is not installed")
    return path


class RedisServer:
    """One server process after another over the same data."""

    def __init__(self, program: str, directory: Path, **config: str) -> None:
        self._program = program
        self._directory = directory
        # With "everysec" Redis puts a write off while an fsync runs, and a kill takes what was acknowledged: on a busy
        # disk 136 records in one of 12 kills, with "always" none.
        self._config = {"appendonly": "yes", "appendfsync": "always", "save": "", **config}
        self._process: subprocess.Popen[str] | None = None
        # The path of a socket has about 100 characters at most.
        self._socket = directory / "r.sock"
        self.url = f"unix://{self._socket}"

    def start(self) -> "RedisServer":
        """Start, and wait until it answers."""
        options = [word for key, value in self._config.items() for word in (f"--{key}", value)]
        self._process = subprocess.Popen(
            [self._program, "--port", "0", "--unixsocket", str(self._socket), "--dir", str(self._directory), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            restore_signals=False,  # a write beyond a limit is then an error, as on a full disk, and no signal
        )
        assert self._process.stdout is not None
        lines = []
        for line in self._process.stdout:
            lines.append(line)
            if "ready to accept connections" in line.lower():
                return self
        raise AssertionError("redis-server did not start:\n" + "".join(lines))

    def command(self, *words: Any) -> Any:
        """Ask it something, over a connection of its own."""
        import redis

        with redis.Redis.from_url(self.url) as client:
            return client.execute_command(*words)

    @property
    def pid(self) -> int:
        """The process now."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    def pause(self) -> None:
        """Leave it hanging: connections stay open, nobody answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it answer again."""
        os.kill(self.pid, signal.SIGCONT)

    def fill_disk(self) -> None:
        """No file of it can grow any more."""
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    def free_disk(self) -> None:
        """There is room again."""
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
