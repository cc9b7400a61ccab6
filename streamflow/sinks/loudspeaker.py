"""The sound of this machine: a program that plays samples from its standard input."""

import asyncio
import shutil
from collections.abc import Callable

from streamflow.errors import StreamflowError, UsageError
from streamflow.sinks.player import AudioFrame

_Arguments = Callable[[int, int], list[str]]

# Programs that play 16 bit samples from a pipe, by (sample rate, channels); the first that is installed is taken.
PROGRAMS: dict[str, _Arguments] = {
    "pw-play": lambda rate, channels: ["--format=s16", f"--rate={rate}", f"--channels={channels}", "-"],
    "paplay": lambda rate, channels: ["--raw", "--format=s16le", f"--rate={rate}", f"--channels={channels}"],
    "aplay": lambda rate, channels: ["-q", "-t", "raw", "-f", "S16_LE", "-r", f"{rate}", "-c", f"{channels}", "-"],
    "ffplay": lambda rate, channels: [
        *("-nodisp", "-autoexit", "-loglevel", "error", "-fflags", "nobuffer"),
        *("-f", "s16le", "-ar", f"{rate}", "-ac", f"{channels}", "-i", "-"),
    ],
}


class Loudspeaker:
    """Plays frames through the first of the known programs; `silence()` kills it, so that nothing more is heard.

    >>> "aplay" in PROGRAMS
    True
    """

    def __init__(self, programs: dict[str, _Arguments] | None = None) -> None:
        known = PROGRAMS if programs is None else programs
        found = next(((path, known[name]) for name in known if (path := shutil.which(name))), None)
        if found is None:
            raise UsageError(f"no program that plays sound was found; install one of {', '.join(known)}")
        self._program, self._arguments = found
        self._frames: asyncio.Queue[AudioFrame | None] = asyncio.Queue()
        self._process: asyncio.subprocess.Process | None = None
        self._work: asyncio.Task[None] | None = None

    def play(self, frame: AudioFrame) -> None:
        """Send a frame; the program is started with the first one."""
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._play_all())
        self._frames.put_nowait(frame)

    async def finish(self) -> None:
        """Let the rest be heard."""
        if self._work is not None:
            self._frames.put_nowait(None)
            await self._work

    async def silence(self) -> None:
        """End the sound at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    async def _play_all(self) -> None:
        frame = await self._frames.get()
        if frame is None:
            return
        if frame.sample_width != 2:
            raise UsageError(f"samples of 16 bits are needed, these have {8 * frame.sample_width}")
        arguments = self._arguments(frame.sample_rate, frame.channels)
        pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = self._process = await asyncio.create_subprocess_exec(
            self._program, *arguments, stdin=pipe, stdout=nowhere, stderr=pipe
        )
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            while frame is not None:
                process.stdin.write(frame.pcm)
                await process.stdin.drain()
                frame = await self._frames.get()
            process.stdin.close()
            complaint = await process.stderr.read()
        except ConnectionError:  # the program went away; it said why
            complaint = await process.stderr.read()
        finally:
            if process.returncode is None and not process.stdin.is_closing():
                process.kill()
            await process.wait()
        if process.returncode:
            raise StreamflowError(f"{self._program} failed: {complaint.decode(errors='replace').strip()[:500]}")
