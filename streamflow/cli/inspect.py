"""``streamflow inspect``: how bytes became an answer, as a page, in the terminal, or as a test."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamflow.errors import UsageError
from streamflow.recordings import load_recording

if TYPE_CHECKING:
    from streamflow.inspector import Finding, Trace

EXIT_FAULT = 3
_SIGNS = {"ok": "✓", "warn": "!", "fail": "✗"}
_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


class Blocks(StrEnum):
    """How structure is written in the text."""

    none = "none"
    xml = "xml"
    sentinel = "sentinel"
    json = "json"
    all = "all"


def inspect(
    file: Annotated[Path, typer.Argument(help="A recording, a VCR cassette, or a plain capture of a body.")],
    other: Annotated[Path | None, typer.Argument(help="A second one, to see both side by side.")] = None,
    provider: Annotated[str, typer.Option(help="Whose stream it is, where the file does not say.")] = "",
    other_provider: Annotated[str, typer.Option(help="The same for the second file.")] = "",
    out: Annotated[Path | None, typer.Option(help="Where to write the page; by default NAME.html here.")] = None,
    blocks: Annotated[Blocks, typer.Option(help="Structure that the model wrote into its text.")] = Blocks.xml,
    export_pytest: Annotated[Path | None, typer.Option(help="Write a test that fails for the fault found.")] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the page instead of writing it, until Ctrl-C.")] = False,
    port: Annotated[int, typer.Option(help="Port for --serve; 0 is any free one.", min=0, max=65535)] = 0,
    tui: Annotated[bool, typer.Option("--tui", help="Play it in the terminal instead.")] = False,
    speed: Annotated[str, typer.Option(help="For --tui: 1 its own time, n times faster, inf at once.")] = "1",
    gap_s: Annotated[float, typer.Option(help="A pause of so many seconds is a gap.", min=0.0)] = 2.0,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON lines; write nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 3 when there is a fault.")] = False,
) -> None:
    """Show how bytes became frames, events, text and sentences; say what is wrong; write a test for it.

    The page is one HTML file that works without a network. Exit code 0: done. 2: wrong usage. 3: with --check, a fault.

    Examples:

      streamflow inspect answer.jsonl

      streamflow inspect before.jsonl after.jsonl --out both.html

      streamflow inspect capture.sse --provider openai --export-pytest tests/test_answer.py

      streamflow inspect answer.jsonl --tui --speed 4
    """
    from streamflow.inspector import page_of, pytest_of, trace_of, verdict_of  # not for the other verbs to load

    files = [(file, provider)] + ([(other, other_provider or provider)] if other else [])
    traces = [trace_of(load_recording(path, provider=name), path.name, blocks=blocks.value) for path, name in files]
    findings = [verdict_of(trace, gap_s=gap_s) for trace in traces]
    if export_pytest is not None:
        _write(export_pytest, pytest_of(traces[0], findings[0]))
    if json:
        _print_json(traces, findings)
    elif tui:
        from streamflow.cli.inspect_tui import play

        for trace, found in zip(traces, findings, strict=True):
            play(trace, found, speed, quiet=quiet)
    elif serve:
        from streamflow.cli.inspect_page import serve_page

        serve_page(page_of(traces, gap_s=gap_s), port)
    else:
        target = out or Path(f"{file.stem}.html")
        if export_pytest is None or out is not None:
            _write(target, page_of(traces, gap_s=gap_s))
        if not quiet:
            _report(traces, findings, export_pytest if export_pytest is not None and out is None else target)
    if check and any(finding.level == "fail" for found in findings for finding in found):
        sys.exit(EXIT_FAULT)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _print_json(traces: "list[Trace]", findings: "list[list[Finding]]") -> None:
    import msgspec

    for trace, found in zip(traces, findings, strict=True):
        for finding in found:
            line: dict[str, Any] = {"file": trace.name, **msgspec.to_builtins(finding)}
            sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


def _report(traces: "list[Trace]", findings: "list[list[Finding]]", target: Path) -> None:
    from rich.console import Console

    console = Console()
    for trace, found in zip(traces, findings, strict=True):
        console.print(
            f"{trace.name}: {len(trace.recording.pieces)} pieces, {len(trace.frames)} frames, "
            f"{len(trace.events)} events, {len(trace.sentences)} sentences",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
        for finding in found:
            detail = f": {finding.detail}" if finding.detail else ""
            line = f"  {_SIGNS[finding.level]} {finding.title}{detail}"
            console.print(line, style=_STYLES[finding.level], markup=False, highlight=False, soft_wrap=True)
    console.print(f"wrote {target}", markup=False, highlight=False, soft_wrap=True)
