"""Bodies for Gemini's generateContent, also on Vertex AI."""

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
)
from streamflow.requests.tool_definitions import ToolDefinition

_OPTIONS = {
    "max_tokens": "generationConfig.maxOutputTokens",
    "temperature": "generationConfig.temperature",
    "top_p": "generationConfig.topP",
    "top_k": "generationConfig.topK",
    "stop": "generationConfig.stopSequences",
    "seed": "generationConfig.seed",
}
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "any": "ANY"}


def body(draft: Draft) -> dict[str, Any]:
    """The body of a request; the model is part of the address."""
    made: dict[str, Any] = {}
    if words := joined_text(draft.instructions()):
        made["systemInstruction"] = {"parts": [{"text": words}]}
    made["contents"] = _contents(draft)
    if draft.tools:
        declared = [_declaration(tool) for tool in draft.tools if tool.native is None]
        made["tools"] = [{"functionDeclarations": declared}] if declared else []
        made["tools"] += [tool.native for tool in draft.tools if tool.native is not None]
    if choice := draft.options.get("tool_choice"):
        made["toolConfig"] = {"functionCallingConfig": _calling(choice)}
    place_options(made, draft, _OPTIONS)
    return made


def _declaration(tool: ToolDefinition) -> dict[str, Any]:
    made: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if tool.parameters.get("properties"):
        # The older field ``parameters`` knows only a part of JSON schema.
        made["parametersJsonSchema"] = tool.parameters
    return made


def _calling(choice: Any) -> Any:
    if not isinstance(choice, str):
        return choice
    if choice in _MODES:
        return {"mode": _MODES[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


def _contents(draft: Draft) -> list[dict[str, Any]]:
    calls = draft.call_names()
    ids = {
        call.id
        for message in draft.messages
        if draft.is_own(message)
        for call in message.tool_calls
        if not call.invented_id
    }
    contents: list[dict[str, Any]] = []
    for message in draft.spoken():
        role = "model" if message.role == "assistant" else "user"
        own = draft.is_own(message)
        parts = [part for block in message.content for part in _parts(draft, own, calls, ids, block)]
        if not parts:
            continue
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    if contents and contents[0]["role"] == "model":
        contents.insert(0, {"role": "user", "parts": [{"text": OPENING}]})
    return contents


def _parts(
    draft: Draft, own: bool, calls: dict[str, ToolCallBlock], ids: set[str], block: Block
) -> list[dict[str, Any]]:
    if isinstance(block, ToolResultBlock):
        return _result(draft, calls, ids, block)
    written = _WRITERS[block.type](draft, own, block)
    if written is None:
        return []
    if own and block.signature:
        written["thoughtSignature"] = block.signature
    return [written]


def _text(draft: Draft, own: bool, block: TextBlock) -> dict[str, Any] | None:
    # A signature may come with an empty text, and must go back with it.
    return {"text": block.text} if block.text or (own and block.signature) else None


def _thinking(draft: Draft, own: bool, block: ThinkingBlock) -> dict[str, Any] | None:
    if own and block.signature:
        return {"text": block.text, "thought": True}
    if draft.convert_unsigned and block.text:
        return {"text": f"<thinking>{block.text}</thinking>"}
    return None  # a thought without a signature tells the model nothing, and is not asked for


def _tool_call(draft: Draft, own: bool, block: ToolCallBlock) -> dict[str, Any]:
    call: dict[str, Any] = {"name": block.name, "args": input_object(block)}
    if own and not block.invented_id:
        call["id"] = block.id
    return {"functionCall": call}


def _result(
    draft: Draft, calls: dict[str, ToolCallBlock], ids: set[str], block: ToolResultBlock
) -> list[dict[str, Any]]:
    call = calls.get(block.tool_id)
    name = block.tool_name or (call.name if call is not None else None)
    if not name:
        raise draft.unsupported(
            f"a result for the call {block.tool_id!r} whose tool is not known", "Pass tool_name= with the result."
        )
    response: dict[str, Any] = {"name": name, "response": {"error" if block.is_error else "output": block.text}}
    if block.tool_id in ids:  # the call went with its id too
        response["id"] = block.tool_id
    media = [_media(draft, part) for part in block.media]
    return [{"functionResponse": response}, *media]


def _media(draft: Draft, block: ImageBlock | AudioBlock | DocumentBlock) -> dict[str, Any]:
    source = inline(draft, block.source)
    if isinstance(source, Base64Source):
        return {"inlineData": {"mimeType": source.media_type, "data": source.data}}
    file = {"fileUri": source.url}
    return {"fileData": {"mimeType": source.media_type, **file} if source.media_type else file}


def _shown(draft: Draft, own: bool, block: ImageBlock | AudioBlock | DocumentBlock) -> dict[str, Any]:
    return _media(draft, block)


def _generated(draft: Draft, own: bool, block: GeneratedImageBlock) -> dict[str, Any] | None:
    picture = image_of(block)
    return None if picture is None else _media(draft, picture)


def _server_tool(draft: Draft, own: bool, block: ServerToolBlock) -> dict[str, Any] | None:
    if not own:
        return None
    value = loaded_json(block.content)
    if block.server in ("executableCode", "codeExecutionResult"):
        return {block.server: value}
    inner = "args" if block.kind == "tool_call" else "response"
    facts = {"id": block.id, "toolType": block.name, inner: value}
    return {block.server: {name: fact for name, fact in facts.items() if fact is not None}}


_WRITERS: dict[str, Callable[[Draft, bool, Any], dict[str, Any] | None]] = {
    "text": _text,
    "image": _shown,
    "audio": _shown,
    "document": _shown,
    "tool_call": _tool_call,
    "thinking": _thinking,
    "generated_image": _generated,
    "server_tool": _server_tool,
}
