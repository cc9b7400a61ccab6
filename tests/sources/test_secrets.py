"""The canary: a key must be in no byte of output, log, error or repr."""

import asyncio
import logging
import traceback

import orjson
import pytest

import streamflow as sf
from streamflow.sources.credentials import Secret
from streamflow.sources.logs import LOGGER, RedactingFormatter, configure_logging
from tests.sources.test_client import END, client, hello
from tests.support.raw_server import CHUNKED, Connection, RawServer, chat, chunk, whole

CANARY = "plain-canary-key-that-no-pattern-knows"


def echo(connection: Connection) -> bytes:
    """What a careless server sends back: the whole request head."""
    return connection.head


async def echo_as_error(connection: Connection) -> None:
    await connection.send(whole(401, orjson.dumps({"error": {"message": echo(connection).decode()}})))


async def echo_as_text(connection: Connection) -> None:
    await connection.send(whole(500, echo(connection), x_should_retry="false"))


async def echo_as_page(connection: Connection) -> None:
    await connection.send(whole(200, b"<html>" + echo(connection)))


async def echo_as_bad_frame(connection: Connection) -> None:
    line = b" ".join(echo(connection).split())
    await connection.send(CHUNKED + chunk(chat("x", finish=None, done=False) + b"data: {" + line + b"\n\n") + END)


async def echo_as_redirect(connection: Connection) -> None:
    await connection.send(whole(302, location=f"http://other.invalid/{CANARY}?key={CANARY}"))


async def echo_as_type(connection: Connection) -> None:
    await connection.send(whole(200, b"data: 1\n\n", content_type=f"a/b\r\nContent-Type: {CANARY}"))


async def echo_as_encoding(connection: Connection) -> None:
    await connection.send(whole(200, b"data: 1\n\n", content_encoding=CANARY))


async def echo_as_request_id(connection: Connection) -> None:
    await connection.send(whole(400, b"", x_request_id=CANARY))


async def echo_as_header(connection: Connection) -> None:
    await connection.send(b"HTTP/1.1 200 OK\r\n" + CANARY.encode() + b"\r\n\r\n")
    connection.writer.close()


async def echo_as_retry(connection: Connection) -> None:
    await connection.send(whole(503, echo(connection), retry_after_ms="0"))


ECHOES = [
    echo_as_error,
    echo_as_text,
    echo_as_page,
    echo_as_bad_frame,
    echo_as_redirect,
    echo_as_type,
    echo_as_encoding,
    echo_as_request_id,
    echo_as_header,
    echo_as_retry,
]


@pytest.mark.parametrize("script", ECHOES, ids=lambda script: script.__name__[8:])
async def test_a_key_that_comes_back_is_not_shown(script, caplog, capfd):
    shown: list[str] = []
    with caplog.at_level(logging.DEBUG):
        async with RawServer(script) as server, client(server, api_key=CANARY) as llm:
            stream = llm.stream("hi")
            shown += [repr(llm), repr(stream), repr(stream.context)]
            try:
                async for event in stream:
                    shown.append(repr(event))
            except sf.StreamflowError as error:
                shown += [str(error), repr(error), repr(error.info()), repr(error.partial), repr(vars(error))]
                shown += traceback.format_exception(error)
                shown += [repr(error.__cause__), repr(error.__context__)]
            else:
                pytest.fail("this server gives no answer")
            shown += [repr(stream.response), repr(stream.stats)]
    shown += [caplog.text, *capfd.readouterr()]
    assert CANARY not in "\n".join(shown)
    assert any(CANARY in request.head.decode() for request in server.requests), "the key was sent, of course"


async def test_debugging_shows_counts_and_times_but_no_contents(caplog):
    with caplog.at_level(logging.DEBUG, "streamflow"):
        async with RawServer(hello) as server, client(server, api_key=CANARY) as llm:
            await llm.collect("hi")
    assert "read 1," in caplog.text
    assert "frames" in caplog.text
    assert "events" in caplog.text
    assert "Hel" not in caplog.text
    assert CANARY not in caplog.text


@pytest.fixture
def restored_logger():
    state = (LOGGER.level, list(LOGGER.handlers), LOGGER.propagate)
    LOGGER.handlers.clear()
    yield LOGGER
    LOGGER.level, LOGGER.handlers[:], LOGGER.propagate = state


def test_the_variable_switches_the_log_on_once(restored_logger, capfd):
    configure_logging({})
    assert restored_logger.handlers == []
    for _ in range(2):
        configure_logging({"STREAMFLOW_LOG": "debug"})
    assert len(restored_logger.handlers) == 1
    restored_logger.debug("Authorization: Bearer abcdefghijklmnop\nforged line")
    said = capfd.readouterr().err
    assert "abcdefgh" not in said
    assert said.count("\n") == 1


def test_a_program_that_logs_by_itself_is_left_alone(restored_logger):
    mine = logging.NullHandler()
    restored_logger.addHandler(mine)
    configure_logging({"STREAMFLOW_LOG": "info"})
    assert restored_logger.handlers == [mine]


def test_a_formatter_redacts_tracebacks():
    try:
        raise ValueError("x-api-key: abcdefghijk")
    except ValueError as error:
        record = logging.LogRecord("s", logging.ERROR, "", 0, "failed", (), (type(error), error, error.__traceback__))
    assert "abcdefghijk" not in RedactingFormatter("%(message)s").format(record)


def test_a_secret_hides_itself():
    secret = Secret(CANARY)
    assert CANARY not in f"{secret} {secret!r} {[secret]}"
    assert secret.scrub(f"<{CANARY}>") == "<[redacted]>"
    assert Secret(None).scrub("text") == "text"


async def test_no_key_survives_in_the_tasks_of_a_loop():
    async def silent(connection: Connection) -> None:
        await connection.closed()

    async with RawServer(silent) as server, client(server, api_key=CANARY) as llm:
        subscription = llm.stream("hi").subscribe(print)
        while not server.requests:
            await asyncio.sleep(0.001)
        assert CANARY not in "".join(map(repr, asyncio.all_tasks()))
        subscription.dispose()
