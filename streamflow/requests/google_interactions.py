"""Bodies for Google's Interactions API: a list of steps."""

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
    Draft,
    image_of,
    inline,
    input_object,
    joined_text,
    place_options,
    unsigned_thinking,
)
from streamflow.requests.messages import Message
from streamflow.requests.tool_definitions import ToolDefinition, written_tools

_OPTIONS = {
    "max_tokens": "generation_config.max_output_tokens",
    "temperature": "generation_config.temperature",
    "top_p": "generation_config.top_p",
    "stop": "generation_config.stop_sequences",
    "seed": "generation_config.seed",
}
_CHOICES = {"auto": "auto", "none": "none", "required": "any", "any": "any"}


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request."""
    calls = draft.call_names()
    made: dict[str, Any] = {
        "model": draft.model,
        "input": [step for message in draft.spoken() for step in _steps(draft, calls, message)],
    }
    if words := joined_text(draft.instructions()):
        made["system_instruction"] = words
    if draft.tools:
        made["tools"] = written_tools(draft.tools, _tool)
    if choice := draft.options.get("tool_choice"):
        made["generation_config"] = {"tool_choice": _tool_choice(choice)}
    if draft.stream:
        made["stream"] = True
    place_options(made, draft, _OPTIONS)
    return made


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _tool_choice(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    return _CHOICES.get(choice, {"allowed_tools": {"mode": "any", "tools": [choice]}})


def _steps(draft: Draft, calls: dict[str, ToolCallBlock], message: Message) -> list[dict[str, Any]]:
    own = draft.is_own(message)
    kind = "model_output" if message.role == "assistant" else "user_input"
    steps: list[dict[str, Any]] = []
    for block in message.content:
        writer = _STEPS.get(block.type)
        if writer is not None:
            step = writer(draft, own, calls, block)
            if step is not None:
                steps.append(step)
        elif (content := _content(draft, block)) is not None:
            if not steps or steps[-1]["type"] != kind:
                steps.append({"type": kind, "content": []})
            steps[-1]["content"].append(content)
    return steps


def _content(draft: Draft, block: Block) -> dict[str, Any] | None:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text} if block.text else None
    shown = image_of(block) if isinstance(block, GeneratedImageBlock) else block
    if not isinstance(shown, ImageBlock | AudioBlock | DocumentBlock):
        return None
    source = inline(draft, shown.source)
    if isinstance(source, Base64Source):
        return {"type": shown.type, "mime_type": source.media_type, "data": source.data}
    made = {"type": shown.type, "uri": source.url}
    return {**made, "mime_type": source.media_type} if source.media_type else made


_Calls = dict[str, ToolCallBlock]


def _signed(own: bool, block: Block, step: dict[str, Any]) -> dict[str, Any]:
    return {**step, "signature": block.signature} if own and block.signature else step


def _thought(draft: Draft, own: bool, calls: _Calls, block: ThinkingBlock) -> dict[str, Any] | None:
    if not (own and block.signature):
        if not (draft.convert_unsigned and block.text):
            return None
        return {"type": "model_output", "content": [{"type": "text", "text": unsigned_thinking(draft, block).text}]}
    summary = {"summary": [{"type": "text", "text": block.text}]} if block.text else {}
    return _signed(own, block, {"type": "thought", **summary})


def _call(draft: Draft, own: bool, calls: _Calls, block: ToolCallBlock) -> dict[str, Any]:
    step = {"type": "function_call", "id": block.id, "name": block.name, "arguments": input_object(block)}
    return _signed(own, block, step)


def _result(draft: Draft, own: bool, calls: _Calls, block: ToolResultBlock) -> dict[str, Any]:
    step: dict[str, Any] = {"type": "function_result", "call_id": block.tool_id, "result": block.text}
    if block.media and not isinstance(block.content, str):
        step["result"] = [part for inner in block.content if (part := _content(draft, inner)) is not None]
    call = calls.get(block.tool_id)
    if name := block.tool_name or (call.name if call is not None else None):
        step["name"] = name
    if block.is_error:
        step["is_error"] = True
    return step


_STEPS: dict[str, Callable[[Draft, bool, _Calls, Any], dict[str, Any] | None]] = {
    "thinking": _thought,
    "tool_call": _call,
    "tool_result": _result,
}
