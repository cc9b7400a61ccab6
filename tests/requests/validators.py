"""Strict validators of request bodies: what each provider would refuse raises ``AssertionError`` here.

They know the published shapes and rules (which fields exist, who may follow whom, that every call has its result) and
nothing of how the library writes them.
"""

from base64 import b64decode
from collections.abc import Callable
from typing import Any

import orjson


def only(value: dict[str, Any], required: str, optional: str = "") -> None:
    """The fields are exactly these."""
    needed, allowed = set(required.split()), set(required.split()) | set(optional.split())
    assert isinstance(value, dict), value
    assert needed <= set(value), f"missing {needed - set(value)} in {value}"
    assert set(value) <= allowed, f"unknown {set(value) - allowed} in {value}"


def words(value: Any) -> None:
    assert isinstance(value, str), value
    assert value, "empty text"


def json_object(text: Any) -> dict[str, Any]:
    assert isinstance(text, str)
    value = orjson.loads(text)
    assert isinstance(value, dict), value
    return value


# -- Anthropic


def anthropic(body: dict[str, Any]) -> None:
    only(
        body,
        "model max_tokens messages",
        "system stream temperature top_p top_k stop_sequences tools tool_choice thinking metadata cache_control",
    )
    assert isinstance(body["max_tokens"], int)
    for tool in body.get("tools", ()):
        if "input_schema" in tool:
            only(tool, "name input_schema", "description strict cache_control type")
            assert tool["input_schema"]["type"] == "object"
    turns = body["messages"]
    assert turns
    assert turns[0]["role"] == "user"
    for before, turn in zip([None, *turns], turns, strict=False):
        only(turn, "role content")
        assert turn["role"] in ("user", "assistant")
        assert before is None or before["role"] != turn["role"], "two turns of one role"
        _anthropic_content(turn)
        calls = _ids(before, "tool_use", "id") if before else []
        results = _ids(turn, "tool_result", "tool_use_id")
        assert sorted(results) == sorted(calls), f"calls {calls} but results {results}"
    assert not _ids(turns[-1], "tool_use", "id"), "a call at the end"
    last = turns[-1]["content"][-1]
    if turns[-1]["role"] == "assistant" and last["type"] == "text":
        assert last["text"] == last["text"].rstrip(), "trailing white space"


def _ids(turn: dict[str, Any], kind: str, field: str) -> list[str]:
    return [block[field] for block in turn["content"] if block["type"] == kind]


_ANTHROPIC_USER = {"text", "image", "document", "tool_result"}
_ANTHROPIC_MODEL = {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use"}
_ANTHROPIC_MODEL |= {"compaction", "container_upload", "fallback"}


def _anthropic_content(turn: dict[str, Any]) -> None:
    assert isinstance(turn["content"], list)
    assert turn["content"], "empty content"
    is_user = turn["role"] == "user"
    kinds = [block["type"] for block in turn["content"]]
    known = _ANTHROPIC_USER if is_user else _ANTHROPIC_MODEL | {kind for kind in kinds if kind.endswith("_tool_result")}
    assert set(kinds) <= known, kinds
    if not is_user:
        answered = {block["tool_use_id"] for block in turn["content"] if block["type"].endswith("_tool_result")}
        assert answered <= {block["id"] for block in turn["content"] if block["type"].endswith("_tool_use")}
    assert kinds == sorted(kinds, key=lambda kind: kind != "tool_result"), "results must come first"
    assert kinds[-1] not in ("thinking", "redacted_thinking"), "the last block is a thought"
    for block in turn["content"]:
        _ANTHROPIC.get(block["type"], _anthropic_served)(block)


def _anthropic_served(block: dict[str, Any]) -> None:
    if block["type"].endswith("_tool_result"):
        only(block, "type tool_use_id content", "caller is_error")
        assert block["content"] is not None


def _anthropic_text(block: dict[str, Any]) -> None:
    only(block, "type text", "citations cache_control")
    words(block["text"])
    assert block["text"].strip()


def _anthropic_media(block: dict[str, Any]) -> None:
    only(block, "type source", "title cache_control context citations")
    source = block["source"]
    fields = {"base64": "type media_type data", "url": "type url", "text": "type media_type data"}
    only(source, fields[source["type"]])
    if source["type"] == "base64":
        b64decode(source["data"], validate=True)


def _anthropic_use(block: dict[str, Any]) -> None:
    only(block, "type id name input", "caller cache_control")
    words(block["id"])
    words(block["name"])
    assert isinstance(block["input"], dict)


def _anthropic_result(block: dict[str, Any]) -> None:
    only(block, "type tool_use_id content", "is_error cache_control")
    if not isinstance(block["content"], str):
        for part in block["content"]:
            assert part["type"] in ("text", "image", "document")
            _ANTHROPIC[part["type"]](part)


def _anthropic_thinking(block: dict[str, Any]) -> None:
    only(block, "type thinking signature")
    words(block["signature"])


def _anthropic_redacted(block: dict[str, Any]) -> None:
    only(block, "type data")
    words(block["data"])


_ANTHROPIC: dict[str, Callable[[dict[str, Any]], None]] = {
    "text": _anthropic_text,
    "image": _anthropic_media,
    "document": _anthropic_media,
    "tool_use": _anthropic_use,
    "server_tool_use": _anthropic_use,
    "mcp_tool_use": lambda block: only(block, "type id name input server_name", "caller"),
    "tool_result": _anthropic_result,
    "thinking": _anthropic_thinking,
    "redacted_thinking": _anthropic_redacted,
}


# -- OpenAI chat


def openai_chat(body: dict[str, Any]) -> None:
    only(
        body,
        "model messages",
        "stream stream_options max_completion_tokens max_tokens temperature top_p stop seed tools tool_choice "
        "reasoning_effort response_format",
    )
    for tool in body.get("tools", ()):
        only(tool, "type function")
        only(tool["function"], "name parameters", "description strict")
    waiting: list[str] = []
    for message in body["messages"]:
        assert message["role"] in _CHAT, message
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, f"a result for no call: {message}"
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting, f"no result for {waiting}"
        waiting += _CHAT[message["role"]](message)
    assert not waiting, f"no result for {waiting}"


def _chat_said(message: dict[str, Any]) -> list[str]:
    only(message, "role content", "name")
    if isinstance(message["content"], str):
        words(message["content"])
    else:
        assert message["content"]
        for part in message["content"]:
            _CHAT_PARTS[part["type"]](part)
    return []


def _chat_answer(message: dict[str, Any]) -> list[str]:
    only(message, "role content", "name tool_calls")
    calls = message.get("tool_calls")
    assert calls or message["content"], "an empty message"
    assert calls is None or calls, "an empty list of calls"
    for call in calls or ():
        words(call["id"])
        if call["type"] == "custom":
            only(call, "id type custom")
            only(call["custom"], "name input")
            continue
        only(call, "id type function")
        only(call["function"], "name arguments")
        words(call["function"]["name"])
        json_object(call["function"]["arguments"])
    return [call["id"] for call in calls or ()]


def _chat_result(message: dict[str, Any]) -> list[str]:
    only(message, "role tool_call_id content")
    assert isinstance(message["content"], str)
    return []


_CHAT: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "system": _chat_said,
    "developer": _chat_said,
    "user": _chat_said,
    "assistant": _chat_answer,
    "tool": _chat_result,
}
_CHAT_PARTS: dict[str, Callable[[dict[str, Any]], None]] = {
    "text": lambda part: (only(part, "type text"), words(part["text"]))[0],
    "image_url": lambda part: only(part["image_url"], "url", "detail"),
    "input_audio": lambda part: only(part["input_audio"], "data format"),
    "file": lambda part: only(part["file"], "filename file_data"),
}


# -- OpenAI Responses


def openai_responses(body: dict[str, Any]) -> None:
    only(
        body,
        "model input",
        "stream max_output_tokens temperature top_p tools tool_choice instructions include store reasoning "
        "previous_response_id",
    )
    open_calls: list[str] = []
    for position, item in enumerate(body["input"]):
        kind = item.get("type", "message")
        if kind == "message":
            _responses_message(item)
        elif kind == "function_call":
            only(item, "type call_id name arguments", "id status")
            json_object(item["arguments"])
            open_calls.append(item["call_id"])
        elif kind == "custom_tool_call":
            only(item, "type call_id name input", "id status")
            open_calls.append(item["call_id"])
        elif kind in ("function_call_output", "custom_tool_call_output"):
            only(item, "type call_id output", "id status")
            open_calls.remove(item["call_id"])
        elif kind == "reasoning":
            only(item, "type id summary", "content encrypted_content status")
            assert position + 1 < len(body["input"]), "reasoning without its item"
            assert body["input"][position + 1].get("type") not in ("function_call_output", None)
        else:
            words(item["id"])
    assert not open_calls, f"no result for {open_calls}"


def _responses_message(item: dict[str, Any]) -> None:
    only(item, "role content", "type phase id status")
    allowed = {
        "assistant": {"output_text", "refusal"},
        "user": {"input_text", "input_image", "input_file", "input_audio"},
        "system": {"input_text"},
        "developer": {"input_text"},
    }[item["role"]]
    if isinstance(item["content"], str):
        words(item["content"])
        return
    assert item["content"]
    for part in item["content"]:
        assert part["type"] in allowed, part


# -- Gemini


def gemini(body: dict[str, Any]) -> None:
    only(
        body,
        "contents",
        "systemInstruction tools toolConfig generationConfig safetySettings cachedContent",
    )
    before: dict[str, Any] | None = None
    assert body["contents"][0]["role"] == "user"
    for content in body["contents"]:
        only(content, "role parts")
        assert content["role"] in ("user", "model")
        assert content["parts"], "no parts"
        assert before is None or before["role"] != content["role"], "two contents of one role"
        for part in content["parts"]:
            _gemini_part(content["role"], part)
        calls = _called(before, "functionCall") if before else []
        answers = _called(content, "functionResponse")
        assert answers == calls, f"calls {calls} but responses {answers}"
        before = content
    assert before is not None
    assert not _called(before, "functionCall"), "a call at the end"


def _called(content: dict[str, Any], kind: str) -> list[tuple[str, Any]]:
    return [(part[kind]["name"], part[kind].get("id")) for part in content["parts"] if kind in part]


def _gemini_part(role: str, part: dict[str, Any]) -> None:
    (kind,) = [name for name in part if name not in ("thought", "thoughtSignature")]
    if role == "user":
        assert "thought" not in part
        assert "thoughtSignature" not in part
        assert kind in ("text", "inlineData", "fileData", "functionResponse"), part
    if kind == "text":
        assert part["text"] or part.get("thoughtSignature"), "empty text"
    elif kind == "functionCall":
        only(part["functionCall"], "name args", "id")
        assert isinstance(part["functionCall"]["args"], dict)
    elif kind == "functionResponse":
        only(part["functionResponse"], "name response", "id")
        assert isinstance(part["functionResponse"]["response"], dict)
    elif kind == "inlineData":
        only(part["inlineData"], "mimeType data")
        b64decode(part["inlineData"]["data"], validate=True)


# -- Bedrock: the service model of AWS itself


def bedrock(body: dict[str, Any], model: str = "m") -> None:
    import botocore.session
    from botocore.validate import ParamValidator

    shape = (
        botocore.session.get_session()
        .get_service_model("bedrock-runtime")
        .operation_model("ConverseStream")
        .input_shape
    )
    report = ParamValidator().validate({"modelId": model, **_with_bytes(body)}, shape)
    assert not report.has_errors(), report.generate_report()
    turns = body["messages"]
    assert turns[0]["role"] == "user"
    if any("toolUse" in block or "toolResult" in block for turn in turns for block in turn["content"]):
        assert "toolConfig" in body, "calls without tools"
    for before, turn in zip([None, *turns], turns, strict=False):
        assert turn["content"]
        assert before is None or before["role"] != turn["role"]
        calls = [block["toolUse"]["toolUseId"] for block in before["content"] if "toolUse" in block] if before else []
        results = [block["toolResult"]["toolUseId"] for block in turn["content"] if "toolResult" in block]
        assert sorted(calls) == sorted(results)


def _with_bytes(value: Any) -> Any:
    """On the wire bytes are base64; the service model speaks of the bytes."""
    if isinstance(value, dict):
        return {
            key: b64decode(item) if key in ("bytes", "redactedContent") else _with_bytes(item)
            for key, item in value.items()
        }
    return [_with_bytes(item) for item in value] if isinstance(value, list) else value


# -- Cohere and Ollama


def cohere(body: dict[str, Any]) -> None:
    only(body, "model messages stream", "tools tool_choice temperature p k stop_sequences seed max_tokens documents")
    waiting: list[str] = []
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            only(message, "role tool_call_id content")
            waiting.remove(message["tool_call_id"])
        elif role == "assistant":
            only(message, "role", "content tool_calls tool_plan")
            assert message.get("content") or message.get("tool_calls")
            for call in message.get("tool_calls", ()):
                only(call, "id type function")
                json_object(call["function"]["arguments"])
                waiting.append(call["id"])
        else:
            assert not waiting
            assert role in ("system", "user")
            only(message, "role content")
    assert not waiting


def ollama(body: dict[str, Any]) -> None:
    only(body, "model messages stream", "tools options format think keep_alive")
    for message in body["messages"]:
        assert message["role"] in ("system", "user", "assistant", "tool")
        only(message, "role content", "images tool_calls thinking tool_name")
        assert isinstance(message["content"], str)
        for call in message.get("tool_calls", ()):
            only(call, "function")
            assert isinstance(call["function"]["arguments"], dict)
        for picture in message.get("images", ()):
            b64decode(picture, validate=True)


def google_interactions(body: dict[str, Any]) -> None:
    only(body, "model input", "stream system_instruction tools generation_config store previous_interaction_id")
    waiting: list[str] = []
    for step in body["input"]:
        kind = step["type"]
        assert kind in ("user_input", "model_output", "thought", "function_call", "function_result"), step
        if kind == "function_call":
            assert isinstance(step["arguments"], dict)
            waiting.append(step["id"])
        elif kind == "function_result":
            waiting.remove(step["call_id"])
        elif kind == "thought":
            words(step["signature"])
        else:
            assert step["content"]
    assert not waiting


VALIDATORS: dict[str, Callable[[dict[str, Any]], None]] = {
    "anthropic": anthropic,
    "openai": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
    "bedrock": bedrock,
    "cohere": cohere,
    "ollama": ollama,
    "google-interactions": google_interactions,
}
