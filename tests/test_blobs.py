"""Blob stores, media by reference, and records without media."""

import base64
import random
from typing import Any

import pytest

import streamflow as sf
from streamflow.blobs import (
    BlobNotFound,
    BlobStore,
    MemoryBlobStore,
    blob_id_of,
    media_type_of,
    restore_from_storage,
    sanitize_for_storage,
)
from streamflow.events import GeneratedImage, Image, Response
from streamflow.requests.blocks import BlobSource, DocumentBlock, GeneratedImageBlock, ImageBlock, TextBlock
from streamflow.requests.media import externalize_images, resolve_blobs

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
BIG = base64.b64encode(PNG).decode()


class CountingStore(MemoryBlobStore):
    """Counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = 0

    async def load(self, blob_id: str) -> bytes:
        self.loads += 1
        return await super().load(blob_id)


async def test_a_store_gives_back_what_it_was_given() -> None:
    store = MemoryBlobStore()
    assert isinstance(store, BlobStore)
    blob_id = await store.store(PNG, "image/png")
    assert blob_id == blob_id_of(PNG) == await store.store(PNG, "image/png")
    assert await store.load(blob_id) == PNG
    assert store.media_type(blob_id) == "image/png"
    assert store.ids() == [blob_id]
    with pytest.raises(BlobNotFound):
        await store.load("nothing")


# -- media by reference


async def test_blobs_are_loaded_once_and_only_for_the_messages_that_are_sent() -> None:
    store = CountingStore()
    source = BlobSource(blob_id=await store.store(PNG, "image/png"), media_type="image/png", size_bytes=len(PNG))
    messages = [sf.Message.user([ImageBlock(source=source)]), sf.Message.user([ImageBlock(source=source)]), "plain"]
    assert store.loads == 0
    resolved = await resolve_blobs(messages[1:], store)
    assert store.loads == 1
    body = sf.build_request("anthropic", resolved, model="m").json
    assert body["messages"][0]["content"][0]["source"]["data"] == BIG
    assert (await resolve_blobs(messages, store))[2].text == "plain"
    assert store.loads == 2


async def test_blobs_in_results_and_generated_pictures_are_loaded_too() -> None:
    store = MemoryBlobStore()
    source = BlobSource(blob_id=await store.store(PNG, "image/png"), media_type="image/png")
    drawn = sf.Message.assistant([GeneratedImageBlock(blob_id=source.blob_id)])
    result = sf.Message.tool_result("c", [TextBlock(text="see"), DocumentBlock(source=source)])
    resolved = await resolve_blobs([drawn, result], store)
    assert resolved[0].content[0].data == BIG  # type: ignore[union-attr]
    assert resolved[1].tool_results[0].media[0].source.data == BIG  # type: ignore[union-attr]


def test_a_request_with_an_unloaded_blob_says_what_to_do() -> None:
    picture = ImageBlock(source=BlobSource(blob_id="b1", media_type="image/png"))
    with pytest.raises(sf.UsageError, match="resolve_blobs"):
        sf.build_request("openai", [sf.Message.user([picture])], model="m")


async def test_generated_pictures_leave_the_answer_for_the_store() -> None:
    store = MemoryBlobStore()
    image = GeneratedImage("image/png", data=BIG, generation={"prompt": "a cat"})
    response = Response(images=[image], complete=True)
    for answer in (image, Image(image), response, sf.message_of(response)):
        kept = await externalize_images(answer, store)
        assert BIG not in str(kept.model_dump() if isinstance(kept, sf.Message) else sf.to_json(kept))
        assert blob_id_of(PNG) in str(kept)
        assert "a cat" in str(kept)
    assert await store.load(blob_id_of(PNG)) == PNG


# -- records without media


async def small(value: Any, store: BlobStore | None = None, **options: Any) -> Any:
    return await sanitize_for_storage(value, store or MemoryBlobStore(), **options)


async def test_large_base64_becomes_a_reference_of_three_fields() -> None:
    record = {"content": [{"type": "image", "source": {"type": "base64", "data": BIG}}]}
    made = await small(record)
    assert made["content"][0]["source"]["data"] == {
        "__blobRef": blob_id_of(PNG),
        "originalSize": len(BIG),
        "mediaType": "image/png",
    }
    assert made["content"][0]["type"] == "image"
    assert record["content"][0]["source"]["data"] == BIG, "the original is untouched"


@pytest.mark.parametrize("extra", [-4, 0, 4])
async def test_the_threshold_is_ten_kilobytes_and_must_be_exceeded(extra: int) -> None:
    text = base64.b64encode(b"x" * (7680 + extra // 4 * 3)).decode()
    assert len(text) == 10240 + extra
    assert isinstance(await small(text), dict) == (extra > 0)


async def test_another_threshold() -> None:
    assert isinstance(await small("aGVsbG8=", blob_threshold=7), dict)
    assert await small("aGVsbG8=", blob_threshold=8) == "aGVsbG8="


async def test_named_paths_always_go() -> None:
    record = {"messages": [{"content": "short", "source": {"data": "aGk="}}, {"content": "short"}]}
    made = await small(record, always_externalize_paths=["messages.*.source.data", "messages.1.content"])
    assert made["messages"][0]["source"]["data"]["__blobRef"] == blob_id_of(b"hi")
    assert made["messages"][0]["content"] == "short"
    assert made["messages"][1]["content"]["mediaType"] == "text/plain"


@pytest.mark.parametrize("text", ["long prose " * 2000, "A" * 20001, "aGk=" * 4000, "Zh==" + "A" * 12000])
async def test_what_is_not_canonical_base64_stays(text: str) -> None:
    assert await small(text) == text


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "short",
        BIG,
        f"data:image/png;base64,{BIG}",
        [BIG, [BIG], {"a": BIG}],
        {"mimeType": "audio/wav", "data": BIG},
        {"__blobRef": "abc123", "originalSize": 5, "mediaType": "image/png"},
        {"__blobRef": "abc123"},
        {"deep": {"__blobRef": BIG, "originalSize": 5, "mediaType": "image/png"}},
        {"__blobRefEscaped": {"__blobRef": BIG}},
        {"__blobRefEscaped": BIG},
        {"empty": "", "none": None, "nested": {"empty": []}},
    ],
)
async def test_the_way_there_and_back_is_exact(value: Any) -> None:
    store = MemoryBlobStore()
    assert await restore_from_storage(await small(value, store), store) == value


async def test_the_way_there_and_back_is_exact_for_random_records() -> None:
    rng = random.Random(8)
    pieces = [BIG, "x", "", 1, None, True, f"data:image/png;base64,{BIG}", "é" * 6000, "\ud800" + "A" * 11000]
    keys = ["a", "data", "__blobRef", "__blobRefEscaped", "media_type", "originalSize", "mediaType"]

    def value(depth: int) -> Any:
        roll = rng.random()
        if depth == 0 or roll < 0.4:
            return rng.choice(pieces)
        if roll < 0.6:
            return [value(depth - 1) for _ in range(rng.randrange(3))]
        return {rng.choice(keys): value(depth - 1) for _ in range(rng.randrange(4))}

    for _ in range(300):
        record = value(4)
        store = MemoryBlobStore()
        made = await small(record, store, always_externalize_paths=["a", "*.a", "data.*"])
        assert await restore_from_storage(made, store) == record


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        (b"RIFF\0\0\0\0AVI ", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_media_type_by_content(data: bytes, expected: str) -> None:
    assert media_type_of(data) == expected
