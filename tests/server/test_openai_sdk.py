"""OpenAI's own SDK as a client of any provider."""

import openai
import pytest

from streamflow.testing import Answer, Stall, Text, ToolUse
from streamflow.testing.simulator import BEFORE_ERROR, CANNED, CLOSING
from tests.server.serving import serving, until

PROVIDERS = ["openai", "anthropic", "gemini", "ollama"]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def sdk(served, token="no-token-needed"):
    return openai.AsyncOpenAI(base_url=f"{served.root}/v1", api_key=token, max_retries=0)


def ask(text, **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_text_streamed_and_whole(provider):
    async with serving(provider=provider) as served, sdk(served) as client:
        stream = await client.chat.completions.create(**ask("hi", stream=True, stream_options={"include_usage": True}))
        chunks = [chunk async for chunk in stream]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == CANNED
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
        assert chunks[-1].choices == []
        assert chunks[-1].usage.completion_tokens > 0
        assert chunks[0].choices[0].delta.role == "assistant"
        whole = await client.chat.completions.create(**ask("hi"))
        assert whole.choices[0].message.content == CANNED
        assert whole.choices[0].finish_reason == "stop"
        assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_thinking(provider):
    async with serving(provider=provider) as served, sdk(served) as client:
        stream = await client.chat.completions.create(**ask("sim:think Let me see. | Yes.", stream=True))
        deltas = [chunk.choices[0].delta async for chunk in stream]
        thoughts = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
        assert thoughts == "Let me see."
        assert "".join(delta.content or "" for delta in deltas) == "Yes."
        whole = await client.chat.completions.create(**ask("sim:think Let me see. | Yes."))
        assert whole.choices[0].message.reasoning_content == "Let me see."


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_tool_call_and_its_result(provider):
    async with serving(provider=provider) as served, sdk(served) as client:
        asked = ask('sim:tool weather {"city": "Rome"}', tools=[TOOL], tool_choice="auto")
        async with client.chat.completions.stream(**asked) as stream:
            done = await stream.get_final_completion()
        message = done.choices[0].message
        assert done.choices[0].finish_reason == "tool_calls"
        assert [call.function.name for call in message.tool_calls] == ["weather"]
        assert message.tool_calls[0].function.arguments.replace(" ", "") == '{"city":"Rome"}'
        whole = (await client.chat.completions.create(**asked)).choices[0].message
        assert whole.tool_calls[0].function.name == "weather"
        history = [*asked["messages"], whole.model_dump(exclude_none=True)]
        history.append({"role": "tool", "tool_call_id": whole.tool_calls[0].id, "content": "sunny"})
        closing = await client.chat.completions.create(model="m", messages=history, tools=[TOOL])
        assert closing.choices[0].message.content == CLOSING


async def test_calls_side_by_side():
    answer = Answer(Text("Both."), ToolUse("a", {"x": 1}), ToolUse("b", {"y": 2}))
    async with serving(answer) as served, sdk(served) as client:
        async with client.chat.completions.stream(**ask("both", tools=[TOOL])) as stream:
            message = (await stream.get_final_completion()).choices[0].message
        assert [(call.function.name, call.function.arguments) for call in message.tool_calls] == [
            ("a", '{"x":1}'),
            ("b", '{"y":2}'),
        ]
        assert len({call.id for call in message.tool_calls}) == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (401, openai.InternalServerError),
    ],
)
async def test_a_refusal_of_the_provider_has_a_status(status, kind):
    async with serving() as served, sdk(served) as client:
        for stream in (True, False):
            with pytest.raises(kind) as refused:
                await client.chat.completions.create(**ask(f"sim:error {status}", stream=stream))
            assert "canary" not in str(refused.value)


async def test_an_error_in_mid_answer_is_raised():
    async with serving() as served, sdk(served) as client:
        said = []

        async def read():
            async for chunk in await client.chat.completions.create(**ask("sim:error-event", stream=True)):
                said.append(chunk.choices[0].delta.content or "")

        with pytest.raises(openai.APIError):
            await read()
        assert "".join(said) == BEFORE_ERROR
        with pytest.raises(openai.APIStatusError):
            await client.chat.completions.create(**ask("sim:error-event"))


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_stops_the_answer(stream):
    async with serving(Answer(Text("Hello "), Stall())) as served, sdk(served) as client:
        if stream:
            chunks = await client.chat.completions.create(**ask("go on", stream=True))
            async for _ in chunks:
                break
            await chunks.close()
        else:
            with pytest.raises(openai.APITimeoutError):
                await client.with_options(timeout=0.3).chat.completions.create(**ask("go on"))
        await until(lambda: served.fake.requests and served.fake.open_connections == 0)


async def test_an_answer_that_is_stopped_does_not_look_finished():
    async with serving(Answer(Text("Hello "), Stall())) as served, sdk(served) as client:

        async def read():
            async for _ in await client.chat.completions.create(**ask("go on", stream=True)):
                await served.service.store.close()

        with pytest.raises(openai.APIError):
            await read()


async def test_options_reach_the_provider():
    async with serving(provider="anthropic") as served, sdk(served) as client:
        asked = ask("hi", max_completion_tokens=77, temperature=0.5, top_p=0.9, stop=["END"], user="somebody")
        asked["messages"].insert(0, {"role": "system", "content": "Be brief."})
        asked["model"] = "another"
        await client.chat.completions.create(**asked)
        body = served.fake.requests[-1].body
        assert (body["model"], body["max_tokens"], body["temperature"]) == ("another", 77, 0.5)
        assert body["stop_sequences"] == ["END"]
        assert "Be brief." in str(body["system"])
        await client.chat.completions.create(**{**asked, "model": "default"})
        assert served.fake.requests[-1].body["model"] == "m"
        assert (await client.models.list()).data[0].id == "default"


@pytest.mark.parametrize("more", [{"n": 2}, {"extra_body": {"colour": "red"}}, {"temperature": "hot"}])
async def test_what_cannot_be_done_is_refused(more):
    async with serving() as served, sdk(served) as client:
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(**ask("hi", **more))
        assert not served.fake.requests


async def test_the_key_is_the_token():
    async with serving(tokens=["right-token-1"]) as served:
        async with sdk(served, "right-token-1") as client:
            assert (await client.chat.completions.create(**ask("hi"))).choices[0].message.content == CANNED
        async with sdk(served, "wrong-token-1") as client:
            with pytest.raises(openai.AuthenticationError):
                await client.chat.completions.create(**ask("hi"))
