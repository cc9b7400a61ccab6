"""espeak-ng as a synthesizer: offline, small, about a hundred languages. Each sentence is a process of its own."""

import asyncio
import shutil

from streamflow.errors import StreamflowError, UsageError

_PROGRAM = "espeak-ng"
_INSTALL = "espeak-ng is not installed; on Debian: apt-get install espeak-ng"


class Espeak:
    """Speaks with the program espeak-ng. The loop is never blocked; a cancelled sentence's process is killed.

    ``voice`` is a language or a voice of espeak-ng (``"en"``, ``"de"``, ``"fr+f3"``). For offline use.

    >>> Espeak.installed() in (True, False)
    True
    """

    def __init__(self, voice: str = "en", words_per_minute: int = 175, pitch: int = 50) -> None:
        program = shutil.which(_PROGRAM)
        if program is None:
            raise UsageError(_INSTALL)
        if voice.startswith("-") or not voice:
            raise UsageError(f"Espeak(voice={voice!r}): a voice is needed, as `espeak-ng --voices` lists them")
        if not 80 <= words_per_minute <= 450:
            raise UsageError(f"Espeak(words_per_minute={words_per_minute!r}): 80 to 450 are possible")
        if not 0 <= pitch <= 99:
            raise UsageError(f"Espeak(pitch={pitch!r}): 0 to 99 are possible")
        options = {"-v": voice, "-s": words_per_minute, "-p": pitch, "-b": 1}  # -b 1: the text is UTF-8
        self._command = [program, "--stdin", "--stdout", *(str(word) for pair in options.items() for word in pair)]

    @staticmethod
    def installed() -> bool:
        """Whether the program is there."""
        return shutil.which(_PROGRAM) is not None

    async def synthesize(self, text: str) -> bytes:
        """The text as a wave file."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe, stderr=pipe)
        try:
            sound, complaint = await process.communicate(text.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise StreamflowError(f"espeak-ng failed: {complaint.decode(errors='replace').strip()}")
        return sound
