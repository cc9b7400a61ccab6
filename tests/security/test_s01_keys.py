"""S1: a key is in no error, log, recording, repr, traceback, metric or byte that leaves the program."""

import logging
import os
import pickle
import subprocess
import sys
import traceback

import orjson
import pytest

import streamflow as sf
from streamflow.errors import redact_secrets
from streamflow.recordings import RecordingWriter
from streamflow.testing import (
    Answer,
    Bytes,
    Cut,
    Drop,
    ErrorEvent,
    FakeProvider,
    HttpError,
    Page,
    RawHttp,
    Reset,
    Text,
    gzip_bomb,
    redirect,
)
from tests.server.serving import serving
from tests.sources.test_client import client
from tests.support.raw_server import CHUNKED, Connection, RawServer, chunk, whole

CANARY = "plain-canary-key-that-no-pattern-knows"
ENDINGS = {
    "cut": Answer("Hello ", Cut()),
    "drop": Answer("Hello ", Drop()),
    "reset": Answer("Hello ", Reset()),
    "error event": Answer("Hello ", ErrorEvent(f"your key {CANARY} is spent")),
    "bad frame": Answer("Hello ", Bytes(b"data: {" + CANARY.encode() + b"\n\n")),
    "text": Answer(f"You sent me {CANARY}."),
    "refused": HttpError(401, f"wrong key {CANARY}"),
    "busy": HttpError(503, f"busy, {CANARY}", headers={"retry-after-ms": "0"}),
    "page": Page(f"<html>{CANARY}"),
    "moved": redirect(f"http://127.0.0.1:1/{CANARY}"),
    "bomb": gzip_bomb(40_000_000),
    "no answer": RawHttp(CANARY.encode() + b"\r\n\r\n"),
}
PROVIDERS = ["openai", "anthropic", "gemini", "bedrock", "cohere"]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("ending", ENDINGS)
async def test_s01_no_ending_of_a_stream_shows_the_key(ending, provider, tmp_path, caplog, capfd):
    path = tmp_path / "answer.jsonl"
    shown: list[str] = []
    with caplog.at_level(logging.DEBUG):
        async with FakeProvider(ENDINGS[ending]) as fake:
            llm = sf.connect(
                provider,
                model="m",
                api_key=CANARY,
                base_url=fake.base_url(provider),
                max_retries=1,
                max_event_bytes=1_000_000,
                **({"region": "us-east-1"} if provider == "bedrock" else {}),
            )
            async with llm:
                stream = llm.stream("hi", record=path)
                try:
                    async for event in stream:
                        # What the model says is the model's: only what is about the stream is ours.
                        shown.append("" if ending == "text" else repr(event))
                except sf.StreamflowError as error:
                    shown += [str(error), repr(error), repr(vars(error)), repr(error.info()), *error.args]
                    shown += traceback.format_exception(error)
                    shown.append(repr(pickle.loads(pickle.dumps(error))))
                shown += [repr(llm), repr(stream), repr(stream.stats)]
    shown += [caplog.text, *capfd.readouterr(), path.read_text()]
    assert CANARY not in "\n".join(shown)


@pytest.mark.parametrize("pad", range(120, 320, 7))
async def test_s01_an_excerpt_does_not_end_inside_the_key(pad):
    async def echo(connection: Connection) -> None:
        body = b"<html>" + b"." * pad + CANARY.encode() * 2
        status = 200 if pad % 2 else 400
        await connection.send(whole(status, body, content_type="text/html"))

    async with RawServer(echo) as server, client(server, api_key=CANARY, max_retries=0) as llm:
        with pytest.raises(sf.StreamflowError) as caught:
            await llm.collect("hi")
    assert CANARY[:8] not in str(caught.value)
    assert CANARY[-8:] not in str(caught.value)


@pytest.mark.parametrize("size", [1, 2, 5, 17, len(CANARY) - 1])
def test_s01_a_recording_masks_a_key_however_the_bytes_are_cut(tmp_path, size):
    data = b"data: " + CANARY.encode() + b" and " + CANARY[:-1].encode() + b"\n\n"
    path = tmp_path / "r.jsonl"
    writer = RecordingWriter(path, provider="openai", secrets=[CANARY])
    for at in range(0, len(data), size):
        writer.write(float(at), data[at : at + size])
    writer.end("completed", 99.0)
    recording = sf.load_recording(path)
    assert recording.data == data.replace(CANARY.encode(), b"*" * len(CANARY))
    assert [piece.t for piece in recording.pieces] == [float(at) for at in range(0, len(data), size)]


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdefghijklmnop",
        "authorization=abcdefghijklmnop",
        "{'x-api-key': 'abcdefghijklmnop'}",
        '{"api_key": "abcdefghijklmnop"}',
        "x-goog-api-key: abcdefghijklmnop",
        "?api-key=abcdefghijklmnop&x=1",
        "sk-abcdefghijklmnop",
        "sk-ant-abcdefghijklmnop",
        "gsk_abcdefghijklmnop",
        "hf_abcdefghijklmnop",
        "xai-abcdefghijklmnop",
        "AIzaabcdefghijklmnop-abcdefghijklmnop",
        "?key=abcdefghijklmnop",
        "AWSAccessKeyId=AKIAABCDEFGHIJKLMNOP",
        "AKIAABCDEFGHIJKLMNOP abcdefghijklmnop",
    ],
)
def test_s01_keys_of_others_are_known_by_their_form(text):
    said = redact_secrets(text)
    assert "[redacted]" in said
    assert "abcdefghijklmnop" not in said or text.startswith("AKIA")
    assert "AKIAABCDEFGH" not in said


@pytest.mark.parametrize("text", ["the key = value pairs", "a monkey: 17", "sk-learn is fine", "task-based-plan"])
def test_s01_ordinary_words_are_left_alone(text):
    assert redact_secrets(text) == text


async def test_s01_no_client_of_a_server_learns_the_key(caplog):
    key = "sk-canary-0123456789"  # the one of `serving`
    spent = ErrorEvent(f"the key {key} is spent")
    with caplog.at_level(logging.DEBUG):
        async with serving(Answer(Text("Hello "), spent), HttpError(401, f"wrong: {key}")) as served:
            said: list[str] = []
            for _ in range(2):
                said.append(str(await served.events(await served.begin("hello"))))
            for path in ("/metrics", "/healthz", "/v1/models", "/page/settings.json"):
                async with served.session.get(served.root + path) as response:
                    said.append(await response.text() + str(response.headers))
            for path in ("/v1/chat/completions", "/v1/messages"):
                body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
                async with served.session.post(served.root + path, json=body) as response:
                    said.append(await response.text())
    assert "canary" not in "".join(said) + caplog.text


@pytest.mark.parametrize("verb", [["chat", "openai", "--model", "m"], ["doctor"]])
def test_s01_the_command_line_shows_no_key(verb):
    def echo(ask) -> HttpError:
        return HttpError(401, f"wrong key {CANARY}")

    with FakeProvider(echo) as fake:
        environ = {
            **os.environ,
            "OPENAI_API_KEY": CANARY,
            "OPENAI_BASE_URL": fake.base_url("openai"),
            "STREAMFLOW_LOG": "debug",
        }
        done = subprocess.run(
            [sys.executable, "-m", "streamflow", *verb],
            input="hello\n",
            capture_output=True,
            text=True,
            timeout=60,
            env=environ,
        )
    assert done.stdout + done.stderr
    assert CANARY not in done.stdout + done.stderr


async def test_s01_a_request_hides_its_headers_when_shown():
    request = sf.build_request("openai", "hi", model="m", api_key=CANARY)
    assert CANARY not in repr(request) + str(request)
    assert CANARY in str(dict(request.headers))  # it is sent, of course


async def test_s01_a_key_inside_a_broken_frame_is_not_in_the_notice():
    async def script(connection: Connection) -> None:
        bad = b"data: {" + CANARY.encode() + b"\n\n"
        good = b"data: " + orjson.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + b"\n\n"
        await connection.send(CHUNKED + chunk(bad + good + b"data: [DONE]\n\n") + b"0\r\n\r\n")

    async with RawServer(script) as server, client(server, api_key=CANARY) as llm:
        events = [event async for event in llm.stream("hi", on_bad_frame="skip")]
    notices = [event for event in events if isinstance(event, sf.events.Notice)]
    assert notices
    assert CANARY not in "".join(notice.message for notice in notices)
