"""Media by reference: loaded from a blob store when a request is built, put into one when an answer has come."""

from base64 import b64decode, b64encode
from typing import Any, TypeVar

import msgspec

from streamflow.blobs import BlobStore
from streamflow.events import GeneratedImage, Image, ImagePreview, Response
from streamflow.requests.blocks import (
    AudioBlock,
    Base64Source,
    BlobSource,
    Block,
    DocumentBlock,
    GeneratedImageBlock,
    ImageBlock,
    ToolResultBlock,
)
from streamflow.requests.messages import Message, as_messages

Answer = TypeVar("Answer", Message, Response, Image, ImagePreview, GeneratedImage)


async def resolve_blobs(messages: Any, store: BlobStore) -> list[Message]:
    """The messages with every blob in its place, each loaded once; messages without blobs stay as they are.

    >>> import asyncio
    >>> from streamflow.blobs import MemoryBlobStore
    >>> async def example():
    ...     store = MemoryBlobStore()
    ...     source = BlobSource(blob_id=await store.store(b"hi", "image/png"), media_type="image/png")
    ...     return await resolve_blobs([Message.user([ImageBlock(source=source)])], store)
    >>> asyncio.run(example())[0].content[0].source.data
    'aGk='
    """
    loaded: dict[str, str] = {}
    return [await _resolved_message(message, store, loaded) for message in as_messages(messages)]


async def _resolved_message(message: Message, store: BlobStore, loaded: dict[str, str]) -> Message:
    content = [await _resolved(block, store, loaded) for block in message.content]
    if all(new is old for new, old in zip(content, message.content, strict=True)):
        return message
    return message.model_copy(update={"content": content})


async def _resolved(block: Any, store: BlobStore, loaded: dict[str, str]) -> Any:
    if isinstance(block, ImageBlock | AudioBlock | DocumentBlock) and isinstance(block.source, BlobSource):
        source = block.source
        data = await _loaded(source.blob_id, store, loaded)
        return block.model_copy(update={"source": Base64Source(media_type=source.media_type, data=data)})
    if isinstance(block, GeneratedImageBlock) and block.data is None and block.blob_id is not None:
        return block.model_copy(update={"data": await _loaded(block.blob_id, store, loaded)})
    if isinstance(block, ToolResultBlock) and not isinstance(block.content, str):
        content = [await _resolved(part, store, loaded) for part in block.content]
        return block.model_copy(update={"content": content})
    return block


async def _loaded(blob_id: str, store: BlobStore, loaded: dict[str, str]) -> str:
    if blob_id not in loaded:
        loaded[blob_id] = b64encode(await store.load(blob_id)).decode()
    return loaded[blob_id]


async def externalize_images(answer: Answer, store: BlobStore) -> Answer:
    """The same message, response or image event, with generated pictures in the store and their ids in place of data.

    >>> import asyncio
    >>> from streamflow.blobs import MemoryBlobStore
    >>> asyncio.run(externalize_images(GeneratedImage(data="aGk="), MemoryBlobStore())).blob_id[:8]
    '8f434346'
    """
    if isinstance(answer, Message):
        content = [await _externalized(block, store) for block in answer.content]
        return answer.model_copy(update={"content": content})
    if isinstance(answer, GeneratedImage):
        if answer.data is None:
            return answer
        blob_id = await store.store(b64decode(answer.data), answer.media_type)
        return msgspec.structs.replace(answer, data=None, blob_id=blob_id)
    if isinstance(answer, Response):
        images = [await externalize_images(image, store) for image in answer.images]
        return msgspec.structs.replace(answer, images=images)
    return msgspec.structs.replace(answer, image=await externalize_images(answer.image, store))


async def _externalized(block: Block, store: BlobStore) -> Block:
    if not isinstance(block, GeneratedImageBlock) or block.data is None:
        return block
    blob_id = await store.store(b64decode(block.data), block.media_type)
    return block.model_copy(update={"data": None, "blob_id": blob_id})
