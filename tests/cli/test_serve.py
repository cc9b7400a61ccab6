"""``streamflow serve`` as a program of its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import aiohttp
import pytest

from streamflow.testing import FakeProvider
from streamflow.testing.simulator import CANNED


@contextmanager
def serving(*options: str, **environ: str):
    command = [sys.executable, "-W", "error", "-m", "streamflow", "serve", "--port", "0", *options]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environ})
    try:
        yield process, process.stdout.readline().strip()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _ask(url: str, body: dict | None = None, **headers: str) -> tuple[int, bytes]:
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=10) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_it_answers_with_the_simulator_and_ends_cleanly():
    with serving("--simulate") as (process, address):
        assert address.startswith("http://127.0.0.1:")
        status, body = _ask(f"{address}/flows", {"messages": ["hello"]})
        assert status == 201
        status, body = _ask(f"{address}/flows/{json.loads(body)['id']}/events")
        assert status == 200
        assert json.dumps(CANNED) in body.decode()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (0, "", "")


def test_it_answers_from_a_provider_with_a_token():
    with FakeProvider() as fake:
        options = ["--provider", "anthropic", "--model", "m", "--base-url", fake.base_url("anthropic")]
        with serving(*options, "--token", "secret-token", ANTHROPIC_API_KEY="none") as (_, address):
            assert _ask(f"{address}/flows", {"messages": ["hello"]})[0] == 401
            status, body = _ask(f"{address}/flows", {"messages": ["hello"]}, authorization="Bearer secret-token")
            assert status == 201
            other = {"messages": ["hi"], "provider": "cohere"}
            status, body = _ask(f"{address}/flows", other, authorization="Bearer secret-token")
            assert status == 400
            assert b"CO_API_KEY" in body


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--simulate", "--host", "0.0.0.0"], "--token"),
        (["--simulate", "--host", "::"], "--token"),
        (["--simulate", "--token", "short"], "token"),
        (["--provider", "nobody"], "nobody"),
        (["--provider", "openai"], "OPENAI_API_KEY"),
    ],
)
def test_wrong_use_is_named(options, hint):
    command = [sys.executable, "-m", "streamflow", "serve", "--port", "0", *options]
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, env=environ)
    assert done.returncode == 2
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_headers_may_have_a_size():
    with serving("--simulate") as (_, address):
        assert _ask(f"{address}/healthz", **{"x-filler": "x" * 8190})[0] == 200
        assert _ask(f"{address}/healthz", **{"x-filler": "x" * 8191})[0] == 400


async def _reader(session: aiohttp.ClientSession, address: str, words: int) -> str:
    body = {"messages": [f"sim:long {words} 10"]}
    async with session.post(f"{address}/flows", json=body) as response:
        flow_id = (await response.json())["id"]
    async with session.get(f"{address}/flows/{flow_id}/events") as response:
        return (await response.read()).decode()


async def test_a_hundred_answers_finish_after_sigterm():
    with serving("--simulate", "--voice", "none") as (process, address):
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            readers = [asyncio.create_task(_reader(session, address, 100)) for _ in range(100)]
            await _until_live(session, address, 100)
            process.send_signal(signal.SIGTERM)
            await _until_draining(session, address)
            async with session.post(f"{address}/flows", json={"messages": ["hello"]}) as response:
                assert response.status == 503
                assert int(response.headers["retry-after"]) >= 1
            texts = await asyncio.gather(*readers)
        assert all('"stop_reason":"end_turn"' in text for text in texts)
        assert await asyncio.to_thread(process.wait, 20) == 0


async def test_what_is_not_finished_at_the_deadline_is_sent_away():
    with serving("--simulate", "--voice", "none", "--drain-s", "0.2") as (process, address):
        async with aiohttp.ClientSession() as session:
            reader = asyncio.create_task(_reader(session, address, 10_000))
            await _until_live(session, address, 1)
            process.send_signal(signal.SIGTERM)
            text = await reader
        assert text.endswith("retry: 200\n\n")
        assert "StreamFailed" not in text
        assert '"stop_reason":"end_turn"' not in text
        assert await asyncio.to_thread(process.wait, 20) == 0


async def _until_live(session: aiohttp.ClientSession, address: str, count: int) -> None:
    async with asyncio.timeout(20):
        while True:
            async with session.get(f"{address}/metrics") as response:
                text = await response.text()
            if f"streamflow_subscribers {count}\n" in text:
                return
            await asyncio.sleep(0.02)


async def _until_draining(session: aiohttp.ClientSession, address: str) -> None:
    async with asyncio.timeout(20):
        while True:
            async with session.get(f"{address}/readyz") as response:
                if response.status == 503:
                    return
            await asyncio.sleep(0.005)
