"""Reads content blocks in the words of other interfaces: OpenAI's chat and Responses, Anthropic's messages.

People have histories in these shapes, and web clients send them; a table says what each type becomes.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from streamflow.errors import UsageError
from streamflow.requests.blocks import (
    AudioBlock,
    Base64Source,
    DocumentBlock,
    ImageBlock,
    MediaSource,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    UrlSource,
)

_OWN_TYPES = frozenset(
    ("text", "image", "audio", "document", "tool_call", "tool_result", "thinking", "generated_image", "server_tool")
)


def read_block(block: Any) -> Any:
    """A block of ours from a foreign one; what is ours already stays.

    >>> read_block({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}).source.media_type
    'image/png'
    """
    if isinstance(block, BaseModel):
        return block
    if isinstance(block, str):
        return TextBlock(text=block)
    if not isinstance(block, Mapping):
        raise UsageError(f"a content block is {type(block).__name__}; expected a dict or one of sf's blocks.")
    kind = block.get("type") or ("text" if "text" in block else None)
    reader = _READERS.get(str(kind))
    if reader is not None:
        return reader(block)
    if kind in _OWN_TYPES:
        return {**block, "type": kind}
    known = ", ".join(sorted(_OWN_TYPES | _READERS.keys()))
    raise UsageError(f"unknown content block type {kind!r}; known: {known}.")


def media_source(url: str, media_type: str | None = None) -> MediaSource:
    """A source from an address; a data URL becomes inline data.

    >>> media_source("https://example.org/cat.png").type
    'url'
    """
    if not url.startswith("data:"):
        return UrlSource(url=url, media_type=media_type)
    head, _, data = url[5:].partition(",")
    return Base64Source(media_type=head.removesuffix(";base64") or media_type or "text/plain", data=data)


def arguments_value(arguments: Any) -> Any:
    """The input of a call as a value; nothing at all is an empty object, never an empty string.

    >>> arguments_value(""), arguments_value('{"a": 1}')
    ({}, {'a': 1})
    """
    if isinstance(arguments, str):
        if not arguments.strip():
            return {}
        try:
            arguments = json.loads(arguments)  # exact for integers of any size
        except ValueError:
            return {"INVALID_JSON": arguments}
    return {} if arguments is None else arguments


def read_calls(calls: Iterable[Mapping[str, Any]]) -> list[ToolCallBlock]:
    """The ``tool_calls`` of a chat message.

    >>> read_calls([{"id": "c", "function": {"name": "f", "arguments": "{}"}}])[0].name
    'f'
    """
    found = []
    for position, call in enumerate(calls):
        custom = call.get("custom")
        function = custom or call.get("function") or call
        found.append(
            ToolCallBlock(
                id=str(call.get("id") or f"call_{position}"),
                name=str(function.get("name") or ""),
                input=custom.get("input", "") if custom else arguments_value(function.get("arguments")),
                custom=bool(custom),
            )
        )
    return found


def _source(block: Mapping[str, Any]) -> Any:
    source = block["source"]
    if isinstance(source, Mapping) and source.get("type") == "text":
        return Base64Source(media_type=source.get("media_type", "text/plain"), data=_base64(source["data"]))
    return source


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def _image_url(block: Mapping[str, Any]) -> ImageBlock:
    image = block["image_url"]
    if isinstance(image, str):
        return ImageBlock(source=media_source(image), detail=block.get("detail"))
    return ImageBlock(source=media_source(image["url"]), detail=image.get("detail"))


def _input_audio(block: Mapping[str, Any]) -> AudioBlock:
    audio = block["input_audio"]
    return AudioBlock(source=Base64Source(media_type=f"audio/{audio.get('format', 'wav')}", data=audio["data"]))


def _file(block: Mapping[str, Any]) -> DocumentBlock:
    file = block.get("file") or block
    address = file.get("file_data") or file.get("file_url")
    if not address:
        raise UsageError("a file block needs file_data (a data URL) or file_url.")
    return DocumentBlock(source=media_source(address, "application/pdf"), title=file.get("filename"))


def _extras(block: Mapping[str, Any], *known: str) -> Any:
    """Fields beyond the known ones (cache marks, citations), kept for the interface that they belong to."""
    rest = {name: value for name, value in block.items() if name not in known and name not in ("type", "opaque")}
    return rest or block.get("opaque")


def _tool_use(block: Mapping[str, Any]) -> ToolCallBlock:
    return ToolCallBlock(
        id=block["id"],
        name=block["name"],
        input=arguments_value(block.get("input")),
        opaque=_extras(block, "id", "name", "input"),
    )


def _tool_result(block: Mapping[str, Any]) -> Any:
    if "tool_use_id" not in block:
        return dict(block)
    content = block.get("content") or ""
    if not isinstance(content, str):
        content = [read_block(part) for part in content]
    return ToolResultBlock(
        tool_id=block["tool_use_id"],
        content=content,
        is_error=bool(block.get("is_error")),
        opaque=_extras(block, "tool_use_id", "content", "is_error"),
    )


def _thinking(block: Mapping[str, Any]) -> Any:
    text = block.get("thinking", block.get("text", ""))
    return ThinkingBlock(text=text, signature=block.get("signature") or None, opaque=block.get("opaque"))


def _redacted(block: Mapping[str, Any]) -> ThinkingBlock:
    return ThinkingBlock(opaque=dict(block))


def _plain_text(block: Mapping[str, Any]) -> Any:
    return TextBlock(
        text=block.get("text") or "", signature=block.get("signature"), opaque=_extras(block, "text", "signature")
    )


def _with_source(make: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    def read(block: Mapping[str, Any]) -> Any:
        known = make.model_fields.keys()  # type: ignore[attr-defined]
        fields = {name: value for name, value in block.items() if name in known and name not in ("type", "opaque")}
        return make(**{**fields, "source": _source(block), "opaque": _extras(block, *known)})

    return read


_READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "text": _plain_text,
    "input_text": _plain_text,
    "output_text": _plain_text,
    "image": _with_source(ImageBlock),
    "document": _with_source(DocumentBlock),
    "audio": _with_source(AudioBlock),
    "image_url": _image_url,
    "input_image": _image_url,
    "input_audio": _input_audio,
    "file": _file,
    "input_file": _file,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
}
