"""Transcript: an answer to read, coloured by the kind of its blocks."""

import json
from collections.abc import Iterable
from typing import Any

from streamflow.errors import UsageError
from streamflow.events import BlockComplete, Event, Response, Stamped
from streamflow.flow import Flow
from streamflow.fold import collect
from streamflow.notebook.figure import MONO, SANS, STYLE, Figure, escaped
from streamflow.notebook.looks import colour_of
from streamflow.notebook.rehearsal import rehearse
from streamflow.probing import Probe
from streamflow.recordings import Recording

_MONOSPACED = ("tool_call", "tool_result")


class Transcript(Figure):
    """The blocks of an answer one below the other: of a response, of events, a flow, a probe or a recording.

    Text stands as it is, other kinds are marked with their colour and name; what was cut says so.

    >>> response = Response(blocks=[BlockComplete(0, "text", "a < b")], complete=True, stop_reason="end_turn")
    >>> "a &lt; b" in Transcript(response).html()
    True
    """

    def __init__(self, source: Any) -> None:
        self._response = response_of(source)

    def html(self) -> str:
        """The transcript as HTML."""
        response = self._response
        body = "".join(_block(block) for block in response.blocks)
        return (
            f'<div class="sf-fig" style="font:14px/1.5 {escaped(SANS)};background:var(--sf-bg,#ffffff);'
            f'color:var(--sf-fg,#1f2328);padding:14px 18px;border-radius:8px;max-width:944px">'
            f"<style>{STYLE}</style>{body}{_foot(response)}</div>"
        )

    def __repr__(self) -> str:
        return "\n".join(f"[{block.kind}] {block.content}" for block in self._response.blocks)


def response_of(source: Any) -> Response:
    """The answer in whatever holds one."""
    if isinstance(source, Response):
        return source
    if isinstance(source, Flow):
        return source.snapshot()
    if isinstance(source, Recording):
        return response_of(rehearse(source))
    if isinstance(source, Probe):
        # The last stage that still gives blocks has the view that a subscriber would fold.
        for log in reversed(source.stages):
            items = [item for _, item in log.outputs()]
            if any(isinstance(item, BlockComplete) for item in items):
                return collect(_events(items))
        return Response()
    if isinstance(source, Iterable) and not isinstance(source, str | bytes):
        return collect(_events(source))
    raise UsageError(
        f"Transcript takes a response, events, a flow, a probe or a recording, not {type(source).__name__}"
    )


def _events(items: Iterable[Any]) -> list[Any]:
    plain = [item.event if isinstance(item, Stamped) else item for item in items]
    return [item for item in plain if isinstance(item, Event)]


def _block(block: BlockComplete) -> str:
    content = escaped(_shown(block))
    state = ' <span style="color:#e5484d">cut</span>' if block.incomplete else ""
    if block.error and not block.incomplete:
        state = f' <span style="color:#e5484d">{escaped(block.error)}</span>'
    if block.kind == "text":
        return f'<div style="white-space:pre-wrap;margin:6px 0">{content}{state}</div>'
    colour = colour_of(block.kind)
    font = f"font:12px/1.5 {escaped(MONO)};" if block.kind in _MONOSPACED else "font-size:13px;"
    about = " ".join(f"{name}={value!r}" for name, value in block.attributes.items())
    head = " ".join(part for part in (block.kind, block.tool_name or "", about) if part)
    return (
        f'<div style="border-left:3px solid {colour};padding:2px 0 2px 12px;margin:8px 0">'
        f'<div style="font:600 11px/1.6 {escaped(SANS)};color:{colour}">{escaped(head)}{state}</div>'
        f'<div style="white-space:pre-wrap;{font}color:var(--sf-mut,#656d76)">{content}</div></div>'
    )


def _shown(block: BlockComplete) -> str:
    if block.kind == "tool_call" and block.error is None and isinstance(block.input, dict):
        return json.dumps(block.input, ensure_ascii=False, indent=2)
    return block.content


def _foot(response: Response) -> str:
    usage = response.usage
    parts = [response.model, response.stop_reason or ""]
    if usage is not None:
        parts.append(f"{usage.input_tokens} tokens in, {usage.output_tokens} out")
    if not response.complete:
        error = response.error
        parts.append(f"not complete{f': {error}' if error is not None else ''}")
    colour = "var(--sf-mut,#656d76)" if response.complete else "#e5484d"
    shown = escaped(" · ".join(part for part in parts if part))
    return f'<div style="font-size:11px;color:{colour};margin-top:10px">{shown}</div>'
