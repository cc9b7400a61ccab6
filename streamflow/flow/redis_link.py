"""The wire to Redis: connections, what its refusals mean, and one pipeline for the commands of all streams."""

import asyncio
import hashlib
import re
from collections import deque
from typing import Any

from streamflow.errors import UsageError
from streamflow.flow.ports import BrokerUnavailable

try:
    from redis import asyncio as aioredis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import AuthenticationError, NoPermissionError, NoScriptError, RedisError, ResponseError
    from redis.exceptions import ConnectionError as RedisConnectionError
except ImportError as missing:
    raise UsageError(f"the journal on Redis needs {missing.name}: pip install 'streamflow-rx[redis]'") from None

CONNECT_S = 2.0
ANSWER_S = 3.0
_AT_ONCE = 256  # commands in one pipeline

# The code of a refusal -> what it means for a stream. A script may wrap the message of the command that failed.
_REFUSALS = {
    "OOM": ("broker_full", "the broker is out of memory"),
    "MISCONF": ("broker_disk", "the broker cannot write to its disk"),
    "READONLY": ("broker_read_only", "the broker is read-only"),
    "LOADING": ("broker_loading", "the broker is loading its data"),
    "NOREPLICAS": ("broker_replicas", "the broker has too few replicas"),
    "MASTERDOWN": ("broker_away", "the broker has lost its master"),
    "CLUSTERDOWN": ("broker_away", "the cluster is down"),
}
_CODE = re.compile(r"\b(" + "|".join(_REFUSALS) + r")\b")
# redis-py takes the code off where it knows it.
_BY_CLASS = {
    "OutOfMemoryError": "OOM",
    "ReadOnlyError": "READONLY",
    "BusyLoadingError": "LOADING",
    "MasterDownError": "MASTERDOWN",
    "ClusterDownError": "CLUSTERDOWN",
}


def unavailable(error: BaseException) -> BrokerUnavailable:
    """What a failure of Redis means.

    >>> unavailable(ResponseError("OOM command not allowed when used memory > 'maxmemory'.")).kind
    'broker_full'
    """
    if type(error) is RedisConnectionError and isinstance(error.__cause__, RedisError):
        error = error.__cause__  # what the broker said to a new connection
    code = _BY_CLASS.get(type(error).__name__)
    if code is None and isinstance(error, ResponseError) and (match := _CODE.search(str(error))):
        code = match[1]
    if isinstance(error, AuthenticationError | NoPermissionError):
        return BrokerUnavailable(f"the broker refuses us: {error}", kind="broker_refused", retryable=False)
    if code is None and isinstance(error, ResponseError):
        return BrokerUnavailable(f"the broker refused: {error}", kind="broker_error")
    if code is None:
        return BrokerUnavailable(f"the broker is away ({type(error).__name__}): {_AWAY_HINT}", kind="broker_away")
    kind, message = _REFUSALS[code]
    return BrokerUnavailable(message, kind=kind)


_AWAY_HINT = "is Redis running, and is that its address?"


def connect(url: str, *, answer_s: float = ANSWER_S, connections: int = 4) -> "aioredis.Redis":
    """A client for a URL; nothing is connected yet. Retrying is ours: only we know what may be sent twice."""
    try:
        pool = aioredis.BlockingConnectionPool.from_url(
            url,
            max_connections=connections,
            socket_connect_timeout=CONNECT_S,
            socket_timeout=answer_s,
            retry=Retry(NoBackoff(), 0),
            protocol=2,  # of the answers; it is the same before and behind redis-py 8
        )
    except ValueError as wrong:
        raise UsageError(f"the address of the broker: {wrong}") from None
    return aioredis.Redis.from_pool(pool)


class Script:
    """A Lua script: Redis runs it whole or not at all, and nothing else in between.

    >>> Script("return 1").sha[:8]
    'e0e1f9fa'
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


class Link:
    """Commands from everywhere in the process, sent together: what arrives while one batch is under way is the next.

    One connection, however many streams; an answer for each command, or `BrokerUnavailable`.
    """

    def __init__(self, client: "aioredis.Redis") -> None:
        self.client = client
        self._waiting: deque[tuple[tuple[Any, ...], asyncio.Future[Any]]] = deque()
        self._pump: asyncio.Task[None] | None = None

    async def call(self, *command: Any) -> Any:
        """Send one command."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((command, future))
        if self._pump is None or self._pump.done():
            self._pump = loop.create_task(self._send_all(), name="streamflow redis commands")
        return await future

    async def run(self, script: Script, keys: list[str], *arguments: Any) -> Any:
        """Run a script; a broker that does not know it, for example after a restart, learns it again."""
        try:
            return await self.call("EVALSHA", script.sha, len(keys), *keys, *arguments)
        except NoScriptError:
            return await self.call("EVAL", script.source, len(keys), *keys, *arguments)

    async def _send_all(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
            try:
                answers = await self._send([command for command, _ in batch])
            except asyncio.CancelledError:
                for _, future in batch:
                    future.cancel()
                raise
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():
                    continue
                if isinstance(answer, NoScriptError):
                    future.set_exception(answer)
                elif isinstance(answer, Exception):
                    future.set_exception(unavailable(answer))
                else:
                    future.set_result(answer)

    async def _send(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        for again in (True, False):
            pipeline = self.client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            try:
                return list(await pipeline.execute(raise_on_error=False))
            except (RedisError, OSError) as error:
                # A connection that died while nobody used it says so now. All our commands may be sent twice.
                if not again or not isinstance(error, RedisConnectionError | OSError):
                    return [error] * len(commands)
        raise AssertionError

    async def aclose(self) -> None:
        """Close the connection; what still waits is cancelled."""
        if self._pump is not None and not self._pump.done():
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()
        await self.client.aclose()
