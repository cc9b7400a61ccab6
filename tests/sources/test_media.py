"""Media by address: what may be fetched, and what must never be."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver

import streamflow as sf
from streamflow.requests.blocks import ImageBlock, UrlSource
from streamflow.sources.addresses import check_url, is_public_address
from streamflow.sources.media import fetch_media

REFUSED_ADDRESSES = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
    "192.168.0.1", "169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1",
    "fe80::1%eth0", "::ffff:8.8.8.8",
    "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2001:0:7f00:1::", "not an address", "", "1.2.3", "0x7f.0.0.1",
]  # fmt: skip
PUBLIC_ADDRESSES = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::808:808"]

REFUSED_URLS = [
    "http://example.org/a.png", "file:///etc/passwd", "ftp://example.org/a", "gopher://example.org", "data:image/png,x",
    "https://", "https:///a.png", "https://user@example.org/", "https://example.org@127.0.0.1/", "https://example.org:22/",
    "https://example.org:8443/a", "https://exa mple.org/", "https://example.org\\@127.0.0.1/", "https://[::1",
    "javascript:1",
    "https://example.org/\r\nHost: x", "//example.org/a", "example.org/a.png", "",
]  # fmt: skip
LITERALS = ["127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "[fd00::1]"]
# These are no literals for us, but the system's resolver would understand them.
ODD_HOSTS = ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost."]


class Names(AbstractResolver):
    """A resolver of our own; several answers for a name are given one after the other."""

    def __init__(self, **names: list[str]) -> None:
        self.names = names
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[Any]:
        self.asked.append(host)
        answers = self.names[host.partition(".")[0]]
        address = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            {"hostname": host, "host": one, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
            for one in address.split()
        ]

    async def close(self) -> None:
        pass


def picture(url: str) -> list[sf.Message]:
    return [sf.Message.user(["look", ImageBlock(source=UrlSource(url=url))])]


@pytest.mark.parametrize("address", REFUSED_ADDRESSES)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public_address(address)


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_addresses_that_are_public(address: str) -> None:
    assert is_public_address(address)


def test_the_table_is_long_enough() -> None:
    assert len(REFUSED_ADDRESSES) >= 40


@pytest.mark.parametrize("url", REFUSED_URLS)
async def test_urls_that_are_refused_by_their_text(url: str) -> None:
    with pytest.raises(sf.UsageError, match="media URL refused"):
        check_url(url)
    with pytest.raises(sf.UsageError, match="media URL refused"):
        await fetch_media(picture(url))


@pytest.mark.parametrize("host", LITERALS)
async def test_literal_addresses_are_refused(host: str) -> None:
    with pytest.raises(sf.UsageError, match="not a public address"):
        await fetch_media(picture(f"https://{host}/a.png"))


@pytest.mark.parametrize("host", ODD_HOSTS)
async def test_other_ways_to_write_this_machine_are_refused(host: str) -> None:
    with pytest.raises((sf.UsageError, sf.TransportError)) as caught:
        await fetch_media(picture(f"https://{host}/a.png"), timeout_s=5)
    # Where the system's resolver does not know such a form there is nothing to connect to.
    assert any(words in str(caught.value) for words in ("not public", "another way", "could not be loaded"))


@pytest.mark.parametrize("answer", ["10.0.0.1", "8.8.8.8 127.0.0.1", "169.254.169.254"])
async def test_names_that_lead_inside_are_refused_even_by_one_of_their_addresses(answer: str) -> None:
    with pytest.raises(sf.UsageError, match="not public"):
        await fetch_media(picture("https://innocent.example/a.png"), resolver=Names(innocent=[answer]))


async def test_nothing_is_fetched_by_itself() -> None:
    body = sf.build_request("anthropic", picture("https://169.254.169.254/latest/meta-data"), model="m").json
    assert body["messages"][0]["content"][1]["source"] == {"type": "url", "url": "https://169.254.169.254/latest/meta-data"}


# -- with a real server on the loopback, which the test allows


@pytest.fixture
async def server() -> AsyncIterator[tuple[int, list[str]]]:
    hits: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        hits.append(f"{request.host} {request.path}")
        if request.path == "/picture":
            return web.Response(body=b"\x89PNG", content_type="image/png")
        if request.path == "/page":
            return web.Response(text="<html>", content_type="text/html")
        if request.path == "/big":
            return web.Response(body=b"x" * 5000, content_type="image/png")
        if request.path == "/loop":
            return web.Response(status=301, headers={"location": "/loop"})
        if request.path.startswith("/to/"):
            return web.Response(status=302, headers={"location": request.query["url"]})
        return web.Response(status=404)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield runner.addresses[0][1], hits
    await runner.cleanup()


def loopback_only(address: str) -> bool:
    return address == "127.0.0.1"


async def fetched(url: str, names: Names, **options: Any) -> sf.Message:
    return (await fetch_media(picture(url), resolver=names, is_allowed=loopback_only, schemes=("http",), **options))[0]


async def test_a_picture_is_loaded(server: tuple[int, list[str]]) -> None:
    port, _ = server
    message = await fetched(f"http://good.example:{port}/picture", Names(good=["127.0.0.1"]))
    assert message.content[1].source.data == "iVBORw=="  # type: ignore[union-attr]
    assert message.content[1].source.media_type == "image/png"  # type: ignore[union-attr]


async def test_a_redirect_is_checked_like_the_first_address(server: tuple[int, list[str]]) -> None:
    port, hits = server
    names = Names(good=["127.0.0.1"], bad=["10.0.0.1"])
    start = f"http://good.example:{port}/to/x?url="
    ok = await fetched(start + f"http://good.example:{port}/picture", names)
    assert ok.content[1].source.type == "base64"  # type: ignore[union-attr]
    for target in ("http://bad.example/secret", "http://10.0.0.1/secret", "file:///etc/passwd", "https://good.example/"):
        with pytest.raises(sf.UsageError, match="media URL refused"):
            await fetched(start + target, names)
    assert not any("secret" in hit for hit in hits)


async def test_endless_redirects_end(server: tuple[int, list[str]]) -> None:
    port, hits = server
    with pytest.raises(sf.ProtocolError, match="redirects"):
        await fetched(f"http://good.example:{port}/loop", Names(good=["127.0.0.1"]))
    assert len(hits) == 4


async def test_a_name_that_changes_its_mind_gains_nothing(server: tuple[int, list[str]]) -> None:
    port, hits = server
    names = Names(rebind=["127.0.0.1", "10.0.0.1"])
    await fetched(f"http://rebind.example:{port}/picture", names)
    assert names.asked == ["rebind.example"], "what was checked is what was connected to"
    with pytest.raises(sf.UsageError, match="not public"):
        await fetched(f"http://rebind.example:{port}/picture", names)
    assert len(hits) == 1


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("page", sf.ProtocolError, "no picture"),
        ("big", sf.LimitExceeded, "max_bytes=1000"),
        ("none", sf.TransportError, "HTTP 404"),
    ],
)
async def test_what_is_no_picture_is_an_error(
    server: tuple[int, list[str]], path: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        await fetched(f"http://good.example:{server[0]}/{path}", Names(good=["127.0.0.1"]), max_bytes=1000)


async def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(sf.TransportError, match="could not be loaded"):
            await asyncio.wait_for(fetched(f"http://good.example:{port}/", Names(good=["127.0.0.1"])), 10)
