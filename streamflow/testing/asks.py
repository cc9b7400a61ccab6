"""What was asked: a request of any dialect, read as far as an answer depends on it."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

_TOOL_RESULT_PARTS = frozenset(("tool_result", "toolResult", "functionResponse", "function_result", "tool-result"))
_TOOL_ROLES = frozenset(("tool", "function"))
_OWN_ROLES = frozenset(("assistant", "model"))
_IN_LOG = re.compile(r"^[^\n:]{1,60}: (sim:[^\n]*?)(?:<\|eot\|>)?$", re.M)
_TOOL_ITEMS = frozenset(("function_call_output", "custom_tool_call_output", "function_result"))


class Ask(msgspec.Struct, frozen=True):
    """A request, as far as an answer depends on it.

    ``text`` is the last thing that the user said; ``answers_tool`` when the last message is the result of a tool.

    >>> Ask("openai", text="hi").stream
    True
    """

    provider: str = "openai"
    wire: str = "openai"
    model: str = ""
    text: str = ""
    answers_tool: bool = False
    stream: bool = True
    wants_usage: bool = True
    array: bool = False
    tools: tuple[str, ...] = ()
    body: dict[str, Any] = {}


def read_ask(
    body: dict[str, Any],
    *,
    provider: str,
    wire: str,
    model: str = "",
    stream: bool | None = None,
    array: bool = False,
    streams_by_default: bool = False,
) -> Ask:
    """The request behind a body. What the address said (model, stream) goes before what the body says.

    >>> body = {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}
    >>> ask = read_ask(body, provider="openai", wire="openai")
    >>> ask.text, ask.model, ask.stream
    ('hi', 'm', False)
    """
    text, answers_tool = _last_said(body)
    options = body.get("stream_options")
    return Ask(
        provider=provider,
        wire=wire,
        model=str(model or body.get("model") or body.get("model_id") or body.get("assistant_id") or "simulated"),
        text=text,
        answers_tool=answers_tool,
        stream=bool(body.get("stream", streams_by_default)) if stream is None else stream,
        wants_usage=bool(options.get("include_usage")) if isinstance(options, dict) else False,
        array=array,
        tools=tuple(_tool_names(body)),
        body=body,
    )


def _last_said(body: dict[str, Any]) -> tuple[str, bool]:
    for field, reader in _CONVERSATIONS.items():
        if body.get(field):
            return reader(body[field])
    return "", False


def _read_messages(messages: Any) -> tuple[str, bool]:
    """The last message that is not the model's own, and whether it is the result of a tool."""
    if isinstance(messages, str):
        return messages, False
    if isinstance(messages, dict):
        messages = [messages]
    for place, message in enumerate(reversed(messages)):
        if isinstance(message, str):
            return message, False
        if (
            place == 0
            and message.get("role") in _OWN_ROLES
            and (said := _logged(_content_text(message.get("content"))))
        ):
            return said, False
        if message.get("type") in _TOOL_ITEMS or message.get("role") in _TOOL_ROLES:
            return "", True
        content = message.get("content", message.get("parts"))
        if message.get("role") in (None, "user") and content is None and isinstance(message.get("text"), str):
            return message["text"], False
        if message.get("role", "user" if message.get("type") in (None, "message", "user_input") else "") == "user":
            return _content_text(content), _has_result(content)
    return "", False


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    texts = [part if isinstance(part, str) else part.get("text") for part in content or ()]
    return "\n".join(text for text in texts if isinstance(text, str))


def _has_result(content: Any) -> bool:
    if isinstance(content, str) or not content:
        return False
    parts = [content] if isinstance(content, dict) else content
    return any(
        isinstance(part, dict) and (part.get("type") in _TOOL_RESULT_PARTS or not _TOOL_RESULT_PARTS.isdisjoint(part))
        for part in parts
    )


def _logged(text: str) -> str:
    """The last command in a conversation that is written as a log of participants, for a model to go on with."""
    commands = _IN_LOG.findall(text)
    return commands[-1] if commands else ""


def _read_prompt(prompt: Any) -> tuple[str, bool]:
    text = prompt if isinstance(prompt, str) else "\n".join(map(str, prompt))
    return _logged(text) or text, False


def _read_outputs(outputs: Any) -> tuple[str, bool]:
    return "", True


def _read_thread(thread: Any) -> tuple[str, bool]:
    return _read_messages(thread.get("messages") or ())


# Where the conversation lies in a body, in the order in which it is looked for.
_CONVERSATIONS: dict[str, Callable[[Any], tuple[str, bool]]] = {
    "messages": _read_messages,
    "contents": _read_messages,
    "tool_outputs": _read_outputs,
    "additional_messages": _read_messages,
    "thread": _read_thread,
    "input": _read_messages,
    "prompt": _read_prompt,
    "message": _read_prompt,
}


def _tool_names(body: dict[str, Any]) -> list[str]:
    tools = body.get("tools") or (body.get("toolConfig") or {}).get("tools") or ()
    names = []
    for tool in tools:
        inner = tool.get("function") or tool.get("toolSpec") or tool.get("custom") or tool
        declared = tool.get("functionDeclarations") or tool.get("function_declarations") or [inner]
        names += [str(each["name"]) for each in declared if isinstance(each, dict) and each.get("name")]
    return names
