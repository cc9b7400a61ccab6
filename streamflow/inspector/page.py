"""The page: one HTML file with everything inside. It asks nobody for anything."""

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import msgspec
import orjson

from streamflow.inspector.export import pytest_frame
from streamflow.inspector.trace import Trace
from streamflow.inspector.verdict import GAP_S, verdict_of

# In the order in which they need each other.
MODULES = (
    *("dom", "trace", "clock", "list", "columns", "graph", "timeline"),
    *("detail", "verdict", "pane", "compare", "main", "boot"),
)
_IMPORT = re.compile(r"^import .*?;\n", re.M | re.S)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.M)
# What could end the element, begin a comment in it, or is no JavaScript: everything else is safe inside a script.
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page_of(traces: Sequence[Trace], *, gap_s: float = GAP_S) -> str:
    """The page for one trace, or for two side by side.

    >>> from streamflow.inspector.trace import trace_of
    >>> from streamflow.recordings import from_capture
    >>> wire = b'data: {"choices":[{"delta":{"content":"</script>"},"finish_reason":"stop"}]}\\n\\ndata: [DONE]\\n\\n'
    >>> page = page_of([trace_of(from_capture(wire, provider="openai"), "answer.sse")])
    >>> page.count("</script>"), "https://" in page
    (2, False)
    """
    title = " and ".join(trace.name or "recording" for trace in traces)
    return html_of([entry_of(trace, gap_s=gap_s) for trace in traces], title)


def html_of(entries: list[dict[str, Any]], title: str) -> str:
    """The page for what `page_of` makes of traces."""
    script, style = bundle(), _static("inspector.css")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        _static("page.html")
        .replace("@POLICY@", html.escape(policy))
        .replace("@TITLE@", html.escape(title))
        .replace("@STYLE@", style)
        .replace("@DATA@", script_json({"traces": entries}))
        .replace("@SCRIPT@", script)
    )


def entry_of(trace: Trace, *, gap_s: float = GAP_S) -> dict[str, Any]:
    """What the page gets of a trace: its rows, the verdict, and the test."""
    findings = verdict_of(trace, gap_s=gap_s)
    return {**trace.data(), "verdict": findings, "pytest": pytest_frame(trace, findings)}


def script_json(value: Any) -> str:
    """JSON that may stand in a script element.

    >>> script_json({"a": "</script><!--"})
    '{"a":"\\\\u003c/script\\\\u003e\\\\u003c!--"}'
    """
    text = orjson.dumps(value, default=msgspec.to_builtins).decode()
    return text.translate({ord(sign): escaped for sign, escaped in _UNSAFE.items()})


def bundle() -> str:
    """All modules as one: they share a scope, so their imports go away."""
    parts = [_EXPORT.sub("", _IMPORT.sub("", _static(f"{name}.js"))) for name in MODULES]
    return '"use strict";\n' + "\n".join(parts)


def _static(name: str) -> str:
    return (resources.files("streamflow.inspector") / "static" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
