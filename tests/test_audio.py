"""Wave files as data."""

import io
import struct
import wave

import pytest

from streamflow.audio import AudioSegment, Wave, join_waves, read_wave
from streamflow.encoding import to_json
from streamflow.errors import ProtocolError, UsageError
from streamflow.events import Sentence

TONE = Wave(16000, 2, 2, bytes(range(240)) * 4)


def test_the_standard_library_reads_what_is_written():
    with wave.open(io.BytesIO(TONE.file())) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 2, 2)
        assert file.readframes(file.getnframes()) == TONE.pcm


def test_what_the_standard_library_writes_is_read():
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, 22050, 0, "NONE", ""))
        file.writeframes(bytes(100))
    assert read_wave(buffer.getvalue()) == Wave(22050, 1, 2, bytes(100))


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFF000])
def test_sizes_of_a_streaming_writer_mean_up_to_the_end(size):
    data = bytearray(TONE.file())
    data[40:44] = struct.pack("<I", size)
    assert read_wave(bytes(data)) == TONE
    segment = AudioSegment.of(Sentence(0, "Hi."), bytes(data))
    assert segment.audio == TONE.file(), "the header is put right"


def test_other_chunks_are_passed_over():
    data = TONE.file()
    extra = data[:36] + b"LIST" + struct.pack("<I", 3) + b"abc\0" + data[36:]
    assert read_wave(extra) == TONE


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a wave"),
        (b"\xff\xfb\x90\x00" * 5, "not a wave"),
        (TONE.file()[:36], "without samples"),
        (TONE.file()[:20] + b"\x03\x00" + TONE.file()[22:], "another kind than PCM"),
        (TONE.file()[:12] + b"data\x02\0\0\0ab", "does not say its format"),
    ],
)
def test_what_is_no_wave_file_is_told(data, words):
    with pytest.raises(ProtocolError, match=words):
        read_wave(data)


def test_half_a_sample_at_the_end_is_dropped():
    assert read_wave(TONE.file()[:-1]).pcm == TONE.pcm[:-4]


def test_frames_join_to_the_whole():
    assert b"".join(TONE.frames(0.003)) == TONE.pcm


def test_joining_keeps_the_length_and_refuses_a_mixture():
    joined = join_waves([TONE, TONE], pause_s=0.5)
    assert joined.duration_s == pytest.approx(2 * TONE.duration_s + 0.5)
    with pytest.raises(UsageError, match="one sample rate"):
        join_waves([TONE, Wave(8000, 1, 2, b"")])
    with pytest.raises(UsageError, match="at least one"):
        join_waves([])


def test_a_segment_shows_itself_as_a_player_and_escapes_its_text():
    page = AudioSegment.of(Sentence(0, "a <b>"), TONE.file())._repr_html_()
    assert '<audio controls src="data:audio/wav;base64,UklGR' in page
    assert "a &lt;b&gt;" in page


def test_a_segment_has_a_json_form():
    assert b'"type":"AudioSegment"' in to_json(AudioSegment.of(Sentence(0, "Hi."), TONE.file()))


def test_a_segment_prints_short():
    assert repr(AudioSegment.of(Sentence(3, "Hi. "), TONE.file())) == "AudioSegment(3, 'Hi.')"
