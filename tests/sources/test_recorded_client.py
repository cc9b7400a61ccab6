"""What the client adds to a stream: a recording of its bytes, blobs in its request, a log read back."""

import base64
import json

import pytest

import streamflow as sf
from streamflow.blobs import MemoryBlobStore
from streamflow.testing import Answer, FakeProvider, Reset, Stall, Text

KEY = "canary-key-0123456789"


async def test_the_bytes_of_an_answer_are_recorded_with_their_times(tmp_path):
    path = tmp_path / "answer.jsonl"
    async with (
        FakeProvider(Answer(Text(f"Hello, you sent {KEY}."), cut=40)) as fake,
        sf.connect("anthropic", model="m", api_key=KEY, base_url=fake.base_url("anthropic")) as llm,
    ):
        response = await llm.stream("hi", record=path).collect()
    recording = sf.load_recording(path)
    assert (recording.provider, recording.end) == ("anthropic", "completed")
    again = sf.read("anthropic", [piece.item for piece in recording.pieces])
    assert again.text == response.text.replace(KEY, "*" * len(KEY))
    assert KEY not in path.read_text()
    times = [piece.t for piece in recording.pieces]
    assert times == sorted(times)


async def test_a_failed_and_a_left_stream_are_recorded_as_such(tmp_path):
    async with (
        FakeProvider(Answer(Text("one two three "), Reset())) as fake,
        sf.connect("openai", model="m", api_key=KEY, base_url=fake.base_url("openai"), max_retries=0) as llm,
    ):
        with pytest.raises(sf.TransportError):
            await llm.collect("hi", record=tmp_path / "failed.jsonl")
        failed = sf.load_recording(tmp_path / "failed.jsonl")
        assert (failed.end, failed.error.provider) == ("error", "openai")
        async for _ in llm.stream("hi", record=tmp_path / "left.jsonl"):
            break
    assert sf.load_recording(tmp_path / "left.jsonl").end == "cancelled"


async def test_a_stopped_stream_is_recorded_as_cancelled(tmp_path):
    async with (
        FakeProvider(Answer(Text("one "), Stall())) as fake,
        sf.connect("openai", model="m", api_key=KEY, base_url=fake.base_url("openai")) as llm,
    ):
        stream = llm.stream("hi", record=tmp_path / "stopped.jsonl")
        async for event in stream:
            if isinstance(event, sf.events.Chunk):
                stream.cancel()
    assert sf.load_recording(tmp_path / "stopped.jsonl").end == "cancelled"


async def test_blobs_are_loaded_when_the_request_is_sent():
    store = MemoryBlobStore()
    blob_id = await store.store(b"picture", "image/png")
    message = {
        "role": "user",
        "content": [
            {"type": "text", "text": "what is this?"},
            {"type": "image", "source": {"type": "blob", "blob_id": blob_id, "media_type": "image/png"}},
        ],
    }
    async with (
        FakeProvider(Answer("A picture.")) as fake,
        sf.connect("anthropic", model="m", api_key=KEY, base_url=fake.base_url("anthropic"), blob_store=store) as llm,
    ):
        assert (await llm.collect([message])).text == "A picture."
        assert llm.provider == "anthropic"
    sent = fake.requests[0].body
    text = sent if isinstance(sent, str) else sent.decode() if isinstance(sent, bytes) else json.dumps(sent)
    assert base64.b64encode(b"picture").decode() in text


async def test_a_continued_log_is_read_back_without_its_end_of_turn_token():
    async with (
        FakeProvider(Answer(Text("<thinking>hm</thinking>Hello Bob.<|eot|>"))) as fake,
        sf.connect("gemini", model="m", api_key=KEY, base_url=fake.base_url("gemini")) as llm,
    ):
        messages = [{"participant": "Bob", "role": "user", "content": "hi"}]
        response = await llm.collect(messages, mode="prefill", participant="Ann")
    assert (response.text, response.thinking, response.stop_reason) == ("Hello Bob.", "hm", "end_turn")
