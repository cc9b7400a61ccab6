"""The real program: wave files of the right length, no blocking, no process left behind."""

import asyncio
import os

import pytest
import reactivex as rx

import streamflow as sf
from streamflow.audio import join_waves, read_wave
from streamflow.errors import StreamflowError, UsageError
from streamflow.operators import speak
from streamflow.sinks import espeak
from streamflow.sinks.espeak import Espeak

SENTENCES = [
    "The museum opens at ten.",
    "Every ticket is good for two days, and children come in free.",
    "Would you like to see the garden first?",
    "It closes when the sun goes down!",
]


@pytest.fixture
def voice():
    if not Espeak.installed():
        if os.environ.get("STREAMFLOW_REQUIRE_ALL") == "1":
            pytest.fail("espeak-ng is not installed")
        pytest.skip("espeak-ng is not installed")
    return Espeak("en", words_per_minute=175)


async def test_a_real_wave_file_is_as_long_as_its_sentences(voice, tmp_path):
    segments = [item async for item in sf.aiter(rx.from_iterable(SENTENCES).pipe(speak(voice)))]
    assert [segment.sentence.text for segment in segments] == SENTENCES
    path = tmp_path / "speech.wav"
    path.write_bytes(join_waves(segment.wave for segment in segments).file())
    spoken = read_wave(path.read_bytes())
    whole = read_wave(await voice.synthesize(" ".join(SENTENCES)))
    assert spoken.duration_s == pytest.approx(whole.duration_s, rel=0.2)
    words = sum(len(sentence.split()) for sentence in SENTENCES)
    assert spoken.duration_s == pytest.approx(words / 175 * 60, rel=0.2)
    assert any(spoken.pcm), "not silence"


async def test_the_loop_goes_on_while_it_speaks(voice):
    making = asyncio.create_task(voice.synthesize(" ".join(SENTENCES * 20)))
    turns = 0
    while not making.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 10
    assert read_wave(await making).duration_s > 60


async def test_a_cancelled_sentence_leaves_no_process(voice, monkeypatch):
    processes = []
    create = asyncio.create_subprocess_exec

    async def note(*args, **options):
        processes.append(await create(*args, **options))
        return processes[-1]

    monkeypatch.setattr(espeak.asyncio, "create_subprocess_exec", note)
    making = asyncio.create_task(voice.synthesize(" ".join(SENTENCES * 400)))
    while not processes:
        await asyncio.sleep(0)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert processes[0].returncode == -9


async def test_two_languages_and_other_scripts(voice):
    german = read_wave(await Espeak("de").synthesize("Guten Morgen, schöne Welt."))
    assert german.duration_s > 0.5
    assert german != read_wave(await voice.synthesize("Guten Morgen, schöne Welt."))


async def test_text_that_looks_like_an_option_is_text(voice):
    assert read_wave(await voice.synthesize("--help -v xx")).duration_s > 0.3


async def test_an_unknown_voice_is_told(voice):
    with pytest.raises(StreamflowError, match="espeak-ng failed"):
        await Espeak("zzz").synthesize("Hi.")


@pytest.mark.parametrize("options", [{"voice": "-w/etc/x"}, {"voice": ""}, {"words_per_minute": 5}, {"pitch": 100}])
def test_wrong_options_are_told(voice, options):
    with pytest.raises(UsageError, match=next(iter(options))):
        Espeak(**options)


def test_a_missing_program_names_what_to_install(monkeypatch):
    monkeypatch.setattr(espeak.shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="apt-get install espeak-ng"):
        Espeak()
