"""Anthropic's Messages API, streamed or whole; the old text completions too."""

from collections.abc import Callable
from typing import Any

from streamflow.errors import ProviderError
from streamflow.events import Frame, Usage
from streamflow.providers.json_text import json_text
from streamflow.providers.provider import Provider
from streamflow.providers.refusals import provider_error
from streamflow.providers.turn import Block, Turn

STOP_REASONS = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "compaction": "pause",
    "refusal": "refusal",
}

# After these the last block may have been cut off, although the wire closed it.
CUTTING_REASONS = frozenset(("max_tokens", "refusal", "content_filter"))

# The HTTP status that each kind of error has outside a stream.
_ERROR_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class Anthropic:
    """Reads ``message_start`` to ``message_stop``, and whole ``message`` answers.

    What must be sent back with a block is in ``opaque``, in the words of the wire: ``{"type": "thinking",
    "signature": ...}``, ``{"type": "redacted_thinking", "data": ...}``, the citations of a text, the caller of a tool.
    """

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._blocks: dict[int, Block] = {}
        self._inputs: dict[int, Any] = {}  # input that came whole in a block's start
        self._bare: Block | None = None
        self._has_message = False

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """Every payload names its type."""
        return payload.get("type") in _EVENTS

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload."""
        kind = payload.get("type")
        reader = _EVENTS.get(kind) if kind else None
        if reader is None:
            self._turn.unknown(str(kind or frame.event), payload, frame.event)
        else:
            reader(self, payload)

    # -- the message

    def _read_message_start(self, payload: dict[str, Any]) -> None:
        message = payload["message"]
        if self._has_message:
            # A proxy that retries may splice a second message in: what the first one left open was cut.
            self._turn.notice("second_message", "another message began before the end of the first", payload)
            self._settle_bare(cut=True)
            for block in self._blocks.values():
                self._turn.close(block, incomplete=True)
            self._blocks.clear()
            self._inputs.clear()
        self._has_message = True
        self._read_message(message)

    def _read_message(self, message: dict[str, Any]) -> None:
        self._turn.begin(message.get("id"), message.get("model"))
        for index, block in enumerate(message.get("content") or ()):
            self._start(index, block)
            self._stop(index)
        self._read_facts(message)
        if usage := message.get("usage"):
            self._turn.usage(usage_of(usage))

    def _read_facts(self, facts: dict[str, Any]) -> None:
        reason = facts.get("stop_reason")
        if reason:
            stop = STOP_REASONS.get(reason, "other")
            self._settle_bare(cut=stop in CUTTING_REASONS)
            self._turn.stop(stop, reason)
        if at := facts.get("stop_sequence"):
            self._turn.notice("stop", "the provider stopped at a stop sequence", at)
        for field in ("stop_details", "container", "context_management"):
            value = facts.get(field)
            if value and any(value.values()):
                self._turn.notice(field, "", value)

    def _read_message_delta(self, payload: dict[str, Any]) -> None:
        self._read_facts(payload["delta"])
        if edits := payload.get("context_management"):
            self._read_facts({"context_management": edits})
        if usage := payload.get("usage"):
            self._turn.usage(usage_of(usage))

    def _read_message_stop(self, payload: dict[str, Any]) -> None:
        self._settle_bare(cut=False)
        # A call that the wire never closed was not finished, whatever its text looks like.
        for block in self._blocks.values():
            if block.kind == "tool_call":
                self._turn.close(block, incomplete=True)
        self._turn.complete()

    def _read_whole(self, payload: dict[str, Any]) -> None:
        self._read_message(payload)
        self._read_message_stop(payload)

    def _read_completion(self, payload: dict[str, Any]) -> None:
        self._turn.begin(payload.get("id"), payload.get("model"))
        if payload["completion"]:
            self._turn.text(payload["completion"])
        if payload.get("stop_reason"):
            self._read_facts(payload)
            self._turn.complete()

    def _read_ping(self, payload: dict[str, Any]) -> None:
        pass

    def _read_error(self, payload: dict[str, Any]) -> None:
        raise stream_error(self._turn.provider, payload)

    # -- blocks

    def _read_block_start(self, payload: dict[str, Any]) -> None:
        self._settle_bare(cut=False)
        self._start(payload["index"], payload["content_block"])

    def _read_block_delta(self, payload: dict[str, Any]) -> None:
        delta = payload["delta"]
        kind = delta["type"]
        field = _TEXT_DELTAS.get(kind)
        if field is not None:
            self._turn.add(self._blocks[payload["index"]], delta[field])
        elif kind in _DELTAS:
            _DELTAS[kind](self, self._blocks[payload["index"]], delta)
        else:
            self._turn.notice_once("unknown_event", f"content_block_delta {kind}", payload)

    def _read_block_stop(self, payload: dict[str, Any]) -> None:
        self._stop(payload["index"])

    def _start(self, index: int, content: dict[str, Any]) -> None:
        kind = content["type"]
        if (unclosed := self._blocks.pop(index, None)) is not None:
            self._turn.close(unclosed, incomplete=True)
        starter = _STARTS.get(kind)
        if starter is None:
            starter = next((known for ending, known in _START_ENDINGS if kind.endswith(ending)), Anthropic._start_other)
        self._blocks[index] = starter(self, index, content)

    def _stop(self, index: int) -> None:
        block = self._blocks.pop(index)
        whole = self._inputs.pop(index, None)
        if whole and not block.parts:
            self._turn.add(block, json_text(whole))
        if block.kind == "tool_call" and not block.parts and "server" not in block.attributes:
            # No input at all: a tool without arguments, or a call that the token limit cut at its first character. The
            # next event tells.
            self._bare = block
        else:
            self._turn.close(block)

    def _settle_bare(self, cut: bool) -> None:
        if self._bare is not None:
            self._turn.close(self._bare, incomplete=cut)
            self._bare = None

    def _start_text(self, index: int, content: dict[str, Any]) -> Block:
        block = self._turn.open("text")
        if text := content.get("text"):
            self._turn.add(block, text)
        for citation in content.get("citations") or ():
            self._cite(block, citation)
        return block

    def _start_thinking(self, index: int, content: dict[str, Any]) -> Block:
        block = self._turn.open("thinking")
        if text := content.get("thinking"):
            self._turn.add(block, text)
        if signature := content.get("signature"):
            self._sign(block, signature)
        return block

    def _start_redacted(self, index: int, content: dict[str, Any]) -> Block:
        block = self._turn.open("thinking")
        block.opaque = content
        return block

    def _start_tool(self, index: int, content: dict[str, Any]) -> Block:
        kind = content["type"]
        attributes = None if kind == "tool_use" else {"server": kind}
        block = self._turn.open("tool_call", attributes, content.get("id"), content.get("name"))
        block.opaque = _rest(content, "id", "name", "input")
        self._inputs[index] = content.get("input")
        return block

    def _start_result(self, index: int, content: dict[str, Any]) -> Block:
        block = self._turn.open("tool_result", {"server": content["type"]}, content.get("tool_use_id"))
        self._turn.add(block, json_text(content.get("content")))
        block.opaque = _rest(content, "tool_use_id", "content")
        return block

    def _start_compaction(self, index: int, content: dict[str, Any]) -> Block:
        block = self._turn.open("tool_result", {"server": content["type"]})
        self._read_compaction(block, content)
        return block

    def _start_fallback(self, index: int, content: dict[str, Any]) -> Block:
        block = self._turn.open("tool_result", {"server": content["type"]}, content.get("id"))
        self._turn.add(block, json_text({field: value for field, value in content.items() if field != "type"}))
        block.opaque = content
        return block

    def _start_other(self, index: int, content: dict[str, Any]) -> Block:
        self._turn.notice_once("unknown_block", content["type"], content)
        return self._start_fallback(index, content)

    # -- deltas

    def _read_signature(self, block: Block, delta: dict[str, Any]) -> None:
        self._sign(block, delta["signature"])

    def _read_citation(self, block: Block, delta: dict[str, Any]) -> None:
        self._cite(block, delta["citation"])

    def _read_compaction(self, block: Block, delta: dict[str, Any]) -> None:
        if text := delta.get("content"):
            self._turn.add(block, text)
        more = {
            field: value for field, value in delta.items() if field not in ("type", "content") and value is not None
        }
        if more:
            block.opaque = {**(block.opaque or {"type": "compaction"}), **more}

    def _sign(self, block: Block, signature: str) -> None:
        if block.opaque is None:
            block.opaque = {"type": "thinking", "signature": ""}
        block.opaque["signature"] += signature

    def _cite(self, block: Block, citation: dict[str, Any]) -> None:
        # The offsets of a citation are those of the source, not of the answer: they stay in ``opaque``.
        if block.opaque is None:
            block.opaque = {"type": "text", "citations": []}
        block.opaque["citations"].append(citation)
        self._turn.cite(
            index=block.index,
            url=citation.get("url") or citation.get("source") or "",
            title=citation.get("title") or citation.get("document_title") or "",
            text=citation.get("cited_text") or "",
        )

    def done(self) -> None:
        """Not part of this protocol; proxies add it after the end."""
        self._turn.notice_once("unknown_event", "[DONE]")

    def may_end(self) -> bool:
        """Only ``message_stop`` ends a message."""
        return False


_EVENTS: dict[str, Callable[[Anthropic, dict[str, Any]], None]] = {
    "message_start": Anthropic._read_message_start,
    "content_block_start": Anthropic._read_block_start,
    "content_block_delta": Anthropic._read_block_delta,
    "content_block_stop": Anthropic._read_block_stop,
    "message_delta": Anthropic._read_message_delta,
    "message_stop": Anthropic._read_message_stop,
    "message": Anthropic._read_whole,
    "completion": Anthropic._read_completion,
    "ping": Anthropic._read_ping,
    "error": Anthropic._read_error,
}

_STARTS: dict[str, Callable[[Anthropic, int, dict[str, Any]], Block]] = {
    "text": Anthropic._start_text,
    "thinking": Anthropic._start_thinking,
    "redacted_thinking": Anthropic._start_redacted,
    "compaction": Anthropic._start_compaction,
    "fallback": Anthropic._start_fallback,
    "container_upload": Anthropic._start_fallback,
}

# New server tools come with their own names, but always end in one of these.
_START_ENDINGS: tuple[tuple[str, Callable[[Anthropic, int, dict[str, Any]], Block]], ...] = (
    ("tool_use", Anthropic._start_tool),
    ("tool_result", Anthropic._start_result),
)

# Deltas that are content of their block, and the field that holds it.
_TEXT_DELTAS = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}

_DELTAS: dict[str, Callable[[Anthropic, Block, dict[str, Any]], None]] = {
    "signature_delta": Anthropic._read_signature,
    "citations_delta": Anthropic._read_citation,
    "compaction_delta": Anthropic._read_compaction,
}


def stream_error(provider: str, payload: dict[str, Any]) -> ProviderError:
    """The typed error for an ``error`` event, with the status that this kind has outside a stream.

    >>> error = stream_error("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
    >>> error.status, error.kind, error.retryable
    (529, 'overloaded_error', True)
    """
    error = payload.get("error")
    if not isinstance(error, dict):
        return provider_error(provider, payload)
    return provider_error(provider, {**error, "status_code": _ERROR_STATUS.get(str(error.get("type")))})


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts so far.

    >>> usage_of({"input_tokens": 3, "cache_read_input_tokens": 2}).cache_read_tokens
    2
    """
    return Usage(
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cache_read_tokens=usage.get("cache_read_input_tokens"),
        cache_write_tokens=usage.get("cache_creation_input_tokens"),
        reasoning_tokens=(usage.get("output_tokens_details") or {}).get("thinking_tokens"),
        raw=usage,
    )


def _rest(content: dict[str, Any], *carried: str) -> dict[str, Any] | None:
    """What a block has beyond the fields that its events carry, or None when that is its type alone."""
    rest = {field: value for field, value in content.items() if field not in carried}
    return rest if len(rest) > 1 else None
