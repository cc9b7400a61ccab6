"""Gemini and Vertex: ``generateContent``, streamed as SSE, as a JSON array or as lines, or whole."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from streamflow.errors import ProviderError
from streamflow.events import Frame, GeneratedImage, Image, ImagePreview, Usage
from streamflow.providers.gemini_arguments import ArgumentWriter, json_text
from streamflow.providers.provider import Provider
from streamflow.providers.refusals import provider_error
from streamflow.providers.turn import Block, Turn

# STOP ends turns with and without function calls: the turn itself knows which it was.
STOP_REASONS = {
    "STOP": "",
    "MAX_TOKENS": "max_tokens",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "MALFORMED_FUNCTION_CALL": "malformed_call",
    "UNEXPECTED_TOOL_CALL": "malformed_call",
}

_RETRYABLE_KINDS = frozenset(
    ("RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED", "GATEWAY_TIMEOUT")
)

_KNOWN_PAYLOAD = frozenset(
    ("candidates", "usageMetadata", "promptFeedback", "modelVersion", "responseId", "createTime", "modelStatus")
)
_SILENT_CANDIDATE = frozenset(
    ("content", "index", "finishReason", "safetyRatings", "avgLogprobs", "logprobsResult", "tokenCount")
)


class Gemini:
    """Reads ``GenerateContentResponse`` payloads. The end is the end of the bytes after a finish reason."""

    def __init__(self, turn: Turn, row: Provider, choice: int) -> None:
        self._turn = turn
        self._choice = choice
        self._finished = False
        self._running: Block | None = None
        self._last_text: Block | None = None
        self._call: Block | None = None
        self._arguments = ArgumentWriter()
        self._cited: Counter[str] = Counter()

    @staticmethod
    def recognises(payload: dict[str, Any], frame: Frame) -> bool:
        """Gemini payloads have candidates, or say why there are none."""
        return not _KNOWN_PAYLOAD.isdisjoint(payload)

    def read(self, payload: dict[str, Any], frame: Frame) -> None:
        """Take one payload."""
        turn = self._turn
        if error := payload.get("error"):
            raise google_error(turn.provider, error)
        if not turn.started:
            turn.begin(payload.get("responseId"), payload.get("modelVersion"))
        for candidate in payload.get("candidates") or ():
            if candidate.get("index", 0) == self._choice:
                self._read_candidate(candidate)
            else:
                turn.notice_once("choices", "the provider sends several choices; this stream is one of them")
        if usage := payload.get("usageMetadata"):
            turn.usage(usage_of(usage))
        reason = (payload.get("promptFeedback") or {}).get("blockReason")
        if reason and not self._finished:
            self._finished = True
            turn.stop("content_filter", reason)
        if _KNOWN_PAYLOAD.isdisjoint(payload):
            turn.unknown(", ".join(payload), payload, frame.event)

    def _read_candidate(self, candidate: dict[str, Any]) -> None:
        for part in (candidate.get("content") or {}).get("parts") or ():
            self._read_part(part)
        for field, value in candidate.items():
            if value and field not in _SILENT_CANDIDATE:
                reader = _CANDIDATE_FIELDS.get(field)
                if reader is not None:
                    reader(self, value)
                else:
                    self._turn.notice_once("unknown_field", f"candidate.{field}", value)
        reason = candidate.get("finishReason")
        if reason and reason != "FINISH_REASON_UNSPECIFIED":
            self._finished = True
            self._turn.stop(STOP_REASONS.get(reason, "other"), reason)

    # -- parts

    def _read_part(self, part: dict[str, Any]) -> None:
        reader = next((reader for field, reader in _PARTS.items() if field in part), None)
        if reader is not None:
            reader(self, part)
        else:
            self._turn.notice_once("unknown_part", ", ".join(part), part)

    def _read_text(self, part: dict[str, Any]) -> None:
        text = part.get("text") or ""
        signature = part.get("thoughtSignature")
        if not text and not signature:
            return
        kind = "thinking" if part.get("thought") else "text"
        block = self._running
        # A block has room for one signature; the text that carries a second one is a block of its own.
        if block is None or block.kind != kind or (signature and block.opaque):
            self._pause()
            block = self._running = self._turn.open(kind)
            if kind == "text":
                self._last_text = block
        self._turn.add(block, text)
        if signature:
            block.opaque = _opaque(part)

    def _pause(self) -> None:
        if self._running is not None:
            self._turn.close(self._running)
            self._running = None

    def _read_function_call(self, part: dict[str, Any]) -> None:
        call = part["functionCall"]
        self._pause()
        if self._continues(call):
            self._read_fragment(call, part)
        elif call:
            self._turn.whole_call(call.get("id"), call.get("name"), json_text(call.get("args") or {}), _opaque(part))

    def _continues(self, call: dict[str, Any]) -> bool:
        if self._call is not None and call.get("name") not in (None, "", self._call.tool_name):
            # Another call before the promised rest of this one: what came of it must not run.
            self._turn.close(self._call, incomplete=True)
            self._call = None
        return self._call is not None or bool(call.get("willContinue") or call.get("partialArgs"))

    def _read_fragment(self, call: dict[str, Any], part: dict[str, Any]) -> None:
        block = self._call
        writer = self._arguments
        if block is None:
            block = self._call = self._turn.open("tool_call", None, call.get("id"), call.get("name"))
            writer = self._arguments = ArgumentWriter()
            self._turn.add(block, writer.begin())
        if "thoughtSignature" in part:
            block.opaque = _opaque(part)
        pieces = [writer.member(key, value) for key, value in (call.get("args") or {}).items()]
        for argument in call.get("partialArgs") or ():
            pieces.append(self._argument(argument))
        if not call.get("willContinue"):
            pieces.append(writer.end())
        self._turn.add(block, "".join(pieces))
        if not call.get("willContinue"):
            self._call = None
            self._turn.close(block)

    def _argument(self, argument: dict[str, Any]) -> str:
        path = argument["jsonPath"]
        if "nullValue" in argument:  # its own value is the name of an enumeration
            return self._arguments.value(path, None)
        for field in ("numberValue", "boolValue"):
            if field in argument:
                return self._arguments.value(path, argument[field])
        return self._arguments.string(path, argument.get("stringValue") or "")

    def _read_server_call(self, part: dict[str, Any]) -> None:
        kind = "executableCode" if "executableCode" in part else "toolCall"
        call = part[kind]
        self._add_server_block("tool_call", kind, part, call.get("args", {}) if kind == "toolCall" else call)

    def _read_server_result(self, part: dict[str, Any]) -> None:
        kind = "codeExecutionResult" if "codeExecutionResult" in part else "toolResponse"
        result = part[kind]
        content = result.get("response", {}) if kind == "toolResponse" else result
        self._add_server_block("tool_result", kind, part, content)

    def _add_server_block(self, kind: str, wire_kind: str, part: dict[str, Any], content: Any) -> None:
        self._pause()
        body = part[wire_kind]
        self._turn.whole(
            kind,
            json_text(content),
            {"server": wire_kind},
            tool_id=body.get("id"),
            tool_name=body.get("name") or body.get("toolType"),
            opaque=_opaque(part),
        )

    def _read_media(self, part: dict[str, Any]) -> None:
        self._pause()
        media = part.get("inlineData") or part.get("fileData") or {}
        media_type = media.get("mimeType") or ""
        if not media_type.startswith("image/"):
            self._turn.notice("audio" if media_type.startswith("audio/") else "media", media_type, part)
            return
        image = GeneratedImage(
            media_type, data=media.get("data"), url=media.get("fileUri"), generation=_opaque(part) or {}
        )
        # Pictures inside a thought are sketches on the way to the answer.
        self._turn.emit(ImagePreview(image) if part.get("thought") else Image(image))

    # -- facts about the candidate

    def _read_grounding(self, metadata: dict[str, Any]) -> None:
        supports = metadata.get("groundingSupports") or ()
        here: Counter[str] = Counter()
        for position, chunk in enumerate(metadata.get("groundingChunks") or ()):
            key = json_text(chunk)
            here[key] += 1
            if here[key] <= self._cited[key]:  # later payloads repeat what earlier ones said
                continue
            self._cited[key] = here[key]
            source = next((value for value in chunk.values() if isinstance(value, dict)), {})
            segments = (s.get("segment") or {} for s in supports if position in (s.get("groundingChunkIndices") or ()))
            self._cite(source, next(segments, {}))

    def _read_citations(self, metadata: dict[str, Any]) -> None:
        for source in metadata.get("citationSources") or metadata.get("citations") or ():
            key = json_text(source)
            if not self._cited[key]:
                self._cited[key] = 1
                self._cite(source, source)

    def _cite(self, source: dict[str, Any], segment: dict[str, Any]) -> None:
        block = self._last_text
        said = segment.get("text") or ""
        start, end = -1, -1
        if block is not None and "endIndex" in segment:
            start, end = character_span("".join(block.parts), segment.get("startIndex", 0), segment["endIndex"], said)
        self._turn.cite(
            index=self._turn.current_index if block is None else block.index,
            url=source.get("uri") or source.get("sourceUri") or "",
            title=source.get("title") or "",
            text=said or source.get("text") or "",
            start=start,
            end=end,
        )

    def _read_finish_message(self, message: str) -> None:
        self._turn.notice("finish_message", message)

    def done(self) -> None:
        """Not a word of Gemini's own; gateways that add it mean the end of the bytes."""
        if self._finished:
            self._turn.complete()

    def may_end(self) -> bool:
        """The connection closes after a finish reason, or after the reason why there is no answer."""
        return self._finished


_PARTS: dict[str, Callable[[Gemini, dict[str, Any]], None]] = {
    "text": Gemini._read_text,
    "functionCall": Gemini._read_function_call,
    "inlineData": Gemini._read_media,
    "fileData": Gemini._read_media,
    "executableCode": Gemini._read_server_call,
    "codeExecutionResult": Gemini._read_server_result,
    "toolCall": Gemini._read_server_call,
    "toolResponse": Gemini._read_server_result,
    "thoughtSignature": Gemini._read_text,  # a signature alone is that of an empty text
}

_CANDIDATE_FIELDS: dict[str, Callable[[Gemini, Any], None]] = {
    "groundingMetadata": Gemini._read_grounding,
    "citationMetadata": Gemini._read_citations,
    "finishMessage": Gemini._read_finish_message,
}


def _opaque(part: dict[str, Any]) -> dict[str, Any] | None:
    signature = part.get("thoughtSignature")
    return {"thoughtSignature": signature} if signature else None


def google_error(provider: str, error: Any) -> ProviderError:
    """The typed error for Google's error object; its kind is the name of the status.

    >>> google_error("gemini", {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}).kind
    'RESOURCE_EXHAUSTED'
    """
    typed = provider_error(provider, error)
    typed.retryable = typed.retryable or (typed.kind or "").upper() in _RETRYABLE_KINDS
    return typed


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts of Gemini; thoughts are counted beside the output, not in it.

    >>> usage_of({"promptTokenCount": 3, "thoughtsTokenCount": 7}).reasoning_tokens
    7
    """
    return Usage(
        input_tokens=usage.get("promptTokenCount"),
        output_tokens=usage.get("candidatesTokenCount"),
        cache_read_tokens=usage.get("cachedContentTokenCount"),
        reasoning_tokens=usage.get("thoughtsTokenCount"),
        raw=usage,
    )


def character_span(text: str, start: int, end: int, said: str = "") -> tuple[int, int]:
    """Google counts bytes of UTF-8: the same span in characters, or -1 where it is not in this text.

    >>> character_span("Köln am Rhein", 9, 14, "Rhein")
    (8, 13)
    """
    encoded = text.encode("utf-8", "surrogatepass")
    first = len(encoded[:start].decode("utf-8", "ignore"))
    last = len(encoded[:end].decode("utf-8", "ignore"))
    if end > len(encoded) or (said and text[first:last] != said):
        return -1, -1
    return first, last
