"""A program that takes samples, played by one of our own."""

import asyncio

import pytest

from streamflow.errors import StreamflowError, UsageError
from streamflow.sinks.loudspeaker import PROGRAMS, Loudspeaker
from streamflow.sinks.player import AudioFrame


def frame(pcm=bytes(320), width=2):
    return AudioFrame(1, 0, pcm, 8000, 1, width, 0.0)


def shell(script):
    return {"sh": lambda rate, channels: ["-c", script.format(rate=rate, channels=channels)]}


async def test_all_samples_reach_the_program(tmp_path):
    path = tmp_path / "pcm"
    speaker = Loudspeaker(shell(f"cat > {path}.{{rate}}"))
    for number in range(5):
        speaker.play(frame(bytes([number]) * 320))
    await speaker.finish()
    assert (tmp_path / "pcm.8000").read_bytes() == b"".join(bytes([number]) * 320 for number in range(5))


async def test_silence_kills_the_program_at_once():
    speaker = Loudspeaker(shell("exec sleep 1000"))
    speaker.play(frame())
    while speaker._process is None:
        await asyncio.sleep(0)
    await speaker.silence()
    assert speaker._process.returncode == -9


async def test_a_program_that_fails_says_why():
    speaker = Loudspeaker(shell("echo no device >&2; exit 1"))
    speaker.play(frame())
    with pytest.raises(StreamflowError, match="no device"):
        await speaker.finish()


async def test_nothing_played_is_nothing_to_wait_for():
    speaker = Loudspeaker(shell("exit 1"))
    await speaker.finish()
    await speaker.silence()


async def test_other_samples_than_16_bits_are_refused():
    speaker = Loudspeaker(shell("cat > /dev/null"))
    speaker.play(frame(width=3))
    with pytest.raises(UsageError, match="16 bits"):
        await speaker.finish()


def test_no_program_names_those_that_would_do():
    with pytest.raises(UsageError, match="no-such-player"):
        Loudspeaker({"no-such-player": PROGRAMS["aplay"]})


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_told_the_format(name):
    arguments = " ".join(PROGRAMS[name](44100, 2))
    assert "44100" in arguments
    assert "2" in arguments
