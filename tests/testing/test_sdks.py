"""The official SDKs talk to the simulator as they do with the real services."""

from collections.abc import AsyncIterator

import anthropic
import openai
import pytest

from streamflow.testing import FakeProvider
from streamflow.testing.simulator import CANNED, CLOSING

MODEL = "simulated"
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}}
CALL = 'sim:tool weather {"city": "Köln", "days": 3}'


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as running:
        yield running


@pytest.fixture
async def gpt(fake: FakeProvider) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key="none", base_url=fake.root + "/v1") as client:
        yield client


@pytest.fixture
async def claude(fake: FakeProvider) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(api_key="none", base_url=fake.root) as client:
        yield client


def _user(text: str) -> list[dict]:
    return [{"role": "user", "content": text}]


# -- OpenAI: chat completions


async def _chat_chunks(client, text, **more):
    stream = await client.chat.completions.create(model=MODEL, messages=_user(text), stream=True, **more)
    return [chunk async for chunk in stream]


async def test_chat_text_streamed(gpt):
    chunks = await _chat_chunks(gpt, "sim:text Grüß Gott!", stream_options={"include_usage": True})
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Grüß Gott!"
    assert chunks[-1].usage.completion_tokens == 2
    assert chunks[-2].choices[0].finish_reason == "stop"


async def test_chat_text_whole(gpt):
    answer = await gpt.chat.completions.create(model=MODEL, messages=_user("hello"))
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (CANNED, "stop")
    assert answer.usage.total_tokens > 0


async def test_chat_tool_call_and_its_result(gpt):
    tools = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]
    async with gpt.chat.completions.stream(model=MODEL, messages=_user(CALL), tools=tools) as stream:
        final = await stream.get_final_completion()
    (call,) = final.choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("weather", '{"city":"Köln","days":3}')
    assert final.choices[0].finish_reason == "tool_calls"
    messages = [
        *_user(CALL),
        {"role": "assistant", "tool_calls": [call.model_dump(include={"id", "type", "function"})]},
        {"role": "tool", "tool_call_id": call.id, "content": "rain"},
    ]
    answer = await gpt.chat.completions.create(model=MODEL, messages=messages, tools=tools)
    assert answer.choices[0].message.content == CLOSING


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, openai.BadRequestError), (401, openai.AuthenticationError), (404, openai.NotFoundError)],
)
async def test_chat_errors(gpt, fake, status, error):
    with pytest.raises(error) as caught:
        await _chat_chunks(gpt, f"sim:error {status}")
    assert f"A simulated error with status {status}." in str(caught.value)
    assert len(fake.requests) == 1


async def test_chat_error_inside_the_stream(gpt):
    with pytest.raises(openai.APIError, match="overloaded"):
        await _chat_chunks(gpt, "sim:error-event")


async def test_chat_429_is_retried(gpt, fake):
    chunks = await _chat_chunks(gpt, "sim:429 0.001")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == CANNED
    assert len(fake.requests) == 2


async def test_text_completions(gpt):
    stream = await gpt.completions.create(model=MODEL, prompt="sim:text plain words", stream=True)
    assert "".join([chunk.choices[0].text async for chunk in stream if chunk.choices]) == "plain words"
    whole = await gpt.completions.create(model=MODEL, prompt="sim:text plain words")
    assert whole.choices[0].text == "plain words"


# -- OpenAI: responses and assistants


async def test_responses_text_streamed_and_whole(gpt):
    async with gpt.responses.stream(model=MODEL, input="sim:think hm | Grüß Gott!") as stream:
        events = [event async for event in stream]
        final = await stream.get_final_response()
    assert final.output_text == "Grüß Gott!"
    assert final.output[0].summary[0].text == "hm"
    assert events[-1].type == "response.completed"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    whole = await gpt.responses.create(model=MODEL, input="sim:text Hi")
    assert (whole.output_text, whole.status, whole.usage.output_tokens) == ("Hi", "completed", 1)


async def test_responses_tool_call_error_and_429(gpt, fake):
    tools = [{"type": "function", "name": "weather", "parameters": WEATHER}]
    async with gpt.responses.stream(model=MODEL, input=CALL, tools=tools) as stream:
        final = await stream.get_final_response()
    call = final.output[0]
    assert (call.name, call.arguments) == ("weather", '{"city":"Köln","days":3}')
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
    answer = await gpt.responses.create(model=MODEL, input=[*_user(CALL), call.model_dump(), result])
    assert answer.output_text == CLOSING
    with pytest.raises(openai.PermissionDeniedError):
        await gpt.responses.create(model=MODEL, input="sim:error 403")
    with pytest.raises(openai.APIError, match="overloaded"):
        async for _ in await gpt.responses.create(model=MODEL, input="sim:error-event", stream=True):
            pass
    count = len(fake.requests)
    assert (await gpt.responses.create(model=MODEL, input="sim:429 0.001")).output_text == CANNED
    assert len(fake.requests) == count + 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_assistants(gpt):
    thread = {"messages": _user("sim:text From a thread")}
    stream = await gpt.beta.threads.create_and_run(assistant_id="asst_1", thread=thread, stream=True)
    events = [event async for event in stream]
    pieces = [event.data.delta.content[0].text.value for event in events if event.event == "thread.message.delta"]
    assert "".join(pieces) == "From a thread"
    assert events[-1].event == "thread.run.completed"


async def test_models_and_speech(gpt):
    names = [model.id async for model in gpt.models.list()]
    assert names[0] == MODEL
    sound = await gpt.audio.speech.create(model="tts", voice="alloy", input="Hello there", response_format="wav")
    assert sound.content[:4] == b"RIFF"
    with pytest.raises(openai.BadRequestError, match="characters"):
        await gpt.audio.speech.create(model="tts", voice="alloy", input="")


# -- Anthropic


def _ask(text: str, **more) -> dict:
    return {"model": MODEL, "max_tokens": 100, "messages": _user(text), **more}


async def test_messages_text_streamed_and_whole(claude):
    async with claude.messages.stream(**_ask("sim:text Grüß Gott!")) as stream:
        assert "".join([text async for text in stream.text_stream]) == "Grüß Gott!"
        final = await stream.get_final_message()
    assert (final.stop_reason, final.usage.output_tokens) == ("end_turn", 2)
    whole = await claude.messages.create(**_ask("hello"))
    assert (whole.content[0].text, whole.stop_reason) == (CANNED, "end_turn")


async def test_messages_thinking(claude):
    async with claude.messages.stream(**_ask("sim:think Let me see | Done")) as stream:
        final = await stream.get_final_message()
    thought, text = final.content
    assert (thought.type, thought.thinking, text.text) == ("thinking", "Let me see", "Done")
    assert thought.signature


async def test_messages_tool_call_and_its_result(claude):
    tools = [{"name": "weather", "input_schema": WEATHER}]
    async with claude.messages.stream(**_ask(CALL, tools=tools)) as stream:
        final = await stream.get_final_message()
    (call,) = final.content
    assert (call.name, call.input, final.stop_reason) == ("weather", {"city": "Köln", "days": 3}, "tool_use")
    result = [{"type": "tool_result", "tool_use_id": call.id, "content": "rain"}]
    messages = [
        *_user(CALL),
        {"role": "assistant", "content": [call.model_dump(include={"type", "id", "name", "input"})]},
        {"role": "user", "content": result},
    ]
    answer = await claude.messages.create(**{**_ask(""), "messages": messages, "tools": tools})
    assert answer.content[0].text == CLOSING


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, anthropic.BadRequestError), (401, anthropic.AuthenticationError), (404, anthropic.NotFoundError)],
)
async def test_messages_errors(claude, fake, status, error):
    with pytest.raises(error, match=f"status {status}"):
        await claude.messages.create(**_ask(f"sim:error {status}"))
    assert len(fake.requests) == 1


async def test_messages_error_inside_the_stream(claude):
    got = []

    async def read() -> None:
        async with claude.messages.stream(**_ask("sim:error-event")) as stream:
            async for text in stream.text_stream:
                got.append(text)

    with pytest.raises(anthropic.APIStatusError) as caught:
        await read()
    assert "".join(got) == "This answer will not"
    assert caught.value.body["error"]["type"] == "overloaded_error"


async def test_messages_429_is_retried(claude, fake):
    answer = await claude.messages.create(**_ask("sim:429 0.001"))
    assert answer.content[0].text == CANNED
    assert len(fake.requests) == 2


async def test_anthropic_models(claude):
    names = [model.id async for model in claude.models.list()]
    assert names[0] == MODEL
