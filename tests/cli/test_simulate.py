"""``streamflow simulate`` as a program of its own."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import streamflow as sf
from streamflow.testing.simulator import CANNED


@pytest.fixture
def simulator():
    command = [sys.executable, "-W", "error", "-m", "streamflow", "simulate", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    try:
        yield process, address
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _post(url: str, body: dict) -> bytes:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_and_ends_cleanly(simulator, number):
    process, address = simulator
    assert address.startswith("http://127.0.0.1:")
    asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    assert sf.read("openai", _post(f"{address}/v1/chat/completions", asked)).text == CANNED
    assert sf.read("anthropic", _post(f"{address}/v1/messages", asked)).text == CANNED
    contents = {"contents": [{"role": "user", "parts": [{"text": "sim:text Ciao"}]}]}
    url = f"{address}/v1beta/models/g:streamGenerateContent"
    assert sf.read("gemini", _post(url + "?alt=sse", contents)).text == "Ciao"
    assert sf.read("gemini", _post(url, contents)).text == "Ciao"
    with urllib.request.urlopen(address + "/", timeout=10) as response:
        assert b"sim:text" in response.read()
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_taken_port_is_named(simulator):
    _, address = simulator
    port = address.rpartition(":")[2]
    command = [sys.executable, "-m", "streamflow", "simulate", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, env=os.environ)
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr
