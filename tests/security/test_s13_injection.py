"""S13: a header, an id or a word of a model forges neither a header, nor an event, nor a line of the log."""

import asyncio
import logging

import pytest

import streamflow as sf
from streamflow.server.positions import read_id
from streamflow.sources.logs import RedactingFormatter
from streamflow.testing import Answer, FakeProvider, HttpError
from tests.server.serving import serving

NO_IDS = [
    "1-0\nset-cookie: a=b", "1-0\r\nset-cookie: a=b", "1-0\rx: y", "1-0\r\n\r\nHTTP/1.1 200 OK", "\n", "\r", "\x00",
    "1-\x0b0", "", " ", "1", "1-", "-1", "1-0 ", " 1-0", "1-0.", "1-0.1.1", "1-0x1", "+1-0", "1_0-0", "٧-١",
    "1-" + "9" * 20, "1-0;DROP", "../1-0", "1-0%0a", "１-０",
]  # fmt: skip
HEADERS = ["last-event-id", "origin", "authorization", "x-api-key", "user-agent", "x-forwarded-for", "cookie", "accept",
           "content-type", "host"]  # fmt: skip


@pytest.mark.parametrize("text", NO_IDS)
def test_s13_what_is_no_id_is_none(text):
    assert read_id(text) is None


async def raw(root: str, request: bytes) -> bytes:
    """What the server answers to these bytes."""
    host, port = root.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        await writer.drain()
        async with asyncio.timeout(20):
            head = await reader.readuntil(b"\r\n\r\n")
            return head + await reader.read(100)
    finally:
        writer.close()


@pytest.mark.parametrize("header", HEADERS)
async def test_s13_line_ends_in_a_header_reach_nobody(header, caplog):
    async with serving() as served:
        flow_id = await served.begin("hello")
        await served.events(flow_id)
        with caplog.at_level(logging.DEBUG):
            for evil in (b"1-0\rset-cookie: a=b", b"1-0\x00", b"1-0\x0bset-cookie: a=b", b"\xff\xfe", b"1-0\x1b[2J"):
                lines = [b"GET /flows/%s/events HTTP/1.1" % flow_id.encode(), header.encode() + b": " + evil]
                lines += [] if header == "host" else [b"host: localhost"]
                answer = await raw(served.root, b"\r\n".join([*lines, b"connection: close", b"", b""]))
                head, _, body = answer.partition(b"\r\n\r\n")
                assert b"set-cookie" not in head.lower()
                assert b"\x1b" not in answer
                assert evil not in answer or header != "last-event-id"
                if header == "last-event-id":
                    assert head.split()[1] in (b"400", b"409"), body
        assert "\x1b" not in caplog.text


async def test_s13_the_path_and_the_query_are_not_reflected():
    async with serving() as served:
        for path in ("/flows/%0d%0aset-cookie:%20a=b", "/flows/x?branch=%0d%0aset-cookie:a", "/%0d%0aset-cookie:%20a"):
            request = f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
            answer = await raw(served.root, request.encode())
            assert b"set-cookie" not in answer.partition(b"\r\n\r\n")[0].lower()


@pytest.mark.parametrize("evil", ["a\r\nx-evil: 1", "a\nx-evil: 1", "a\rb", "a\x00b"])
@pytest.mark.parametrize("where", ["key", "header", "header name", "model", "base_url"])
async def test_s13_nothing_of_ours_injects_a_header_into_a_request(where, evil):
    async with FakeProvider(Answer("Hello.")) as fake:
        base = fake.base_url("openai")
        options = {
            "key": {"api_key": evil},
            "header": {"headers": {"x-ours": evil}},
            "header name": {"headers": {evil: "1"}},
            "model": {"model": evil},
            "base_url": {"base_url": base + evil},
        }[where]
        said = ""
        try:
            settings = {"model": "m", "api_key": "k", "base_url": base, "max_retries": 0} | options
            async with sf.connect("openai", **settings) as llm:
                await llm.collect("hi")
        except sf.StreamflowError as error:
            said = str(error)
        assert evil not in said
        for request in fake.requests:
            assert where == "model"  # it goes into the JSON body, where it is just a text
            assert "x-evil" not in {name.lower() for name in request.headers}


@pytest.mark.parametrize("evil", ["a\nstreamflow ERROR forged", "\x1b[2J", "a\rb", "\x85", "\u2028", "\x00", "\x9b2J"])
def test_s13_a_line_of_the_log_is_one_line(evil):
    shown = RedactingFormatter("%(levelname)s %(message)s").format(
        logging.LogRecord("streamflow", logging.INFO, "", 0, "said %s", (evil,), None)
    )
    assert len(shown.splitlines()) == 1
    assert shown.isprintable()


def test_s13_a_traceback_forges_no_line():
    try:
        raise ValueError("x\nINFO forged\x1b[2J key sk-abcdefghijklmnop")
    except ValueError as error:
        fault = (type(error), error, error.__traceback__)
    record = logging.LogRecord("streamflow", logging.INFO, "", 0, "failed", (), fault)
    lines = RedactingFormatter("%(levelname)s %(message)s").format(record).splitlines()
    assert [line for line in lines if line.startswith("INFO")] == ["INFO failed"]
    assert all(line.isprintable() for line in lines)
    assert "abcdefgh" not in "".join(lines)


async def test_s13_a_provider_cannot_write_into_the_log(caplog):
    reason = "no\r\nx: y\x1b[2J\nstreamflow ERROR forged"
    with caplog.at_level(logging.DEBUG, logger="streamflow"):
        async with (
            FakeProvider(HttpError(503, reason, headers={"retry-after-ms": "0"})) as fake,
            sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai")) as llm,
        ):
            with pytest.raises(sf.ProviderError):
                await llm.collect("hi")
    formatter = RedactingFormatter("%(message)s")
    assert caplog.records
    for record in caplog.records:
        if record.name == "streamflow":
            assert formatter.format(record).isprintable()
