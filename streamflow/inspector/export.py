"""A recording as a pytest file that fails for the reason that the verdict found."""

from collections.abc import Iterable, Sequence

from streamflow.encoding import to_json
from streamflow.inspector.trace import BLOCKS, Trace
from streamflow.inspector.verdict import UNKNOWN, Finding

PIECES = "@PIECES@"  # the page puts its own cutting there

_TESTS = {
    "end": """
def test_the_stream_ends_properly():
    response = sf.collect(decoded())
    assert response.complete, f"{response.error.type}: {response.error.message}"
""",
    "grammar": """
def test_the_grammar_holds():
    assert_grammar(decoded())
""",
    "cuts": """
def test_the_answer_does_not_depend_on_the_cutting():
    assert_cut_invariant(decoded, b"".join(PIECES))
""",
    "calls": """
def test_every_tool_call_can_be_run():
    calls = sf.collect(decoded()).tool_calls
    assert all(call.runnable for call in calls), [call.error for call in calls]
""",
    "unknown": f"""
def test_everything_is_understood():
    unknown = [event for event in decoded() if getattr(event, "code", "") in {UNKNOWN!r}]
    assert unknown == []
""",
}
_GOOD = """
def test_the_answer_stays_the_same():
    response = sf.collect(decoded())
    assert response.complete
    assert response.text == {text}
"""


def pytest_of(trace: Trace, findings: Sequence[Finding]) -> str:
    """The whole file; one test for each kind of fault, or one that keeps a good answer as it is.

    >>> from streamflow.inspector.trace import trace_of
    >>> from streamflow.inspector.verdict import verdict_of
    >>> from streamflow.recordings import from_capture
    >>> trace = trace_of(from_capture(b'data: {"choices":[{"delta":{"content":"Hi."}}]}\\n\\n', provider="openai"))
    >>> print(pytest_of(trace, verdict_of(trace)).partition("PIECES")[2][:15])
     = [
        b"data
    """
    return pytest_frame(trace, findings).replace(PIECES, "\n".join(piece_lines(_items(trace))))


def pytest_frame(trace: Trace, findings: Sequence[Finding]) -> str:
    """The file with a mark in the place of the pieces."""
    wrong = [finding for finding in findings if finding.level != "ok" and finding.code in _TESTS]
    codes = list(dict.fromkeys(finding.code for finding in wrong))
    said = "".join(sentence_text(trace))
    tests = "\n".join(_TESTS[code] for code in codes) if codes else _GOOD.format(text=_literal(said))
    told = f"{wrong[0].title}: {wrong[0].detail}" if wrong else "A good answer"
    needed = [name for name in ("assert_cut_invariant", "assert_grammar") if name in tests]
    strategies = list(BLOCKS[trace.blocks]) if trace.has_bytes else []
    lines = [
        f'"""{_plain(told)} {_plain("Recorded from " + (trace.recording.provider or "a stream"))}"""',
        "",
        "import streamflow as sf",
        *(["from streamflow.operators import block_split, tool_accumulate"] if strategies else []),
        *(["from streamflow.operators import tool_accumulate"] if trace.has_bytes and not strategies else []),
        *([f"from streamflow.testing import {', '.join(needed)}"] if needed else []),
        "",
        *([f"PROVIDER = {_literal(trace.recording.provider)}"] if trace.has_bytes else []),
        "PIECES = [",
        PIECES,
        "]",
        "",
        "",
        *_decoded(trace, strategies),
        "",
    ]
    return "\n".join(lines) + tests


def _decoded(trace: Trace, strategies: list[str]) -> list[str]:
    if not trace.has_bytes:
        return ["def decoded(pieces=PIECES):", "    return [sf.from_json(piece) for piece in pieces]"]
    blocks = "block_split([" + ", ".join(f'"{name}"' for name in strategies) + "]), " if strategies else ""
    return ["def decoded(pieces=PIECES):", f"    return sf.decode(PROVIDER, pieces, {blocks}tool_accumulate())"]


def sentence_text(trace: Trace) -> Iterable[str]:
    """The visible text of the answer, piece by piece."""
    return (event.text for event in trace.events if getattr(event, "visible", False))


def _items(trace: Trace) -> list[bytes]:
    if trace.has_bytes:
        return [piece.item for piece in trace.recording.pieces]
    return [to_json(piece.item) for piece in trace.recording.pieces]


def piece_lines(pieces: Iterable[bytes]) -> Iterable[str]:
    """A line of Python for each piece; the page writes them in exactly the same way."""
    return (f'    b"{"".join(_ESCAPES[byte] for byte in piece)}",' for piece in pieces)


_NAMED = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x5C: "\\\\"}
_ESCAPES = [_NAMED.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}") for byte in range(256)]


def _literal(text: str) -> str:
    return ascii(text)


def _plain(text: str) -> str:
    """Text that may stand in a docstring."""
    shown = text.encode("ascii", "replace").decode().replace("\\", "/").replace('"', "'").replace("\n", " ")
    return (shown[:90].rstrip() + "..." if len(shown) > 90 else shown.rstrip(".")) + "."
