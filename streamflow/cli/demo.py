"""``streamflow demo``: one answer as it becomes thinking, text, tool calls and usage. No network, no key."""

from importlib import resources
from typing import Any

from rich.console import Console
from rich.table import Table

from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart, ToolCallsReady, Usage
from streamflow.fold import collect
from streamflow.operators import tool_accumulate
from streamflow.pipeline import decode

RECORDING = "anthropic.demo.wire"
_STYLES = {"thinking": "dim italic", "tool_call": "yellow", "text": "bold"}
_CUTS = (1, 7, 64)


def demo() -> None:
    """Show a bundled recording as it becomes events, and that cutting its bytes elsewhere changes nothing.

    Example: streamflow demo
    """
    console = Console()
    wire = (resources.files("streamflow") / "cli" / RECORDING).read_bytes()
    console.rule("bytes of an Anthropic stream, as events")
    events = decode("anthropic", wire, tool_accumulate())
    for event in events:
        _show(console, event)
    response = collect(events)
    console.rule("the whole response")
    table = Table("field", "value", show_header=False, box=None)
    table.add_row("text", response.text)
    table.add_row("thinking", response.thinking)
    for call in response.tool_calls:
        table.add_row("tool call", f"{call.name}({call.arguments})")
    usage = response.usage or Usage()
    table.add_row("usage", f"{usage.input_tokens} tokens in, {usage.output_tokens} out")
    table.add_row("stop reason", f"{response.stop_reason} (complete: {response.complete})")
    console.print(table)
    console.rule("cut anywhere, same answer")
    for size in _CUTS:
        pieces = [wire[at : at + size] for at in range(0, len(wire), size)]
        same = collect(decode("anthropic", pieces, tool_accumulate())) == response
        console.print(f"  {size:>3} bytes at a time, {len(pieces):>5} pieces: {'the same' if same else 'DIFFERENT'}")
    half = collect(decode("anthropic", wire[: len(wire) // 2]))
    console.print(f"  half of the bytes: complete={half.complete}, {half.error.type}")


def _show(console: Console, event: Any) -> None:
    match event:
        case StreamStart():
            console.print(f"stream of [b]{event.model}[/b]")
        case BlockStart():
            console.print(f"[cyan]{event.index} {event.kind}[/cyan] ", end="")
        case Chunk():
            style = _STYLES.get(event.kind, "")
            label = f"{event.part}=" if event.part in ("name", "id") else ""
            console.print(f"{label}{event.text}|", style=style, end="", markup=False, highlight=False)
        case BlockComplete():
            console.print()
        case ToolCallsReady():
            console.print(f"[yellow]ready to run:[/yellow] {', '.join(call.name for call in event.calls)}")
        case StreamCompleted():
            console.print(f"[green]completed:[/green] {event.stop_reason}")
