"""What every dialect builds a body from, and the small tools that they share."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from streamflow.errors import UsageError
from streamflow.requests.blocks import (
    Base64Source,
    BlobSource,
    Block,
    GeneratedImageBlock,
    ImageBlock,
    MediaSource,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    UrlSource,
)
from streamflow.requests.endpoints import ENDPOINTS, Endpoint
from streamflow.requests.json_bytes import json_bytes
from streamflow.requests.messages import INSTRUCTIONS, Message
from streamflow.requests.tool_definitions import ToolDefinition

# Said by the user before a conversation that the assistant begins, where it may not.
OPENING = "[Start]"

# Claude's signatures are good wherever Claude runs.
_FAMILIES = {"bedrock": "anthropic"}


class Draft(msgspec.Struct, frozen=True):
    """A request on its way: everything that a dialect needs to write the body."""

    row: Endpoint
    model: str
    messages: list[Message]
    tools: list[ToolDefinition]
    stream: bool
    options: dict[str, Any]  # the options that have a different name in each dialect
    convert_unsigned: bool = False
    prompt: str = ""  # the log of participants, for text completions

    def unsupported(self, what: str, instead: str = "") -> UsageError:
        """The error for something that this endpoint cannot take."""
        message = f"{self.row.name} cannot take {what}. {instead}".rstrip()
        return UsageError(message, provider=self.row.name)

    def instructions(self) -> list[Block]:
        """The blocks of all system messages, for dialects that keep them apart."""
        return [block for message in self.messages if message.role in INSTRUCTIONS for block in message.content]

    def spoken(self) -> list[Message]:
        """The messages that are no instructions."""
        return [message for message in self.messages if message.role not in INSTRUCTIONS]

    def is_own(self, message: Message) -> bool:
        """True when what is signed in a message was signed by this endpoint's family, as far as is known."""
        if message.provider is None:
            return True
        maker = ENDPOINTS.get(message.provider)
        return maker is not None and _family(maker) == _family(self.row)

    def fitted_id(self, id: str) -> str:
        """The id of a call in a form that this endpoint takes; a foreign one that does not fit gets one that does."""
        if re.fullmatch(self.row.call_ids, id):
            return id
        return hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:9]

    def call_names(self) -> dict[str, ToolCallBlock]:
        """The calls of the conversation by id, for dialects whose results name their tool."""
        return {call.id: call for message in self.messages for call in message.tool_calls}


def _family(row: Endpoint) -> str:
    return _FAMILIES.get(row.dialect, row.dialect)


def unsigned_thinking(draft: Draft, block: ThinkingBlock) -> TextBlock:
    """A thought that nobody signed, as text, if the caller asked for that."""
    if draft.convert_unsigned:
        return TextBlock(text=f"<thinking>{block.text}</thinking>")
    raise UsageError(
        f"{draft.row.name} takes only thoughts that it signed itself, and this history holds one without a signature. "
        "Leave the thinking block out, or pass convert_unsigned_thinking_to_text=True to send it as <thinking> text.",
        provider=draft.row.name,
    )


def thoughts_as_text(draft: Draft, message: Message) -> str:
    """The thoughts of a message as text, if the caller asked for that, for a dialect that has no other place for them.

    >>> said = Message.assistant([ThinkingBlock(text="hm")])
    >>> thoughts_as_text(Draft(ENDPOINTS["openai"], "m", [said], [], True, {}, convert_unsigned=True), said)
    '<thinking>hm</thinking>'
    """
    thoughts = [block for block in message.content if isinstance(block, ThinkingBlock) and block.text]
    return "".join(unsigned_thinking(draft, block).text for block in thoughts) if draft.convert_unsigned else ""


def inline(draft: Draft, source: MediaSource) -> Base64Source | UrlSource:
    """A source that can be written into a request."""
    if isinstance(source, BlobSource):
        raise UsageError(
            f"the blob {source.blob_id!r} has not been loaded: await sf.resolve_blobs(messages, store) before the "
            "request is built, or give the client a blob store.",
            provider=draft.row.name,
        )
    return source


def data_url(source: Base64Source | UrlSource) -> str:
    """The source as an address.

    >>> data_url(Base64Source(media_type="image/png", data="aGk="))
    'data:image/png;base64,aGk='
    """
    return source.url if isinstance(source, UrlSource) else f"data:{source.media_type};base64,{source.data}"


def image_of(block: GeneratedImageBlock) -> ImageBlock | None:
    """A generated picture as one to look at; None for a preview or one without content.

    >>> image_of(GeneratedImageBlock(data="aGk=")).source.data
    'aGk='
    """
    if block.is_preview:
        return None
    if block.data is not None:
        return ImageBlock(source=Base64Source(media_type=block.media_type, data=block.data))
    if block.url is not None:
        return ImageBlock(source=UrlSource(url=block.url, media_type=block.media_type))
    if block.blob_id is not None:
        return ImageBlock(source=BlobSource(blob_id=block.blob_id, media_type=block.media_type))
    return None


def input_object(call: ToolCallBlock) -> dict[str, Any]:
    """The input of a call as an object, which is what every wire wants.

    >>> input_object(ToolCallBlock(id="c", name="f", input=""))
    {}
    """
    if isinstance(call.input, Mapping):
        return dict(call.input)
    return {"input": call.input} if call.input else {}


def input_json(call: ToolCallBlock) -> str:
    """The input of a call as JSON text; the model's own text where it is known, for the sake of prompt caches.

    >>> input_json(ToolCallBlock(id="c", name="f"))
    '{}'
    """
    is_json = call.raw is not None and call.raw.lstrip().startswith("{")  # or it is the text of a call in tags
    return call.raw if is_json and call.raw is not None else json_bytes(input_object(call)).decode()


def joined_text(blocks: Iterable[Block]) -> str:
    """The words of text blocks, a blank line between them.

    >>> joined_text([TextBlock(text="a"), TextBlock(text="b")])
    'a\\n\\nb'
    """
    return "\n\n".join(block.text for block in blocks if isinstance(block, TextBlock) and block.text)


def without_blank_texts(blocks: Iterable[Block]) -> list[Block]:
    """The blocks, with white space that stands alone moved to the text before or after it: Claude refuses such blocks.

    >>> [block.text for block in without_blank_texts([TextBlock(text="a"), TextBlock(text=" "), TextBlock(text="b")])]
    ['a ', 'b']
    """
    out: list[Block] = []
    held = ""
    for block in blocks:
        if not isinstance(block, TextBlock):
            out.append(block)
            held = ""
        elif block.text.strip():
            out.append(block.model_copy(update={"text": held + block.text}) if held else block)
            held = ""
        elif out and isinstance(out[-1], TextBlock):
            out[-1] = out[-1].model_copy(update={"text": out[-1].text + block.text})
        else:
            held += block.text
    return out


def place(body: dict[str, Any], path: str, value: Any) -> None:
    """Set a value at a dotted path.

    >>> body = {}; place(body, "generationConfig.topP", 0.5); body
    {'generationConfig': {'topP': 0.5}}
    """
    *parents, last = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    body[last] = value


def place_options(body: dict[str, Any], draft: Draft, names: Mapping[str, str]) -> None:
    """Write the common options under the names that a dialect has for them."""
    for option, value in draft.options.items():
        if option == "tool_choice" or value is None:
            continue
        path = names.get(option)
        if path is None:
            raise draft.unsupported(f"the option {option}")
        if option == "stop":
            value = [value] if isinstance(value, str) else list(value)
            if not value:
                continue
        place(body, path, value)


def merge(body: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add options of the provider's own; objects are merged, anything else replaces.

    >>> body = {"a": {"b": 1}}; merge(body, {"a": {"c": 2}, "d": 3}); body
    {'a': {'b': 1, 'c': 2}, 'd': 3}
    """
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(body.get(name), dict):
            merge(body[name], value)
        else:
            body[name] = value


def loaded_json(text: str) -> Any:
    """The value of a JSON text; no text is an empty object.

    >>> loaded_json(""), loaded_json("[1]")
    ({}, [1])
    """
    return json.loads(text) if text else {}
