"""Amazon Bedrock: Converse, and InvokeModel, whose chunks wrap the protocol of the model's maker."""

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import orjson

from streamflow.errors import ProviderError
from streamflow.events import Frame, GeneratedImage, Image, Usage
from streamflow.providers.anthropic import CUTTING_REASONS, Anthropic
from streamflow.providers.json_text import json_text
from streamflow.providers.openai_chat import OpenAIChat
from streamflow.providers.payload import load_torn
from streamflow.providers.provider import Dialect, Provider
from streamflow.providers.turn import Block, Turn

STOP_REASONS = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "other",
    "malformed_tool_use": "malformed_call",
}

# The HTTP status of each exception, as the service model gives it.
_STATUS = {
    "validationException": 400,
    "serviceQuotaExceededException": 400,
    "accessDeniedException": 403,
    "resourceNotFoundException": 404,
    "modelTimeoutException": 408,
    "modelErrorException": 424,
    "modelStreamErrorException": 424,
    "modelNotReadyException": 429,
    "throttlingException": 429,
    "internalServerException": 500,
    "internalFailure": 500,
    "serviceUnavailableException": 503,
}
_RETRYABLE = frozenset(
    (
        "internalFailure",
        "internalServerException",
        "modelNotReadyException",
        "modelStreamErrorException",
        "modelTimeoutException",
        "serviceUnavailableException",
        "throttlingException",
    )
)

_METRICS = "amazon-bedrock-invocationMetrics"

# Makers whose chunks are a piece of text and, at last, a reason: the two fields.
_PLAIN_TEXT = (("generation", "stop_reason"), ("outputText", "completionReason"))
_PLAIN_STOPS = {"stop": "end_turn", "FINISH": "end_turn", "length": "max_tokens", "LENGTH": "max_tokens"}


class BedrockConverse:
    """Reads the events of ConverseStream, whole Converse answers, and the chunks of InvokeModel.

    What must be sent back with a thought is in ``opaque``, in the words of the wire: ``signature`` or
    ``redactedContent``.
    """

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._row = row
        self._choice = choice
        self._blocks: dict[int, Block] = {}
        self._results: dict[int, list[Any]] = {}
        self._images: dict[int, dict[str, Any]] = {}
        self._bare: Block | None = None
        self._stopped = False
        self._metered = False
        self._inner: Dialect | None = None

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """AWS frames have headers; a whole answer has an output."""
        return frame.headers is not None or "output" in payload

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload; the frame's name says what it is."""
        reader = _EVENTS.get(frame.event)
        if reader is not None:
            reader(self, payload)
        elif frame.event == "chunk":
            self._read_invoked(self._unwrapped(payload, frame), frame)
        else:
            self._read_unnamed(payload, frame)

    def _read_unnamed(self, payload: dict[str, Any], frame: Frame) -> None:
        kind = (frame.headers or {}).get(":message-type")
        if kind in ("exception", "error") or frame.event.endswith("Exception"):
            raise stream_error(self._turn.provider, frame.event, payload, frame.headers)
        if isinstance(payload.get("output"), dict):
            self._read_whole(payload)
        elif frame.event == "message":
            self._read_invoked(payload, frame)
        else:
            self._turn.unknown(frame.event, payload)

    # -- InvokeModel

    def _unwrapped(self, payload: dict[str, Any], frame: Frame) -> dict[str, Any]:
        if "bytes" not in payload:
            return payload
        data = b64decode(payload["bytes"], validate=True)
        try:
            inner = orjson.loads(data)
        except ValueError:
            inner = load_torn(Frame(frame.event, data.decode(), start=frame.start, end=frame.end), self._turn.provider)
            self._turn.has_torn_text = True
        if not isinstance(inner, dict):
            raise TypeError(f"the chunk holds {type(inner).__name__} instead of an object")
        return inner

    def _read_invoked(self, payload: dict[str, Any], frame: Frame) -> None:
        if self._inner is None:
            maker = next((kind for kind in (Anthropic, OpenAIChat) if kind.recognises(payload, frame)), None)
            if maker is not None:
                self._inner = maker(self._turn, self._row, self._choice)
        if self._inner is not None:
            self._inner.read(payload, frame)
        elif not self._read_wrapped(payload) and not self._read_plain(payload) and _METRICS not in payload:
            if isinstance(payload.get("message"), str):  # the body of a refused request
                raise stream_error(self._turn.provider, str(payload.get("__type") or ""), payload)
            self._turn.unknown("a chunk of a model whose protocol is not known", payload)
        if (metrics := payload.get(_METRICS)) and not self._turn.ended:
            # Bedrock adds this to the last chunk of every model.
            self._turn.usage(Usage(metrics.get("inputTokenCount"), metrics.get("outputTokenCount"), raw=metrics))
            self._turn.complete()

    def _read_wrapped(self, payload: dict[str, Any]) -> bool:
        # Amazon's own models put the events of Converse into the chunks, each under its name.
        names = [name for name in payload if name in _EVENTS]
        for name in names:
            _EVENTS[name](self, payload[name])
        for name in payload:
            if name.endswith("Exception"):
                raise stream_error(self._turn.provider, name, payload[name])
        return bool(names)

    def _read_plain(self, payload: dict[str, Any]) -> bool:
        for text_field, reason_field in _PLAIN_TEXT:
            if text_field in payload:
                if text := payload[text_field]:
                    self._turn.text(text)
                if reason := payload.get(reason_field):
                    self._turn.stop(_PLAIN_STOPS.get(reason, "other"), reason)
                return True
        return False

    # -- Converse

    def _read_message_start(self, payload: dict[str, Any]) -> None:
        self._turn.begin()

    def _read_block_start(self, payload: dict[str, Any]) -> None:
        self._settle_bare(cut=False)
        index = payload["contentBlockIndex"]
        if (unclosed := self._blocks.pop(index, None)) is not None:
            self._turn.close(unclosed, incomplete=True)
        for kind, start in payload["start"].items():
            starter = _STARTS.get(kind)
            if starter is None:
                self._turn.notice_once("unknown_block", kind, payload)
            else:
                starter(self, index, start)

    def _start_tool(self, index: int, start: dict[str, Any]) -> None:
        kind = start.get("type")
        self._blocks[index] = self._turn.open(
            "tool_call", {"server": kind} if kind else None, start.get("toolUseId"), start.get("name")
        )

    def _start_result(self, index: int, start: dict[str, Any]) -> None:
        self._results[index] = []
        self._blocks[index] = block = self._turn.open(
            "tool_result", {"server": start.get("type") or "tool_result"}, start.get("toolUseId")
        )
        if status := start.get("status"):
            block.opaque = {"status": status}

    def _start_image(self, index: int, start: dict[str, Any]) -> None:
        self._images[index] = {"format": start.get("format"), "bytes": ""}

    def _read_block_delta(self, payload: dict[str, Any]) -> None:
        index = payload["contentBlockIndex"]
        for kind, delta in payload["delta"].items():
            reader = _DELTAS.get(kind)
            if reader is None:
                self._turn.notice_once("unknown_event", f"contentBlockDelta {kind}", payload)
            else:
                reader(self, index, delta)

    def _block(self, index: int, kind: str) -> Block:
        # Text and thought have no start of their own: the first delta opens them.
        block = self._blocks.get(index)
        if block is None:
            self._settle_bare(cut=False)
            block = self._blocks[index] = self._turn.open(kind)
        return block

    def _read_text(self, index: int, text: str) -> None:
        if text:
            self._turn.add(self._block(index, "text"), text)

    def _read_input(self, index: int, delta: dict[str, Any]) -> None:
        self._turn.add(self._blocks[index], delta["input"])

    def _read_result(self, index: int, pieces: list[dict[str, Any]]) -> None:
        result = self._results[index]
        for piece in pieces:
            if result and piece.keys() == {"text"} == result[-1].keys():
                result[-1] = {"text": result[-1]["text"] + piece["text"]}
            else:
                result.append(piece)

    def _read_reasoning(self, index: int, delta: dict[str, Any]) -> None:
        block = self._block(index, "thinking")
        if text := delta.get("text"):
            self._turn.add(block, text)
        kept = block.opaque or {}
        if signature := delta.get("signature"):
            block.opaque = {**kept, "signature": kept.get("signature", "") + signature}
        if redacted := delta.get("redactedContent"):
            before = kept.get("redactedContent")
            block.opaque = {**kept, "redactedContent": _joined(before, redacted) if before else redacted}

    def _read_citation(self, index: int, citation: dict[str, Any]) -> None:
        block = self._blocks.get(index)
        if block is not None:
            kept = block.opaque or {"citations": []}
            kept["citations"].append(citation)
            block.opaque = kept
        place = citation.get("location") or {}
        fields = {
            "url": (place.get("web") or {}).get("url") or citation.get("source") or "",
            "title": citation.get("title") or (place.get("web") or {}).get("domain") or "",
            "text": "".join(piece.get("text") or "" for piece in citation.get("sourceContent") or ()),
        }
        if block is not None:
            fields["index"] = block.index
        self._turn.cite(**fields)

    def _read_image(self, index: int, delta: dict[str, Any]) -> None:
        if error := delta.get("error"):
            self._turn.notice("image_error", str(error.get("message") or ""), error)
        elif data := (delta.get("source") or {}).get("bytes"):
            image = self._images[index]
            image["bytes"] = _joined(image["bytes"], data) if image["bytes"] else data

    def _read_block_stop(self, payload: dict[str, Any]) -> None:
        self._stop(payload["contentBlockIndex"])

    def _stop(self, index: int) -> None:
        if (image := self._images.pop(index, None)) and image["bytes"]:
            self._turn.emit(Image(GeneratedImage(f"image/{image['format'] or 'png'}", data=image["bytes"])))
        block = self._blocks.pop(index, None)
        if block is None:  # a text without a single character was never opened
            return
        if index in self._results:
            self._turn.add(block, json_text(self._results.pop(index)))
        if block.kind == "tool_call" and not block.parts and "server" not in block.attributes:
            # No input at all: a tool without arguments, or a call that the token limit cut at its first character.
            self._bare = block
        else:
            self._turn.close(block)

    def _settle_bare(self, cut: bool) -> None:
        if self._bare is not None:
            self._turn.close(self._bare, incomplete=cut)
            self._bare = None

    def _read_message_stop(self, payload: dict[str, Any]) -> None:
        reason = payload["stopReason"]
        stop = STOP_REASONS.get(reason, "other")
        self._settle_bare(cut=stop in CUTTING_REASONS)
        # A call that the wire never closed was not finished, whatever its text looks like.
        for block in self._blocks.values():
            self._turn.close(block, incomplete=block.kind == "tool_call")
        self._blocks.clear()
        self._turn.stop(stop, reason)
        self._stopped = True
        self._complete_if_metered()

    def _read_metadata(self, payload: dict[str, Any]) -> None:
        if usage := payload.get("usage"):
            self._turn.usage(usage_of(usage))
        if trace := payload.get("trace"):
            self._turn.notice("trace", "", trace)
        self._metered = True
        self._complete_if_metered()

    def _complete_if_metered(self) -> None:
        # The metadata follows the stop; recordings with the two the other way round exist.
        if self._stopped and self._metered:
            self._turn.complete()

    def _read_whole(self, payload: dict[str, Any]) -> None:
        self._turn.begin()
        for index, content in enumerate(payload["output"]["message"]["content"]):
            for kind, value in content.items():
                reader = _CONTENTS.get(kind)
                if reader is None:
                    self._turn.notice_once("unknown_block", kind, content)
                else:
                    reader(self, index, value)
            self._stop(index)
        self._read_message_stop(payload)
        self._read_metadata(payload)

    def _whole_tool(self, index: int, tool: dict[str, Any]) -> None:
        self._start_tool(index, tool)
        if tool.get("input"):
            self._turn.add(self._blocks[index], json_text(tool["input"]))

    def _whole_result(self, index: int, result: dict[str, Any]) -> None:
        self._start_result(index, result)
        self._read_result(index, result.get("content") or [])

    def _whole_reasoning(self, index: int, reasoning: dict[str, Any]) -> None:
        self._read_reasoning(index, {**reasoning, **(reasoning.get("reasoningText") or {})})

    def _whole_citations(self, index: int, cited: dict[str, Any]) -> None:
        for piece in cited.get("content") or ():
            self._read_text(index, piece.get("text") or "")
        for citation in cited.get("citations") or ():
            self._read_citation(index, citation)

    def _whole_image(self, index: int, image: dict[str, Any]) -> None:
        self._start_image(index, image)
        self._read_image(index, image)

    def done(self) -> None:
        """Not part of this protocol."""
        self._turn.notice_once("unknown_event", "[DONE]")

    def may_end(self) -> bool:
        """After ``messageStop`` the metadata may be missing; a model's own protocol has its own rule."""
        return self._stopped or (self._inner is not None and self._inner.may_end())


_EVENTS: dict[str, Callable[[BedrockConverse, dict[str, Any]], None]] = {
    "contentBlockDelta": BedrockConverse._read_block_delta,
    "contentBlockStart": BedrockConverse._read_block_start,
    "contentBlockStop": BedrockConverse._read_block_stop,
    "messageStart": BedrockConverse._read_message_start,
    "messageStop": BedrockConverse._read_message_stop,
    "metadata": BedrockConverse._read_metadata,
}

_STARTS: dict[str, Callable[[BedrockConverse, int, dict[str, Any]], None]] = {
    "toolUse": BedrockConverse._start_tool,
    "toolResult": BedrockConverse._start_result,
    "image": BedrockConverse._start_image,
}

_DELTAS: dict[str, Callable[[BedrockConverse, int, Any], None]] = {
    "text": BedrockConverse._read_text,
    "toolUse": BedrockConverse._read_input,
    "toolResult": BedrockConverse._read_result,
    "reasoningContent": BedrockConverse._read_reasoning,
    "citation": BedrockConverse._read_citation,
    "image": BedrockConverse._read_image,
}

_CONTENTS: dict[str, Callable[[BedrockConverse, int, Any], None]] = {
    "text": BedrockConverse._read_text,
    "toolUse": BedrockConverse._whole_tool,
    "toolResult": BedrockConverse._whole_result,
    "reasoningContent": BedrockConverse._whole_reasoning,
    "citationsContent": BedrockConverse._whole_citations,
    "image": BedrockConverse._whole_image,
}


def stream_error(
    provider: str, kind: str, payload: dict[str, Any], headers: dict[str, Any] | None = None
) -> ProviderError:
    """The typed error for an exception frame.

    >>> error = stream_error("bedrock", "throttlingException", {"message": "slow down"})
    >>> error.status, error.kind, error.retryable
    (429, 'throttlingException', True)
    """
    kind = kind.rpartition("#")[2]
    known = kind[:1].lower() + kind[1:]  # HTTP answers write the name with a capital
    message = payload.get("message") or payload.get("Message") or (headers or {}).get(":error-message") or kind
    return ProviderError(
        f"{provider}: {message}",
        provider=provider,
        status=_STATUS.get(known),
        kind=kind or None,
        retryable=known in _RETRYABLE,
    )


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts of Converse.

    >>> usage_of({"inputTokens": 3, "outputTokens": 5}).output_tokens
    5
    """
    return Usage(
        input_tokens=usage.get("inputTokens"),
        output_tokens=usage.get("outputTokens"),
        cache_read_tokens=usage.get("cacheReadInputTokens"),
        cache_write_tokens=usage.get("cacheWriteInputTokens"),
        raw=usage,
    )


def _joined(first: str, second: str) -> str:
    """One base64 text for the bytes of two."""
    return b64encode(b64decode(first) + b64decode(second)).decode()
