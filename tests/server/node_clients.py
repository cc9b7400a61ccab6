"""Runs clients from npm. They are installed on demand, once; without node the tests are skipped, or fail on request."""

import asyncio
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "node"


@cache
def _installed() -> str | None:
    """Why the clients cannot be run; None when they can."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return "node is not installed"
    wanted = (FOLDER / "package-lock.json").read_bytes()
    stamp = FOLDER / "node_modules" / ".streamflow-lock"
    if stamp.exists() and stamp.read_bytes() == wanted:
        return None
    command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return f"npm could not install the clients: {done.stderr.strip()[-300:]}"
    stamp.write_bytes(wanted)
    return None


def need_node() -> None:
    """Skip, or fail where everything is required."""
    problem = _installed()
    if problem is None:
        return
    if os.environ.get("STREAMFLOW_REQUIRE_ALL") == "1":
        pytest.fail(problem)
    pytest.skip(problem)


async def run_node(script: str, *arguments: str) -> Any:
    """What a script prints as JSON."""
    need_node()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "node", str(FOLDER / script), *arguments, stdout=pipe, stderr=pipe, env={**os.environ, "NODE_NO_WARNINGS": "1"}
    )
    try:
        async with asyncio.timeout(30):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    return json.loads(out)
