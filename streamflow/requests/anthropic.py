"""Bodies for Anthropic's Messages API."""

from base64 import b64decode
from collections.abc import Callable
from typing import Any

from streamflow.requests.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    GeneratedImageBlock,
    ImageBlock,
    ServerToolBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from streamflow.requests.draft import (
    OPENING,
    Draft,
    image_of,
    inline,
    input_object,
    joined_text,
    loaded_json,
    place_options,
    unsigned_thinking,
    without_blank_texts,
)
from streamflow.requests.tool_definitions import ToolDefinition, written_tools

# The API has no default of its own; every model takes this many.
DEFAULT_MAX_TOKENS = 4096

_OPTIONS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop": "stop_sequences",
}
_CHOICES = {"auto": "auto", "none": "none", "required": "any", "any": "any"}


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request."""
    made: dict[str, Any] = {"model": draft.model, "max_tokens": DEFAULT_MAX_TOKENS}
    instructions = draft.instructions()
    if any(block.opaque for block in instructions):
        made["system"] = [write(draft, True, block) for block in instructions]
    elif words := joined_text(instructions):
        made["system"] = words
    made["messages"] = _messages(draft)
    if draft.tools:
        made["tools"] = written_tools(draft.tools, _tool)
    if choice := draft.options.get("tool_choice"):
        made["tool_choice"] = _tool_choice(choice)
    if draft.stream:
        made["stream"] = True
    place_options(made, draft, _OPTIONS)
    return made


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    made: dict[str, Any] = {"name": tool.name, "input_schema": tool.parameters}
    if tool.description:
        made["description"] = tool.description
    return {**made, "strict": True} if tool.strict else made


def _tool_choice(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    return {"type": _CHOICES[choice]} if choice in _CHOICES else {"type": "tool", "name": choice}


def _messages(draft: Draft) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []  # made by the model; only a user may show pictures
    for message in draft.spoken():
        role = "assistant" if message.role == "assistant" else "user"
        content = [] if role == "assistant" else pictures
        if role == "user":
            pictures = []
        for block in without_blank_texts(message.content):
            if isinstance(block, GeneratedImageBlock):
                picture = image_of(block)
                if picture is not None:
                    (pictures if role == "assistant" else content).append(_image(draft, True, picture))
            elif (written := write(draft, draft.is_own(message), block)) is not None:
                content.append(written)
        _join(turns, role, content)
    if pictures:
        _join(turns, "user", pictures)
    for turn in turns:
        # Results must come first, right after the calls that they answer.
        turn["content"].sort(key=lambda block: block["type"] != "tool_result" or turn["role"] == "assistant")
    _trim_end(turns)
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    return turns


def _join(turns: list[dict[str, Any]], role: str, content: list[dict[str, Any]]) -> None:
    if not content:
        return
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"].extend(content)
    else:
        turns.append({"role": role, "content": content})


def _trim_end(turns: list[dict[str, Any]]) -> None:
    # An answer that is begun here may not end in white space, says the API.
    if turns and turns[-1]["role"] == "assistant" and turns[-1]["content"][-1]["type"] == "text":
        text = turns[-1]["content"][-1]["text"].rstrip()
        if text:
            turns[-1]["content"][-1]["text"] = text
        else:
            turns[-1]["content"].pop()
    if turns and not turns[-1]["content"]:
        turns.pop()


def write(draft: Draft, own: bool, block: Block) -> dict[str, Any] | None:
    """One block in the words of the API; None for one that has no place there."""
    writer = _WRITERS.get(block.type)
    return None if writer is None else writer(draft, own, block)


def _text(draft: Draft, own: bool, block: TextBlock) -> dict[str, Any] | None:
    if not block.text:
        return None
    return {"type": "text", "text": block.text, **_extras(block, own)}


def _image(draft: Draft, own: bool, block: ImageBlock) -> dict[str, Any]:
    return {"type": "image", "source": _source(draft, block), **_extras(block, own)}


def _document(draft: Draft, own: bool, block: DocumentBlock) -> dict[str, Any]:
    title = {"title": block.title} if block.title else {}
    return {"type": "document", "source": _source(draft, block), **title, **_extras(block, own)}


def _source(draft: Draft, block: ImageBlock | DocumentBlock) -> dict[str, Any]:
    source = inline(draft, block.source)
    if not isinstance(source, Base64Source):
        return {"type": "url", "url": source.url}
    if source.media_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": _decoded(draft, source)}
    return {"type": "base64", "media_type": source.media_type, "data": source.data}


def _decoded(draft: Draft, source: Base64Source) -> str:
    try:
        return b64decode(source.data).decode()
    except UnicodeDecodeError as error:
        raise draft.unsupported(f"a document of {source.media_type} that is not UTF-8") from error


def _audio(draft: Draft, own: bool, block: AudioBlock) -> dict[str, Any]:
    raise draft.unsupported("audio")


def _tool_call(draft: Draft, own: bool, block: ToolCallBlock) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": draft.fitted_id(block.id),
        "name": block.name,
        "input": input_object(block),
        **_extras(block, own),
    }


def _tool_result(draft: Draft, own: bool, block: ToolResultBlock) -> dict[str, Any]:
    content: Any = block.content
    if not isinstance(content, str):
        content = [written for part in content if (written := write(draft, own, part)) is not None]
    failed = {"is_error": True} if block.is_error else {}
    made = {"type": "tool_result", "tool_use_id": draft.fitted_id(block.tool_id), "content": content}
    return {**made, **failed, **_extras(block, own)}


def _thinking(draft: Draft, own: bool, block: ThinkingBlock) -> dict[str, Any] | None:
    kept = block.opaque if isinstance(block.opaque, dict) and own else {}
    if kept.get("type") == "redacted_thinking":
        return dict(kept)
    signature = (block.signature if own else None) or kept.get("signature")
    if signature:
        return {"type": "thinking", "thinking": block.text, "signature": signature}
    redacted = kept.get("redactedContent")  # as Bedrock calls it
    if redacted:
        return {"type": "redacted_thinking", "data": redacted}
    return _text(draft, own, unsigned_thinking(draft, block)) if block.text else None


def _server_tool(draft: Draft, own: bool, block: ServerToolBlock) -> dict[str, Any] | None:
    if not own:
        return None
    kept = block.opaque if isinstance(block.opaque, dict) else {}
    if block.server.endswith("tool_use"):
        call = {"type": block.server, "id": block.id, "name": block.name, "input": loaded_json(block.content)}
        return {**kept, **call}
    if block.server.endswith("tool_result"):
        return {**kept, "type": block.server, "tool_use_id": block.id, "content": loaded_json(block.content)}
    if block.server == "compaction":
        return {**kept, "type": "compaction", "content": block.content}
    return dict(kept) or None


def _extras(block: Block, own: bool) -> dict[str, Any]:
    """Fields of the API's own: citations, cache marks, the caller of a tool."""
    if not own or not isinstance(block.opaque, dict):
        return {}
    return {name: value for name, value in block.opaque.items() if name in _EXTRAS}


_EXTRAS = frozenset(("cache_control", "citations", "caller", "context"))

_WRITERS: dict[str, Callable[[Draft, bool, Any], dict[str, Any] | None]] = {
    "text": _text,
    "image": _image,
    "document": _document,
    "audio": _audio,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "thinking": _thinking,
    "server_tool": _server_tool,
}
