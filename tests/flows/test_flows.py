"""The ready-made flows, over the simulator, end to end."""

import asyncio

import streamflow as sf
from streamflow import flows
from streamflow.audio import Wave
from streamflow.events import Chunk, Sentence
from streamflow.testing import Answer, FakeProvider, Text, Thinking, ToolUse
from tests.flow.events import Pulled

SAID = "Rome is **sunny** today. Take a hat! Shall I book a table?"


class Beep:
    async def synthesize(self, text):
        return Wave(8000, 1, 2, bytes(160 * len(text))).file()


async def items(branch):
    return [item async for item in branch]


async def test_chat_has_a_branch_for_each_view():
    answer = Answer(Thinking("They ask for the weather."), Text(SAID), ToolUse("book", {"seats": 2}))
    async with (
        FakeProvider(answer) as fake,
        sf.connect("anthropic", model="m", api_key="k", base_url=fake.base_url("anthropic")) as llm,
    ):
        flow = flows.chat(llm.stream("weather?"))
        ui, thought, tools, everything = await asyncio.gather(
            *(items(flow[name]) for name in ("ui", "thinking", "tools", "transcript"))
        )
    assert "".join(chunk.text for chunk in ui) == SAID
    assert "".join(chunk.text for chunk in thought) == "They ask for the weather."
    assert [call.name for ready in tools for call in ready.calls] == ["book"]
    assert everything[-1].response.complete
    assert len(fake.requests) == 1


async def test_voice_speaks_the_words_in_order_and_leaves_the_screen_alone():
    async with (
        FakeProvider(Answer(Text(SAID))) as fake,
        sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai")) as llm,
    ):
        flow = flows.voice(llm.stream("weather?"), Beep(), language="en")
        ui, cut, audio = await asyncio.gather(*(items(flow[name]) for name in ("ui", "sentences", "tts")))
    assert "".join(chunk.text for chunk in ui if isinstance(chunk, Chunk)) == SAID
    sentences = [item for item in cut if isinstance(item, Sentence)]
    assert "**" not in "".join(sentence.text for sentence in sentences)
    segments = [item for item in audio if isinstance(item, sf.AudioSegment)]
    assert [segment.index for segment in segments] == list(range(len(segments)))
    assert [segment.sentence.text for segment in segments] == [sentence.text for sentence in sentences]


async def test_written_calls_and_thoughts_never_reach_the_screen():
    written = '<thinking>secret</thinking>Yes.<function_calls><invoke name="f"></invoke></function_calls>'
    wire = [{"choices": [{"delta": {"content": written}, "finish_reason": "stop"}]}]
    body = b"".join(b"data: " + sf.to_json(payload) + b"\n\n" for payload in wire) + b"data: [DONE]\n\n"
    flow = flows.chat(Pulled(sf.decode("openai", body)))
    ui, tools = await asyncio.gather(items(flow["ui"]), items(flow["tools"]))
    assert "".join(chunk.text for chunk in ui) == "Yes."
    assert [call.name for ready in tools for call in ready.calls] == ["f"]
