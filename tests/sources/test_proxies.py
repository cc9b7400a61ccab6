"""Proxies by environment, and no password file behind the user's back."""

import pytest

import streamflow as sf
from tests.sources.test_client import client, hello
from tests.support.raw_server import RawServer


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def test_the_proxy_of_the_environment_is_used(monkeypatch):
    async with RawServer(hello) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        async with sf.connect("openai", model="m", api_key="k", base_url="http://far.invalid/v1") as llm:
            assert (await llm.collect("hi")).text == "Hello"
    assert proxy.requests[0].head.startswith(b"POST http://far.invalid/v1/chat/completions ")


async def test_no_proxy_is_respected(monkeypatch):
    async with RawServer(hello) as server, RawServer(hello) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        async with client(server) as llm:
            await llm.collect("hi")
    assert (len(server.requests), len(proxy.requests)) == (1, 0)


async def test_a_proxy_that_is_away_is_named(monkeypatch):
    async with RawServer(hello) as gone:
        pass
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{gone.port}")
    async with sf.connect("openai", model="m", api_key="k", base_url="http://far.invalid/v1", max_retries=0) as llm:
        with pytest.raises(sf.TransportError, match="proxy"):
            await llm.collect("hi")


async def test_the_password_file_is_not_read(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password wrong\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    async with RawServer(hello) as server, client(server) as llm:
        await llm.collect("hi")
    assert server.requests[0].header("authorization") == "Bearer sk-canary-0123456789"
