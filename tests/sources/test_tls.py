"""Certificates: what nobody vouches for is refused, and the error says so."""

import os
import shutil
import ssl
import subprocess

import pytest

import streamflow as sf
from tests.sources.test_client import client, hello
from tests.support.raw_server import RawServer


@pytest.fixture
def certificate(tmp_path):
    if shutil.which("openssl") is None:
        if os.environ.get("STREAMFLOW_REQUIRE_ALL") == "1":
            pytest.fail("openssl is not installed")
        pytest.skip("openssl is not installed")
    key, made = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-keyout", key, "-out", made], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return context


async def test_an_unknown_certificate_is_refused_and_not_tried_again(certificate):
    async with RawServer(hello, ssl=certificate) as server, client(server, base_url=f"https{server.url[4:]}") as llm:
        with pytest.raises(sf.TransportError, match="certificate is not trusted") as caught:
            await llm.collect("hi")
    assert caught.value.retryable is False
    assert "self-signed" in str(caught.value) or "self signed" in str(caught.value)
    assert server.requests == []
