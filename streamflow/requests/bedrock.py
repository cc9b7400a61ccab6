"""Bodies for Bedrock's Converse and ConverseStream."""

import re
from collections.abc import Callable
from typing import Any

from streamflow.requests.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    GeneratedImageBlock,
    ImageBlock,
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
    place_options,
    unsigned_thinking,
    without_blank_texts,
)
from streamflow.requests.tool_definitions import ToolDefinition, written_tools
from streamflow.text.tool_schemas import ToolSchema

_OPTIONS = {
    "max_tokens": "inferenceConfig.maxTokens",
    "temperature": "inferenceConfig.temperature",
    "top_p": "inferenceConfig.topP",
    "stop": "inferenceConfig.stopSequences",
    "top_k": "additionalModelRequestFields.top_k",
}
_NOT_NAME = re.compile(r"[^a-zA-Z0-9\s()\[\]-]+")
_FORMATS = {"jpg": "jpeg", "mpeg": "mp3", "plain": "txt", "markdown": "md", "x-wav": "wav"}


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request; model and streaming are part of the address."""
    made: dict[str, Any] = {"messages": _messages(draft)}
    if words := joined_text(draft.instructions()):
        made["system"] = [{"text": words}]
    if draft.tools:
        made["toolConfig"] = {"tools": written_tools(draft.tools, _tool)}
        if choice := draft.options.get("tool_choice"):
            made["toolConfig"]["toolChoice"] = _tool_choice(draft, choice)
    elif names := dict.fromkeys(call.name for call in draft.call_names().values()):
        # A history with calls is refused unless tools are named, even if none is to be called any more.
        made["toolConfig"] = {"tools": [_tool(ToolDefinition(ToolSchema(name))) for name in names]}
    place_options(made, draft, _OPTIONS)
    return made


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    made: dict[str, Any] = {"name": tool.name, "inputSchema": {"json": tool.parameters}}
    return {"toolSpec": {**made, "description": tool.description} if tool.description else made}


def _tool_choice(draft: Draft, choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    if choice == "none":
        raise draft.unsupported("tool_choice='none'", "Leave the tools out instead.")
    known: dict[str, Any] = {"auto": {"auto": {}}, "required": {"any": {}}, "any": {"any": {}}}
    return known.get(choice, {"tool": {"name": choice}})


def _messages(draft: Draft) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []  # made by the model; only a user may show pictures
    for message in draft.spoken():
        role = "assistant" if message.role == "assistant" else "user"
        own = draft.is_own(message)
        content: list[dict[str, Any]] = []
        if role == "user":
            content, pictures = pictures, []
        for block in without_blank_texts(message.content):
            written = _write(draft, own, block)
            if written is None:
                continue
            moved = role == "assistant" and isinstance(block, GeneratedImageBlock)
            (pictures if moved else content).append(written)
        _join(turns, role, content)
    _join(turns, "user", pictures)
    for turn in turns:
        turn["content"].sort(key=lambda block: "toolResult" not in block)
    _name_apart(turns)
    if turns and turns[-1]["role"] == "assistant" and "text" in turns[-1]["content"][-1]:
        turns[-1]["content"][-1]["text"] = turns[-1]["content"][-1]["text"].rstrip()
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"text": OPENING}]})
    return turns


def _name_apart(turns: list[dict[str, Any]]) -> None:
    """No two documents of a request may have one name."""
    names: set[str] = set()
    inner = [part for turn in turns for block in turn["content"] for part in _with_inner(block) if "document" in part]
    for document in (part["document"] for part in inner):
        first = document["name"]
        number = 1
        while document["name"] in names:
            number += 1
            document["name"] = f"{first} {number}"
        names.add(document["name"])


def _with_inner(block: dict[str, Any]) -> list[dict[str, Any]]:
    return [block, *block.get("toolResult", {}).get("content", ())]


def _join(turns: list[dict[str, Any]], role: str, content: list[dict[str, Any]]) -> None:
    if not content:
        return
    if turns and turns[-1]["role"] == role:  # the roles must take turns
        turns[-1]["content"].extend(content)
    else:
        turns.append({"role": role, "content": content})


def _write(draft: Draft, own: bool, block: Block) -> dict[str, Any] | None:
    writer = _WRITERS.get(block.type)
    return None if writer is None else writer(draft, own, block)


def _text(draft: Draft, own: bool, block: TextBlock) -> dict[str, Any] | None:
    return {"text": block.text} if block.text.strip() else None


def _format(media_type: str) -> str:
    form = media_type.rpartition("/")[2]
    return _FORMATS.get(form, form)


def _media(draft: Draft, block: ImageBlock | AudioBlock | DocumentBlock) -> dict[str, Any]:
    source = inline(draft, block.source)
    if isinstance(source, Base64Source):
        return {"format": _format(source.media_type), "source": {"bytes": source.data}}
    if not source.url.startswith("s3://"):
        raise draft.unsupported("media by address", "Load it and pass it as base64, or name an s3:// object.")
    form = source.media_type or source.url.rpartition(".")[2]
    return {"format": _format(form), "source": {"s3Location": {"uri": source.url}}}


def _image(draft: Draft, own: bool, block: ImageBlock) -> dict[str, Any]:
    return {"image": _media(draft, block)}


def _audio(draft: Draft, own: bool, block: AudioBlock) -> dict[str, Any]:
    return {"audio": _media(draft, block)}


def _document(draft: Draft, own: bool, block: DocumentBlock) -> dict[str, Any]:
    # A document must have a name of letters, digits, single spaces, hyphens and brackets.
    name = " ".join(_NOT_NAME.sub(" ", block.title or "document").split())
    return {"document": {"name": name or "document", **_media(draft, block)}}


def _generated(draft: Draft, own: bool, block: GeneratedImageBlock) -> dict[str, Any] | None:
    picture = image_of(block)
    return None if picture is None else _image(draft, own, picture)


def _tool_call(draft: Draft, own: bool, block: ToolCallBlock) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": draft.fitted_id(block.id), "name": block.name, "input": input_object(block)}}


def _tool_result(draft: Draft, own: bool, block: ToolResultBlock) -> dict[str, Any]:
    words = block.text
    content = [{"text": words}] if words or not block.media else []
    content += [written for part in block.media if (written := _write(draft, own, part)) is not None]
    made: dict[str, Any] = {"toolUseId": draft.fitted_id(block.tool_id), "content": content}
    if block.is_error:
        made["status"] = "error"
    return {"toolResult": made}


def _thinking(draft: Draft, own: bool, block: ThinkingBlock) -> dict[str, Any] | None:
    kept = block.opaque if isinstance(block.opaque, dict) and own else {}
    redacted = kept.get("redactedContent") or (kept.get("data") if kept.get("type") == "redacted_thinking" else None)
    if redacted:
        return {"reasoningContent": {"redactedContent": redacted}}
    signature = (block.signature if own else None) or kept.get("signature")
    if signature:
        return {"reasoningContent": {"reasoningText": {"text": block.text, "signature": signature}}}
    return _text(draft, own, unsigned_thinking(draft, block)) if block.text else None


_WRITERS: dict[str, Callable[[Draft, bool, Any], dict[str, Any] | None]] = {
    "text": _text,
    "image": _image,
    "audio": _audio,
    "document": _document,
    "generated_image": _generated,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "thinking": _thinking,
}
