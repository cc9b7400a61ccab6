"""Bodies for Ollama's own chat interface."""

from typing import Any

from streamflow.requests.blocks import Base64Source, GeneratedImageBlock, ImageBlock, ToolResultBlock
from streamflow.requests.draft import Draft, image_of, inline, input_object, place_options
from streamflow.requests.messages import Message
from streamflow.requests.openai_chat import function_tool
from streamflow.requests.tool_definitions import written_tools

_OPTIONS = {
    "max_tokens": "options.num_predict",
    "temperature": "options.temperature",
    "top_p": "options.top_p",
    "top_k": "options.top_k",
    "stop": "options.stop",
    "seed": "options.seed",
}


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request."""
    names = {id: call.name for id, call in draft.call_names().items()}
    made: dict[str, Any] = {
        "model": draft.model,
        "messages": [turn for message in draft.messages for turn in _turns(draft, names, message)],
        "stream": draft.stream,
    }
    if draft.tools:
        made["tools"] = written_tools(draft.tools, function_tool)
    choice = draft.options.get("tool_choice")
    if choice and choice != "auto":
        raise draft.unsupported(f"tool_choice={choice!r}")
    place_options(made, draft, _OPTIONS)
    return made


def _turns(draft: Draft, names: dict[str, str], message: Message) -> list[dict[str, Any]]:
    turns = [_result(draft, names, result) for result in message.tool_results]
    if len(turns) == len(message.content) and turns:
        return turns
    role = "system" if message.role == "developer" else message.role
    made: dict[str, Any] = {"role": role, "content": message.text}
    if message.thinking:
        made["thinking"] = message.thinking
    if pictures := [data for block in message.content if (data := _picture(draft, block)) is not None]:
        made["images"] = pictures
    if message.tool_calls:
        made["tool_calls"] = [
            {"function": {"name": call.name, "arguments": input_object(call)}} for call in message.tool_calls
        ]
    return [*turns, made]


def _picture(draft: Draft, block: Any) -> str | None:
    if isinstance(block, GeneratedImageBlock):
        block = image_of(block)
    if not isinstance(block, ImageBlock):
        if block is not None and block.type in ("audio", "document"):
            raise draft.unsupported(f"{block.type} blocks")
        return None
    source = inline(draft, block.source)
    if not isinstance(source, Base64Source):
        raise draft.unsupported("images by address", "Load the image and pass it as base64.")
    return source.data


def _result(draft: Draft, names: dict[str, str], block: ToolResultBlock) -> dict[str, Any]:
    text = f"Error: {block.text}" if block.is_error and not block.text.lower().startswith("error") else block.text
    made: dict[str, Any] = {"role": "tool", "content": text}
    if pictures := [data for part in block.media if (data := _picture(draft, part)) is not None]:
        made["images"] = pictures
    name = block.tool_name or names.get(block.tool_id)
    return {**made, "tool_name": name} if name else made
