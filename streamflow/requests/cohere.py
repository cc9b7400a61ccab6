"""Bodies for Cohere's chat, second version."""

from typing import Any

from streamflow.requests.blocks import GeneratedImageBlock, ImageBlock, TextBlock, ToolResultBlock
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
from streamflow.requests.openai_chat import function_tool
from streamflow.requests.tool_definitions import written_tools

_OPTIONS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "p",
    "top_k": "k",
    "stop": "stop_sequences",
    "seed": "seed",
}
_CHOICES = {"required": "REQUIRED", "any": "REQUIRED", "none": "NONE"}


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request."""
    made: dict[str, Any] = {
        "model": draft.model,
        "messages": [turn for message in draft.messages for turn in _turns(draft, message)],
        "stream": draft.stream,
    }
    if draft.tools:
        made["tools"] = written_tools(draft.tools, function_tool)
        for tool in made["tools"]:
            tool.get("function", {}).pop("strict", None)
    choice = draft.options.get("tool_choice")
    if choice and choice != "auto":
        if choice not in _CHOICES:
            raise draft.unsupported(f"tool_choice={choice!r}", "Known: auto, required, none.")
        made["tool_choice"] = _CHOICES[choice]
    place_options(made, draft, _OPTIONS)
    return made


def _turns(draft: Draft, message: Message) -> list[dict[str, Any]]:
    if message.role == "assistant":
        return _assistant(draft, message)
    turns = [_result(result) for result in message.tool_results]
    if media := [_part(draft, block) for result in message.tool_results for block in result.media]:
        turns.append({"role": "user", "content": media})  # results hold only text
    rest = [block for block in message.content if not isinstance(block, ToolResultBlock)]
    role = "system" if message.role == "developer" else message.role
    if len(rest) == 1 and isinstance(rest[0], TextBlock):
        turns.append({"role": role, "content": rest[0].text})
    elif rest:
        turns.append({"role": role, "content": [_part(draft, block) for block in rest]})
    return turns


def _part(draft: Draft, block: Any) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    picture = image_of(block) if isinstance(block, GeneratedImageBlock) else block
    if isinstance(picture, ImageBlock):
        return {"type": "image_url", "image_url": {"url": data_url(inline(draft, picture.source))}}
    raise draft.unsupported(f"{block.type} blocks", "Documents go into the option documents=.")


def _assistant(draft: Draft, message: Message) -> list[dict[str, Any]]:
    made: dict[str, Any] = {"role": "assistant"}
    words = message.text
    if message.tool_calls:
        made["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": input_json(call)}}
            for call in message.tool_calls
        ]
        if plan := message.thinking:
            made["tool_plan"] = plan
    else:
        words = thoughts_as_text(draft, message) + words
    if words:
        made["content"] = words
    return [made] if len(made) > 1 else []


def _result(block: ToolResultBlock) -> dict[str, Any]:
    text = f"Error: {block.text}" if block.is_error and not block.text.lower().startswith("error") else block.text
    return {
        "role": "tool",
        "tool_call_id": block.tool_id,
        "content": [{"type": "document", "document": {"data": text}}],
    }
