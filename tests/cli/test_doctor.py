"""``streamflow doctor``: says what there is, reaches whom it can, shows no key."""

import os
import socket
import subprocess
import sys

import pytest

from streamflow.cli.examination import installed, reach, service_of
from streamflow.requests import endpoint
from streamflow.testing import FakeProvider

CANARY = "canary-key-8f3a1c"
SETTINGS = ("_KEY", "_TOKEN", "_PAT", "_URL", "_PROXY")
BARE = {name: value for name, value in os.environ.items() if not name.upper().endswith(SETTINGS)}


def _doctor(*options, **environ):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "streamflow", "doctor", *options],
        capture_output=True,
        text=True,
        timeout=30,
        env={**BARE, **environ},
    )
    assert CANARY not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_offline_it_tells_versions_parts_and_keys():
    done = _doctor("--offline", OPENAI_API_KEY=CANARY)
    assert done.returncode == 0
    assert "OPENAI_API_KEY is set" in done.stdout
    assert "not set (ANTHROPIC_API_KEY)" in done.stdout
    assert f"reactivex {installed('reactivex')}" in " ".join(done.stdout.split())
    assert "yes" not in done.stdout


def test_a_dead_address_is_named():
    with socket.socket() as taken:  # bound and not listening: nobody else gets the port, and nobody answers
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        done = _doctor("openai", OPENAI_API_KEY=CANARY, OPENAI_BASE_URL=address)
    assert done.returncode == 3
    assert "no: " in done.stdout
    assert address in done.stdout


def test_an_unknown_provider_is_wrong_usage():
    done = _doctor("opnai")
    assert done.returncode == 2
    assert "Did you mean 'openai'?" in done.stderr


def test_secrets_in_an_address_are_not_shown():
    done = _doctor("openai", "--offline", OPENAI_BASE_URL=f"https://me:{CANARY}@gate.example/v1?token={CANARY}")
    assert "https://gate.example/v1" in done.stdout


async def test_behind_a_proxy_the_proxy_counts(monkeypatch):
    async with FakeProvider() as fake:
        monkeypatch.setenv("http_proxy", fake.root)
        monkeypatch.setenv("no_proxy", "")
        assert await reach("http://unreachable.invalid/v1", 5.0) == ""
    assert (await reach("http://unreachable.invalid/v1", 5.0)).startswith("the proxy: ")


async def test_reach(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    async with FakeProvider() as fake:
        assert await reach(fake.root + "/v1", 5.0) == ""
    assert await reach("carrier-pigeon", 1.0) == "this is no address"
    assert await reach("ftp://127.0.0.1/", 1.0) == "this is no address"


@pytest.mark.parametrize(
    ("provider", "environ", "expected"),
    [
        ("gemini", {"GOOGLE_API_KEY": CANARY}, "GOOGLE_API_KEY"),
        ("gemini", {}, ""),
        ("ollama", {"OLLAMA_HOST": "box:11434"}, ""),
    ],
)
def test_services(provider, environ, expected):
    service = service_of(endpoint(provider), environ)
    assert (service.key_variable, service.has_key) == (expected, bool(expected))
    assert CANARY not in repr(service)
    assert service.address.startswith(("https://", "http://box:11434"))
