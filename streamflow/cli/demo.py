"""``streamflow demo``: simulator, client, flow and three branches side by side. No network, no key."""

import asyncio
import time
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text as Line

from streamflow.audio import AudioSegment, join_waves
from streamflow.cli.output import Json, Quiet, print_json
from streamflow.events import Chunk, Sentence, StreamCompleted, ToolCallsReady, Usage
from streamflow.flow import Flow
from streamflow.flows import chat, voice
from streamflow.fold import collect
from streamflow.operators import sentence_segment, speakable, tool_accumulate
from streamflow.pipeline import decode
from streamflow.sinks.espeak import Espeak
from streamflow.sinks.transcript import Transcript
from streamflow.sources.client import connect
from streamflow.testing import Answer, FakeProvider, Text, Thinking, ToolUse

RECORDING = "anthropic.demo.wire"
_CUTS = (1, 7, 64)
_ANSWER = (
    Thinking("They ask for the weather in Rome, and they like it short. I have a tool for the forecast."),
    Text(
        "It is **sunny** in Rome today, about 24.5 °C. Dr. Rossi says: take a hat! "
        "The forecast for tomorrow follows as soon as I have looked it up."
    ),
    ToolUse("get_weather", {"city": "Rome", "day": "tomorrow"}),
)


def demo(
    speed: Annotated[float, typer.Option(help="How fast the simulated model writes; 0 is at once.", min=0.0)] = 1.0,
    audio: Annotated[Path | None, typer.Option(help="Write what the voice says to this wave file.")] = None,
    transcript: Annotated[Path | None, typer.Option(help="Write the transcript here (.jsonl or .md).")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the real thing offline: a simulated provider, the client, and a flow with three branches.

    Shows the screen, the voice and the transcript of one answer side by side, then that the bytes may be cut anywhere.

    Example: streamflow demo --audio rome.wav
    """
    console = Console(quiet=quiet or json)
    board = asyncio.run(_converse(console, speed, audio, transcript))
    same = _cut_anywhere(console)
    if json:
        print_json({"thinking": board.thought, "shown": board.shown, "spoken": board.spoken, "events": board.events,
                    "facts": board.facts, "same_when_cut": same})  # fmt: skip


class _Board:
    """What the three branches have shown so far."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.thought = ""
        self.shown = ""
        self.spoken: list[str] = []
        self.events: dict[str, int] = {}
        self.facts: list[str] = []

    def after(self) -> float:
        return time.monotonic() - self.begin

    def __rich__(self) -> Group:
        screen = Group(Line(self.thought, style="dim italic"), Line(self.shown))
        counts = "\n".join(f"{count:>4} {name}" for name, count in self.events.items())
        side_by_side = Table.grid(expand=True)
        for ratio in (5, 5, 4):
            side_by_side.add_column(ratio=ratio)
        side_by_side.add_row(
            Panel(screen, title="ui"),
            Panel(Line("\n".join(self.spoken)), title="tts"),
            Panel(Line(counts), title="transcript"),
        )
        return Group(side_by_side, *map(Line, self.facts))


async def _converse(console: Console, speed: float, audio: Path | None, transcript: Path | None) -> _Board:
    board = _Board()
    delay_s = 0.05 / speed if speed else 0.0
    async with (
        FakeProvider(Answer(*_ANSWER, delay_s=delay_s)) as fake,
        connect("anthropic", model="simulated", api_key="none", base_url=fake.base_url("anthropic")) as llm,
    ):
        stream = llm.stream("How is the weather in Rome?")
        has_voice = Espeak.installed()
        flow = voice(stream, Espeak(), language="en") if has_voice else _silent(stream)
        if transcript is not None:
            flow.subscribe(Transcript(transcript))
        console.rule("simulator -> client -> flow: ui, tts and transcript branches")
        with Live(board, console=console, refresh_per_second=12, transient=False):
            *_, segments = await asyncio.gather(
                _show(flow["thinking"], board), _show(flow["ui"], board), _count(flow, board), _say(flow["tts"], board)
            )
    if not console.is_terminal:
        console.print()  # a live board ends its last line on a terminal only
    if not has_voice:
        console.print("espeak-ng is not installed, so the voice only shows its sentences (apt-get install espeak-ng)")
    elif audio is not None:
        audio.write_bytes(join_waves([segment.wave for segment in segments], pause_s=0.15).file())
        console.print(f"wrote {audio}")
    console.print(str(flow.graph()), markup=False, highlight=False)
    return board


def _silent(stream: Any) -> Flow:
    flow = chat(stream)
    flow.branch("tts", speakable(), sentence_segment(language="en"))
    return flow


async def _show(branch: Any, board: _Board) -> None:
    async for chunk in branch:
        if chunk.kind == "thinking":
            board.thought += chunk.text
        else:
            board.shown += chunk.text


async def _say(branch: Any, board: _Board) -> list[AudioSegment]:
    segments = []
    async for item in branch:
        if isinstance(item, Sentence):
            board.spoken.append(f"{board.after():5.2f} s  {item.text.strip()}")
        elif isinstance(item, AudioSegment):
            segments.append(item)
            board.spoken.append(f"{board.after():5.2f} s  {item.sentence.text.strip()} ({item.duration_s:.1f} s)")
    return segments


async def _count(flow: Flow, board: _Board) -> None:
    async for event in flow["transcript"]:
        name = type(event).__name__
        board.events[name] = board.events.get(name, 0) + 1
        match event:
            case Chunk():
                pass
            case ToolCallsReady():
                for call in event.calls:
                    board.facts.append(f"ready to run: {call.name}({call.arguments})")
            case Usage():
                board.facts = [fact for fact in board.facts if "tokens" not in fact]
                board.facts.append(f"{event.input_tokens} tokens in, {event.output_tokens} out")
            case StreamCompleted():
                board.facts.append(f"completed after {board.after():.2f} s: {event.stop_reason}")


def _cut_anywhere(console: Console) -> bool:
    console.rule("cut anywhere, same answer: a recorded stream, its bytes in other pieces")
    wire = (resources.files("streamflow") / "cli" / RECORDING).read_bytes()
    response = collect(decode("anthropic", wire, tool_accumulate()))
    every = True
    for size in _CUTS:
        pieces = [wire[at : at + size] for at in range(0, len(wire), size)]
        same = collect(decode("anthropic", pieces, tool_accumulate())) == response
        every = every and same
        console.print(f"  {size:>3} bytes at a time, {len(pieces):>5} pieces: {'the same' if same else 'DIFFERENT'}")
    half = collect(decode("anthropic", wire[: len(wire) // 2]))
    console.print(f"  half of the bytes: complete={half.complete}, {half.error.type}")
    return every
