"""Cohere's chat: v2 (server-sent events), v1 (one JSON line per event), and whole answers of both."""

from collections.abc import Callable
from typing import Any

from streamflow.errors import ProviderError
from streamflow.events import Frame, Usage
from streamflow.providers.anthropic import CUTTING_REASONS
from streamflow.providers.json_text import json_text
from streamflow.providers.provider import Provider
from streamflow.providers.turn import Block, Turn

STOP_REASONS = {
    "COMPLETE": "end_turn",
    "STOP_SEQUENCE": "stop_sequence",
    "MAX_TOKENS": "max_tokens",
    "ERROR_LIMIT": "max_tokens",
    "TOOL_CALL": "tool_use",
    "ERROR_TOXIC": "content_filter",
    "USER_CANCEL": "other",
}

# Ends that mean that there is no answer: the generation itself failed.
_FAILURES = frozenset(("ERROR", "TIMEOUT"))


class Cohere:
    """Reads ``message-start`` to ``message-end`` of v2, and ``stream-start`` to ``stream-end`` of v1.

    The plan that a model makes before it calls tools (``tool-plan-delta``) is thought, not part of the answer.
    """

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._contents: dict[int, Block] = {}
        self._calls: dict[int, Block] = {}
        self._bare: Block | None = None
        self._seen: set[str] = set()  # what v1 sent already and repeats in its last event

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """Events name themselves."""
        return (payload.get("type") or payload.get("event_type")) in _EVENTS

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload."""
        kind = payload.get("type") or payload.get("event_type")
        reader = _EVENTS.get(kind) if kind else None
        if reader is not None:
            reader(self, payload)
        elif kind is None:
            self._read_unnamed(payload, frame)
        else:
            self._turn.unknown(str(kind), payload, frame.event)

    def _read_unnamed(self, payload: dict[str, Any], frame: Frame) -> None:
        message = payload.get("message")
        if isinstance(message, dict):
            self._read_whole(payload)
        elif "is_finished" in payload:  # v1 text generation, which names no events
            (self._read_v1_end if payload["is_finished"] else self._read_v1_text)(payload)
        elif "generation_id" in payload or "generations" in payload:
            self._read_v1_answer(payload)
        else:
            self._turn.unknown(frame.event, payload, frame.event)

    # -- v2

    def _read_message_start(self, payload: dict[str, Any]) -> None:
        self._turn.begin(payload.get("id"))

    def _read_content_start(self, payload: dict[str, Any]) -> None:
        self._start_content(payload["index"], payload["delta"]["message"]["content"])

    def _start_content(self, index: int, content: dict[str, Any]) -> None:
        kind = content.get("type") or "text"
        if kind not in ("text", "thinking"):
            self._turn.notice_once("unknown_block", kind, content)
        self._settle_bare(cut=False)
        self._turn.pause_text()
        self._contents[index] = self._turn.open("thinking" if kind == "thinking" else "text")
        self._add_content(index, content)

    def _read_content_delta(self, payload: dict[str, Any]) -> None:
        self._add_content(payload["index"], payload["delta"]["message"]["content"])

    def _add_content(self, index: int, content: dict[str, Any]) -> None:
        text = content.get("text") or content.get("thinking")
        if text:
            self._turn.add(self._contents[index], text)

    def _read_content_end(self, payload: dict[str, Any]) -> None:
        self._turn.close(self._contents.pop(payload["index"]))

    def _read_plan(self, payload: dict[str, Any]) -> None:
        if text := payload["delta"]["message"].get("tool_plan"):
            self._turn.thinking(text)

    def _read_call_start(self, payload: dict[str, Any]) -> None:
        self._start_call(payload["index"], payload["delta"]["message"]["tool_calls"])

    def _start_call(self, index: int, call: dict[str, Any]) -> None:
        function = call.get("function") or {}
        self._settle_bare(cut=False)
        self._turn.pause_text()
        block = self._calls[index] = self._turn.open("tool_call", None, call.get("id"), function.get("name"))
        if arguments := function.get("arguments"):
            self._turn.add(block, arguments)

    def _read_call_delta(self, payload: dict[str, Any]) -> None:
        if arguments := payload["delta"]["message"]["tool_calls"]["function"].get("arguments"):
            self._turn.add(self._calls[payload["index"]], arguments)

    def _read_call_end(self, payload: dict[str, Any]) -> None:
        self._end_call(payload["index"])

    def _end_call(self, index: int) -> None:
        block = self._calls.pop(index)
        if block.parts:
            self._turn.close(block)
        else:
            # No input at all: a tool without arguments, or a call that the token limit cut at its first character.
            self._bare = block

    def _settle_bare(self, cut: bool) -> None:
        if self._bare is not None:
            self._turn.close(self._bare, incomplete=cut)
            self._bare = None

    def _read_citation(self, payload: dict[str, Any]) -> None:
        citations = payload["delta"]["message"]["citations"]
        for citation in citations if isinstance(citations, list) else (citations,):
            self._cite(citation)

    def _cite(self, citation: dict[str, Any]) -> None:
        sources = citation.get("sources") or [{}]
        origin = sources[0].get("document") or sources[0].get("tool_output") or {}
        title = origin.get("title") or sources[0].get("id") or next(iter(citation.get("document_ids") or ()), "")
        fields = {
            "url": str(origin.get("url") or ""),
            "title": str(title),
            "text": citation.get("text") or "",
            "start": citation.get("start", -1),
            "end": citation.get("end", -1),
        }
        if (block := self._contents.get(citation.get("content_index", 0))) is not None:
            fields["index"] = block.index
        self._turn.cite(**fields)

    def _read_message_end(self, payload: dict[str, Any]) -> None:
        delta = payload["delta"]
        self._end(delta.get("finish_reason"), delta.get("usage"), delta.get("error"))

    def _read_whole(self, payload: dict[str, Any]) -> None:
        message = payload["message"]
        self._turn.begin(payload.get("id"), payload.get("model"))
        if plan := message.get("tool_plan"):
            self._turn.thinking(plan)
        for index, content in enumerate(message.get("content") or ()):
            self._start_content(index, content)
        for citation in message.get("citations") or ():
            self._cite(citation)
        for block in self._contents.values():
            self._turn.close(block)
        for index, call in enumerate(message.get("tool_calls") or ()):
            self._start_call(index, call)
            self._end_call(index)
        self._end(payload.get("finish_reason"), payload.get("usage"))

    def _end(self, reason: str | None, usage: dict[str, Any] | None, error: Any = None) -> None:
        if usage:
            self._turn.usage(usage_of(usage))
        if error or reason in _FAILURES:
            raise ProviderError(
                f"{self._turn.provider}: {error or 'the generation failed'}",
                provider=self._turn.provider,
                kind=reason,
                retryable=reason in _FAILURES,
            )
        stop = STOP_REASONS.get(reason or "COMPLETE", "other")
        self._settle_bare(cut=stop in CUTTING_REASONS)
        # A call that the wire never closed was not finished, whatever its text looks like.
        for block in self._calls.values():
            self._turn.close(block, incomplete=True)
        if reason:
            self._turn.stop(stop, reason)
        self._turn.complete()

    def _read_citation_end(self, payload: dict[str, Any]) -> None:
        pass  # the citation came whole in its start

    # -- v1

    def _read_v1_start(self, payload: dict[str, Any]) -> None:
        self._turn.begin(payload.get("generation_id"))

    def _read_v1_text(self, payload: dict[str, Any]) -> None:
        self._seen.add("text")
        if text := payload.get("text"):
            self._turn.text(text)

    def _read_v1_citations(self, payload: dict[str, Any]) -> None:
        self._seen.add("citations")
        for citation in payload["citations"]:
            self._cite(citation)

    def _read_v1_call_chunk(self, payload: dict[str, Any]) -> None:
        if plan := payload.get("text"):
            self._seen.add("plan")
            self._turn.thinking(plan)
        if delta := payload.get("tool_call_delta"):
            self._seen.add("tool_calls")
            self._turn.call(delta.get("index"), None, delta.get("name"), delta.get("parameters"))

    def _read_v1_calls(self, payload: dict[str, Any]) -> None:
        if (plan := payload.get("text")) and "plan" not in self._seen:
            self._turn.thinking(plan)
        if "tool_calls" not in self._seen:
            self._seen.add("tool_calls")
            for call in payload.get("tool_calls") or ():
                self._turn.whole_call(call.get("id"), call["name"], json_text(call.get("parameters") or {}))

    def _read_v1_search(self, payload: dict[str, Any]) -> None:
        kind = payload["event_type"]
        found = {field: payload[field] for field in _SEARCH_FIELDS if field in payload}
        self._turn.whole(
            "tool_call" if "search_queries" in found else "tool_result", json_text(found), {"server": kind}
        )

    def _read_v1_end(self, payload: dict[str, Any]) -> None:
        answer = payload.get("response") or {}
        self._read_v1_answer({**answer, "finish_reason": payload.get("finish_reason") or answer.get("finish_reason")})

    def _read_v1_answer(self, answer: dict[str, Any]) -> None:
        self._turn.begin(answer.get("generation_id") or answer.get("id"))
        generation = (answer.get("generations") or [{}])[0]
        calls = answer.get("tool_calls")
        text = answer.get("text") or generation.get("text")
        # Beside calls the text is the plan, as it is in the event of the calls.
        if calls:
            self._read_v1_calls({"tool_calls": calls, "text": None if self._seen else text})
        elif text and "text" not in self._seen:
            self._turn.text(text)
        if "citations" not in self._seen:
            for citation in answer.get("citations") or ():
                self._cite(citation)
        meta = answer.get("meta") or {}
        usage = {field: meta[field] for field in ("tokens", "billed_units", "cached_tokens") if field in meta}
        self._end(answer.get("finish_reason") or generation.get("finish_reason"), usage, answer.get("error"))

    def done(self) -> None:
        """``[DONE]`` follows the end; without one before it the stream is still cut."""

    def may_end(self) -> bool:
        """Only ``message-end`` and ``stream-end`` end a message."""
        return False


_SEARCH_FIELDS = ("search_queries", "search_results", "documents")

_EVENTS: dict[str, Callable[[Cohere, dict[str, Any]], None]] = {
    "content-delta": Cohere._read_content_delta,
    "message-start": Cohere._read_message_start,
    "content-start": Cohere._read_content_start,
    "content-end": Cohere._read_content_end,
    "tool-plan-delta": Cohere._read_plan,
    "tool-call-start": Cohere._read_call_start,
    "tool-call-delta": Cohere._read_call_delta,
    "tool-call-end": Cohere._read_call_end,
    "citation-start": Cohere._read_citation,
    "citation-end": Cohere._read_citation_end,
    "message-end": Cohere._read_message_end,
    "stream-start": Cohere._read_v1_start,
    "text-generation": Cohere._read_v1_text,
    "citation-generation": Cohere._read_v1_citations,
    "tool-calls-chunk": Cohere._read_v1_call_chunk,
    "tool-calls-generation": Cohere._read_v1_calls,
    "search-queries-generation": Cohere._read_v1_search,
    "search-results": Cohere._read_v1_search,
    "stream-end": Cohere._read_v1_end,
}


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts: what the model read and wrote, not what is billed, where both are told.

    >>> usage_of({"billed_units": {"input_tokens": 3}, "tokens": {"input_tokens": 203}}).input_tokens
    203
    """
    counts = usage.get("tokens") or usage.get("billed_units") or {}
    return Usage(
        input_tokens=counts.get("input_tokens"),
        output_tokens=counts.get("output_tokens"),
        cache_read_tokens=usage.get("cached_tokens"),
        raw=usage,
    )
