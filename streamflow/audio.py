"""Audio as data: wave files, and the segments that a voice is made of. No device, no process, no clock."""

import base64
import html
import struct
from collections.abc import Iterable

import msgspec

from streamflow.errors import ProtocolError, UsageError
from streamflow.events import Sentence

_PCM = 1
_EXTENSIBLE = 0xFFFE  # PCM too, with more fields after the usual ones


class Wave(msgspec.Struct, frozen=True):
    """The content of a wave file.

    >>> Wave(8000, 1, 2, bytes(16000)).duration_s
    1.0
    """

    sample_rate: int
    channels: int
    sample_width: int
    pcm: bytes

    @property
    def frame_bytes(self) -> int:
        """Bytes of one sample of all channels."""
        return self.channels * self.sample_width

    @property
    def duration_s(self) -> float:
        """How long it plays."""
        return len(self.pcm) / (self.frame_bytes * self.sample_rate)

    def file(self) -> bytes:
        """The bytes of a wave file.

        >>> read_wave(Wave(8000, 1, 2, bytes(4)).file()) == Wave(8000, 1, 2, bytes(4))
        True
        """
        rate, bits = self.sample_rate * self.frame_bytes, 8 * self.sample_width
        form = struct.pack("<HHIIHH", _PCM, self.channels, self.sample_rate, rate, self.frame_bytes, bits)
        head = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(self.pcm))
        return b"RIFF" + struct.pack("<I", len(head) + len(self.pcm)) + head + self.pcm

    def frames(self, frame_s: float) -> Iterable[bytes]:
        """The samples in stretches of `frame_s` seconds; the last may be shorter.

        >>> [len(frame) for frame in Wave(8000, 1, 2, bytes(800)).frames(0.02)]
        [320, 320, 160]
        """
        step = max(1, round(frame_s * self.sample_rate)) * self.frame_bytes
        return (self.pcm[at : at + step] for at in range(0, len(self.pcm), step))


def read_wave(data: bytes) -> Wave:
    """Read a wave file. Sizes that a streaming writer could not know (0, or all ones) are taken as "up to the end".

    >>> read_wave(b"ID3")
    Traceback (most recent call last):
    streamflow.errors.ProtocolError: not a wave file: it begins with b'ID3'
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ProtocolError(f"not a wave file: it begins with {data[:12]!r}")
    at, form = 12, b""
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        body = at + 8
        if name == b"fmt ":
            form = data[body : body + size]
        elif name == b"data":
            return _samples(form, data[body : body + size] if 0 < size <= len(data) - body else data[body:])
        at = body + size + size % 2
    raise ProtocolError("a wave file without samples")


def _samples(form: bytes, pcm: bytes) -> Wave:
    if len(form) < 16:
        raise ProtocolError("a wave file that does not say its format")
    kind, channels, rate, _, _, bits = struct.unpack("<HHIIHH", form[:16])
    if kind not in (_PCM, _EXTENSIBLE) or not (channels and rate and bits) or bits % 8:
        raise ProtocolError(f"a wave file with samples of another kind than PCM (format {kind}, {bits} bits)")
    width = bits // 8
    return Wave(rate, channels, width, pcm[: len(pcm) // (channels * width) * (channels * width)])


class AudioSegment(msgspec.Struct, frozen=True, tag=True):
    """A spoken sentence: ``audio`` is a wave file. In a notebook it shows itself as a player.

    >>> AudioSegment.of(Sentence(0, "Hi."), Wave(8000, 1, 2, bytes(8000)).file()).duration_s
    0.5
    """

    index: int
    sentence: Sentence
    audio: bytes
    sample_rate: int
    duration_s: float

    @classmethod
    def of(cls, sentence: Sentence, data: bytes) -> "AudioSegment":
        """The segment that a synthesizer's wave file makes; its header is put right where it lied about sizes."""
        wave = read_wave(data)
        return cls(sentence.index, sentence, wave.file(), wave.sample_rate, wave.duration_s)

    @property
    def wave(self) -> Wave:
        """The samples."""
        return read_wave(self.audio)

    def __repr__(self) -> str:
        return f"AudioSegment({self.index}, {self.sentence.text.strip()!r})"  # not a million bytes

    def _repr_html_(self) -> str:
        source = base64.b64encode(self.audio).decode()
        text = html.escape(self.sentence.text.strip())
        return (
            f'<figure style="margin:0"><figcaption>{text} <small>({self.duration_s:.2f} s)</small></figcaption>'
            f'<audio controls src="data:audio/wav;base64,{source}"></audio></figure>'
        )


def join_waves(waves: Iterable[Wave], pause_s: float = 0.0) -> Wave:
    """One wave after the other, with silence between.

    >>> join_waves([Wave(8000, 1, 2, bytes(800)), Wave(8000, 1, 2, bytes(800))], pause_s=0.1).duration_s
    0.2
    """
    parts = list(waves)
    if not parts:
        raise UsageError("join_waves() needs at least one wave")
    first = parts[0]
    if len({(part.sample_rate, part.channels, part.sample_width) for part in parts}) > 1:
        raise UsageError("join_waves() needs waves of one sample rate, width and number of channels")
    pause = bytes(round(pause_s * first.sample_rate) * first.frame_bytes)
    return msgspec.structs.replace(first, pcm=pause.join(part.pcm for part in parts))
