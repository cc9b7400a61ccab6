"""``streamflow speak``: text or a provider's stream as sentences while it comes, and as sound."""

import asyncio
import codecs
import os
import sys
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import reactivex
import typer
from reactivex import operators as rx
from reactivex.subject import Subject
from rich.console import Console

from streamflow.audio import AudioSegment, Wave, join_waves
from streamflow.cli.output import Json, Quiet, console_for, print_json
from streamflow.errors import StreamflowError, UsageError
from streamflow.events import Chunk, Notice, Sentence
from streamflow.operators import normalize_provider, sentence_segment, speakable, wire_decode
from streamflow.operators import speak as speak_sentences
from streamflow.operators.speaking import Synthesizer
from streamflow.sinks.espeak import Espeak
from streamflow.sinks.loudspeaker import Loudspeaker
from streamflow.sinks.openai_speech import OpenAISpeech
from streamflow.sinks.player import PlaybackState, Player
from streamflow.stage import lift

READ_BYTES = 65536
KEY_VARIABLE = "STREAMFLOW_SPEECH_KEY"
_SERVER_HELP = f"Base URL of a server with /audio/speech, instead of espeak-ng; its key is in {KEY_VARIABLE}."


class Code(StrEnum):
    """What happens to code blocks."""

    skip = "skip"
    say = "say"
    read = "read"


class First(StrEnum):
    """What leaves first."""

    sentence = "sentence"
    clause = "clause"


class Settings(msgspec.Struct, frozen=True):
    """What the command line asked for."""

    file: str
    provider: str
    language: str
    out: str
    play: bool
    code: str
    first: str
    min_chars: int
    json: bool = False


def speak(
    file: Annotated[str, typer.Argument(help="A text, or the body of a response; - is standard input.")] = "-",
    provider: Annotated[str, typer.Option(help="Whose stream it is; without it the input is plain text.")] = "",
    out: Annotated[str, typer.Option(help="Write the sound to this wave file.")] = "",
    play: Annotated[bool | None, typer.Option(help="Play the sound (by default when there is no --out).")] = None,
    voice: Annotated[str, typer.Option(help="A voice of espeak-ng, or of the server.")] = "",
    words_per_minute: Annotated[int, typer.Option(help="How fast espeak-ng speaks.")] = 175,
    server: Annotated[str, typer.Option(help=_SERVER_HELP)] = "",
    model: Annotated[str, typer.Option(help="The server's model.")] = "tts-1",
    language: Annotated[str, typer.Option(help="The language of the text, for finding sentences.")] = "auto",
    min_chars: Annotated[int, typer.Option(help="Shorter sentences are joined; 0 joins none.", min=0)] = 60,
    first: Annotated[First, typer.Option(help="Whether a clause may leave first.")] = First.sentence,
    code: Annotated[Code, typer.Option(help="Skip code blocks, say that there was one, or read them.")] = Code.skip,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Speak a text or a provider's stream while it comes: each sentence is shown when it is cut, with its delay.

    Ctrl-C silences at once and tells what was heard. Exit code 3: the stream failed or was cut.

    Examples:

      streamflow speak README.md --out readme.wav

      curl -N https://api.example/v1/chat/completions ... | streamflow speak --provider openai
    """
    settings = Settings(
        file, provider, language, out, play if play is not None else not out, code, first, min_chars, json
    )
    if server:
        key = os.environ.get(KEY_VARIABLE, "")
        synthesizer: Synthesizer = OpenAISpeech(model, voice or "alloy", base_url=server, api_key=key)
    else:
        synthesizer = Espeak(voice or "en", words_per_minute)
    error = asyncio.run(_Session(settings, synthesizer, console_for(quiet)).run())
    if error is not None:
        raise error


class _Utf8:
    """Bytes to text, character by character, as a stage: so the delay of a sentence is that of its own characters."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")

    def feed(self, data: bytes) -> list[str]:
        return list(self._decoder.decode(data))

    def flush(self) -> list[str]:
        return list(self._decoder.decode(b"", final=True))

    def abort(self, error: BaseException) -> list[str]:
        return self.flush()


class _Session:
    """One run: read, cut, speak, play or write."""

    def __init__(self, settings: Settings, synthesizer: Synthesizer, console: Console) -> None:
        self._settings = settings
        self._synthesizer = synthesizer
        self._console = console
        self._player = Player()
        self._loudspeaker = Loudspeaker() if settings.play else None
        self._waves: list[Wave] = []
        self._spoken = 0
        self._failure = ""
        self._read = 0
        self._begun = time.monotonic()
        self._error: Exception | None = None

    async def run(self) -> StreamflowError | None:
        """Until the last sound; what went wrong with the stream."""
        over = asyncio.Event()
        source = self._source(asyncio.get_running_loop())
        cut = source.pipe(
            rx.do_action(self._count),
            speakable(code=self._settings.code),
            sentence_segment(self._settings.language, min_chars=self._settings.min_chars, first=self._settings.first),
            rx.do_action(self._show_sentence),
        )
        played = self._player.played if self._loudspeaker is not None else None
        segments = cut.pipe(
            speak_sentences(self._synthesizer, played=played), rx.do_action(self._take, on_error=self._failed)
        )
        try:
            if self._loudspeaker is None:
                segments.subscribe(lambda _: None, lambda _: over.set(), over.set)
                await over.wait()
            else:
                self._player.frames.subscribe(self._loudspeaker.play)
                self._player.state.pipe(rx.distinct_until_changed(_name)).subscribe(self._show_state)
                self._player.play(segments, text=source)
                await self._player.wait()
                await self._loudspeaker.finish()
        except asyncio.CancelledError:
            await self._stop()
            raise
        finally:
            self._write()
        if self._error is None and self._failure and not self._spoken:
            return StreamflowError(f"nothing could be spoken: {self._failure}")
        if self._error is None or isinstance(self._error, StreamflowError):
            return self._error
        raise self._error

    async def _stop(self) -> None:
        heard = self._player.interrupt()
        if self._loudspeaker is not None:
            await self._loudspeaker.silence()
            self._print(f"stopped; heard: {heard!r}")

    def _source(self, loop: asyncio.AbstractEventLoop) -> reactivex.Observable[Any]:
        data: Subject[bytes] = Subject()
        _read_in_thread(self._settings.file, loop, data)
        if self._settings.provider:
            name = self._settings.provider
            return data.pipe(wire_decode(name), normalize_provider(name))
        return data.pipe(lift(_Utf8, "utf8"))

    def _count(self, item: Any) -> None:
        if isinstance(item, str):
            self._read += len(item)
        elif isinstance(item, Chunk) and item.visible:
            self._read = max(self._read + len(item.text), item.start + len(item.text))

    def _print(self, line: str, style: str = "", **told: Any) -> None:
        """A line for people, or what it tells as JSON."""
        t = time.monotonic() - self._begun
        if not self._settings.json:
            self._console.print(f"{t:6.2f} s  {line}", markup=False, style=style, soft_wrap=True)
        elif not self._console.quiet:
            print_json({"t": round(t, 3), **(told or {"type": "Notice", "message": line})})

    def _show_sentence(self, item: Any) -> None:
        if isinstance(item, Sentence):
            delay = max(0, self._read - item.end)
            text = " ".join(item.text.split())
            line = f"{item.index + 1:>3}  +{delay} chars  {text}"
            self._print(line, type="Sentence", index=item.index, text=text, late_by=delay)

    def _show_state(self, state: PlaybackState) -> None:
        self._print(f"[{state.state}]", "dim", type="Playback", state=state.state)

    def _take(self, item: Any) -> None:
        if isinstance(item, AudioSegment):
            self._spoken += 1
            if self._settings.out:
                self._waves.append(item.wave)
            line = f"{item.index + 1:>3}  sound of {item.duration_s:.2f} s"
            self._print(line, "green", type="Sound", index=item.index, duration_s=round(item.duration_s, 3))
        elif isinstance(item, Notice):
            self._failure = item.message if item.code == "synthesis_failed" else self._failure
            self._print(f"{item.code}: {item.message}", "yellow")

    def _failed(self, error: Exception) -> None:
        self._error = error

    def _write(self) -> None:
        if not self._settings.out:
            return
        if not self._waves:
            self._print("nothing was said; no file is written", "yellow")
            return
        wave = join_waves(self._waves)
        try:
            Path(self._settings.out).write_bytes(wave.file())
        except OSError as error:
            raise UsageError(f"cannot write {self._settings.out}: {error.strerror}") from error
        self._print(f"{self._settings.out}: {wave.duration_s:.2f} s")


def _name(state: PlaybackState) -> str:
    return state.state


def _read_in_thread(file: str, loop: asyncio.AbstractEventLoop, data: Subject[bytes]) -> None:
    """A read that blocks must block neither the loop nor Ctrl-C, so its thread is a daemon and reads the descriptor."""
    try:
        descriptor = sys.stdin.fileno() if file == "-" else os.open(file, os.O_RDONLY)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}; give the path of a text, or - for stdin") from error

    def tell(action: Callable[..., None], *args: Any) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(action, *args)

    def read() -> None:
        while piece := os.read(descriptor, READ_BYTES):
            tell(data.on_next, piece)
        tell(data.on_completed)

    threading.Thread(target=read, name="streamflow-read", daemon=True).start()
