"""The content of a message: text, media, calls, results, thoughts."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Base64Source(_Data):
    """Media given inline.

    >>> Base64Source(media_type="image/png", data="aGk=").type
    'base64'
    """

    type: Literal["base64"] = "base64"
    media_type: str
    data: str = Field(repr=False)


class UrlSource(_Data):
    """Media that the provider fetches itself.

    >>> UrlSource(url="https://example.org/cat.png").media_type is None
    True
    """

    type: Literal["url"] = "url"
    url: str
    media_type: str | None = None


class BlobSource(_Data):
    """Media kept in a blob store, loaded only when a request is built.

    >>> BlobSource(blob_id="b1", media_type="image/png").size_bytes is None
    True
    """

    type: Literal["blob"] = "blob"
    blob_id: str
    media_type: str
    size_bytes: int | None = None


MediaSource = Annotated[Base64Source | UrlSource | BlobSource, Field(discriminator="type")]


class _Block(_Data):
    """What all blocks may carry: provider material that must come back unchanged."""

    signature: str | None = None
    opaque: Any = None


class TextBlock(_Block):
    """Words.

    >>> TextBlock(text="hi").type
    'text'
    """

    type: Literal["text"] = "text"
    text: str


class ImageBlock(_Block):
    """A picture for the model to see.

    >>> ImageBlock(source=UrlSource(url="https://example.org/cat.png")).detail is None
    True
    """

    type: Literal["image"] = "image"
    source: MediaSource
    detail: str | None = None


class AudioBlock(_Block):
    """A recording for the model to hear.

    >>> AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk=")).type
    'audio'
    """

    type: Literal["audio"] = "audio"
    source: MediaSource


class DocumentBlock(_Block):
    """A document for the model to read.

    >>> DocumentBlock(source=UrlSource(url="https://example.org/a.pdf"), title="A").title
    'A'
    """

    type: Literal["document"] = "document"
    source: MediaSource
    title: str | None = None


class ToolCallBlock(_Block):
    """A call that the model made. ``custom`` calls have free text as input; ``raw`` is the JSON text of the model.

    ``invented_id`` says that the provider gave none, so that ours is not sent to it.

    >>> ToolCallBlock(id="c1", name="weather", input={"city": "Rome"}).custom
    False
    """

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    input: Any = Field(default_factory=dict)
    custom: bool = False
    raw: str | None = None
    invented_id: bool = False


class ToolResultBlock(_Block):
    """What a tool answered: text, or text and media.

    >>> ToolResultBlock(tool_id="c1", content="sunny").is_error
    False
    """

    type: Literal["tool_result"] = "tool_result"
    tool_id: str
    content: "str | list[TextBlock | ImageBlock | DocumentBlock]" = ""
    tool_name: str | None = None
    is_error: bool = False
    custom: bool = False

    @property
    def text(self) -> str:
        """The words of the result."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def media(self) -> "list[ImageBlock | DocumentBlock]":
        """What is not words."""
        if isinstance(self.content, str):
            return []
        return [block for block in self.content if not isinstance(block, TextBlock)]


class ThinkingBlock(_Block):
    """A thought. Signed or encrypted material travels in ``signature`` and ``opaque``, unchanged.

    >>> ThinkingBlock(text="hm", signature="c2ln").signature
    'c2ln'
    """

    type: Literal["thinking"] = "thinking"
    text: str = ""


class GeneratedImageBlock(_Block):
    """A picture that the model made: base64 data, or the blob id under which it is kept.

    >>> GeneratedImageBlock(media_type="image/png", data="aGk=").is_preview
    False
    """

    type: Literal["generated_image"] = "generated_image"
    media_type: str = "image/png"
    data: str | None = Field(default=None, repr=False)
    blob_id: str | None = None
    url: str | None = None
    is_preview: bool = False
    generation: dict[str, Any] = Field(default_factory=dict)


class ServerToolBlock(_Block):
    """A call or a result of a tool that the provider ran itself; only its own maker understands it.

    >>> ServerToolBlock(server="web_search_tool_result").kind
    'tool_call'
    """

    type: Literal["server_tool"] = "server_tool"
    server: str
    kind: Literal["tool_call", "tool_result"] = "tool_call"
    id: str | None = None
    name: str | None = None
    content: str = ""


Block = Annotated[
    TextBlock
    | ImageBlock
    | AudioBlock
    | DocumentBlock
    | ToolCallBlock
    | ToolResultBlock
    | ThinkingBlock
    | GeneratedImageBlock
    | ServerToolBlock,
    Field(discriminator="type"),
]
