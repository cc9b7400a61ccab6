"""Bodies for chat completions, as OpenAI and the many vendors of that family take them."""

import re
from collections.abc import Callable, Sequence
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
    Draft,
    data_url,
    image_of,
    inline,
    input_json,
    place_options,
    thoughts_as_text,
)
from streamflow.requests.messages import Message
from streamflow.requests.tool_definitions import ToolDefinition, written_tools

_OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop": "stop",
    "seed": "seed",
}
_CHOICES = frozenset(("auto", "none", "required", "any"))
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request."""
    made: dict[str, Any] = {"model": draft.model, "messages": messages(draft)}
    if draft.tools:
        made["tools"] = written_tools(draft.tools, function_tool)
    if choice := draft.options.get("tool_choice"):
        made["tool_choice"] = _tool_choice(choice)
    if draft.stream:
        made["stream"] = True
    place_options(made, draft, {**_OPTIONS, "max_tokens": draft.row.max_tokens})
    if draft.messages[-1].role == "assistant":
        made.update(draft.row.continue_body)
    return made


def function_tool(tool: ToolDefinition) -> dict[str, Any]:
    """A tool in the words of this family."""
    function: dict[str, Any] = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if not tool.description:
        del function["description"]
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _tool_choice(choice: Any) -> Any:
    if not isinstance(choice, str) or choice in _CHOICES:
        return "required" if choice == "any" else choice
    return {"type": "function", "function": {"name": choice}}


def messages(draft: Draft) -> list[dict[str, Any]]:
    """The messages, with pictures that a tool or the model made moved to a turn of the user."""
    written: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []
    for position, message in enumerate(draft.messages):
        if message.role != "tool" and pictures:
            # A tool's message holds only text; pictures may come when the last result is in.
            written.append({"role": "user", "content": pictures})
            pictures = []
        last = position == len(draft.messages) - 1
        for made, more in _ROLES[message.role](draft, message, last):
            if made is not None:
                written.append(made)
            pictures += more
    if pictures:
        written.append({"role": "user", "content": pictures})
    return _with_fillers(written, draft.row.filler)


def _with_fillers(written: list[dict[str, Any]], filler: str | None) -> list[dict[str, Any]]:
    """Some vendors want an answer of the assistant between results and the next words of the user."""
    if filler is None:
        return written
    out: list[dict[str, Any]] = []
    for turn in written:
        if turn["role"] == "user" and out and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": filler})
        out.append(turn)
    return out


_Turns = list[tuple[dict[str, Any] | None, list[dict[str, Any]]]]


def _named(draft: Draft, message: Message) -> dict[str, Any]:
    if not message.participant or not draft.row.names:
        return {}
    name = _NO_NAME.sub("_", message.participant).strip("_")[:64]
    return {"name": name} if name else {}


def _instruction(draft: Draft, message: Message, last: bool) -> _Turns:
    return [({"role": message.role, "content": message.text, **_named(draft, message)}, [])]


def _user(draft: Draft, message: Message, last: bool) -> _Turns:
    turns: _Turns = [(made, more) for result in message.tool_results for made, more in [_result(draft, result)]]
    rest = [block for block in message.content if not isinstance(block, ToolResultBlock)]
    content = _content(draft, rest)
    if content:
        turns.append(({"role": "user", "content": content, **_named(draft, message)}, []))
    return turns


def _content(draft: Draft, blocks: Sequence[Block]) -> str | list[dict[str, Any]]:
    if len(blocks) == 1 and isinstance(blocks[0], TextBlock):
        return blocks[0].text
    return [part for block in blocks if (part := write_part(draft, block)) is not None]


def write_part(draft: Draft, block: Block) -> dict[str, Any] | None:
    """A part of a user's message; None for a block that has no place there."""
    writer = _PARTS.get(block.type)
    return None if writer is None else writer(draft, block)


def _text(draft: Draft, block: TextBlock) -> dict[str, Any] | None:
    return {"type": "text", "text": block.text} if block.text else None


def _image(draft: Draft, block: ImageBlock) -> dict[str, Any]:
    if not draft.row.images:
        raise draft.unsupported("images")
    detail = {"detail": block.detail} if block.detail else {}
    return {"type": "image_url", "image_url": {"url": data_url(inline(draft, block.source)), **detail}}


def _generated(draft: Draft, block: GeneratedImageBlock) -> dict[str, Any] | None:
    picture = image_of(block)
    return None if picture is None else _image(draft, picture)


def audio_part(draft: Draft, block: AudioBlock) -> dict[str, Any]:
    """A recording; the format is the last word of its media type."""
    source = inline(draft, block.source)
    if not isinstance(source, Base64Source):
        raise draft.unsupported("audio by address", "Load it and pass it as base64.")
    form = source.media_type.rpartition("/")[2].removeprefix("x-")
    return {
        "type": "input_audio",
        "input_audio": {"data": source.data, "format": {"mpeg": "mp3", "wave": "wav"}.get(form, form)},
    }


def _document(draft: Draft, block: DocumentBlock) -> dict[str, Any]:
    source = inline(draft, block.source)
    if not isinstance(source, Base64Source):
        raise draft.unsupported("documents by address", "Load the document and pass it as base64.")
    name = block.title or "document." + source.media_type.rpartition("/")[2].replace("plain", "txt")
    return {"type": "file", "file": {"filename": name, "file_data": data_url(source)}}


_PARTS: dict[str, Callable[[Draft, Any], dict[str, Any] | None]] = {
    "text": _text,
    "image": _image,
    "generated_image": _generated,
    "audio": audio_part,
    "document": _document,
}


def _assistant(draft: Draft, message: Message, last: bool) -> _Turns:
    made: dict[str, Any] = {"role": "assistant", "content": None, **_named(draft, message)}
    words = message.text
    if draft.row.reasoning is None or not draft.is_own(message):
        words = thoughts_as_text(draft, message) + words
    if words:
        made["content"] = words.rstrip() if last else words
    _add_thoughts(draft, message, made)
    if calls := [_call(draft, call) for call in message.tool_calls]:
        made["tool_calls"] = calls
    elif not made["content"]:
        made["content"] = ""
    if last:
        made.update(draft.row.continue_message)
    pictures = [_generated(draft, block) for block in message.content if isinstance(block, GeneratedImageBlock)]
    said = bool(made["content"] or calls)
    return [(made if said else None, [picture for picture in pictures if picture is not None])]


def _call(draft: Draft, call: ToolCallBlock) -> dict[str, Any]:
    id = draft.fitted_id(call.id)
    if call.custom:
        return {"id": id, "type": "custom", "custom": {"name": call.name, "input": str(call.input)}}
    return {"id": id, "type": "function", "function": {"name": call.name, "arguments": input_json(call)}}


def _add_thoughts(draft: Draft, message: Message, made: dict[str, Any]) -> None:
    thoughts = [block for block in message.content if isinstance(block, ThinkingBlock)]
    field = draft.row.reasoning
    if not thoughts or field is None or not draft.is_own(message):
        return
    text = "".join(block.text for block in thoughts)
    details = [detail for block in thoughts if isinstance(block.opaque, list) for detail in block.opaque]
    if field == "parts":
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
        made["content"] = [thought] + ([{"type": "text", "text": made["content"]}] if made["content"] else [])
    elif field == "reasoning_details" and details:
        made["reasoning_details"] = joined_details(details)
    elif text:
        made["reasoning" if field == "reasoning_details" else field] = text


def joined_details(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Details that were streamed in pieces, put together again; signatures and data stay as they came.

    >>> joined_details([{"type": "reasoning.text", "index": 0, "text": "a"},
    ...                 {"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}])
    [{'type': 'reasoning.text', 'index': 0, 'text': 'ab', 'signature': 's'}]
    """
    whole: list[dict[str, Any]] = []
    for detail in details:
        before = whole[-1] if whole else None
        same = before is not None and all(before.get(key) == detail.get(key) for key in ("type", "index"))
        if not same or before is None or detail.get("type") == "reasoning.encrypted" or before.get("signature"):
            whole.append(dict(detail))
            continue
        for field, value in detail.items():
            if field in ("text", "summary") and isinstance(before.get(field), str):
                before[field] += value or ""
            elif value is not None:
                before[field] = value
    return whole


def _tool(draft: Draft, message: Message, last: bool) -> _Turns:
    return [_result(draft, result) for result in message.tool_results]


def _result(draft: Draft, result: ToolResultBlock) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    media = [part for block in result.media if (part := write_part(draft, block)) is not None]
    text = result.text or ("" if not media else "The content follows in the next message.")
    if result.is_error and not text.lower().startswith("error"):
        text = f"Error: {text}"
    return {"role": "tool", "tool_call_id": draft.fitted_id(result.tool_id), "content": text}, media


_ROLES: dict[str, Callable[[Draft, Message, bool], _Turns]] = {
    "system": _instruction,
    "developer": _instruction,
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
}
