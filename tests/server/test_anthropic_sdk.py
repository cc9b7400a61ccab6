"""Anthropic's own SDK as a client of any provider."""

import anthropic
import pytest

from streamflow.testing import Answer, Stall, Text, ToolUse
from streamflow.testing.simulator import BEFORE_ERROR, CANNED, CLOSING
from tests.server.serving import serving, until

PROVIDERS = ["anthropic", "openai", "gemini", "ollama"]
TOOL = {"name": "weather", "input_schema": {"type": "object", "properties": {}}}


def sdk(served, token="no-token-needed"):
    return anthropic.AsyncAnthropic(base_url=served.root, api_key=token, max_retries=0)


def ask(text, **more):
    return {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": text}], **more}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_text_streamed_and_whole(provider):
    async with serving(provider=provider) as served, sdk(served) as client:
        async with client.messages.stream(**ask("hi")) as stream:
            assert "".join([text async for text in stream.text_stream]) == CANNED
            message = await stream.get_final_message()
        assert (message.stop_reason, message.content[0].text) == ("end_turn", CANNED)
        assert message.usage.output_tokens > 0
        whole = await client.messages.create(**ask("hi"))
        assert whole.content[0].text == CANNED
        assert whole.stop_reason == "end_turn"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_thinking(provider):
    async with serving(provider=provider) as served, sdk(served) as client:
        async with client.messages.stream(**ask("sim:think Let me see. | Yes.")) as stream:
            message = await stream.get_final_message()
        assert [block.type for block in message.content] == ["thinking", "text"]
        assert message.content[0].thinking == "Let me see."
        whole = await client.messages.create(**ask("sim:think Let me see. | Yes."))
        assert [block.model_dump() for block in whole.content] == [block.model_dump() for block in message.content]
        if provider == "anthropic":
            assert message.content[0].signature
            history = [*ask("sim:think a | b")["messages"], {"role": "assistant", "content": message.content}]
            history.append({"role": "user", "content": "hi"})
            await client.messages.create(model="m", max_tokens=5, messages=history)
            sent = served.fake.requests[-1].body["messages"][1]["content"][0]
            assert sent == {"type": "thinking", "thinking": "Let me see.", "signature": message.content[0].signature}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_tool_call_and_its_result(provider):
    async with serving(provider=provider) as served, sdk(served) as client:
        asked = ask('sim:tool weather {"city": "Rome"}', tools=[TOOL], tool_choice={"type": "auto"})
        async with client.messages.stream(**asked) as stream:
            message = await stream.get_final_message()
        (call,) = (block for block in message.content if block.type == "tool_use")
        assert (message.stop_reason, call.name, call.input) == ("tool_use", "weather", {"city": "Rome"})
        whole = await client.messages.create(**asked)
        assert whole.content[-1].input == {"city": "Rome"}
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
        history = [
            *asked["messages"],
            {"role": "assistant", "content": message.content},
            {"role": "user", "content": [result]},
        ]
        closing = await client.messages.create(model="m", max_tokens=500, messages=history, tools=[TOOL])
        assert closing.content[0].text == CLOSING


async def test_calls_side_by_side_come_one_after_the_other():
    answer = Answer(Text("Both."), ToolUse("a", {"x": 1}), ToolUse("b", {"y": 2}))
    async with serving(answer) as served, sdk(served) as client:
        async with client.messages.stream(**ask("both", tools=[TOOL])) as stream:
            message = await stream.get_final_message()
        assert [(block.name, block.input) for block in message.content[1:]] == [("a", {"x": 1}), ("b", {"y": 2})]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, anthropic.BadRequestError),
        (404, anthropic.NotFoundError),
        (429, anthropic.RateLimitError),
        (529, anthropic.InternalServerError),
        (401, anthropic.InternalServerError),
    ],
)
async def test_a_refusal_of_the_provider_has_a_status(status, kind):
    async with serving() as served, sdk(served) as client:
        with pytest.raises(kind):
            await client.messages.create(**ask(f"sim:error {status}"))
        with pytest.raises(kind):
            async with client.messages.stream(**ask(f"sim:error {status}")) as stream:
                await stream.get_final_message()


async def test_an_error_in_mid_answer_is_raised():
    async with serving() as served, sdk(served) as client:
        said = []

        async def read():
            async with client.messages.stream(**ask("sim:error-event")) as stream:
                async for text in stream.text_stream:
                    said.append(text)

        with pytest.raises(anthropic.APIStatusError):
            await read()
        assert "".join(said) == BEFORE_ERROR


async def test_a_client_that_leaves_stops_the_answer():
    async with serving(Answer(Text("Hello "), Stall())) as served, sdk(served) as client:
        async with client.messages.stream(**ask("go on")) as stream:
            async for _ in stream.text_stream:
                break
        await until(lambda: served.fake.requests and served.fake.open_connections == 0)


async def test_the_key_is_the_token():
    async with serving(tokens=["right-token-1"]) as served:
        async with sdk(served, "right-token-1") as client:
            assert (await client.messages.create(**ask("hi", system="Be brief."))).content[0].text == CANNED
        async with sdk(served, "wrong-token-1") as client:
            with pytest.raises(anthropic.AuthenticationError):
                await client.messages.create(**ask("hi"))


async def test_what_cannot_be_done_is_refused():
    async with serving() as served, sdk(served) as client:
        with pytest.raises(anthropic.BadRequestError):
            await client.messages.create(**ask("hi", extra_body={"colour": "red"}))
