"""The simulator's commands, over HTTP and in every dialect, asked with the project's own requests."""

import aiohttp
import pytest

import streamflow as sf
from streamflow.testing import Ask, FakeProvider, HttpError, Simulator
from streamflow.testing.simulator import BEFORE_ERROR, CANNED, CLOSING

PLACES = {"vertex": {"project": "p", "location": "l"}, "snowflake": {"account": "a"}}
NO_TOOLS = {"openai-completions"}
NO_THINKING = {"openai-completions", "openai-assistants"}
CALL = 'sim:tool weather {"city": "Köln"}'

every_provider = pytest.mark.parametrize("provider", sf.providers())


async def _ask(fake: FakeProvider, provider: str, messages, stream: bool = True, **options) -> tuple[int, sf.Response]:
    options.update(PLACES.get(provider, {}), base_url=fake.base_url(provider), stream=stream, max_tokens=50)
    request = sf.build_request(provider, messages, model="m", **options)
    async with (
        aiohttp.ClientSession() as session,
        session.post(request.url, headers=request.headers, data=request.body) as response,
    ):
        return response.status, sf.read(provider, await response.read(), content_type=response.content_type)


@every_provider
async def test_text(provider):
    async with FakeProvider() as fake:
        status, response = await _ask(fake, provider, "sim:text Grüß Gott")
        assert (status, response.text, response.complete) == (200, "Grüß Gott", True)
        assert response.usage.output_tokens == 2
        assert (await _ask(fake, provider, "How are you?"))[1].text == CANNED


@every_provider
async def test_text_not_streamed(provider):
    async with FakeProvider() as fake:
        _, response = await _ask(fake, provider, "sim:text Grüß Gott", stream=False)
        assert response.text == ("" if provider == "openai-assistants" else "Grüß Gott")


@every_provider
async def test_thinking(provider):
    async with FakeProvider() as fake:
        _, response = await _ask(fake, provider, "sim:think So it is | And so I say")
        assert response.text == "And so I say"
        assert response.thinking == ("" if provider in NO_THINKING else "So it is")


@pytest.mark.parametrize("provider", [name for name in sf.providers() if name not in NO_TOOLS])
async def test_a_tool_call_and_its_result(provider):
    async with FakeProvider() as fake:
        _, response = await _ask(fake, provider, CALL)
        (call,) = response.tool_calls
        assert (call.name, call.arguments, response.stop_reason) == ("weather", {"city": "Köln"}, "tool_use")
        if provider == "openai-assistants":
            return  # its results go to the run, not into the messages
        messages = [
            {"role": "user", "content": CALL},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": call.id or "t1", "name": "weather", "input": {"city": "Köln"}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": call.id or "t1", "content": "rain"}],
            },
        ]
        assert (await _ask(fake, provider, messages))[1].text == CLOSING


@every_provider
async def test_errors(provider):
    async with FakeProvider() as fake:
        status, response = await _ask(fake, provider, "sim:error 503")
        assert status == 503
        assert "A simulated error with status 503." in response.error.message
        status, response = await _ask(fake, provider, "sim:error-event")
        assert (status, response.text, response.complete) == (200, BEFORE_ERROR, False)
        assert response.error.type == "ProviderError"


@every_provider
async def test_the_first_429_is_followed_by_an_answer(provider):
    async with FakeProvider() as fake:
        assert (await _ask(fake, provider, "sim:429 7"))[0] == 429
        status, response = await _ask(fake, provider, "sim:429 7")
        assert (status, response.text) == (200, CANNED)
        assert (await _ask(fake, provider, "sim:429 8"))[0] == 429


@pytest.mark.parametrize("provider", ["openai-completions", "anthropic", "openrouter", "bedrock"])
async def test_commands_in_a_log_of_participants(provider):
    async with FakeProvider() as fake:
        messages = ["sim:text Hello", {"role": "assistant", "content": "Hello"}, "sim:text Good bye"]
        assert (await _ask(fake, provider, messages, mode="prefill"))[1].text == "Good bye"


async def test_long_answers_are_paced():
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    async with FakeProvider(sleep=sleep) as fake:
        _, response = await _ask(fake, "anthropic", "sim:long 12 50")
    assert len(response.text.split()) == 12
    assert slept == [0.05] * 12


def test_wrong_commands_say_how_it_is_done():
    for text, hint in (("sim:long many", "sim:long 50 20"), ("sim:tool", "sim:tool weather"), ("sim:error x", "503")):
        reply = Simulator().reply(Ask(text=text))
        assert isinstance(reply, HttpError)
        assert reply.status == 400
        assert hint in reply.message


def test_a_tool_call_may_be_broken():
    (part,) = Simulator().reply(Ask(text='sim:tool f {"a": ')).parts
    assert part.json == '{"a":'


def test_429_says_when_to_come_back():
    assert Simulator().reply(Ask(text="sim:429 2")).headers == {"retry-after": "2"}
