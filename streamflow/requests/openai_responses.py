"""Bodies for OpenAI's Responses API: a list of items."""

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
from streamflow.requests.draft import Draft, data_url, image_of, inline, input_json, place_options
from streamflow.requests.messages import Message
from streamflow.requests.tool_definitions import ToolDefinition, written_tools

_OPTIONS = {"max_tokens": "max_output_tokens", "temperature": "temperature", "top_p": "top_p"}
_CHOICES = frozenset(("auto", "none", "required", "any"))


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request."""
    made: dict[str, Any] = {
        "model": draft.model,
        "input": [item for message in draft.messages for item in _items(draft, message)],
    }
    if draft.tools:
        made["tools"] = written_tools(draft.tools, _tool)
    if choice := draft.options.get("tool_choice"):
        made["tool_choice"] = _tool_choice(choice)
    if draft.stream:
        made["stream"] = True
    if draft.options.get("stop"):
        raise draft.unsupported("stop sequences", "Use the operator stop_sequences on the stream instead.")
    place_options(made, draft, _OPTIONS)
    return made


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "function", "name": tool.name, "parameters": tool.parameters}
    if tool.description:
        made["description"] = tool.description
    return {**made, "strict": bool(tool.strict)}  # left out, the API takes it for true


def _tool_choice(choice: Any) -> Any:
    if not isinstance(choice, str) or choice in _CHOICES:
        return "required" if choice == "any" else choice
    return {"type": "function", "name": choice}


def _items(draft: Draft, message: Message) -> list[dict[str, Any]]:
    if message.role == "assistant":
        return _answered(draft, message)
    items = [_result(draft, result) for result in message.tool_results]
    rest = [block for block in message.content if not isinstance(block, ToolResultBlock)]
    if len(rest) == 1 and isinstance(rest[0], TextBlock) and rest[0].text:
        items.append({"role": message.role, "content": rest[0].text})
    elif parts := [part for block in rest if (part := _part(draft, block)) is not None]:
        items.append({"role": message.role, "content": parts})
    return items


def _answered(draft: Draft, message: Message) -> list[dict[str, Any]]:
    own = draft.is_own(message)
    reasoned = own and any(_reasoning(block) for block in message.content)
    items = []
    for block in message.content:
        writer = _ANSWERS.get(block.type)
        if writer is not None and (item := writer(draft, own, reasoned, block)) is not None:
            items.append(item)
    return items


def _reasoning(block: Block) -> bool:
    return isinstance(block.opaque, dict) and block.opaque.get("type") == "reasoning"


def _said(draft: Draft, own: bool, reasoned: bool, block: TextBlock) -> dict[str, Any] | None:
    if not block.text:
        return None
    kept = block.opaque if isinstance(block.opaque, dict) and own else {}
    phase = {"phase": kept["phase"]} if kept.get("phase") else {}
    # With parts as content the API wants the id of a message that it has stored; words alone are always taken.
    return {"type": "message", "role": "assistant", "content": block.text, **phase}


def _thought(draft: Draft, own: bool, reasoned: bool, block: ThinkingBlock) -> dict[str, Any] | None:
    # The parts of one item are several blocks, and the last of them carries the item as a whole.
    if own and _reasoning(block):
        return dict(block.opaque)
    if draft.convert_unsigned and not reasoned and block.text:
        return _said(draft, own, reasoned, TextBlock(text=f"<thinking>{block.text}</thinking>"))
    return None


def _call(draft: Draft, own: bool, reasoned: bool, block: ToolCallBlock) -> dict[str, Any]:
    # With its own id a call refers to the reasoning before it, which must then be there too.
    extras = dict(block.opaque) if own and reasoned and isinstance(block.opaque, dict) else {}
    if block.custom:
        made = {"type": "custom_tool_call", "call_id": block.id, "name": block.name, "input": str(block.input)}
    else:
        made = {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": input_json(block)}
    return {**extras, **made}


def _server_tool(draft: Draft, own: bool, reasoned: bool, block: ServerToolBlock) -> dict[str, Any] | None:
    return dict(block.opaque) if own and isinstance(block.opaque, dict) and block.opaque.get("type") else None


def _generated(draft: Draft, own: bool, reasoned: bool, block: GeneratedImageBlock) -> dict[str, Any] | None:
    kept = block.opaque if isinstance(block.opaque, dict) else {}
    if block.is_preview:
        return None
    if own and kept.get("id") and block.data:
        return {"type": "image_generation_call", "id": kept["id"], "status": "completed", "result": block.data}
    picture = image_of(block)
    return None if picture is None else {"role": "user", "content": [_image(draft, picture)]}


_ANSWERS: dict[str, Callable[[Draft, bool, bool, Any], dict[str, Any] | None]] = {
    "text": _said,
    "thinking": _thought,
    "tool_call": _call,
    "server_tool": _server_tool,
    "generated_image": _generated,
}


def _result(draft: Draft, block: ToolResultBlock) -> dict[str, Any]:
    output: Any = block.text
    if block.is_error and not output.lower().startswith("error"):
        output = f"Error: {output}"
    if block.media and not isinstance(block.content, str):
        output = [part for inner in block.content if (part := _part(draft, inner)) is not None]
    kind = "custom_tool_call_output" if block.custom else "function_call_output"
    return {"type": kind, "call_id": block.tool_id, "output": output}


def _part(draft: Draft, block: Block) -> dict[str, Any] | None:
    writer = _PARTS.get(block.type)
    return None if writer is None else writer(draft, block)


def _text(draft: Draft, block: TextBlock) -> dict[str, Any] | None:
    return {"type": "input_text", "text": block.text} if block.text else None


def _image(draft: Draft, block: ImageBlock) -> dict[str, Any]:
    address = data_url(inline(draft, block.source))
    return {"type": "input_image", "image_url": address, "detail": block.detail or "auto"}


def _shown(draft: Draft, block: GeneratedImageBlock) -> dict[str, Any] | None:
    picture = image_of(block)
    return None if picture is None else _image(draft, picture)


def _document(draft: Draft, block: DocumentBlock) -> dict[str, Any]:
    source = inline(draft, block.source)
    if not isinstance(source, Base64Source):
        return {"type": "input_file", "file_url": source.url}
    name = block.title or "document." + source.media_type.rpartition("/")[2].replace("plain", "txt")
    return {"type": "input_file", "filename": name, "file_data": data_url(source)}


def _audio(draft: Draft, block: AudioBlock) -> dict[str, Any]:
    raise draft.unsupported("audio", "The provider openai takes it, with chat completions.")


_PARTS: dict[str, Callable[[Draft, Any], dict[str, Any] | None]] = {
    "text": _text,
    "image": _image,
    "generated_image": _shown,
    "document": _document,
    "audio": _audio,
}
