"""Messages: who said what. A plain string is enough where a message is asked for."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from streamflow.errors import UsageError
from streamflow.requests.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from streamflow.requests.foreign import read_block, read_calls

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[str, ...] = ("system", "developer", "user", "assistant", "tool")
INSTRUCTIONS = frozenset(("system", "developer"))

_ROLE_WORDS = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}


class Message(BaseModel):
    """One turn of a conversation.

    ``participant`` is the speaker's name, for conversations of more than two. ``provider`` says who wrote an assistant
    message: signatures are sent back only to their maker.

    >>> Message.user("hi").text
    'hi'
    >>> Message.assistant([{"type": "text", "text": "Hello"}], participant="Ada").participant
    'Ada'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    content: list[Block] = Field(default_factory=list)
    participant: str | None = None
    provider: str | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _read_content(cls, value: Any) -> Any:
        if value is None:
            return []
        if isinstance(value, str):
            return [TextBlock(text=value)]
        if isinstance(value, Mapping | BaseModel):
            value = [value]
        return [read_block(block) for block in value]

    @classmethod
    def user(cls, content: Any, *, participant: str | None = None) -> Self:
        """What a person says."""
        return cls(role="user", content=content, participant=participant)

    @classmethod
    def system(cls, content: Any) -> Self:
        """Instructions."""
        return cls(role="system", content=content)

    @classmethod
    def assistant(cls, content: Any, *, participant: str | None = None, provider: str | None = None) -> Self:
        """What the model said."""
        return cls(role="assistant", content=content, participant=participant, provider=provider)

    @classmethod
    def tool_result(
        cls, tool_id: str, content: Any, *, tool_name: str | None = None, is_error: bool = False, custom: bool = False
    ) -> Self:
        """What a tool answered.

        >>> Message.tool_result("c1", "sunny").role
        'tool'
        """
        words = content if isinstance(content, str) else [read_block(block) for block in content]
        block = ToolResultBlock(tool_id=tool_id, content=words, tool_name=tool_name, is_error=is_error, custom=custom)
        return cls(role="tool", content=[block])

    @property
    def text(self) -> str:
        """The words of the message, without thoughts and tools."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def thinking(self) -> str:
        """The thoughts of the message."""
        return "".join(block.text for block in self.content if isinstance(block, ThinkingBlock))

    @property
    def tool_calls(self) -> list[ToolCallBlock]:
        """The calls that the model asked for."""
        return [block for block in self.content if isinstance(block, ToolCallBlock)]

    @property
    def tool_results(self) -> list[ToolResultBlock]:
        """The answers of tools."""
        return [block for block in self.content if isinstance(block, ToolResultBlock)]


def as_messages(value: Any) -> list[Message]:
    """Messages from whatever people write: a string, a message, a dict, or a list of those.

    Strings are said by the user. Dicts may have the shape of `Message`, of OpenAI's chat or of Anthropic's messages.

    >>> [message.role for message in as_messages(["hi", {"role": "assistant", "content": "Hello"}])]
    ['user', 'assistant']
    """
    if isinstance(value, str | Message | Mapping):
        value = [value]
    if not isinstance(value, Iterable):
        raise UsageError(f"messages must be a string or a list of messages, not {type(value).__name__}.")
    messages = [_as_message(item, position) for position, item in enumerate(value)]
    if not messages:
        raise UsageError("messages is empty: a request needs at least one message, for example ['hi'].")
    return messages


def _as_message(item: Any, position: int) -> Message:
    if isinstance(item, Message):
        return item
    reader = next((reader for kind, reader in _READERS if isinstance(item, kind)), None)
    if reader is None:
        raise UsageError(f"message {position} is {type(item).__name__}; expected a string, a dict or sf.Message.")
    try:
        return reader(item)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"message {position} is not a message: {place}: {first['msg']}.") from error


def _from_mapping(item: Mapping[str, Any]) -> Message:
    role = item.get("role")
    if role is None and item.get("participant"):
        role = "user"
    role = _ROLE_WORDS.get(str(role), role)
    if role not in ROLES:
        raise UsageError(f"unknown role {role!r}; known: {', '.join(ROLES)}.")
    if role == "tool" and (tool_id := item.get("tool_call_id") or item.get("tool_id") or item.get("id")):
        return Message.tool_result(
            str(tool_id), item.get("content") or "", tool_name=item.get("name") or item.get("tool_name")
        )
    content = item.get("content", item.get("parts"))
    blocks: list[Any] = []
    if content:
        blocks = [content] if isinstance(content, str | Mapping | BaseModel) else list(content)
    thought = item.get("reasoning_content") or item.get("reasoning") or item.get("thinking")
    if isinstance(thought, str) or item.get("reasoning_details"):
        text = thought if isinstance(thought, str) else ""
        blocks.insert(0, ThinkingBlock(text=text, opaque=item.get("reasoning_details")))
    blocks += read_calls(item.get("tool_calls") or ())
    name = item.get("participant") or item.get("name")
    return Message.model_validate(
        {"role": role, "content": blocks, "participant": name, "provider": item.get("provider")}
    )


_READERS: tuple[tuple[type, Callable[[Any], Message]], ...] = (
    (str, Message.user),
    (Mapping, _from_mapping),
)
