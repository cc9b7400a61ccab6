"""The simulator's voice: waves that can be read, with and without espeak-ng."""

import io
import os
import shutil
import wave

import pytest

from streamflow.testing.speech import samples_of, spoken, tone


def _seconds(data):
    with wave.open(io.BytesIO(data)) as sound:
        assert (sound.getnchannels(), sound.getsampwidth()) == (1, 2)
        return sound.getnframes() / sound.getframerate()


def test_a_tone_is_as_long_as_its_text():
    assert _seconds(tone("a" * 50)) == pytest.approx(0.5, abs=0.01)
    assert _seconds(tone("a" * 9999)) == pytest.approx(2.0, abs=0.01)
    assert len(samples_of(tone("aa"))) == 960


async def test_without_espeak_there_is_a_tone(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert await spoken("hello") == tone("hello")


async def test_espeak_speaks():
    if shutil.which("espeak-ng") is None:
        if os.environ.get("STREAMFLOW_REQUIRE_ALL") == "1":
            pytest.fail("espeak-ng is not installed")
        pytest.skip("espeak-ng is not installed")
    short, long = [_seconds(await spoken(text)) for text in ("Hello.", "Hello, this is a rather long sentence.")]
    assert 0.2 < short < long < 10
    assert _seconds(await spoken("Hello, this is a rather long sentence.", speed=2.0)) < long
    assert await spoken("-w /tmp/never") != b""
