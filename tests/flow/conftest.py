"""Redis for the tests of the journals."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.redis_server import RedisServer, require_redis


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    """One server for all tests that leave it alone."""
    with tempfile.TemporaryDirectory(prefix="sf", dir=os.environ.get("TMPDIR")) as directory:
        server = RedisServer(require_redis(), Path(directory)).start()
        yield server
        server.kill()


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A server to be killed; not started yet."""
    with tempfile.TemporaryDirectory(prefix="sf", dir=os.environ.get("TMPDIR")) as directory:
        # With "always" Redis leaves when its disk is full; with this it stays, and refuses to write.
        server = RedisServer(require_redis(), Path(directory), appendfsync="everysec")
        yield server
        server.kill()
