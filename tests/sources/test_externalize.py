"""Pictures leave the stream for the store."""

import asyncio
from typing import Any

import pytest

import streamflow as sf
from streamflow.events import Image, ImagePreview
from streamflow.operators import to_response
from streamflow.sources.externalize import externalized
from streamflow.testing import Answer, Cut, FakeProvider, Picture, Stall, Text, ToolUse, assert_grammar

DATA = "iVBORw0KGgo="


def connect(fake: FakeProvider, provider: str = "gemini") -> sf.Client:
    return sf.connect(provider, model="m", api_key="k", base_url=fake.base_url(provider), environ={}, max_retries=0)


async def test_the_data_is_in_the_store_and_nowhere_else() -> None:
    store = sf.MemoryBlobStore()
    answer = Answer(Text("Before."), Picture(DATA), Text("After."))
    async with FakeProvider(answer) as fake, connect(fake) as llm:
        stream = externalized(llm.stream("draw"), store)
        events = [event async for event in stream]
    assert_grammar(events)
    (image,) = [event.image for event in events if isinstance(event, Image)]
    assert image.data is None
    assert await store.load(image.blob_id) == b"\x89PNG\r\n\x1a\n"
    assert DATA not in b"".join(sf.to_json(event) for event in events).decode()
    assert events[-1].response.images == [image]
    assert events[-1].response.text == "Before.After."
    assert stream.response is not None
    assert stream.response.images == [image]
    said = sf.message_of(events[-1].response, "gemini")
    loaded = await sf.resolve_blobs([said], store)
    assert DATA in str(sf.build_request("gemini", ["q", *loaded, "bigger"], model="m").json)


async def test_it_is_an_observable_and_takes_operators() -> None:
    store = sf.MemoryBlobStore()
    async with FakeProvider(Answer(Picture(DATA), Text("Done."))) as fake, connect(fake) as llm:
        seen: list[Any] = []
        done = asyncio.Event()
        externalized(llm.stream("draw"), store).pipe(to_response()).subscribe(seen.append, on_completed=done.set)
        await asyncio.wait_for(done.wait(), 5)
    assert seen[-1].response.images[0].blob_id == store.ids()[0]


async def test_a_failure_keeps_its_partial_without_data() -> None:
    store = sf.MemoryBlobStore()
    async with FakeProvider(Answer(Picture(DATA), Text("So far"), Cut())) as fake, connect(fake) as llm:
        with pytest.raises(sf.StreamTruncated) as caught:
            async for _ in externalized(llm.stream("draw"), store):
                pass
    partial = caught.value.partial
    assert partial.text == "So far"
    assert partial.images[0].data is None


async def test_a_store_that_fails_is_the_streams_error() -> None:
    class Broken(sf.MemoryBlobStore):
        async def store(self, data: bytes, media_type: str) -> str:
            raise OSError("disk full")

    async with FakeProvider(Answer(Picture(DATA), Text("x"))) as fake, connect(fake) as llm:
        seen: list[Any] = []
        with pytest.raises(OSError, match="disk full"):
            await _into(seen, externalized(llm.stream("draw"), Broken()))
        assert not any(isinstance(event, Image | ImagePreview) for event in seen)


async def _into(seen: list[Any], stream: Any) -> None:
    async for event in stream:
        seen.append(event)


async def test_cancelling() -> None:
    async with FakeProvider(Answer(Text("Hello"), Stall())) as fake, connect(fake) as llm:
        stream = externalized(llm.stream("draw"), sf.MemoryBlobStore())
        events = []
        async for event in stream:
            events.append(event)
            if isinstance(event, sf.events.Chunk):
                stream.cancel()
        assert events[-1].stop_reason == "cancelled"
        async with asyncio.timeout(5):
            while fake.connections[0].closed_at is None:
                await asyncio.sleep(0.01)


async def test_a_client_does_it_when_asked() -> None:
    store = sf.MemoryBlobStore()
    answers = [Answer(Text("Here."), Picture(DATA))] * 3
    async with FakeProvider(*answers) as fake:
        given = {"model": "m", "api_key": "k", "base_url": fake.base_url("gemini"), "environ": {}}
        async with sf.connect("gemini", **given, blob_store=store, externalize_images=True) as llm:
            response = await llm.collect("draw")
            assert [image.data for image in response.images] == [None]
            assert [image.blob_id for image in response.images] == store.ids()
            await llm.collect(["draw", sf.message_of(response, "gemini"), "bigger"])
            assert DATA in str(fake.requests[-1].body)  # loaded again for the model to see
            kept = await llm.collect("draw", externalize_images=False)
            assert [image.data for image in kept.images] == [DATA]
    assert all("externalize" not in str(request.body) for request in fake.requests)


async def test_without_a_store_it_says_so() -> None:
    with pytest.raises(sf.UsageError, match="pass blob_store"):
        sf.connect("gemini", model="m", api_key="k", environ={}, externalize_images=True)
    async with sf.connect("gemini", model="m", api_key="k", environ={}) as llm:
        with pytest.raises(sf.UsageError, match="pass blob_store"):
            llm.stream("draw", externalize_images=True)


async def test_a_loop_keeps_pictures_in_the_store() -> None:
    def now() -> str:
        """The time."""
        return "noon"

    store = sf.MemoryBlobStore()
    script = Answer(Picture(DATA), ToolUse("now", {})), Answer("Done.")
    async with FakeProvider(*script) as fake:
        given = {"model": "m", "api_key": "k", "base_url": fake.base_url("gemini"), "environ": {}}
        async with sf.connect("gemini", **given, blob_store=store, externalize_images=True) as llm:
            loop = sf.tool_loop(llm, "draw", [now])
            events = [event async for event in loop]
    assert_grammar(events)
    assert DATA not in b"".join(sf.to_json(event) for event in events).decode()
    assert DATA not in str([message.model_dump() for message in loop.messages])
    assert DATA in str(fake.requests[-1].body)
