"""Speech over HTTP, from a real server on this machine."""

import pytest
import reactivex as rx
from aiohttp import web
from aiohttp.test_utils import TestServer

import streamflow as sf
from streamflow.audio import read_wave
from streamflow.errors import ProviderError, TransportError, UsageError
from streamflow.operators import speak
from streamflow.sinks.openai_speech import OpenAISpeech
from streamflow.testing import FakeProvider
from tests.support.voices import tone


@pytest.fixture
async def server():
    asked = []

    async def answer(request):
        body = await request.json()
        asked.append((request.headers.get("Authorization"), body))
        if body["input"] == "refuse":
            return web.json_response({"error": {"message": "no such voice"}}, status=400)
        if body["input"] == "busy":
            return web.Response(status=429)
        if body["input"] == "elsewhere":
            raise web.HTTPFound("/stolen")
        return web.Response(body=tone(len(body["input"]) * 0.1), content_type="audio/wav")

    app = web.Application()
    app.router.add_post("/v1/audio/speech", answer)
    async with TestServer(app) as running:
        running.asked = asked
        yield running


def voice_of(server, **options):
    return OpenAISpeech("tts-1", "alloy", base_url=str(server.make_url("/v1")), **options)


async def test_it_asks_as_the_api_wants_it(server):
    sound = await voice_of(server, api_key="sk-test-secret", speed=1.5).synthesize("Hello")
    assert read_wave(sound).duration_s == pytest.approx(0.5)
    key, body = server.asked[0]
    assert key == "Bearer sk-test-secret"
    assert body == {"model": "tts-1", "voice": "alloy", "response_format": "wav", "speed": 1.5, "input": "Hello"}


async def test_the_key_of_the_environment_goes_to_no_other_server(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-environment")
    await voice_of(server).synthesize("Hello")
    assert server.asked[0][0] is None


async def test_a_refusal_is_told_with_its_status(server):
    with pytest.raises(ProviderError, match="no such voice") as caught:
        await voice_of(server).synthesize("refuse")
    assert (caught.value.status, caught.value.retryable) == (400, False)
    with pytest.raises(ProviderError) as caught:
        await voice_of(server).synthesize("busy")
    assert caught.value.retryable


async def test_a_redirect_is_not_followed(server):
    with pytest.raises(ProviderError, match="302"):
        await voice_of(server, api_key="sk-test-secret").synthesize("elsewhere")


async def test_no_server_is_a_transport_error():
    with pytest.raises(TransportError):
        await OpenAISpeech(base_url="http://127.0.0.1:9/v1").synthesize("Hi")


async def test_sentences_in_order_over_one_pool(server):
    async with voice_of(server) as voice:
        texts = ["One.", "refuse", "Two, too."]
        out = [item async for item in sf.aiter(rx.from_iterable(texts).pipe(speak(voice)))]
    assert [getattr(item, "code", None) for item in out] == [None, "synthesis_failed", None]
    assert out[0].duration_s == pytest.approx(0.4)


def test_a_missing_key_is_told(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        OpenAISpeech()


async def test_the_fake_provider_is_such_a_server():
    async with FakeProvider() as fake:
        voice = OpenAISpeech("tts", "alloy", base_url=fake.base_url("openai"), api_key="sk-test-secret")
        sound = read_wave(await voice.synthesize("Good morning to all of you."))
    assert sound.duration_s > 0.2
    assert any(sound.pcm)
