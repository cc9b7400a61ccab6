"""A small voice for the simulator: espeak-ng where it is installed, a tone where it is not."""

import asyncio
import io
import math
import shutil
import struct
import wave
from array import array
from sys import byteorder

MAX_INPUT = 4096
"""Characters in one request, as with the real service."""

_HEADER_BYTES = 44
_TONE_RATE = 24_000
_TONE_HZ = 440
_TONE_S_PER_LETTER = 0.01
_TONE_MAX_S = 2.0


async def spoken(text: str, speed: float = 1.0) -> bytes:
    """A wave with this text spoken.

    >>> import asyncio
    >>> asyncio.run(spoken("Hello"))[:4]
    b'RIFF'
    """
    program = shutil.which("espeak-ng")
    if program is None:
        return tone(text)
    words_per_minute = str(max(80, min(450, round(175 * speed))))
    process = await asyncio.create_subprocess_exec(
        program,
        "--stdin",
        "--stdout",
        "-s",
        words_per_minute,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        out, _ = await process.communicate(text.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if len(out) <= _HEADER_BYTES:  # nothing to say in this text
        return _wave(b"", _TONE_RATE)
    # Written to a pipe, the header cannot know the length: the samples get a new one.
    (rate,) = struct.unpack_from("<I", out, 24)
    return _wave(out[_HEADER_BYTES:], rate)


def tone(text: str) -> bytes:
    """A wave with a tone as long as the text would take, two seconds at most.

    >>> tone("hello")[8:12]
    b'WAVE'
    """
    count = int(_TONE_RATE * min(_TONE_MAX_S, _TONE_S_PER_LETTER * len(text)))
    step = 2 * math.pi * _TONE_HZ / _TONE_RATE
    samples = array("h", (int(8000 * math.sin(step * place)) for place in range(count)))
    if byteorder == "big":
        samples.byteswap()
    return _wave(samples.tobytes(), _TONE_RATE)


def samples_of(data: bytes) -> bytes:
    """The samples of a wave without its header.

    >>> len(samples_of(tone("a"))) == 2 * int(_TONE_RATE * _TONE_S_PER_LETTER)
    True
    """
    with wave.open(io.BytesIO(data)) as sound:
        return bytes(sound.readframes(sound.getnframes()))


def _wave(samples: bytes, rate: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(samples)
    return out.getvalue()
